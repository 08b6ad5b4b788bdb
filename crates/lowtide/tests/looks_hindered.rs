//! Looks that something comes in the way of: rights, the end of the process, another program in its place; and those of `attach`.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod common;

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{Guarded, Lines, output, send, text, wait_until};
use lowtide_model::{Event, Look};
use serde_json::Value;

/// It keeps 60 kB in each of 20 steps a second until its input ends, and becomes itself anew where SIGUSR1 asks for it.
const PROGRAM: &str = "
import os, select, signal, sys
signal.signal(signal.SIGUSR1, lambda *_: os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]]))
class Trainer:
    def __init__(self):
        self.history = []
    def step(self):
        self.history.append(bytearray(b'x' * 60_000))
def main():
    trainer = Trainer()
    print('ready', os.getpid(), flush=True)
    while not select.select([sys.stdin], [], [], 0.05)[0]:
        trainer.step()
    print('trained', flush=True)
    sys.exit(7)
main()
";
const NOBODY: &str = "65534";

/// A program that leaks, below a `lowtide run` or on its own.
struct Leak {
    /// What was started.
    started: Guarded,
    said: Lines,
    /// The program itself.
    pid: i32,
}

impl Leak {
    fn start(command: &mut Command) -> Self {
        let mut started = Guarded::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()));
        let said = Lines::of(started.0.stdout.take().unwrap());
        let pid = said.next().strip_prefix("ready ").unwrap().parse().unwrap();
        Self { started, said, pid }
    }

    fn alone(folder: &Path) -> Self {
        Self::start(Command::new("/usr/bin/python3").arg(script(folder)))
    }

    /// Ends its input; it must end as it would without us.
    fn ends_well(mut self) {
        self.started.0.stdin.take().unwrap().write_all(b"\n").unwrap();
        assert_eq!(self.said.next(), "trained");
        assert_eq!(self.started.end().code(), Some(7));
    }

    /// Waits until somebody holds it.
    fn wait_for_a_look(&self) {
        let traced = || {
            let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap_or_default();
            status.lines().any(|line| line.strip_prefix("TracerPid:").is_some_and(|pid| pid.trim() != "0"))
        };
        let deadline = std::time::Instant::now() + 2 * common::HANGS;
        while !traced() {
            assert!(std::time::Instant::now() < deadline, "nobody looks");
            std::thread::sleep(std::time::Duration::from_micros(500));
        }
    }
}

fn script(folder: &Path) -> PathBuf {
    let script = folder.join("train.py");
    std::fs::write(&script, PROGRAM).unwrap();
    script
}

/// `lowtide run` of the program.
fn run(folder: &Path) -> Leak {
    let mut command = common::lowtide(folder);
    command.args(["run", "--no-agent", "--record"]).arg(folder.join("run.lowtide")).arg("-o").arg(folder.join("report.json"));
    Leak::start(command.args(["--", "/usr/bin/python3"]).arg(script(folder)))
}

fn report(folder: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join("report.json")).unwrap()).unwrap()
}

fn events(folder: &Path) -> Vec<Event> {
    lowtide_record::read(&folder.join("run.lowtide")).map_or_else(|_| Vec::new(), |recording| recording.events)
}

fn looks(folder: &Path) -> Vec<Look> {
    events(folder).into_iter().filter_map(|event| if let Event::Look(look) = event { Some(look) } else { None }).collect()
}

fn named(folder: &Path) -> bool {
    looks(folder).iter().any(|look| look.grown.is_some())
}

/// Where we may become another user, as root may.
fn can_become_nobody() -> bool {
    let tried = Command::new("setpriv").args(["--reuid", NOBODY, "--clear-groups", "true"]).stderr(Stdio::null()).status();
    let can = tried.is_ok_and(|status| status.success());
    if !can {
        eprintln!("SKIPPED: setpriv may not become another user here");
    }
    can
}

/// A folder that nobody may write to, with a lowtide in it that nobody may start.
fn folder_of_nobody() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_lowtide"), folder.path().join("lowtide")).unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    folder
}

