//! The collector on real processes of this machine.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "test code")]

mod common;

use std::process::Command;

use common::Watch;
use lowtide_model::{NoteKind, Role};
use lowtide_testkit::{Child, Orphan, mib};

const PYTHON: &str = "/usr/bin/python3";

fn have(what: &str, mut command: Command) -> bool {
    let fine = command.output().is_ok_and(|output| output.status.success());
    if !fine {
        eprintln!("skipped: {what} is not available here");
    }
    fine
}

fn have_python() -> bool {
    let mut command = Command::new(PYTHON);
    command.args(["-c", "pass"]);
    have(PYTHON, command)
}

fn have_torch() -> bool {
    let mut command = Command::new(PYTHON);
    command.args(["-c", "import torch"]);
    have("torch in /usr/bin/python3", command)
}

#[test]
fn a_fork_shares_and_a_write_makes_pages_private() {
    if !have_python() {
        return;
    }
    let mut child = Child::python(
        PYTHON,
        "import os, sys
block = bytearray(os.urandom(1)) * (32 << 20)
pid = os.fork()
if pid == 0:
    os.read(0, 1)
    for at in range(0, len(block), 4096): block[at] = 7
    print('wrote', flush=True)
    os.read(0, 1); os._exit(0)
print('ready', flush=True)
print('pid', pid, flush=True)
os.wait()",
    );
    let forked: u32 = child.wait_for("pid").parse().unwrap();
    let mut watch = Watch::real(child.pid());
    let rollup = |watch: &Watch| watch.sample(forked).and_then(|sample| sample.rollup);
    watch.until("the forked child and its rollup", |watch| rollup(watch).is_some());
    let before = rollup(&watch).unwrap();
    assert_eq!(watch.process(forked).unwrap().role, Role::ForkedChild);
    child.say("");
    child.wait_for("wrote");
    watch.until("private pages", |watch| {
        rollup(watch)
            .is_some_and(|now| now.private_dirty > before.private_dirty + mib(30) && now.pss_anon > before.pss_anon + mib(14))
    });
    let sample = watch.sample(forked).unwrap();
    assert!(sample.anon >= mib(32) && sample.threads == 1 && sample.fds.is_none_or(|fds| fds >= 3), "{sample:?}");
    watch.assert_in_order();
}

#[test]
fn an_exec_changes_name_and_command() {
    let mut child = Child::shell("echo ready; read line; exec sleep 600");
    let mut watch = Watch::real(child.pid());
    watch.until("the shell", |watch| watch.process(child.pid()).is_some_and(|process| process.role == Role::Launcher));
    child.say("go");
    let pid = child.pid();
    watch.until("the exec", |watch| watch.process(pid).is_some_and(|process| process.command == "sleep 600"));
    let process = watch.process(pid).unwrap();
    assert_eq!((process.name.as_str(), process.role), ("sleep", Role::Trainer));
    assert_eq!(watch.processes().len(), 1, "the same process");
}

#[test]
fn a_daemon_stays_in_the_run() {
    // The middle process waits for a line, so it lives until the daemon was seen; the daemon has a session of its own.
    let mut child = Child::shell(
        "exec 3<&0; sh -c 'setsid sleep 600 > /dev/null 2>&1 & echo ready; echo pid $!; read line <&3' & wait; sleep 600",
    );
    let daemon = Orphan(child.wait_for("pid").parse().unwrap());
    let mut watch = Watch::real(child.pid());
    watch.until("the daemon", |watch| watch.process(daemon.0).is_some());
    let middle = watch.process(daemon.0).unwrap().ppid;
    child.say("go");
    watch.until("its parent's end", |watch| watch.exited(middle));
    watch.until("the daemon without its parent", |watch| watch.sample(daemon.0).is_some());
    assert!(!watch.exited(daemon.0));
    daemon.kill();
    watch.until("the daemon's end", |watch| watch.exited(daemon.0));
    watch.assert_in_order();
}

