//! Odd lives of targets, and odd ends of lowtide: nothing is lost, nothing is harmed.
#![allow(clippy::unwrap_used)]

mod common;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Guarded, Lines, can_unshare, children, lowtide, output, run, send, state, text, wait_until};
use lowtide_model::Event;

/// The recordings that runs left behind.
fn recordings(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder.join("runs")).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == "lowtide")).collect()
}

/// The recording of the run that goes on; its first bytes may be a moment away.
fn recording(folder: &Path) -> PathBuf {
    wait_until("there is a recording", || recordings(folder).len() == 1);
    recordings(folder).remove(0)
}

fn events(recording: &Path) -> Vec<Event> {
    match lowtide_record::read(recording) {
        Ok(recording) => recording.events,
        Err(lowtide_record::RecordError::Empty { .. }) => Vec::new(),
        Err(error) => panic!("{error}"),
    }
}

fn ticks(recording: &Path) -> usize {
    events(recording).iter().filter(|event| matches!(event, Event::Tick(_))).count()
}

#[test]
fn a_target_that_ends_at_once_has_a_report() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..20 {
        let output = output(&mut run(folder.path(), &["true"]));
        assert_eq!(output.status.code(), Some(0));
        assert!(text(&output.stderr).contains("UNDECIDED"), "{}", text(&output.stderr));
    }
}

#[test]
fn a_target_that_execs_is_still_the_target() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("r.json");
    let script = "exec python3 -c 'import sys; print(\"ready\", flush=True); sys.stdin.readline(); sys.exit(11)'";
    let mut command = lowtide(folder.path());
    command.args(["run", "--interval", "50ms", "-o"]).arg(&out).args(["--", "sh", "-c", script]);
    let mut child = Guarded::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()));
    Lines::of(child.0.stdout.take().unwrap()).until("ready");
    let recording = &recording(folder.path());
    let before = ticks(recording);
    wait_until("it is measured after the exec", || ticks(recording) > before + 2);
    child.0.stdin.take().unwrap().write_all(b"end\n").unwrap();
    assert_eq!(child.end().code(), Some(11));
    let events = events(recording);
    let names = events.iter().filter_map(|event| if let Event::Process(process) = event { Some(&process.command) } else { None });
    assert!(names.into_iter().any(|command| command.contains("sys.stdin.readline")), "the new command is known");
}

#[test]
fn daemons_left_behind_do_not_keep_run_alive() {
    let folder = tempfile::tempdir().unwrap();
    let script = "setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $!; exit 8";
    let output = output(&mut run(folder.path(), &["sh", "-c", script]));
    assert_eq!(output.status.code(), Some(8));
    let daemon: i32 = text(&output.stdout).trim().parse().unwrap();
    assert!(state(daemon).is_some_and(|state| state != 'Z'), "the daemon goes on");
    send(daemon, libc::SIGKILL);
}

#[test]
fn orphans_are_reaped() {
    let folder = tempfile::tempdir().unwrap();
    // Each `sh` leaves its `sleep` to lowtide.
    let script = "i=0; while [ $i -lt 50 ]; do sh -c 'sleep 0.01 & exit 0'; i=$((i+1)); done; echo ready; read line";
    let mut command = run(folder.path(), &["sh", "-c", script]);
    let mut child = Guarded::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()));
    Lines::of(child.0.stdout.take().unwrap()).until("ready");
    wait_until("only the target is left", || children(child.pid()).len() == 1);
    drop(child.0.stdin.take());
    assert_eq!(child.end().code(), Some(1), "read at the end of input");
}

#[test]
fn five_hundred_short_children_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let script = "import subprocess, sys
for _ in range(50):
    children = [subprocess.Popen(['true']) for _ in range(10)]
    assert all(child.wait() == 0 for child in children)
sys.exit(3)";
    assert_eq!(output(&mut run(folder.path(), &["python3", "-c", script])).status.code(), Some(3));
}

#[test]
fn the_report_stands_soon_after_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = run(folder.path(), &["sh", "-c", "echo ready; read line"]);
    let mut child = Guarded::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()));
    Lines::of(child.0.stdout.take().unwrap()).until("ready");
    let asked = Instant::now();
    drop(child.0.stdin.take());
    child.end();
    assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
}

/// A target that says its pid and waits for a line.
const PATIENT: &str = "echo $$; read line; echo then $line";

#[test]
fn when_lowtide_is_killed_the_target_goes_on_and_the_recording_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = lowtide(folder.path());
    command.args(["run", "--interval", "50ms", "--", "sh", "-c", PATIENT]);
    let mut child = Guarded::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()));
    let lines = Lines::of(child.0.stdout.take().unwrap());
    let target: i32 = lines.next().parse().unwrap();
    let recording = recording(folder.path());
    wait_until("five ticks are recorded", || ticks(&recording) >= 5);
    // Taken out first: waiting for a child closes its input.
    let mut input = child.0.stdin.take().unwrap();
    child.signal(libc::SIGKILL);
    child.0.wait().unwrap();
    assert!(state(target).is_some_and(|state| state != 'Z'));
    input.write_all(b"unharmed\n").unwrap();
    assert_eq!(lines.next(), "then unharmed");
    assert!(ticks(&recording) >= 5);
    let mut report = lowtide(folder.path());
    let report = output(report.arg("report").arg(&recording));
    assert_eq!(report.status.code(), Some(0), "{}", text(&report.stderr));
}

