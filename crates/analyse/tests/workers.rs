//! Workers that end before their trainer does.

mod common;

use lowtide_analyse::Analyser;
use lowtide_model::{Event, Exit, ProcId, ProcSample, Process, Report, Role, Rollup, SystemSample, Tick, Verdict};

const MIB: f64 = 1024.0 * 1024.0;

/// A worker: when it lives, and what it grows by in a second.
struct Worker {
    from_s: u32,
    to_s: u32,
    grows: f64,
}

/// A level trainer with workers, for so many seconds.
fn run(workers: &[Worker], seconds: u32) -> Report {
    let mut analyser = Analyser::new();
    common::start(0.0).iter().for_each(|event| analyser.push(event));
    for t in 0..seconds {
        let t_s = f64::from(t);
        let mut procs = vec![ProcSample { anon: (600.0 * MIB) as u64, ..ProcSample::empty(ProcId(0)) }];
        for (index, worker) in (1..).zip(workers) {
            let id = ProcId(index);
            if t == worker.from_s {
                let process = common::trainer(index, 100 + index, 7, t_s, None);
                analyser.push(&Event::Process(Process {
                    role: Role::DataloaderWorker,
                    parent: Some(ProcId(0)),
                    name: "pt_data_worker".into(),
                    ..process
                }));
            }
            if t == worker.to_s {
                analyser.push(&Event::Exit(Exit { t_s, id }));
            }
            if (worker.from_s..worker.to_s).contains(&t) {
                let anon = (100.0 + worker.grows * f64::from(t - worker.from_s)) * MIB;
                procs.push(ProcSample { anon: anon as u64, ..ProcSample::empty(id) });
            }
        }
        let system = SystemSample { total: 64 << 30, available: 32 << 30, ..SystemSample::default() };
        analyser.push(&Event::Tick(Tick { t_s, procs, system: Some(system), ..Tick::default() }));
    }
    analyser.report()
}

fn leaks(report: &Report) -> bool {
    matches!(report.verdict, Verdict::Leak | Verdict::LikelyLeak)
}

#[test]
fn a_worker_that_leaked_to_its_end_is_named_though_the_trainer_went_on() {
    let level = || Worker { from_s: 5, to_s: 100, grows: 0.0 };
    let report = run(&[level(), Worker { grows: 1.0, ..level() }, level()], 122);
    assert!(leaks(&report), "{}", report.summary);
    let process = report.findings[0].process.as_ref().expect("a process");
    assert_eq!((process.pid, process.role), (102, "dataloader_worker"));
    assert!(!leaks(&run(&[level(), level()], 122)));
}

#[test]
fn what_went_with_workers_whose_place_was_taken_is_no_leak() {
    let second = |grows| Worker { from_s: 80, to_s: 122, grows };
    assert!(!leaks(&run(&[Worker { from_s: 5, to_s: 80, grows: 1.0 }, second(0.0)], 122)));
    // Long gone: the run was trained without it.
    assert!(!leaks(&run(&[Worker { from_s: 5, to_s: 70, grows: 1.0 }], 122)));
}

#[test]
fn what_came_since_a_workers_share_was_read_is_its_own() {
    let rollup = |private: f64| {
        let bytes = (private * MIB) as u64;
        Rollup { private_dirty: bytes, pss_anon: bytes, ..Rollup::default() }
    };
    let mut analyser = Analyser::new();
    common::start(0.0).iter().for_each(|event| analyser.push(event));
    for index in 1..3 {
        let worker = common::trainer(index, 100 + index, 7, 0.0, None);
        analyser.push(&Event::Process(Process { role: Role::DataloaderWorker, parent: Some(ProcId(0)), ..worker }));
    }
    for t in 0..120_u32 {
        // 380 of its 400 MiB are its parent's; read once, as of a process that is too big to be read often.
        let mut sample = ProcSample { anon: ((400.0 + f64::from(t)) * MIB) as u64, ..ProcSample::empty(ProcId(1)) };
        sample.rollup = (t == 0).then(|| rollup(20.0));
        // The other one was not read at all, and is guessed to share as much.
        let other = ProcSample { anon: (400.0 * MIB) as u64, ..ProcSample::empty(ProcId(2)) };
        let trainer = ProcSample { anon: (600.0 * MIB) as u64, ..ProcSample::empty(ProcId(0)) };
        analyser.push(&Event::Tick(Tick { t_s: f64::from(t), procs: vec![trainer, sample, other], ..Tick::default() }));
    }
    let report = analyser.report();
    let curves = analyser.curves(&report);
    let role = curves.roles.iter().find(|role| role.label == Role::DataloaderWorker.label()).expect("its role");
    let last = role.windows.last().expect("it was measured").last / MIB;
    assert!((last - 159.0).abs() < 3.0, "{last} MiB of twice 20 and what one grew by");
    let shown = report.processes.iter().find(|process| process.pid == 101).expect("it is shown").bytes as f64 / MIB;
    assert!((shown - 139.0).abs() < 3.0, "{shown} MiB");
}