#[test]
fn hundreds_of_short_children_neither_flood_nor_starve() {
    if !have_python() {
        return;
    }
    let child = Child::python(
        PYTHON,
        "import os, time
worker = os.fork()
if worker == 0: time.sleep(600)
print('ready', flush=True)
print('pid', worker, flush=True)
while True:
    if os.fork() == 0: os._exit(0)
    os.wait()
    time.sleep(0.001)",
    );
    let mut child = child;
    let worker: u32 = child.wait_for("pid").parse().unwrap();
    let mut watch = Watch::real(child.pid());
    watch.until("forty ticks", |watch| watch.ticks().len() + usize::try_from(watch.collector.dropped_ticks()).unwrap() >= 40);
    // Something else on this machine that has a pipe to us may grow meanwhile.
    let inside = watch.processes().into_iter().filter(|process| process.role != Role::Outside);
    let pids: Vec<u32> = inside.map(|process| process.pid).collect();
    assert_eq!(pids, [child.pid(), worker], "only what lasts is announced");
    assert_eq!(watch.collector.dropped_ticks(), 0, "children that nobody knows tear no tick");
}

#[test]
fn a_stopped_target_is_still_read() {
    let child = Child::shell("echo ready; while :; do sleep 0.05; done");
    let mut watch = Watch::real(child.pid());
    child.signal(libc::SIGSTOP);
    watch.until("a sample of the stopped process", |watch| watch.sample(child.pid()).is_some());
    assert!(watch.collector.target_alive());
    child.signal(libc::SIGCONT);
}

#[test]
fn a_target_that_ends_between_two_reads_is_an_exit() {
    let mut child = Child::shell("echo ready; read line");
    let pid = child.pid();
    let mut watch = Watch::real(pid);
    watch.tick();
    child.finish();
    assert!(!watch.collector.target_alive());
    watch.tick();
    assert!(watch.exited(pid));
    assert!(watch.ticks().last().unwrap().procs.is_empty());
    let error = lowtide_collect::Collector::new(
        pid,
        lowtide_collect::Options {
            root: "/".into(),
            interval_s: 1.0,
            own_child: false,
            rollup: true,
            gpu: lowtide_collect::GpuSource::default(),
        },
    );
    assert!(error.is_err());
}

#[test]
fn threads_go_on_when_the_first_one_ends() {
    if !have_python() {
        return;
    }
    let child = Child::python(
        PYTHON,
        "import ctypes, threading, time
block = bytearray(b'x') * (24 << 20)
def work():
    time.sleep(0.3)
    print('ready', flush=True)
    time.sleep(600)
threading.Thread(target=work).start()
ctypes.CDLL(None).pthread_exit(None)",
    );
    let mut watch = Watch::real(child.pid());
    watch.until("memory of a process without its first thread", |watch| {
        watch.sample(child.pid()).is_some_and(|sample| sample.anon >= mib(24))
    });
    assert!(watch.collector.target_alive());
}

#[test]
fn shared_memory_is_told_from_private() {
    if !have_python() {
        return;
    }
    let child = Child::python(
        PYTHON,
        "import mmap, time
shared = mmap.mmap(-1, 40 << 20)
for at in range(0, len(shared), 4096): shared[at] = 1
print('ready', flush=True)
time.sleep(600)",
    );
    let mut watch = Watch::real(child.pid());
    watch.until("shared memory", |watch| watch.sample(child.pid()).is_some_and(|sample| sample.shmem >= mib(40)));
    assert!(watch.sample(child.pid()).unwrap().anon < mib(40));
}

#[test]
fn the_targets_own_dev_shm_counts() {
    let mut probe = Command::new("unshare");
    probe.args(["-m", "true"]);
    if !have("a mount namespace of one's own (root)", probe) {
        return;
    }
    let child = Child::start(Command::new("unshare").args([
        "-m",
        "sh",
        "-c",
        "mount -t tmpfs -o size=7m tmpfs /dev/shm && head -c 3145728 /dev/zero > /dev/shm/x && echo ready && read line",
    ]));
    let mut watch = Watch::real(child.pid());
    watch.tick();
    let system = watch.ticks().pop().unwrap().system.unwrap();
    assert_eq!((system.dev_shm_size, system.dev_shm_used), (mib(7), mib(3)));
}

