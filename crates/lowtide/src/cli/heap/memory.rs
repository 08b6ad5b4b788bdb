//! What memory is for, and tensors: the part of a look that needs no list of Python's objects.

use lowtide_pyheap::memory::Memory;
use lowtide_pyheap::torch::graph::Held;
use lowtide_pyheap::torch::groups::{self, Group, Kind, Pinned};
use lowtide_pyheap::torch::{self, Filter};
use lowtide_pyheap::{Budget, Census, ObjectId, Parent};
use serde_json::{Value, json};
use std::collections::HashMap;

use super::text::{bytes, grouped, row};

/// What is shown of the memory of a process.
pub struct MemoryView {
    pub budget: Budget,
    pub groups: Vec<Group>,
    pub groups_left: usize,
    pub graphs: Vec<Graphs>,
    pub pinned: Vec<(Pinned, Option<lowtide_pyheap::Path>)>,
    /// C++ objects by class: number, bytes.
    pub classes: Vec<(String, u64, u64)>,
    pub notes: Vec<String>,
}

/// Graphs that one object holds: a list of losses holds one for each.
pub struct Graphs {
    /// Of one of the tensors that hold them.
    pub tensor: String,
    pub path: Option<lowtide_pyheap::Path>,
    pub count: u64,
    pub nodes: u64,
    pub tensors: u64,
    pub bytes: u64,
}

/// Works out what is shown.
pub fn view(memory: &Memory, budget: Budget, census: &Census, filter: &Filter, top: usize) -> MemoryView {
    let mut view = MemoryView {
        budget,
        groups: Vec::new(),
        groups_left: 0,
        graphs: Vec::new(),
        pinned: Vec::new(),
        classes: classes(memory, top),
        notes: notes(memory),
    };
    let Ok(torch) = &memory.torch else { return view };
    view.groups = groups::groups(torch).into_iter().filter(|group| filter.takes(group)).collect();
    view.groups_left = view.groups.len().saturating_sub(top);
    view.groups.truncate(top);
    let pinned: Vec<Pinned> = groups::pinned(torch).into_iter().take(top).collect();
    let python = |tensor: u64| torch.at(tensor).filter(|tensor| tensor.held).and_then(|tensor| tensor.python);
    let held = &memory.graphs.held;
    let wanted = held.iter().map(|held| held.python).chain(pinned.iter().filter_map(|pinned| python(pinned.example)));
    let ids = census.ids_of(wanted);
    let path = |object: Option<u64>| object.and_then(|object| ids.get(&object)).map(|id| census.path(*id));
    let name = |tensor: u64| torch.at(tensor).map_or_else(String::new, |tensor| tensor_name(&Kind::of(tensor)));
    let mut by_holder: Vec<(&Held, Graphs)> = graphs(held, census, &ids);
    by_holder.truncate(top);
    view.graphs = by_holder
        .into_iter()
        .map(|(held, graphs)| Graphs { tensor: name(held.tensor), path: path(Some(held.python)), ..graphs })
        .collect();
    view.pinned = pinned.into_iter().map(|pinned| (pinned, path(python(pinned.example)))).collect();
    view
}

/// Graphs by the object that has their tensors, those that keep most first; each with the tensor that keeps most.
fn graphs<'a>(held: &'a [Held], census: &Census, ids: &HashMap<u64, ObjectId>) -> Vec<(&'a Held, Graphs)> {
    let mut by_holder: HashMap<u64, (&Held, Graphs)> = HashMap::new();
    for one in held {
        let holder = match ids.get(&one.python).map(|id| census.objects().parent(*id)) {
            Some(Parent::Object(holder)) => census.objects().address(holder),
            _ => one.python,
        };
        let new = || Graphs { tensor: String::new(), path: None, count: 0, nodes: 0, tensors: 0, bytes: 0 };
        let (_, graphs) = by_holder.entry(holder).or_insert_with(|| (one, new()));
        graphs.count += 1;
        graphs.nodes += one.nodes;
        graphs.tensors += one.tensors;
        graphs.bytes += one.bytes;
    }
    let mut list: Vec<_> = by_holder.into_values().collect();
    list.sort_by_key(|(held, graphs)| (std::cmp::Reverse((graphs.bytes, graphs.nodes)), held.tensor));
    list
}

fn classes(memory: &Memory, top: usize) -> Vec<(String, u64, u64)> {
    let mut by_name: HashMap<String, (u64, u64)> = HashMap::new();
    for class in memory.classes.iter().filter(|class| class.tally.count > 0) {
        let sum = by_name.entry(class.name()).or_default();
        sum.0 += class.tally.count;
        sum.1 += class.tally.bytes;
    }
    let mut classes: Vec<_> = by_name.into_iter().map(|(name, (count, bytes))| (name, count, bytes)).collect();
    classes.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| a.0.cmp(&b.0)));
    classes.truncate(top);
    classes
}

fn notes(memory: &Memory) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(Err(error)) = &memory.account.glibc {
        notes.push(error.to_string());
    }
    if let Err(error @ torch::Error::Layout { .. }) = &memory.torch {
        notes.push(error.to_string());
    }
    if memory.account.swapped > 0 {
        notes.push(format!("{} are in swap and in no part", bytes(memory.account.swapped)));
    }
    notes
}

