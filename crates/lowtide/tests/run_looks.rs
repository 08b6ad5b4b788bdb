//! `lowtide run` looks by itself into a program that leaks: who holds what grows, and which line adds to it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]

mod common;

use std::path::Path;
use std::process::{Command, Output};

use lowtide_model::{Event, Look, NoteKind};
use serde_json::Value;

/// It keeps 60 kB in each of 20 steps a second, all of them or only the last ten. Nothing of it calls `reset`: what `run` puts into the
/// process has one of its own.
const PROGRAM: &str = "
import sys, time
class Trainer:
    def __init__(self):
        self.history = []
    def step(self):
        if len(self.history) % 2:
            self.history.append(bytearray(b'x' * 60_000))
        else:
            self.history += [bytearray(b'x' * 60_000)]
        if sys.argv[1] == 'level':
            del self.history[:-10]
    def reset(self):
        self.history = []
try:
    from _lowtide.api import step
except ImportError:
    step = lambda: None
def main():
    trainer = Trainer()
    end = time.monotonic() + float(sys.argv[2])
    while time.monotonic() < end:
        trainer.step()
        step()
        time.sleep(0.05)
    print('trained', flush=True)
    sys.exit(7)
main()
";

/// The interpreter itself: a wrapper that chooses one (pyenv's is a shell script) runs other commands first, which are processes of the
/// run, too, and are seen where they live for half a second.
fn interpreter() -> String {
    let output = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
    common::text(&output.stdout).trim().to_owned()
}

/// Runs it for so many seconds; gives what came out, the report and the looks in the recording.
fn run(folder: &Path, options: &[&str], what: &str, seconds: &str) -> (Output, Value, Vec<Look>) {
    let (script, report) = (folder.join("train.py"), folder.join("report.json"));
    std::fs::write(&script, PROGRAM).unwrap();
    let mut command = common::lowtide(folder);
    command.arg("run").args(options).arg("-o").arg(&report).arg("--record").arg(folder.join("run.lowtide"));
    command.arg("--").arg(interpreter()).arg(&script).args([what, seconds]).current_dir(folder);
    let output = command.output().unwrap();
    let report = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    let events = lowtide_record::read(&folder.join("run.lowtide")).unwrap().events;
    let looks = events.into_iter().filter_map(|event| if let Event::Look(look) = event { Some(look) } else { None });
    (output, report, looks.collect())
}

/// The program is as it would be without us, and its leak has a name.
fn assert_named(output: &Output, report: &Value, looks: &[Look]) {
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(7), &b"trained\n"[..]), "{}", common::text(&output.stderr));
    let finding = &report["findings"][0];
    assert!(["leak", "likely_leak"].contains(&report["verdict"].as_str().unwrap()), "{report:#}");
    assert_eq!(finding["holder"]["name"], "trainer.history", "{finding:#} {} {looks:?}", report["blind_spots"]);
    assert_eq!(finding["objects"][0]["type"], "bytearray");
    let line = PROGRAM.lines().position(|line| line.contains("append")).unwrap() + 1;
    assert_eq!((finding["site"]["file"].as_str(), finding["site"]["line"].as_u64()), (Some("train.py"), Some(line as u64)));
    let other = finding["sites"].as_array().and_then(|sites| sites.first()).unwrap();
    assert_eq!(other["line"].as_u64(), Some(line as u64 + 2), "{finding:#}");
    assert!(
        common::text(&output.stderr).contains(&format!("and 1 more line: train.py:{}", line + 2)),
        "{}",
        common::text(&output.stderr)
    );
    assert_eq!(finding["kind"], "python_objects");
    // On a busy machine one may break off, since its time is over.
    let compared = looks.iter().position(|look| look.grown.is_some());
    assert!(compared.is_some_and(|at| at > 0 && looks[at - 1].objects > 0), "{looks:?}");
    assert_eq!(report["cost"]["looks"].as_u64(), Some(looks.len() as u64));
    assert!(report["cost"]["held_seconds"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_leak_is_named_by_stops() {
    let folder = tempfile::tempdir().unwrap();
    let (output, report, looks) = run(folder.path(), &["--no-agent"], "leak", "55");
    assert_named(&output, &report, &looks);
    assert!(looks.iter().all(|look| !look.copied));
    // The recording says the same.
    let mut again = common::lowtide(folder.path());
    let again = again.args(["report", "--format", "json"]).arg(folder.path().join("run.lowtide")).output().unwrap();
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    for part in ["/holder/name", "/holder/path", "/holder/length", "/objects", "/site", "/why", "/kind", "/evidence"] {
        let of = |report: &Value| report["findings"][0].pointer(part).cloned();
        assert_eq!(of(&again), of(&report), "{part}");
    }
}

#[test]
fn a_leak_is_named_by_copies_that_are_none_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let (output, report, looks) = run(folder.path(), &[], "leak", "55");
    assert_named(&output, &report, &looks);
    assert_eq!(report["processes"].as_array().map(Vec::len), Some(1), "{:#}", report["processes"]);
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().ends_with(".snapshot")), "{left:?}");
}

#[test]
fn what_stays_level_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (output, report, looks) = run(folder.path(), &[], "level", "25");
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(looks, []);
    assert!(report["findings"].as_array().unwrap().iter().all(|finding| finding["holder"].is_null()), "{report:#}");
}

#[test]
fn nobody_is_looked_into_who_wants_none() {
    let folder = tempfile::tempdir().unwrap();
    let (output, report, looks) = run(folder.path(), &["--census", "off"], "leak", "40");
    assert_eq!((output.status.code(), looks.len()), (Some(7), 0));
    assert!(report["findings"][0]["holder"].is_null());
}

#[test]
fn what_is_no_python_is_a_note_and_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let script = "BEGIN { while (i++ < 1000) { for (j = 0; j < 20; j++) kept[i, j] = sprintf(\"%8000s\", j); system(\"sleep 0.05\") } exit 3 }";
    let recording = folder.path().join("run.lowtide");
    let mut command = common::lowtide(folder.path());
    command.args(["run", "--record"]).arg(&recording).args(["--", "awk", script]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", common::text(&output.stderr));
    let events = lowtide_record::read(&recording).unwrap().events;
    let said = |event: &Event| match event {
        Event::Note(note) => note.kind == NoteKind::Unavailable && note.text.contains("no CPython in it"),
        _ => false,
    };
    assert!(events.iter().any(said), "{}", common::text(&output.stderr));
    assert!(!events.iter().any(|event| matches!(event, Event::Look(_))));
}
