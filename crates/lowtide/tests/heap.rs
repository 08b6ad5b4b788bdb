//! `lowtide heap` as a user runs it.
#![allow(clippy::unwrap_used)]

mod common;

use common::stepped::Stepped;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Output, Stdio};

const PROGRAM: &str = "
import sys
class Trainer:
    def __init__(self):
        self.history = []
def main():
    trainer = Trainer()
    print('ready', flush=True)
    for line in sys.stdin:
        trainer.history.extend(bytes(1000) for _ in range(500))
        print('done', flush=True)
main()
";

fn start() -> Stepped {
    Stepped::start(Command::new("python3").args(["-c", PROGRAM]))
}

/// The kernel's core of a program, where this machine lets it write one.
fn core_of(folder: &std::path::Path) -> Option<std::path::PathBuf> {
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap();
    let script = PROGRAM.replace("print('done', flush=True)", "__import__('os').abort()");
    let mut child = Command::new("sh")
        .args(["-c", "ulimit -c unlimited; exec python3 -c \"$0\"", &script])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    child.wait().unwrap();
    let mut files = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    files.find(|path| pattern.starts_with("core") && path.file_name().unwrap().to_string_lossy().starts_with("core"))
}

#[test]
fn a_core_file_is_read_in_place_of_a_process() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other");
    std::fs::write(&other, "no core").unwrap();
    let lowtide = |args: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_lowtide")).arg("heap").args(args).current_dir(folder.path()).output().unwrap()
    };
    let refused = lowtide(&["--core", "other"]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("other"));
    assert_eq!(lowtide(&["--core", "other", "--diff", "1s"]).status.code(), Some(2));
    // A limit of this machine may forbid cores, or something else may get them.
    let Some(core) = core_of(folder.path()) else { return };
    let elsewhere = lowtide(&["--core", core.to_str().unwrap(), "--root", "."]);
    assert_eq!(elsewhere.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&elsewhere.stderr).contains("(below ., see --root)"));
    let output = lowtide(&["--core", core.to_str().unwrap(), "--format", "json", "--type", "Trainer"]);
    let answer: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    assert!(answer["objects"].as_u64().unwrap() > 5000 && answer["core"].is_string());
    let text = answer["held_by"].to_string();
    assert!(text.contains("main()") && text.contains("trainer"), "{text}");
}

#[test]
fn the_newest_run_is_looked_into_by_asking_for_the_last() {
    let folder = tempfile::tempdir().unwrap();
    let lowtide = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lowtide"));
        command.args(args).current_dir(folder.path()).env("XDG_STATE_HOME", folder.path()).env("LOWTIDE_DIR", folder.path());
        command
    };
    let none = lowtide(&["heap", "--last"]).output().unwrap();
    assert_eq!(none.status.code(), Some(3), "{}", String::from_utf8_lossy(&none.stderr));
    let mut run = lowtide(&["run", "--", "python3", "-c", PROGRAM]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(run.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let mut looked = lowtide(&["heap", "--last", "--type", "Trainer"]).output().unwrap();
    for _ in 0..100 {
        if looked.status.success() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(200));
        looked = lowtide(&["heap", "--last", "--type", "Trainer"]).output().unwrap();
    }
    let shown = String::from_utf8_lossy(&looked.stdout).into_owned();
    assert!(shown.contains("trainer: "), "{shown}{}", String::from_utf8_lossy(&looked.stderr));
    drop(run.stdin.take());
    run.wait().unwrap();
    let ended = lowtide(&["heap", "--last"]).output().unwrap();
    assert_eq!(ended.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&ended.stderr).contains("has ended"), "{}", String::from_utf8_lossy(&ended.stderr));
}

fn heap(target: &Stepped, args: &[&str]) -> Output {
    let pid = target.child.id().to_string();
    Command::new(env!("CARGO_BIN_EXE_lowtide")).arg("heap").arg(pid).args(args).output().unwrap()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Whether a value fits a schema, for the words that ours uses.
fn fits(schema: &Value, part: &Value, value: &Value) -> Result<(), String> {
    if let Some(name) = part["$ref"].as_str() {
        return fits(schema, &schema["$defs"][name.rsplit('/').next().unwrap()], value);
    }
    if let Some(any) = part["anyOf"].as_array() {
        let all: Vec<String> = any.iter().filter_map(|part| fits(schema, part, value).err()).collect();
        return if all.len() < any.len() { Ok(()) } else { Err(all.join(" or ")) };
    }
    if let Some(allowed) = part["enum"].as_array() {
        return if allowed.contains(value) { Ok(()) } else { Err(format!("{value} is none of {allowed:?}")) };
    }
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => false,
    };
    let types = part["type"].as_array().cloned().unwrap_or_else(|| vec![part["type"].clone()]);
    if !part["type"].is_null() && !types.iter().any(|name| is(name.as_str().unwrap())) {
        return Err(format!("{value} is not {types:?}"));
    }
    for name in part["required"].as_array().into_iter().flatten() {
        if value.get(name.as_str().unwrap()).is_none() {
            return Err(format!("no {name}"));
        }
    }
    for (name, part) in part["properties"].as_object().into_iter().flatten() {
        if let Some(value) = value.get(name) {
            fits(schema, part, value).map_err(|error| format!("{name}: {error}"))?;
        }
    }
    for item in value.as_array().into_iter().flatten().filter(|_| !part["items"].is_null()) {
        fits(schema, &part["items"], item)?;
    }
    Ok(())
}

#[test]
fn what_grew_between_two_looks_is_named() {
    let mut target = start();
    target.step();
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    json(&heap(&target, &["--format", "json", "--save", path]));
    target.step();
    let answer = json(&heap(&target, &["--format", "json", "--compare", path]));
    let schema: Value = serde_json::from_str(include_str!("../schema/lowtide.heap.1.json")).unwrap();
    assert_eq!(fits(&schema, &schema, &answer), Ok(()));
    let first = &answer["growth"]["holders"][0];
    assert_eq!(first["length"], serde_json::json!([500, 1000]), "{first:#}");
    assert_eq!(first["path"]["root"]["function"], "main", "{first:#}");
    assert_eq!(first["path"]["steps"][0]["name"], "trainer");
    assert_eq!(first["path"]["steps"][1]["name"], "history");
    assert!(first["bytes"].as_i64().unwrap() >= 500 * 1000, "{first:#}");
}

#[test]
fn the_pause_is_announced_and_told() {
    let mut target = start();
    target.step();
    let output = heap(&target, &["--type", "bytes"]);
    let (said, text) = (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    assert!(said.contains("holding pid") && said.contains("no longer than"), "{said}");
    assert!(text.contains("held still for"), "{text}");
    assert!(text.contains("trainer: Trainer -> .history: list"), "{text}");
    target.step();
}

#[test]
fn what_is_no_python_is_said() {
    let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_lowtide")).args(["heap", &child.id().to_string()]).output().unwrap();
    let mut said = String::new();
    output.stderr.as_slice().read_to_string(&mut said).unwrap();
    let _ = child.kill();
    let _ = child.wait();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("no CPython in it"), "{said}");
}
