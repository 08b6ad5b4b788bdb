//! `lowtide heap --diff marks`: two looks at the same place of the program's own cycle.
#![allow(clippy::unwrap_used)]

mod common;

use common::stepped::Stepped;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// Marks an epoch twice a second, and has much more in the middle of each than at its beginning.
const PROGRAM: &str = "
import sys, threading, time
sys.path.insert(0, sys.argv[2])
from _lowtide.marks import Marks

class Trainer:
    def __init__(self):
        self.history = []
        self.batches = []

def main():
    trainer = Trainer()
    marks = Marks(sys.argv[1], 'steps of a test')
    threading.Thread(target=lambda: sys.stdin.readline(), daemon=True).start()
    for epoch in range(10 ** 6):
        trainer.batches.clear()
        marks.begin('epoch', index=epoch)
        time.sleep(0.25)
        for _ in range(20):
            marks.step()
            trainer.batches.append(bytearray(1000 * (epoch % 7 + 1)))
            time.sleep(0.01)
        trainer.history.append(bytearray(5000))
        if epoch == 1:
            print('ready', flush=True)
main()
";

fn lowtide(pid: u32) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lowtide"));
    command.args(["heap", &pid.to_string(), "--diff", "marks", "--format", "json"]).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn both_looks_are_taken_when_an_epoch_begins() {
    let folder = tempfile::tempdir().unwrap();
    let agent = Path::new(env!("CARGO_MANIFEST_DIR")).join("agent");
    let program = folder.path().join("train.py");
    std::fs::write(&program, PROGRAM).unwrap();
    let target = Stepped::start(Command::new("python3").arg(&program).arg(folder.path()).arg(agent));
    let output = lowtide(target.child.id());
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("waiting for the next epoch") && said.contains("when an epoch begins again"), "{said}");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let between = &answer["between"];
    let epochs = between["times"].as_u64().unwrap();
    assert!(between["unit"] == "epoch" && epochs > 1, "{between}");
    // Steps are counted from a moment in the first epoch to one in the last.
    assert!((20 * (epochs - 1)..=20 * (epochs + 1)).contains(&between["steps"].as_u64().unwrap()), "{between}");
    let grown: Vec<&Value> = answer["growth"]["holders"].as_array().unwrap().iter().collect();
    let of = |name: &str| grown.iter().find(|holder| holder["path"]["text"].as_str().unwrap().contains(name));
    let history = of("history").unwrap_or_else(|| panic!("{grown:?}"));
    assert_eq!(history["length"][1].as_u64().unwrap() - history["length"][0].as_u64().unwrap(), epochs);
    assert!(of("batches").is_none(), "it is empty when an epoch begins: {grown:?}");
}

#[test]
fn who_marks_nothing_is_told_what_to_do() {
    let target = Stepped::start(Command::new("python3").args(["-c", "print('ready', flush=True); input()"]));
    let output = lowtide(target.child.id());
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stderr);
    assert!(said.contains("marks no steps and epochs") && said.contains("--diff 60s"), "{said}");
}

#[test]
fn who_ends_meanwhile_is_no_longer_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let agent = Path::new(env!("CARGO_MANIFEST_DIR")).join("agent");
    let script = "
import sys, time
sys.path.insert(0, sys.argv[2])
from _lowtide.marks import Marks
marks = Marks(sys.argv[1], 'steps of a test')
marks.begin('epoch', index=0)
print('ready', flush=True)
time.sleep(2)
";
    let mut target = Stepped::start(Command::new("python3").args(["-c", script]).arg(folder.path()).arg(agent));
    let pid = target.child.id();
    // Somebody must ask for its end, or it stays as a zombie.
    let reaper = std::thread::spawn(move || target.child.wait().unwrap());
    let output = lowtide(pid);
    reaper.join().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stderr);
    assert!(said.contains("has ended") || said.contains("is gone"), "{said}");
}
