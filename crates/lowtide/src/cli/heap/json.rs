//! A look as JSON: `lowtide.heap/1`. Fields are added, never renamed; the schema lies in `schema/lowtide.heap.1.json`.

use lowtide_pyheap::{Function, Path, Place, Step, StepName, Total};
use serde_json::{Value, json};

use super::blame::Blame;
use super::look::Look;
use super::view::View;

/// The answer.
pub fn json(look: &Look, view: &View, blame: &Blame) -> String {
    let census = &look.census;
    let growth = view.growth.as_ref().map(|growth| {
        json!({
            "holders": blame.grown.iter().enumerate().map(|(index, culprit)| {
                let holder = &culprit.holder;
                blame.json_of_grown(culprit, json!({
                    "path": path(&holder.path),
                    "type": holder.kind,
                    "length": holder.len.map(|(before, now)| [before, now]),
                    "count": holder.count,
                    "bytes": holder.bytes,
                    "ownership": view.grown_own.get(index).map(|own| super::owns::json(own, path)),
                }))
            }).collect::<Vec<_>>(),
            "types": growth.types.iter().map(|kind| json!({
                "type": kind.name, "count": kind.count, "bytes": kind.bytes,
            })).collect::<Vec<_>>(),
        })
    });
    let answer = json!({
        "schema": "lowtide.heap/1",
        "pid": look.pid,
        "core": look.core,
        "python": census.python().version.to_string(),
        "threads": look.threads(),
        "pause_seconds": look.pause.as_secs_f64(),
        "bytes_read": census.image().bytes_read(),
        "objects": census.objects().len(),
        "bytes": view.bytes,
        "types": view.types.iter().map(|(name, total)| with(total, json!({"type": name}))).collect::<Vec<_>>(),
        "containers": view.holders.iter().zip(&blame.containers).enumerate().map(|(index, (holder, culprit))| blame.json_of_container(culprit, with(&holder.held, json!({
            "path": path(&holder.path), "type": holder.kind, "length": holder.len,
            "ownership": view.holders_own.get(index).map(|own| super::owns::json(own, path)),
        })))).collect::<Vec<_>>(),
        "held_by": view.of_type.iter().map(|(way, total)| with(total, json!({"path": path(way)}))).collect::<Vec<_>>(),
        "growth": growth,
        "between": look.between.as_ref().map(|between| json!({
            "seconds": between.time.as_secs_f64(),
            "unit": between.marked.as_ref().map(|marked| marked.unit.as_str()).filter(|unit| !unit.is_empty()),
            "times": between.marked.as_ref().filter(|marked| !marked.unit.is_empty()).map(|marked| marked.times),
            "steps": between.marked.as_ref().map(|marked| marked.steps),
        })),
        "memory": view.memory.as_ref().map(|memory| super::memory::json(memory, path)),
        "notes": look.notes,
    });
    format!("{answer:#}\n")
}

fn with(total: &Total, mut value: Value) -> Value {
    value["count"] = total.count.into();
    value["bytes"] = total.bytes.into();
    value
}

fn path(path: &Path) -> Value {
    json!({
        "text": path.to_string(),
        "root": root(&path.root),
        "steps": path.steps.iter().map(step).collect::<Vec<_>>(),
        "left_out": path.left_out,
    })
}

fn root(place: &Place) -> Value {
    match place {
        Place::Module { name, file } => json!({"kind": "module", "name": name, "file": file}),
        Place::Frame { thread, native, function, file, line } => {
            json!({"kind": "frame", "thread": thread, "tid": native, "function": function, "file": file, "line": line})
        }
        Place::Thread { thread } => json!({"kind": "thread", "thread": thread}),
        Place::Type => json!({"kind": "type"}),
        Place::Interpreter => json!({"kind": "interpreter"}),
        Place::Native => json!({"kind": "native"}),
        Place::Garbage => json!({"kind": "garbage"}),
    }
}

fn step(step: &Step) -> Value {
    let (by, name) = match &step.name {
        StepName::Variable(name) => ("variable", Value::from(name.as_str())),
        StepName::Attribute(name) => ("attribute", name.as_str().into()),
        StepName::Key(key) => ("key", key.as_str().into()),
        StepName::Index(index) => ("index", (*index).into()),
        StepName::Item => ("item", Value::Null),
        StepName::Closure(name) => ("closure", name.as_str().into()),
        StepName::Default(name) => ("default", name.as_str().into()),
        StepName::Inner(name) => ("inner", name.as_str().into()),
    };
    json!({"by": by, "name": name, "type": step.kind, "function": step.function.as_ref().map(function)})
}

fn function(function: &Function) -> Value {
    json!({"name": function.name, "file": function.file, "line": function.line})
}
