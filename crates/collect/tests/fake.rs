//! The collector on fake file systems, where every moment can be chosen.
#![allow(clippy::unwrap_used, reason = "test code")]

mod common;

use common::Watch;
use lowtide_collect::{CheckState, CollectError, Collector, GpuSource, Options, doctor, find_candidates};
use lowtide_model::{Event, NoteKind, Role};
use lowtide_testkit::{FakeProcess, FakeRollup, FakeRoot, mib};

fn trainer() -> FakeProcess {
    FakeProcess {
        mapped: vec!["/usr/lib/libtorch_cpu.so".to_owned()],
        anon: mib(200),
        ..FakeProcess::new(100, 1, 900.0, "/usr/bin/python3 train.py")
    }
}

fn collector(pid: u32, root: &FakeRoot) -> Result<Collector, CollectError> {
    Collector::new(
        pid,
        Options { root: root.path().to_owned(), interval_s: 1.0, own_child: false, rollup: true, gpu: GpuSource::default() },
    )
}

#[test]
fn says_why_a_target_cannot_be_watched() {
    let root = FakeRoot::new();
    assert!(matches!(collector(100, &root), Err(CollectError::NoSuchProcess { pid: 100 })));
    root.set(&FakeProcess { state: 'Z', ..trainer() });
    assert!(matches!(collector(100, &root), Err(CollectError::Zombie { pid: 100 })));
    root.write("proc/100/stat", "nonsense");
    assert!(matches!(collector(100, &root), Err(CollectError::Format { .. })));
    root.remove_path("proc");
    let error = collector(100, &root).unwrap_err();
    assert!(matches!(error, CollectError::NoProc { .. }) && error.to_string().contains("mount -t proc"), "{error}");
}

#[test]
fn samples_all_fields_of_a_tree() {
    let root = FakeRoot::new();
    let main = FakeProcess { shmem: mib(3), swap: mib(2), threads: 7, ..trainer() };
    let rollup =
        FakeRollup { pss: mib(120), pss_anon: mib(110), private_dirty: mib(90), private_clean: mib(5), ..FakeRollup::default() };
    let worker = FakeProcess { caught: 0x1_0000_44c0, rollup: Some(rollup), anon: mib(50), ..main.fork(101, 950.0) };
    root.set(&main);
    root.set(&worker);
    root.set(&FakeProcess::new(200, 1, 950.0, "/usr/bin/stranger"));
    let mut watch = Watch::with(100, root.path(), false);
    watch.tick_at(10.0);
    let shown: Vec<(u32, Role, f64)> =
        watch.processes().iter().map(|process| (process.pid, process.role, process.start_s)).collect();
    assert_eq!(shown, [(100, Role::Trainer, -90.0), (101, Role::DataloaderWorker, -40.0)]);
    let tick = watch.ticks().pop().unwrap();
    let first = tick.procs[0];
    assert_eq!((first.anon, first.file, first.shmem, first.swap, first.threads), (mib(200), mib(4), mib(3), mib(2), 7));
    assert_eq!(tick.system.unwrap().available, 12 << 30);
    // The dearer view comes when there are the means for it.
    let mut now = 10.0;
    while watch.ticks().iter().all(|tick| tick.procs[1].rollup.is_none()) {
        now += 1.0;
        watch.tick_at(now);
        assert!(now < 1000.0, "no rollup in 1000 s");
    }
    let rollup = watch.ticks().pop().unwrap().procs[1].rollup.unwrap();
    assert_eq!((rollup.pss, rollup.uss, rollup.pss_anon), (mib(120), mib(95), mib(110)));
    watch.assert_in_order();
}

#[test]
fn short_lived_children_are_not_announced_and_workers_are() {
    let root = FakeRoot::new();
    root.set(&trainer());
    let mut watch = Watch::with(100, root.path(), false);
    let mut pid = 1000;
    for second in 0..20 {
        let now = f64::from(second);
        root.uptime(1000.0 + now);
        // Each tick sees children of the last instants, and none twice.
        for _ in 0..10 {
            root.set(&trainer().fork(pid, 999.8 + now));
            pid += 1;
        }
        if second == 5 {
            root.set(&trainer().fork(500, 1000.0 + now));
        }
        watch.tick_at(now);
        for old in pid - 10..pid {
            root.remove(old);
        }
    }
    let pids: Vec<u32> = watch.processes().iter().map(|process| process.pid).collect();
    assert_eq!(pids, [100, 500]);
    assert_eq!(watch.ticks().len(), 20, "no tick is lost to them");
    assert_eq!(watch.collector.dropped_ticks(), 0);
}

