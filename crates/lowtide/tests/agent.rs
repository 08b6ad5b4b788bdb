//! Marks from inside, by running Python programs as a user does: what they print and how they end stays theirs.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]

mod common;

use std::path::Path;
use std::process::{Command, Output};

use lowtide_model::{Event, Mark, MarkKind, Scope};

/// Runs a Python script under lowtide; gives its output and the marks of the recording.
fn run(folder: &Path, options: &[&str], python: &[&str], script: &str) -> (Output, Vec<Mark>) {
    let (file, recording) = (folder.join("script.py"), folder.join("run.lowtide"));
    std::fs::write(&file, script).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lowtide"));
    command.args(["run", "--record"]).arg(&recording).args(options).arg("--").args(python).arg(&file);
    let output = command.current_dir(folder).env_remove("PYTHONPATH").output().unwrap();
    let events = lowtide_record::read(&recording).unwrap().events;
    let marks = events.into_iter().filter_map(|event| if let Event::Mark(mark) = event { Some(mark) } else { None });
    (output, marks.collect())
}

/// A loop that says what it does; it goes on for long enough to be seen as a process of the run.
const LOOP: &str = "
import time
try:
    from _lowtide import api
    for epoch in range(3):
        api.begin('epoch', index=epoch)
        for name in ('train', 'validation'):
            api.begin('phase', name)
            for _ in range(4 if name == 'train' else 0):
                api.step()
                time.sleep(0.05)
            api.end('phase')
except ImportError:
    pass
time.sleep(0.3)
print('done')
raise SystemExit(3)
";

#[test]
fn a_python_loop_is_marked() {
    let folder = tempfile::tempdir().unwrap();
    let (output, marks) = run(folder.path(), &[], &["python3"], LOOP);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(3), &b"done\n"[..]));
    let begins = |scope| {
        let of = |mark: &&Mark| matches!(&mark.what, MarkKind::Begin(begun) if begun.scope == scope);
        marks.iter().filter(of).map(|mark| mark.steps).collect::<Vec<_>>()
    };
    assert_eq!(begins(Scope::Epoch), [0, 4, 8], "{marks:#?}");
    assert_eq!(begins(Scope::Phase), [0, 4, 4, 8, 8, 12]);
    assert_eq!(marks.iter().map(|mark| mark.steps).max(), Some(12));
    assert!(marks.iter().all(|mark| mark.t_s > -1.0 && mark.t_s < 3600.0), "by our clock: {marks:?}");
    let (heap, glibc) = (marks.iter().find_map(|mark| mark.facts.as_ref()?.heap_used), cfg!(target_env = "gnu"));
    assert!(heap.is_some_and(|heap| heap > 100_000) || !glibc, "{marks:?}");
}

#[test]
fn without_it_the_program_runs_as_well() {
    let folder = tempfile::tempdir().unwrap();
    for (options, python) in [(&["--no-agent"][..], &["python3"][..]), (&[], &["python3", "-I"]), (&[], &["python3", "-E"])] {
        let (output, marks) = run(folder.path(), options, python, LOOP);
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(3), &b"done\n"[..]), "{options:?} {python:?}");
        assert_eq!(marks, [], "{options:?} {python:?}");
    }
}

#[test]
fn the_users_own_sitecustomize_still_runs() {
    let folder = tempfile::tempdir().unwrap();
    let site = folder.path().join("site");
    std::fs::create_dir(&site).unwrap();
    std::fs::write(site.join("sitecustomize.py"), "import builtins\nbuiltins.mine = 'ran'\n").unwrap();
    let script = "import sitecustomize, sys\nprint(mine, sitecustomize.__file__, [p for p in sys.path if 'lowtide' in p])\n";
    let file = folder.path().join("script.py");
    std::fs::write(&file, script).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lowtide"));
    command.args(["run", "--no-record", "--", "python3"]).arg(&file).env("PYTHONPATH", &site);
    let output = command.output().unwrap();
    let expected = format!("ran {} []\n", site.join("sitecustomize.py").display());
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}

#[test]
fn a_recorder_that_dies_costs_the_target_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let script = "
import os, signal, time
from _lowtide import api
for i in range(20000):
    if i == 2000:
        os.kill(os.getppid(), signal.SIGKILL)
    api.begin('phase', 'train')
    if i % 100 == 0:
        if (pid := os.fork()) == 0:
            api.step()
            os._exit(0)
        os.waitpid(pid, 0)
open('done', 'w').write('all')
";
    let file = folder.path().join("script.py");
    std::fs::write(&file, script).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lowtide"));
    command.args(["run", "--no-record", "--", "python3"]).arg(&file).current_dir(folder.path());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), None, "the recorder was killed");
    let done = folder.path().join("done");
    let limit = std::time::Instant::now() + std::time::Duration::from_secs(120);
    while !done.exists() {
        assert!(std::time::Instant::now() < limit, "the target did not get to its end");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn processes_of_another_pid_namespace_are_matched() {
    if !common::can_unshare(&["-fp"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (output, marks) = run(folder.path(), &[], &["unshare", "-fp", "--mount-proc", "python3"], LOOP);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(3), &b"done\n"[..]));
    assert_eq!(marks.iter().map(|mark| mark.steps).max(), Some(12), "{marks:?}");
}

#[test]
fn steps_of_a_process_that_nobody_saw_are_told() {
    let folder = tempfile::tempdir().unwrap();
    // A child that steps and is gone at once, between two looks; its parent never steps.
    let script = "
import os, time
time.sleep(0.5)
if os.fork() == 0:
    from _lowtide import api
    for _ in range(7): api.step()
    os._exit(0)
os.wait()
time.sleep(0.3)
";
    let (output, marks) = run(folder.path(), &["--interval", "10s"], &["python3"], script);
    let seen = marks.iter().map(|mark| mark.steps).max().unwrap_or(0);
    // Wherever its lines break.
    let said = String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(output.status.success(), "{said}");
    assert!(seen == 7 || said.contains("7 steps of a process not seen"), "{seen} {said}");
}
