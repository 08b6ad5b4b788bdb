//! /dev/shm that rises, and no process of the run has it mapped: segments that were never unlinked, or somebody else's.

mod common;

use lowtide_analyse::Analyser;
use lowtide_model::{Event, Kind, ProcId, ProcSample, Process, Report, Role, SystemSample, Tick, Verdict};

const MIB: u64 = 1 << 20;

/// A level trainer of 300 MiB beside which /dev/shm has `shm(t)` bytes, with a resource tracker or without.
fn seen(tracker: bool, shm: impl Fn(u64) -> u64) -> Report {
    let mut analyser = Analyser::new();
    common::start(-100.0).iter().for_each(|event| analyser.push(event));
    if tracker {
        let process = common::trainer(1, 8, 7, 0.0, None);
        analyser.push(&Event::Process(Process { role: Role::ResourceTracker, ..process }));
    }
    for t in 0..180_u64 {
        let one = |id, anon| ProcSample { anon, shmem: 72 << 10, ..ProcSample::empty(ProcId(id)) };
        let procs = [one(0, 300 * MIB), one(1, 6 * MIB)].into_iter().take(if tracker { 2 } else { 1 }).collect();
        let system = SystemSample { total: 64 << 30, available: 32 << 30, dev_shm_used: shm(t), ..SystemSample::default() };
        analyser.push(&Event::Tick(Tick { t_s: t as f64 / 2.0, procs, system: Some(system), ..Tick::default() }));
    }
    analyser.report()
}

#[test]
fn where_the_run_makes_segments_by_name_it_is_likely_theirs() {
    let report = seen(true, |t| t * MIB);
    assert_eq!(report.verdict, Verdict::LikelyLeak, "{:?}", report.findings);
    let first = &report.findings[0];
    assert_eq!(first.resource, "shm");
    assert!(first.evidence.iter().any(|line| line.contains("resource tracker")), "{:?}", first.evidence);
}

#[test]
fn what_stops_or_comes_and_goes_is_no_leak() {
    assert_eq!(seen(true, |t| t.min(40) * MIB).verdict, Verdict::NoLeak);
    assert_eq!(seen(true, |t| (t % 20) * 5 * MIB).verdict, Verdict::NoLeak);
    assert_eq!(seen(true, |_| 900 * MIB).verdict, Verdict::NoLeak);
}

#[test]
fn where_nothing_links_it_to_the_run_it_is_a_warning() {
    let report = seen(false, |t| t * MIB);
    assert_eq!(report.verdict, Verdict::NoLeak, "{:?}", report.findings);
    assert!(report.warnings.iter().any(|line| line.starts_with("/dev/shm rose by")), "{:?}", report.warnings);
    assert_eq!(seen(false, |_| 900 * MIB).warnings, Vec::<String>::new());
}

#[test]
fn what_filled_up_there_is_nobodys_growth() {
    let mut analyser = Analyser::new();
    common::start(-100.0).iter().for_each(|event| analyser.push(event));
    let tracker = common::trainer(1, 8, 7, 0.0, None);
    analyser.push(&Event::Process(Process { role: Role::ResourceTracker, ..tracker }));
    for t in 0..180_u64 {
        let shm = t.min(40) * MIB;
        let one = |id, anon, shmem| ProcSample { anon, shmem, ..ProcSample::empty(ProcId(id)) };
        let procs = vec![one(0, 300 * MIB, 8 * MIB), one(1, 6 * MIB, 0)];
        let system = SystemSample { total: 64 << 30, available: 32 << 30, dev_shm_used: shm, ..SystemSample::default() };
        analyser.push(&Event::Tick(Tick { t_s: t as f64 / 2.0, procs, system: Some(system), ..Tick::default() }));
    }
    let report = analyser.report();
    let bounded = report.findings.iter().find(|finding| finding.kind == Some(Kind::Shmem)).expect("that it rose is told");
    assert_eq!(bounded.process.as_ref().map(|process| process.role_label.as_str()), Some("/dev/shm"), "{bounded:?}");
}
