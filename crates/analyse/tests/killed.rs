//! A run under a version 2 cgroup, killed at its limit, as the events of a recording.

mod common;

use lowtide_analyse::Analyser;
use lowtide_model::{Cgroup, CgroupId, CgroupSample, CgroupVersion, Class, Event, ExitStatus, ProcId, ProcSample, RunEnd, Tick};

const MIB: u64 = 1 << 20;

fn start() -> [Event; 4] {
    let [info, process] = common::start(0.0);
    let cgroup = |id, path: &str| Event::Cgroup(Cgroup { id: CgroupId(id), path: path.into(), version: CgroupVersion::V2 });
    [info, process, cgroup(0, "/pod/container"), cgroup(1, "/pod")]
}

fn tick(t: u32, kills: u64) -> Event {
    let anon = 200 * MIB + u64::from(t) * 4 * MIB;
    let cgroup = |id, limit| {
        let mut sample = CgroupSample::empty(CgroupId(id));
        // A third of what is charged is page cache that the kernel would drop first.
        (sample.usage, sample.anon, sample.inactive_file) = (anon + 100 * MIB, anon, 100 * MIB);
        (sample.limit, sample.oom_kills) = (limit, kills);
        sample
    };
    let sample = ProcSample { anon, ..ProcSample::empty(ProcId(0)) };
    let cgroups = vec![cgroup(0, Some(700 * MIB)), cgroup(1, Some(4096 * MIB))];
    Event::Tick(Tick { t_s: f64::from(t), procs: vec![sample], cgroups, ..Tick::default() })
}

fn run(ticks: u32) -> Analyser {
    let mut analyser = Analyser::new();
    start().iter().for_each(|event| analyser.push(event));
    (0..ticks).for_each(|t| analyser.push(&tick(t, 3)));
    analyser
}

#[test]
fn the_forecast_is_by_the_working_set_of_the_tightest_cgroup() {
    let report = run(80).report();
    let oom = report.leak().and_then(|f| f.oom.as_ref()).expect("a forecast");
    assert_eq!((oom.limit.as_str(), oom.limit_bytes), ("cgroup", 700 * MIB));
    // 700 - (200 + 79 * 4) MiB at 4 MiB a second.
    let [low, middle, high] = oom.seconds.expect("seconds");
    assert!(low <= middle && middle <= high && (middle - 46.0).abs() < 3.0, "{low} {middle} {high}");
}

#[test]
fn a_kill_is_told_with_limit_holder_and_forecast() {
    let mut analyser = run(125);
    analyser.push(&tick(125, 4));
    analyser.push(&Event::End(RunEnd { t_s: 125.5, status: ExitStatus::Signal(9), reason: String::new(), oom_kills: 1 }));
    let report = analyser.report();
    let killed = report.findings.first().expect("findings");
    assert_eq!(killed.class, Class::Oom);
    assert!(killed.is_kill() && killed.text.contains("/pod/container") && killed.text.contains("700 MiB"), "{}", killed.text);
    assert!(killed.evidence.iter().any(|line| line.contains("foretold")), "{:?}", killed.evidence);
    assert_eq!(report.run.ended, "signal 9");
}

#[test]
fn a_signal_9_without_a_counted_kill_is_no_oom() {
    let mut analyser = run(60);
    analyser.push(&Event::End(RunEnd { t_s: 60.5, status: ExitStatus::Signal(9), reason: String::new(), oom_kills: 0 }));
    assert!(analyser.report().findings.iter().all(|finding| finding.class != Class::Oom));
}