#[test]
fn killed_at_two_hundred_random_moments() {
    let folder = tempfile::tempdir().unwrap();
    // A small generator (PCG's multiplier) with a fixed start: the moments are many, and the same each time.
    let mut random: u64 = 5;
    for round in 0..200 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let pause = Duration::from_micros((random >> 33) % 60_000);
        let recording = folder.path().join(format!("{round}.lowtide"));
        let mut command = lowtide(folder.path());
        command.args(["run", "--interval", "50ms", "--record"]).arg(&recording).args(["--", "sh", "-c", PATIENT]);
        let mut child = Guarded::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()));
        let lines = Lines::of(child.0.stdout.take().unwrap());
        let target: i32 = lines.next().parse().unwrap();
        let mut input = child.0.stdin.take().unwrap();
        std::thread::sleep(pause);
        child.signal(libc::SIGKILL);
        child.0.wait().unwrap();
        assert!(state(target).is_some_and(|state| state != 'Z'), "round {round}: the target died");
        input.write_all(b"unharmed\n").unwrap();
        assert_eq!(lines.next(), "then unharmed");
        // Killed before the first byte was written, there is nothing; everything else can be read.
        if std::fs::metadata(&recording).is_ok_and(|file| file.len() > 0) {
            lowtide_record::read(&recording).unwrap_or_else(|error| panic!("round {round}: {error}"));
        }
    }
}

#[test]
fn a_read_only_folder_is_no_reason_to_fail() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    // A folder below a file can be made by nobody, not even by root.
    let mut command = run(folder.path(), &["sh", "-c", "exit 9"]);
    command.env("LOWTIDE_DIR", file.join("runs")).env("XDG_STATE_HOME", file.join("state")).current_dir("/proc");
    let output = output(&mut command);
    assert_eq!(output.status.code(), Some(9));
    assert!(text(&output.stderr).contains("nothing is recorded"), "{}", text(&output.stderr));
}

#[test]
fn a_full_disk_is_no_reason_to_fail() {
    if !can_unshare(&["-m"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let small = folder.path().join("small");
    std::fs::create_dir(&small).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=8k none {0} && head -c 8k /dev/zero > {0}/full; LOWTIDE_DIR={0} {1} run --interval 50ms -- sh -c 'sleep 0.5; exit 9'",
        small.display(),
        env!("CARGO_BIN_EXE_lowtide")
    );
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &script]).env("XDG_STATE_HOME", folder.path()).current_dir(folder.path());
    let output = output(&mut command);
    assert_eq!(output.status.code(), Some(9), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("UNDECIDED"), "{}", text(&output.stderr));
}

/// `unshare` makes a pid namespace, and what it execs is PID 1 there.
fn as_init(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command.args(["-fp", "--mount-proc", env!("CARGO_BIN_EXE_lowtide"), "run", "--"]).args(words);
    command.env("LOWTIDE_DIR", folder.join("runs")).env("XDG_STATE_HOME", folder.join("state")).stdin(Stdio::null());
    command
}

#[test]
fn right_as_the_first_process_of_a_container() {
    if !can_unshare(&["-fp", "--mount-proc"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // Signals that init would never get by default are handed on: `kill` from outside reaches PID 1 as is.
    let script = "import os, signal, sys
print(os.getpid(), os.getppid(), flush=True)
for _ in range(20):
    if os.fork() == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.wait()
def zombies():
    count = 0
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try: count += open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()[0] == 'Z'
        except OSError: pass
    return count
import time
while zombies(): time.sleep(0.01)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(21))
print('ready', flush=True)
while True: signal.pause()";
    let mut child =
        Guarded::start(as_init(folder.path(), &["python3", "-c", script]).stdout(Stdio::piped()).stderr(Stdio::null()));
    let lines = Lines::of(child.0.stdout.take().unwrap());
    assert!(lines.next().ends_with(" 1"), "its parent is PID 1");
    lines.until("ready");
    let init = children(child.pid())[0];
    send(init, libc::SIGTERM);
    assert_eq!(child.end().code(), Some(21));
}

#[test]
fn the_first_process_dies_with_its_target() {
    if !can_unshare(&["-fp", "--mount-proc"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let output = output(as_init(folder.path(), &["sh", "-c", "sleep 1000 & kill -KILL $$"]).stderr(Stdio::null()));
    assert_eq!(output.status.code(), Some(137));
}

#[test]
fn a_target_in_another_mount_namespace() {
    if !can_unshare(&["-m"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("r.json");
    let mut command = lowtide(folder.path());
    command.args(["run", "--interval", "50ms", "-o"]).arg(&out);
    command.args(["--", "unshare", "-m", "sh", "-c", "mount -t tmpfs none /proc; echo ready; read line; exit 12"]);
    let mut child = Guarded::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()));
    Lines::of(child.0.stdout.take().unwrap()).until("ready");
    let recording = &recording(folder.path());
    let before = ticks(recording);
    wait_until("it is measured", || ticks(recording) > before + 3);
    child.0.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert_eq!(child.end().code(), Some(12));
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(out).unwrap()).unwrap();
    assert!(report["sampling"]["ticks"].as_u64().unwrap() > 3);
}

#[test]
fn watching_can_end_before_the_target() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("r.json");
    let mut command = lowtide(folder.path());
    command.args(["run", "--for", "100ms", "-o"]).arg(&out).args(["--", "sh", "-c", "echo ready; read line; exit 13"]);
    let mut child = Guarded::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()));
    Lines::of(child.0.stdout.take().unwrap()).until("ready");
    let recording = &recording(folder.path());
    let ended = || events(recording).iter().any(|event| matches!(event, Event::End(_)));
    wait_until("the recording ends", ended);
    assert_eq!(children(child.pid()).len(), 1, "the target goes on");
    drop(child.0.stdin.take());
    assert_eq!(child.end().code(), Some(13));
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(out).unwrap()).unwrap();
    assert_eq!(report["verdict"], "undecided");
}
