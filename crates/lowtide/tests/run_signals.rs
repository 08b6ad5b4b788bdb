//! Signals reach the target, each once, whoever sends them.
#![allow(clippy::unwrap_used)]

mod common;

use std::fs::File;
use std::io::Write;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use common::{Guarded, Lines, children, run, send, state, wait_until};

/// Says which signals come, one line each, and ends on SIGUSR2.
const LISTENER: &str = "import signal, sys
def got(number, _):
    print('got', number, flush=True)
    if number == signal.SIGUSR2: sys.exit(9)
for number in range(1, signal.NSIG):
    if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTSTP, signal.SIGCHLD, 32, 33):
        signal.signal(number, got)
print('ready', flush=True)
while True: signal.pause()";

fn listener() -> (Guarded, Lines, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = run(folder.path(), &["python3", "-c", LISTENER]);
    let mut child = Guarded::start(command.stdout(Stdio::piped()).stderr(Stdio::null()));
    let lines = Lines::of(child.0.stdout.take().unwrap());
    lines.until("ready");
    (child, lines, folder)
}

#[test]
fn every_signal_is_handed_on_once() {
    let (mut lowtide, lines, _folder) = listener();
    let signals = [
        libc::SIGTERM,
        libc::SIGINT,
        libc::SIGHUP,
        libc::SIGQUIT,
        libc::SIGUSR1,
        libc::SIGALRM,
        libc::SIGCONT,
        libc::SIGWINCH,
        libc::SIGURG,
        libc::SIGPIPE,
        libc::SIGIO,
        libc::SIGPWR,
        libc::SIGXCPU,
        libc::SIGVTALRM,
        libc::SIGTTIN,
        libc::SIGRTMIN() + 3,
        libc::SIGRTMAX(),
    ];
    for signal in signals {
        lowtide.signal(signal);
        // The next line is this one: a signal sent twice would show here or at the end.
        assert_eq!(lines.next(), format!("got {signal}"));
    }
    lowtide.signal(libc::SIGUSR2);
    assert_eq!(lines.rest(), [format!("got {}", libc::SIGUSR2)]);
    assert_eq!(lowtide.end().code(), Some(9));
}

#[test]
fn what_the_tree_sends_to_its_own_group_does_not_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let script = "import os, signal
n = 0
def got(*_): global n; n += 1
signal.signal(signal.SIGUSR1, got)
os.kill(0, signal.SIGUSR1)
os.kill(os.getppid(), signal.SIGTERM)
os.kill(os.getppid(), 0)
import time
end = time.monotonic() + 0.5
while time.monotonic() < end: time.sleep(0.01)
print(n)";
    let mut command = run(folder.path(), &["python3", "-c", script]);
    // A group of its own, so that the test is not in it.
    let mut child = Guarded::start(command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::null()));
    let lines = Lines::of(child.0.stdout.take().unwrap());
    assert_eq!(lines.next(), "1");
    assert_eq!(child.end().code(), Some(0));
}

#[test]
fn a_hang_up_that_was_ignored_stays_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = run(folder.path(), &["sh", "-c", "echo ready; read line; exit 6"]);
    // SAFETY: only an async-signal-safe call between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGHUP, libc::SIG_IGN);
            Ok(())
        });
    }
    let mut child = Guarded::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()));
    let lines = Lines::of(child.0.stdout.take().unwrap());
    lines.until("ready");
    child.signal(libc::SIGHUP);
    child.0.stdin.take().unwrap().write_all(b"go on\n").unwrap();
    assert_eq!(child.end().code(), Some(6));
}

/// A session with a terminal of its own, as a login shell has. The master side, and the child.
fn on_terminal(command: &mut Command) -> (File, Guarded) {
    let (mut master, mut slave) = (0, 0);
    // SAFETY: openpty fills in the two descriptors; each is owned once below.
    let (master, slave) = unsafe {
        let opened = libc::openpty(&raw mut master, &raw mut slave, std::ptr::null_mut(), std::ptr::null(), std::ptr::null());
        assert_eq!(opened, 0);
        libc::fcntl(master, libc::F_SETFD, libc::FD_CLOEXEC);
        (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave))
    };
    command.stdin(slave.try_clone().unwrap()).stdout(slave.try_clone().unwrap()).stderr(slave);
    // SAFETY: only async-signal-safe calls between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            libc::ioctl(0, libc::TIOCSCTTY, 0);
            Ok(())
        });
    }
    let child = Guarded::start(command);
    (master, child)
}

