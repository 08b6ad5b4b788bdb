//! `lowtide heap` beside its target in a cgroup that has little memory left: it takes what fits, or says that nothing does.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod common;

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use common::{Guarded, Lines, output, text};

const PROGRAM: &str = "
import sys
kept = [{'n': n, 'text': str(n), 'list': [n]} for n in range(200_000)]
print('ready', flush=True)
sys.stdin.read()
";

/// A memory cgroup of the first version below our own; it goes with its last process.
struct Group(PathBuf);

impl Group {
    fn new() -> Option<Self> {
        let own = std::fs::read_to_string("/proc/self/cgroup").unwrap();
        let own = own.lines().find_map(|line| line.split_once(":memory:"))?.1.trim_start_matches('/');
        let path = PathBuf::from("/sys/fs/cgroup/memory").join(own).join(format!("lowtide-{}", std::process::id()));
        std::fs::create_dir(&path).ok()?;
        let group = Self(path);
        group.0.join("memory.limit_in_bytes").exists().then_some(group)
    }

    fn number(&self, name: &str) -> u64 {
        std::fs::read_to_string(self.0.join(name)).unwrap().trim().parse().unwrap()
    }

    fn leave(&self, bytes: u64) {
        let limit = self.number("memory.usage_in_bytes") + bytes;
        std::fs::write(self.0.join("memory.limit_in_bytes"), limit.to_string()).unwrap();
    }

    /// Nothing in it was killed for want of memory.
    fn is_unharmed(&self) {
        let control = std::fs::read_to_string(self.0.join("memory.oom_control")).unwrap();
        assert!(!control.contains("oom_kill ") || control.contains("oom_kill 0"), "{control}");
    }

    /// A command that begins in it.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(self.0.join("cgroup.procs")).args(words);
        command
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        common::wait_until("the cgroup is empty", || std::fs::remove_dir(&self.0).is_ok());
    }
}

#[test]
fn a_look_never_costs_the_run_its_memory() {
    let Some(group) = Group::new() else {
        eprintln!("SKIPPED: no memory cgroup of the first version can be made here");
        return;
    };
    let mut target = Guarded::start(group.command(&["python3", "-c", PROGRAM]).stdin(Stdio::piped()).stdout(Stdio::piped()));
    let said = Lines::of(target.0.stdout.take().unwrap());
    said.until("ready");
    let pid = target.pid().to_string();
    let look = |left: u64| -> Output {
        group.leave(left);
        output(&mut group.command(&[env!("CARGO_BIN_EXE_lowtide"), "heap", &pid, "--format", "json", "--max-pause", "50s"]))
    };
    let refused = look(40 << 20);
    assert_eq!(refused.status.code(), Some(3), "{}", text(&refused.stderr));
    assert!(
        text(&refused.stderr).contains("the look was left out: the tightest memory limit leaves"),
        "{}",
        text(&refused.stderr)
    );
    let broken_off = look(110 << 20);
    assert_eq!(broken_off.status.code(), Some(3), "{}", text(&broken_off.stderr));
    assert!(text(&broken_off.stderr).contains("the look was given up: it needs more than"), "{}", text(&broken_off.stderr));
    let whole = look(2 << 30);
    assert!(whole.status.success(), "{}", text(&whole.stderr));
    group.is_unharmed();
    assert!(target.0.try_wait().unwrap().is_none(), "the target lives");
    drop(target);
}

/// 10 million objects, and then 3 MB more in each second until its input ends.
const LARGE: &str = "
import select, sys
kept = [{'n': n, 'text': str(n), 'list': [n]} for n in range(2_500_000)]
print('ready', flush=True)
sys.stdin.readline()
history = []
while not select.select([sys.stdin], [], [], 0.02)[0]:
    history.append(bytearray(b'x' * 60_000))
print('trained', flush=True)
sys.exit(7)
";
/// What the limit leaves beside them, bytes.
const LEFT: u64 = 300_000_000;

#[test]
#[ignore = "takes a gigabyte, and a minute or more"]
fn ten_million_objects_are_looked_into_only_where_they_fit() {
    let Some(group) = Group::new() else {
        eprintln!("SKIPPED: no memory cgroup of the first version can be made here");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (recording, report) = (folder.path().join("run.lowtide"), folder.path().join("report.json"));
    let mut command = group.command(&[env!("CARGO_BIN_EXE_lowtide"), "run", "--no-agent", "-o"]);
    command.arg(&report).arg("--record").arg(&recording).args(["--", "python3", "-c", LARGE]);
    command.env("LOWTIDE_DIR", folder.path()).env("XDG_STATE_HOME", folder.path());
    let mut run = Guarded::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()));
    let said = Lines::of(run.0.stdout.take().unwrap());
    said.until("ready");
    let target = common::children(run.pid())[0];
    group.leave(LEFT);
    let pid = target.to_string();
    let look = |command: &mut Command| output(command.args(["heap", &pid, "--format", "json", "--max-pause", "50s"]));
    // Beside it, within the same limit.
    let within = look(&mut group.command(&[env!("CARGO_BIN_EXE_lowtide")]));
    assert_eq!(within.status.code(), Some(3), "{}", text(&within.stderr));
    assert!(text(&within.stderr).contains("the look was given up: it needs more than"), "{}", text(&within.stderr));
    group.is_unharmed();
    // From outside of it.
    let outside = look(&mut Command::new(env!("CARGO_BIN_EXE_lowtide")));
    let answer: serde_json::Value =
        serde_json::from_slice(&outside.stdout).unwrap_or_else(|_| panic!("{}", text(&outside.stderr)));
    assert!(answer["objects"].as_u64().unwrap() > 10_000_000, "{}", answer["objects"]);
    group.is_unharmed();
    // And the one that `run` wants to take by itself, once it is seen to grow.
    let mut orders = run.0.stdin.take().unwrap();
    std::io::Write::write_all(&mut orders, b"go\n").unwrap();
    let told = || lowtide_record::read(&recording).unwrap().events.iter().any(gives_up);
    common::wait_until("the look of the run was given up", told);
    drop(orders);
    said.until("trained");
    assert_eq!(run.end().code(), Some(7));
    group.is_unharmed();
    eprintln!("{} objects seen from outside; within the limit: {}", answer["objects"], text(&within.stderr).trim());
}

/// That a look was left out or given up for want of memory.
fn gives_up(event: &lowtide_model::Event) -> bool {
    let lowtide_model::Event::Note(note) = event else { return false };
    note.text.contains("the look was given up") || note.text.contains("the tightest limit leaves less than twice that")
}
