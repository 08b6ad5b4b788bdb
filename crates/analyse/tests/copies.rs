//! Children that copy the pages that they share with the process they were forked from.

mod common;

use lowtide_analyse::Analyser;
use lowtide_model::{Event, HypothesisState, ProcId, ProcSample, Process, Report, Role, Rollup, SystemSample, Tick, Verdict};

const MIB: f64 = 1024.0 * 1024.0;

/// How copies are measured.
#[derive(Clone, Copy)]
enum Measure {
    Pss,
    Private,
    /// One now, the other then.
    InTurns,
}

/// A trainer of 3 GiB with four workers, each of which makes so many more MiB its own in a second while its resident
/// memory stands still.
fn run(measure: Measure, copies: f64) -> Report {
    let mut analyser = Analyser::new();
    common::start(0.0).iter().for_each(|event| analyser.push(event));
    let anon = (3072.0 * MIB) as u64;
    for id in 1..=4 {
        analyser.push(&Event::Process(Process {
            role: Role::DataloaderWorker,
            parent: Some(ProcId(0)),
            ..common::trainer(id, 100 + id, 7, 0.0, None)
        }));
    }
    for t in 0..120_u32 {
        let mut procs = vec![ProcSample { anon, ..ProcSample::empty(ProcId(0)) }];
        for id in 1..=4 {
            let mine = ((20.0 + copies * f64::from(t)) * MIB) as u64;
            let rollup = Rollup { pss: mine, pss_anon: mine, private_dirty: mine, ..Rollup::default() };
            let by_pss = match measure {
                Measure::Pss => true,
                Measure::Private => false,
                Measure::InTurns => t % 2 == 0,
            };
            // Another level, as the two measures do not agree on what is shared.
            let private = Some(mine + (500.0 * MIB) as u64);
            procs.push(match by_pss {
                true => ProcSample { anon, rollup: Some(rollup), ..ProcSample::empty(ProcId(id)) },
                false => ProcSample { anon, private_anon: private, ..ProcSample::empty(ProcId(id)) },
            });
        }
        let system = SystemSample { total: 64 << 30, available: 32 << 30, ..SystemSample::default() };
        analyser.push(&Event::Tick(Tick { t_s: f64::from(t), procs, system: Some(system), ..Tick::default() }));
    }
    analyser.report()
}

/// What the report says of workers that copy.
fn said(report: &Report) -> HypothesisState {
    let about = report.hypotheses.iter().find(|hypothesis| hypothesis.name.contains("copy-on-write"));
    about.expect("it is weighed").state
}

#[test]
fn copies_show_by_pss_and_by_private_pages_alike() {
    for measure in [Measure::Pss, Measure::Private] {
        assert_eq!(said(&run(measure, 0.5)), HypothesisState::Holds);
        assert_eq!(said(&run(measure, 0.0)), HypothesisState::RuledOut);
    }
}

#[test]
fn a_worker_that_fills_a_buffer_of_its_own_copies_nothing() {
    let verdict = |asked: Option<u64>| {
        let mut analyser = Analyser::new();
        common::start(0.0).iter().for_each(|event| analyser.push(event));
        analyser.push(&Event::Process(Process {
            role: Role::DataloaderWorker,
            parent: Some(ProcId(0)),
            ..common::trainer(1, 101, 7, 0.0, None)
        }));
        for t in 0..120_u32 {
            let grown = (3.0 * f64::from(t) * MIB) as u64;
            let private = Some((20 << 20) + grown);
            let worker =
                ProcSample { anon: (512 << 20) + grown, private_anon: private, data: asked, ..ProcSample::empty(ProcId(1)) };
            let procs = vec![ProcSample { anon: 3 << 30, ..ProcSample::empty(ProcId(0)) }, worker];
            let system = SystemSample { total: 64 << 30, available: 32 << 30, ..SystemSample::default() };
            analyser.push(&Event::Tick(Tick { t_s: f64::from(t), procs, system: Some(system), ..Tick::default() }));
        }
        analyser.report().verdict
    };
    assert_eq!(verdict(Some(8 << 30)), Verdict::Undecided);
    assert!(matches!(verdict(None), Verdict::Leak | Verdict::LikelyLeak), "nobody told what was asked for");
}

#[test]
fn the_difference_between_two_measures_is_no_copy() {
    assert_ne!(said(&run(Measure::InTurns, 0.0)), HypothesisState::Holds);
}