#[test]
fn a_reused_pid_is_a_new_process() {
    let root = FakeRoot::new();
    root.set(&trainer());
    root.set(&trainer().fork(101, 950.0));
    let mut watch = Watch::with(100, root.path(), false);
    watch.tick_at(0.0);
    root.uptime(1010.0);
    root.set(&FakeProcess::new(101, 1, 1005.0, "/usr/bin/stranger"));
    watch.tick_at(10.0);
    assert!(watch.exited(101));
    assert_eq!(watch.processes().len(), 2, "the stranger is no child");
    root.set(&trainer().fork(101, 1015.0));
    root.uptime(1020.0);
    watch.tick_at(20.0);
    let again: Vec<f64> = watch.processes().iter().filter(|process| process.pid == 101).map(|process| process.start_s).collect();
    assert_eq!(again, [-50.0, 15.0]);
    watch.assert_in_order();
}

#[test]
fn a_daemon_stays_when_its_parent_goes() {
    let root = FakeRoot::new();
    let shell = FakeProcess::new(100, 1, 900.0, "sh run.sh");
    root.set(&shell);
    root.set(&FakeProcess::new(101, 100, 901.0, "nohup x"));
    root.set(&FakeProcess::new(102, 101, 902.0, "/usr/bin/python3 daemon.py"));
    let mut watch = Watch::with(100, root.path(), false);
    watch.tick_at(0.0);
    root.remove(101);
    root.set(&FakeProcess::new(102, 1, 902.0, "/usr/bin/python3 daemon.py"));
    root.uptime(1010.0);
    watch.tick_at(10.0);
    assert!(watch.exited(101) && !watch.exited(102));
    assert!(watch.sample(102).is_some());
    let middle = watch.process(101).unwrap().id;
    assert_eq!(watch.process(102).unwrap().parent, Some(middle), "it stays what it was");
}

#[test]
fn zombies_have_no_memory_and_the_target_ends_as_one() {
    let root = FakeRoot::new();
    root.set(&trainer());
    root.set(&trainer().fork(101, 950.0));
    let mut watch = Watch::with(100, root.path(), false);
    watch.tick_at(0.0);
    assert!(watch.collector.target_alive());
    root.set(&FakeProcess { state: 'Z', ..trainer().fork(101, 950.0) });
    watch.tick_at(1.0);
    assert!(watch.exited(101) && watch.sample(100).is_some());
    root.set(&FakeProcess { state: 'Z', ..trainer() });
    assert!(!watch.collector.target_alive());
    watch.tick_at(2.0);
    assert!(watch.exited(100));
    watch.tick_at(3.0);
    watch.assert_in_order();
}

#[test]
fn an_exec_is_told_even_to_a_program_of_the_same_name() {
    let root = FakeRoot::new();
    root.set(&trainer());
    let child = trainer().fork(101, 950.0);
    root.set(&child);
    let mut watch = Watch::with(100, root.path(), false);
    watch.tick_at(0.0);
    assert_eq!(watch.process(101).unwrap().role, Role::ForkedChild);
    let args = ["/usr/bin/python3", "-m", "torch.utils.bench"].map(String::from).to_vec();
    root.set(&FakeProcess { args, layout: 4096, ..child.clone() });
    watch.tick_at(10.0);
    let process = watch.process(101).unwrap();
    assert_eq!((process.command.as_str(), process.role), ("/usr/bin/python3 -m torch.utils.bench", Role::Other));
    // A new name is noticed at once.
    root.set(&FakeProcess {
        comm: "ptxas".to_owned(),
        exe: "/usr/bin/ptxas".to_owned(),
        args: vec!["ptxas".to_owned()],
        layout: 8192,
        ..child
    });
    watch.tick_at(10.1);
    assert_eq!(watch.process(101).unwrap().role, Role::CompileWorker);
}