/// A shell with job control between the terminal and lowtide: what Ctrl-Z needs. Returns lowtide's pid too.
fn under_shell(folder: &std::path::Path, target: &str) -> (File, Guarded, Lines) {
    let mut command = Command::new("bash");
    command.args(["--norc", "--noprofile", "-i"]).env("PS1", "").env("TERM", "dumb").env("HISTFILE", "/dev/null");
    command.env("LOWTIDE_DIR", folder.join("runs")).env("XDG_STATE_HOME", folder.join("state"));
    let (mut master, child) = on_terminal(&mut command);
    let lines = Lines::of(master.try_clone().unwrap());
    std::fs::write(folder.join("target.py"), target).unwrap();
    let line =
        format!("stty -echo; {} run -- python3 {}/target.py; echo rc $?\n", env!("CARGO_BIN_EXE_lowtide"), folder.display());
    master.write_all(line.as_bytes()).unwrap();
    (master, child, lines)
}

fn line_that_ends_with(lines: &Lines, end: &str) -> String {
    loop {
        let line = lines.next().trim_end().to_owned();
        if line.ends_with(end) {
            return line;
        }
    }
}

#[test]
fn ctrl_c_reaches_the_target_once_and_the_report_still_comes() {
    let folder = tempfile::tempdir().unwrap();
    let target = "import signal, time
n = 0
def got(*_): global n; n += 1
signal.signal(signal.SIGINT, got)
print('ready', flush=True)
while n == 0: time.sleep(0.01)
time.sleep(0.3)
print('interrupts', n, flush=True)
raise SystemExit(4)";
    let (mut master, _shell, lines) = under_shell(folder.path(), target);
    line_that_ends_with(&lines, "ready");
    master.write_all(b"\x03").unwrap();
    line_that_ends_with(&lines, "interrupts 1");
    let rest = std::iter::from_fn(|| Some(lines.next())).take_while(|line| line.trim_end() != "rc 4").collect::<Vec<_>>();
    assert!(rest.iter().any(|line| line.contains("lowtide report")), "{rest:?}");
}

#[test]
fn ctrl_z_stops_both_and_fg_resumes_both() {
    let folder = tempfile::tempdir().unwrap();
    let target = "import os, sys
print(os.getpid(), 'is ready', flush=True)
sys.stdin.readline()
raise SystemExit(5)";
    let (mut master, shell, lines) = under_shell(folder.path(), target);
    let target: i32 = line_that_ends_with(&lines, "is ready").split_whitespace().next().unwrap().parse().unwrap();
    let lowtide = children(shell.pid())[0];
    master.write_all(b"\x1a").unwrap();
    wait_until("both are stopped", || state(target) == Some('T') && state(lowtide) == Some('T'));
    master.write_all(b"fg\n").unwrap();
    wait_until("both go on", || state(target) == Some('S') && state(lowtide) == Some('S'));
    master.write_all(b"go on\n").unwrap();
    wait_until("lowtide has ended", || state(lowtide).is_none());
    master.write_all(b"echo then $?\n").unwrap();
    line_that_ends_with(&lines, "then 5");
}

#[test]
fn a_target_stopped_by_somebody_else_does_not_stop_lowtide() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = run(folder.path(), &["sh", "-c", "echo $$; read line; exit 3"]);
    let mut child = Guarded::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()));
    let lines = Lines::of(child.0.stdout.take().unwrap());
    let target: i32 = lines.next().parse().unwrap();
    send(target, libc::SIGSTOP);
    wait_until("the target is stopped", || state(target) == Some('T'));
    child.signal(libc::SIGUSR1);
    assert_ne!(state(child.pid()), Some('T'));
    send(target, libc::SIGCONT);
    // What came while it was stopped is there when it goes on: sh dies of SIGUSR1.
    assert_eq!(child.end().code(), Some(128 + libc::SIGUSR1));
}

#[test]
fn a_terminal_that_goes_away_ends_the_target() {
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("pid");
    let script = format!("echo $$ > {0}.tmp; mv {0}.tmp {0}; exec sleep 1000", pid_file.display());
    let mut command = run(folder.path(), &["sh", "-c", &script]);
    // lowtide itself leads the session, as under `ssh -t host lowtide run` or in a container.
    let (master, mut lowtide) = on_terminal(&mut command);
    wait_until("the target runs", || pid_file.exists());
    drop(master);
    assert_eq!(lowtide.end().code(), Some(128 + libc::SIGHUP));
}
