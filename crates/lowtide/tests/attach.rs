//! `attach` reads, tells, and leaves the target alone.
#![allow(clippy::unwrap_used)]

mod common;

use std::io::Write;
use std::process::{Command, Stdio};

use common::{Guarded, Lines, lowtide, output, state, text};

/// Allocates a little, says so, and waits for a line.
const TARGET: &str = "import sys
kept = bytearray(20 << 20)
print('ready', flush=True)
sys.stdin.readline()
sys.exit(5)";

fn target() -> (Guarded, Lines) {
    let mut command = Command::new("python3");
    let mut child = Guarded::start(command.args(["-c", TARGET]).stdin(Stdio::piped()).stdout(Stdio::piped()));
    let lines = Lines::of(child.0.stdout.take().unwrap());
    lines.until("ready");
    (child, lines)
}

fn attach(folder: &std::path::Path, options: &[&str], pid: i32) -> Command {
    let mut command = lowtide(folder);
    command.arg("attach").args(["--interval", "50ms"]).args(options).arg(pid.to_string());
    command
}

#[test]
fn ctrl_c_gives_the_report_and_leaves_the_target() {
    let folder = tempfile::tempdir().unwrap();
    let (mut target, _lines) = target();
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let mut command = attach(folder.path(), &[], target.pid());
        let mut child = Guarded::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
        let lines = Lines::of(child.0.stderr.take().unwrap());
        assert!(lines.next().contains("Ctrl-C"));
        child.signal(signal);
        let rest = lines.rest();
        assert!(rest.iter().any(|line| line.starts_with("UNDECIDED")), "{rest:?}");
        assert_eq!(child.end().code(), Some(0));
    }
    assert_ne!(state(target.pid()), Some('Z'));
    target.0.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert_eq!(target.end().code(), Some(5));
}

#[test]
fn it_ends_after_the_asked_for_time() {
    let folder = tempfile::tempdir().unwrap();
    let (target, _lines) = target();
    let out = folder.path().join("r.json");
    let output = output(&mut attach(folder.path(), &["--for", "300ms", "-o", out.to_str().unwrap()], target.pid()));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(output.stdout.is_empty(), "all is said on stderr");
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(out).unwrap()).unwrap();
    assert_eq!(report["run"]["source"], "attach");
    let process = &report["processes"][0];
    assert_eq!(process["pid"], target.pid());
    assert!(process["bytes"].as_u64().unwrap() > 20 << 20, "{process}");
}

#[test]
fn it_ends_with_the_target() {
    let folder = tempfile::tempdir().unwrap();
    let (mut target, _lines) = target();
    let mut command = attach(folder.path(), &[], target.pid());
    let mut child = Guarded::start(command.stderr(Stdio::piped()));
    let lines = Lines::of(child.0.stderr.take().unwrap());
    lines.next();
    target.0.stdin.take().unwrap().write_all(b"\n").unwrap();
    target.end();
    assert_eq!(child.end().code(), Some(0));
    assert!(lines.rest().iter().any(|line| line.contains("the target ended")));
}

#[test]
fn what_cannot_be_watched_is_3_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let mut gone = Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let output = output(&mut attach(folder.path(), &[], gone.id() as i32));
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("--find"), "{}", text(&output.stderr));
}

#[test]
fn a_broken_expectation_is_1() {
    let folder = tempfile::tempdir().unwrap();
    let (target, _lines) = target();
    for (expectation, code) in [("peak < 10 MiB", 1), ("peak < 10 GiB", 0)] {
        let options = ["--for", "300ms", "--expect", expectation];
        let output = output(&mut attach(folder.path(), &options, target.pid()));
        assert_eq!(output.status.code(), Some(code), "{expectation}: {}", text(&output.stderr));
    }
}

#[test]
fn a_pid_or_find_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    for wrong in [&["attach"][..], &["attach", "--find", "1"], &["attach", "one"]] {
        assert_eq!(output(lowtide(folder.path()).args(wrong)).status.code(), Some(2), "{wrong:?}");
    }
}