#[test]
fn a_limit_of_a_real_cgroup_is_seen_and_its_kills_are_counted() {
    let folder = std::path::PathBuf::from(format!("/sys/fs/cgroup/memory/lowtide-collect-test-{}", std::process::id()));
    let limited = mib(64).to_string();
    if std::fs::create_dir(&folder).is_err() || std::fs::write(folder.join("memory.limit_in_bytes"), &limited).is_err() {
        eprintln!("skipped: no version 1 memory cgroup can be made here");
        let _ = std::fs::remove_dir(&folder);
        return;
    }
    {
        let mut child =
            Child::shell("echo ready; read line; head -c 209715200 /dev/zero | tail -n 1 > /dev/null; echo over; read line");
        std::fs::write(folder.join("cgroup.procs"), child.pid().to_string()).unwrap();
        let mut watch = Watch::real(child.pid());
        watch.tick();
        let inner = watch.ticks().pop().unwrap().cgroups[0];
        assert_eq!(inner.limit, Some(mib(64)));
        assert_eq!(watch.collector.oom_kills(), 0);
        child.say("go");
        child.wait_for("over");
        assert!(watch.collector.oom_kills() >= 1, "tail took 200 MiB under a limit of 64");
        watch.tick();
        assert!(watch.ticks().pop().unwrap().cgroups[0].oom_kills >= 1);
    }
    // An empty group can be removed a moment after its last process was collected.
    while std::fs::remove_dir(&folder).is_err() {
        std::thread::yield_now();
    }
}

#[test]
fn torch_workers_are_known_forked_and_spawned() {
    if !have_torch() {
        return;
    }
    for context in ["fork", "spawn"] {
        let program = "import os, sys, time, torch
from torch.utils.data import DataLoader
data = list(range(1000))
if __name__ == '__main__':
    loader = iter(DataLoader(data, batch_size=2, num_workers=2, multiprocessing_context=sys.argv[1]))
    next(loader)
    if os.fork() == 0: time.sleep(600)
    print('ready', flush=True)
    time.sleep(600)
";
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script.py");
        std::fs::write(&script, program).unwrap();
        let child = Child::start(Command::new(PYTHON).arg(&script).arg(context));
        let mut watch = Watch::real(child.pid());
        let count = |watch: &Watch, role: Role| watch.processes().iter().filter(|process| process.role == role).count();
        let trackers = usize::from(context == "spawn");
        watch.until("all roles", |watch| {
            let roles = [Role::Trainer, Role::DataloaderWorker, Role::ForkedChild, Role::ResourceTracker];
            roles.map(|role| count(watch, role)) == [1, 2, 1, trackers]
        });
        assert_eq!(watch.process(child.pid()).unwrap().role, Role::Trainer);
        let found = lowtide_collect::find_candidates(std::path::Path::new("/")).unwrap();
        let this = found.iter().find(|candidate| candidate.pid == child.pid()).unwrap();
        assert!(this.reason.contains("torch") && this.reason.contains("2 DataLoader workers"), "{}", this.reason);
    }
}

#[test]
fn another_users_process_is_watched_as_far_as_it_may() {
    // Only root can start one; without smaps_rollup, maps and fd the cheap counters must do.
    let mut probe = Command::new("setpriv");
    probe.args(["--reuid=65534", "--clear-groups", "true"]);
    if !have("another user (root, setpriv)", probe) {
        return;
    }
    let reader = std::env::current_exe().unwrap();
    if std::env::var_os("LOWTIDE_TEST_AS_NOBODY").is_none() {
        // Run this very test as nobody, watching a process of root's.
        let target = Child::shell("echo ready; read line");
        let copy = copy_for_all(&reader);
        let output = Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(&copy)
            .args(["--exact", "another_users_process_is_watched_as_far_as_it_may", "--nocapture"])
            .env("LOWTIDE_TEST_AS_NOBODY", target.pid().to_string())
            .output()
            .unwrap();
        std::fs::remove_file(copy).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    let pid = std::env::var("LOWTIDE_TEST_AS_NOBODY").unwrap().parse().unwrap();
    let mut watch = Watch::real(pid);
    watch.until("a note on what is closed", |watch| {
        watch.notes_of(NoteKind::Unavailable).iter().any(|note| note.text.starts_with("PSS: "))
    });
    let sample = watch.sample(pid).unwrap();
    assert!(sample.anon > 0 && sample.rollup.is_none() && sample.maps.is_none(), "{sample:?}");
}

/// The folder of the test binary may be closed to other users.
fn copy_for_all(program: &std::path::Path) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let copy = std::env::temp_dir().join(format!("lowtide-collect-test-{}", std::process::id()));
    std::fs::copy(program, &copy).unwrap();
    std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o755)).unwrap();
    copy
}