fn as_nobody(folder: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]).arg(folder.join("lowtide"));
    command.env("LOWTIDE_DIR", folder).env("XDG_STATE_HOME", folder).current_dir(folder);
    command
}

#[test]
fn who_has_no_right_is_told_which_and_how_to_get_it() {
    if !can_become_nobody() {
        return;
    }
    let folder = folder_of_nobody();
    let leak = Leak::alone(folder.path());
    let refused = output(as_nobody(folder.path()).args(["heap", &leak.pid.to_string()]));
    assert_eq!(refused.status.code(), Some(3));
    let said = text(&refused.stderr);
    assert!(said.contains("it belongs to user 0 and we are user 65534; run as that user or as root"), "{said}");
    // As a container without the capability has it: root, and not allowed all the same.
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"]).arg(folder.path().join("lowtide"));
    let refused = output(command.args(["heap", &leak.pid.to_string()]));
    assert_eq!(refused.status.code(), Some(3));
    let said = text(&refused.stderr);
    assert!(said.contains("start the container with `--cap-add SYS_PTRACE`"), "{said}");
    leak.ends_well();
}

#[test]
fn run_needs_no_rights_to_look_into_its_own_child() {
    if !can_become_nobody() {
        return;
    }
    let folder = folder_of_nobody();
    let mut command = as_nobody(folder.path());
    command.args(["run", "--no-agent", "--record", "run.lowtide", "-o", "report.json", "--", "/usr/bin/python3"]);
    let leak = Leak::start(command.arg(script(folder.path())));
    wait_until("the first look", || !looks(folder.path()).is_empty());
    wait_until("the growth has a name", || named(folder.path()));
    leak.ends_well();
    let report = report(folder.path());
    assert_eq!(report["findings"][0]["holder"]["name"], "trainer.history", "{report:#}");
}

#[test]
fn attach_looks_where_it_is_asked_to() {
    let folder = tempfile::tempdir().unwrap();
    let leak = Leak::alone(folder.path());
    let mut command = common::lowtide(folder.path());
    command.args(["attach", "--census", "auto", "--record"]).arg(folder.path().join("run.lowtide"));
    command.arg("-o").arg(folder.path().join("report.json")).arg(leak.pid.to_string());
    let mut attached = Guarded::start(command.stderr(Stdio::null()));
    wait_until("the first look", || !looks(folder.path()).is_empty());
    wait_until("the growth has a name", || named(folder.path()));
    attached.signal(libc::SIGINT);
    assert_eq!(attached.end().code(), Some(0));
    leak.ends_well();
    let report = report(folder.path());
    assert_eq!(report["findings"][0]["holder"]["name"], "trainer.history", "{report:#}");
}

#[test]
fn a_process_that_is_killed_during_a_look_ends_as_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut leak = run(folder.path());
    leak.wait_for_a_look();
    send(leak.pid, libc::SIGKILL);
    assert_eq!(leak.started.end().code(), Some(128 + libc::SIGKILL));
    let report = report(folder.path());
    assert!(report["findings"].as_array().unwrap().iter().all(|finding| finding["holder"].is_null()), "{report:#}");
}

#[test]
fn a_process_that_becomes_another_program_goes_on_and_is_not_compared_with_what_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let leak = run(folder.path());
    leak.wait_for_a_look();
    let saved = folder.path().join("saved");
    let heap = |option: &str| output(common::lowtide(folder.path()).args(["heap", &leak.pid.to_string(), option]).arg(&saved));
    wait_until("the first look", || !looks(folder.path()).is_empty());
    assert!(heap("--save").status.success());
    send(leak.pid, libc::SIGUSR1);
    assert_eq!(leak.said.next(), format!("ready {}", leak.pid));
    let refused = heap("--compare");
    assert_eq!(refused.status.code(), Some(3));
    assert!(text(&refused.stderr).contains("has become another program"), "{}", text(&refused.stderr));
    leak.ends_well();
    assert!(!named(folder.path()), "it was compared with what another program had: {:?}", looks(folder.path()));
}