#[test]
fn the_server_that_a_client_sends_its_job_to_is_named() {
    let root = FakeRoot::new();
    root.set(&FakeProcess::new(100, 1, 900.0, "/usr/bin/curl -d @job http://localhost"));
    let mut server = FakeProcess::new(300, 1, 100.0, "/usr/bin/python3 server.py --token s3cret");
    root.set(&FakeProcess { anon: mib(900), ..FakeProcess::new(301, 1, 50.0, "/usr/bin/bystander") });
    let mut watch = Watch::with(100, root.path(), false);
    for second in 0..60_u64 {
        root.uptime(1000.0 + second as f64);
        server.anon = mib(100 + 10 * second);
        root.set(&server);
        root.memory(16 << 30, (12 << 30) - mib(10 * second));
        watch.tick_at(second as f64);
    }
    let notes = watch.notes_of(NoteKind::Outside);
    assert_eq!(notes.len(), 1, "{notes:?}");
    let process = watch.process(300).unwrap();
    assert_eq!((process.role, notes[0].process), (Role::Outside, Some(process.id)));
    assert_eq!(process.command, "/usr/bin/python3 server.py --token ***");
    assert!(process.role_reason.contains("not in the watched tree"), "{}", process.role_reason);
    assert_eq!(watch.sample(300).unwrap().anon, server.anon);
    // Its children are no part of the run, and its end is told.
    root.set(&FakeProcess::new(302, 300, 1050.0, "/usr/bin/child"));
    root.remove(300);
    root.uptime(1100.0);
    watch.tick_at(100.0);
    assert!(watch.exited(300) && watch.process(302).is_none());
    watch.assert_in_order();
}

#[test]
fn nobody_outside_is_named_where_the_tree_takes_the_memory() {
    let root = FakeRoot::new();
    let mut main = trainer();
    let mut other = FakeProcess::new(300, 1, 100.0, "/usr/bin/browser");
    root.set(&other);
    root.set(&main);
    let mut watch = Watch::with(100, root.path(), false);
    for second in 0..60_u64 {
        root.uptime(1000.0 + second as f64);
        (main.anon, other.anon) = (mib(200 + 10 * second), mib(100 + second));
        root.set(&main);
        root.set(&other);
        root.memory(16 << 30, (12 << 30) - mib(11 * second));
        watch.tick_at(second as f64);
    }
    assert_eq!(watch.notes_of(NoteKind::Outside), []);
    assert_eq!(watch.processes().len(), 1);
}

#[test]
fn what_cannot_be_read_is_said_once() {
    let root = FakeRoot::new();
    root.set(&trainer());
    let mut watch = Watch::with(100, root.path(), false);
    for second in 0..5 {
        watch.tick_at(f64::from(second));
    }
    let texts: Vec<String> = watch.notes_of(NoteKind::Unavailable).into_iter().map(|note| note.text).collect();
    for source in ["cgroup", "memory pressure (PSI)"] {
        assert_eq!(texts.iter().filter(|text| text.starts_with(source)).count(), 1, "{texts:?}");
    }
    assert!(texts.iter().all(|text| text.contains(": ")), "each has its reason: {texts:?}");
}

#[test]
fn hostile_files_do_no_harm() {
    let root = FakeRoot::new();
    root.set(&trainer());
    let mut watch = Watch::with(100, root.path(), false);
    watch.tick_at(0.0);
    for (file, text) in [
        ("proc/100/status", "Name:\t\u{fffd}\nVmRSS: 99999999999999999999 kB\nRssAnon: x kB\nThreads: -1\n".to_owned()),
        ("proc/100/stat", ") (".to_owned()),
        ("proc/100/cmdline", "\0".repeat(1 << 20)),
        ("proc/100/environ", "RANK=99999999999999999999\0".repeat(10_000)),
        ("proc/100/cgroup", ":::::\n0::/../../..\n".to_owned()),
        ("proc/meminfo", "MemTotal: 18446744073709551615 kB\n".to_owned()),
        ("proc/uptime", "inf\n".to_owned()),
        ("proc/vmstat", String::new()),
        ("proc/self/mountinfo", "- - - - - - - cgroup2\n".repeat(1000)),
    ] {
        root.write(file, &text);
        watch.tick_at(100.0);
    }
    root.set(&trainer());
    watch.tick_at(200.0);
}