fn tensor_name(kind: &Kind) -> String {
    let shape: Vec<String> = kind.shape.iter().map(ToString::to_string).collect();
    let mut text = format!("{} [{}] {}", kind.dtype, shape.join(", "), kind.device);
    if kind.fake {
        text.push_str(", fake");
    }
    if kind.grad_fn {
        text.push_str(", with its graph");
    } else if kind.requires_grad {
        text.push_str(", requires grad");
    }
    if !kind.python {
        text.push_str(", kept by C++ alone");
    }
    text
}

/// Adds the text of a view.
pub fn text(out: &mut String, view: &MemoryView, width: usize) {
    out.push_str(&format!("\nwhat memory is for: {} resident and private\n", bytes(view.budget.total)));
    let mut parts: Vec<_> = view.budget.ram.iter().collect();
    parts.sort_by_key(|(part, bytes)| (std::cmp::Reverse(**bytes), **part));
    for (part, size) in parts {
        out.push_str(&row(&[&bytes(*size)], part.name(), &[12], width));
    }
    for (device, parts) in &view.budget.devices {
        out.push_str(&format!("on {device}: {}\n", bytes(parts.values().sum())));
        for (part, size) in parts {
            out.push_str(&row(&[&bytes(*size)], part.name(), &[12], width));
        }
    }
    if view.budget.elsewhere > 0 {
        let text = "of tensors shared with other processes, of a file, or never touched: in no part";
        out.push_str(&row(&[&bytes(view.budget.elsewhere)], text, &[12], width));
    }
    if !view.groups.is_empty() {
        out.push_str("\ntensors, by storage\n");
        for group in &view.groups {
            out.push_str(&row(&[&bytes(group.bytes), &grouped(group.count)], &tensor_name(&group.kind), &[12, 14], width));
        }
        super::text::left(out, view.groups_left);
    }
    if !view.graphs.is_empty() {
        out.push_str("\nautograd graphs, by what they alone keep\n");
        for graphs in &view.graphs {
            let others = if graphs.count > 1 { format!(", and {} beside it", grouped(graphs.count - 1)) } else { String::new() };
            let tensor = format!("{}{others}", graphs.tensor);
            let who = graphs.path.as_ref().map_or_else(|| tensor.clone(), |path| format!("{path} ({tensor})"));
            out.push_str(&row(&[&bytes(graphs.bytes), &format!("{} nodes", grouped(graphs.nodes))], &who, &[12, 18], width));
        }
    }
    if !view.pinned.is_empty() {
        out.push_str("\nstorages of which less than a quarter is shown: a small view keeps all of it\n");
        for (pinned, path) in &view.pinned {
            let who = path.as_ref().map_or_else(|| "kept by C++".to_owned(), ToString::to_string);
            out.push_str(&row(&[&bytes(pinned.bytes), &format!("{} shown", bytes(pinned.shown))], &who, &[12, 18], width));
        }
    }
    if !view.classes.is_empty() {
        out.push_str("\nC++ objects, by class\n");
        for (name, count, size) in &view.classes {
            out.push_str(&row(&[&bytes(*size), &grouped(*count)], name, &[12, 14], width));
        }
    }
    for note in &view.notes {
        out.push_str(&format!("note: {note}\n"));
    }
}

/// The same for programs.
pub fn json(view: &MemoryView, path: impl Fn(&lowtide_pyheap::Path) -> Value) -> Value {
    let parts = |parts: &std::collections::BTreeMap<lowtide_pyheap::Part, u64>| -> Value {
        parts.iter().map(|(part, bytes)| (part.name().to_owned(), Value::from(*bytes))).collect::<serde_json::Map<_, _>>().into()
    };
    json!({
        "resident_private_bytes": view.budget.total,
        "parts": parts(&view.budget.ram),
        "devices": view.budget.devices.iter().map(|(device, on)| (device.clone(), parts(on))).collect::<serde_json::Map<_, _>>(),
        "tensor_bytes_elsewhere": view.budget.elsewhere,
        "tensors": view.groups.iter().map(|group| json!({
            "dtype": group.kind.dtype, "shape": group.kind.shape, "device": group.kind.device,
            "fake": group.kind.fake,
            "requires_grad": group.kind.requires_grad, "grad_fn": group.kind.grad_fn, "python": group.kind.python,
            "count": group.count, "bytes": group.bytes,
        })).collect::<Vec<_>>(),
        "graphs": view.graphs.iter().map(|graphs| json!({
            "tensor": graphs.tensor, "path": graphs.path.as_ref().map(&path), "count": graphs.count, "nodes": graphs.nodes,
            "tensors": graphs.tensors, "bytes": graphs.bytes,
        })).collect::<Vec<_>>(),
        "pinned": view.pinned.iter().map(|(pinned, way)| json!({
            "path": way.as_ref().map(&path), "bytes": pinned.bytes, "shown": pinned.shown, "tensors": pinned.tensors,
        })).collect::<Vec<_>>(),
        "classes": view.classes.iter().map(|(name, count, bytes)| json!({"class": name, "count": count, "bytes": bytes})).collect::<Vec<_>>(),
        "notes": view.notes,
    })
}
