//! What rises before a training's first step is its start-up, and nobody asks about it.

mod common;

use lowtide_analyse::Analyser;
use lowtide_model::{Class, Event, Mark, MarkKind, ProcId, ProcSample, Report, Tick, Verdict};

const MIB: f64 = 1024.0 * 1024.0;

/// Two minutes of a training that loads 300 MiB from the 5th to the 35th second. Steps are counted from `first_step_s` on.
fn run(first_step_s: Option<u32>) -> Report {
    let mut analyser = Analyser::new();
    common::start(-100.0).iter().for_each(|event| analyser.push(event));
    let mut steps = 0;
    for t in 0..120_u32 {
        let t_s = f64::from(t);
        if first_step_s.is_some_and(|first_s| t >= first_s) {
            steps += 10;
            analyser.push(&Event::Mark(Mark { t_s, id: ProcId(0), what: MarkKind::Step, steps, facts: None }));
        }
        let loaded = (t_s - 5.0).clamp(0.0, 30.0) * 10.0;
        let sample = ProcSample { anon: ((100.0 + loaded) * MIB) as u64, ..ProcSample::empty(ProcId(0)) };
        analyser.push(&Event::Tick(Tick { t_s, procs: vec![sample], ..Tick::default() }));
    }
    analyser.report()
}

fn speaks_of_growth(report: &Report) -> bool {
    report.findings.iter().any(|finding| finding.class == Class::BoundedGrowth)
}

#[test]
fn what_rose_before_the_first_step_is_left_out() {
    let report = run(Some(36));
    assert_eq!(report.verdict, Verdict::NoLeak, "{:?}", report.hypotheses);
    assert!(!speaks_of_growth(&report), "{:?}", report.findings);
}

#[test]
fn what_rises_while_steps_are_taken_or_cannot_be_told_apart_is_told() {
    for first_step_s in [Some(6), None] {
        let report = run(first_step_s);
        assert!(
            speaks_of_growth(&report),
            "{first_step_s:?}: {:?} {:?} {:?}",
            report.findings,
            report.verdict,
            report.hypotheses
        );
    }
}