#[test]
fn finds_training_and_passes_over_what_only_waits_or_helps() {
    let root = FakeRoot::new();
    let main = FakeProcess { cpu_ticks: 9000, ppid: 50, ..trainer() };
    root.set(&FakeProcess::new(50, 1, 890.0, "/usr/bin/uv run train.py"));
    root.set(&main);
    root.set(&FakeProcess { caught: 0x1_0000_44c0, ..main.fork(101, 950.0) });
    root.set(&FakeProcess { anon: mib(900), ..FakeProcess::new(200, 1, 100.0, "/usr/bin/postgres") });
    root.set(&FakeProcess {
        anon: mib(300),
        cpu_ticks: 50_000,
        ..FakeProcess::new(201, 1, 100.0, "/usr/bin/python3 numbers.py --api-key abc")
    });
    root.set(&FakeProcess { anon: mib(300), cpu_ticks: 10, ..FakeProcess::new(202, 1, 100.0, "/usr/bin/python3 idle.py") });
    let found = find_candidates(root.path()).unwrap();
    assert_eq!(found.iter().map(|candidate| candidate.pid).collect::<Vec<_>>(), [100, 201], "{found:#?}");
    assert!(found[0].reason.contains("torch") && found[0].reason.contains("1 DataLoader worker"), "{}", found[0].reason);
    assert_eq!(found[1].command, "/usr/bin/python3 numbers.py --api-key ***");
    assert!((found[0].started_s_ago - 100.0).abs() < 1.0);
}

#[test]
fn the_doctor_says_how_to_mend_what_is_not_fine() {
    let root = FakeRoot::new();
    root.set(&trainer());
    root.write("proc/self/mounts", "proc /proc proc rw,relatime,hidepid=invisible 0 0\n");
    root.write("proc/sys/kernel/yama/ptrace_scope", "1\n");
    let checks = doctor(root.path(), Some(100));
    for check in &checks {
        assert_eq!(check.state == CheckState::Fine, check.mend.is_empty(), "{check:?}");
    }
    let state = |name: &str| checks.iter().find(|check| check.name == name).map(|check| check.state);
    assert_eq!(state("process"), Some(CheckState::Fine));
    assert_eq!(state("other users' processes"), Some(CheckState::Limited));
    assert_eq!(state("ptrace"), Some(CheckState::Limited));
    assert_eq!(state("cgroup"), Some(CheckState::Missing));
    assert_eq!(state("pressure"), Some(CheckState::Limited));
}

#[test]
fn the_first_tick_announces_before_it_samples() {
    let root = FakeRoot::new();
    root.set(&trainer());
    let events = Watch::with(100, root.path(), false).tick_at(0.0);
    assert!(matches!(events.first(), Some(Event::Process(_))));
    assert!(matches!(events.last(), Some(Event::Tick(_))));
}

#[test]
fn without_uptime_the_target_is_still_watched() {
    let root = FakeRoot::new();
    root.set(&trainer());
    root.set(&trainer().fork(101, 950.0));
    root.remove_path("proc/uptime");
    let mut watch = Watch::with(100, root.path(), false);
    watch.tick_at(3.0);
    assert_eq!(watch.processes().len(), 1);
    assert_eq!(watch.sample(100).unwrap().anon, mib(200));
    assert!(watch.notes().iter().any(|note| note.text.contains("/proc/uptime")));
}

#[test]
fn a_kernel_that_shows_only_rss_is_said() {
    let root = FakeRoot::new();
    root.set(&trainer());
    root.write("proc/100/status", "Name:\tpython3\nState:\tS\nTgid:\t100\nVmRSS:\t4096 kB\nThreads:\t1\n");
    let mut watch = Watch::with(100, root.path(), false);
    watch.tick_at(0.0);
    assert_eq!(watch.sample(100).unwrap().anon, mib(4));
    assert!(watch.notes().iter().any(|note| note.text.contains("RssAnon")));
}
