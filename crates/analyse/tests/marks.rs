//! Marks in a report: growth per step and epoch, the phase, and what live memory adds to a verdict.

mod common;

use lowtide_analyse::Analyser;
use lowtide_model::{Event, InnerFacts, Kind, Mark, MarkKind, ProcId, ProcSample, Report, Scope, ScopeMark, Tick, Verdict};

const MIB: f64 = 1024.0 * 1024.0;
/// Seconds of an epoch: four of training at ten steps a second, one of validation.
const EPOCH_S: u32 = 5;

/// A run of two minutes: pages and live bytes by the time, and which marks it has.
fn run(pages: impl Fn(f64) -> f64, live: impl Fn(f64) -> f64, marked: bool) -> Report {
    run_of(-100.0, 120, pages, live, marked)
}

/// The same, which takes steps until some second.
fn run_until(last: u32, pages: impl Fn(f64) -> f64, live: impl Fn(f64) -> f64, marked: bool) -> Report {
    run_of(-100.0, last, pages, live, marked)
}

/// The same of a process that began at a time.
fn run_of(start_s: f64, last: u32, pages: impl Fn(f64) -> f64, live: impl Fn(f64) -> f64, marked: bool) -> Report {
    let mut analyser = Analyser::new();
    common::start(start_s).iter().for_each(|event| analyser.push(event));
    let mut steps = 0;
    for t in 0..120_u32 {
        let t_s = f64::from(t);
        if marked && t < last {
            let facts = |live: f64| InnerFacts { heap_used: Some(live as u64), ..InnerFacts::default() };
            let mut say = |what, steps| {
                analyser.push(&Event::Mark(Mark { t_s, id: ProcId(0), what, steps, facts: Some(facts(live(t_s))) }));
            };
            let scope = |scope, index, name: &str| MarkKind::Begin(ScopeMark { scope, index, name: name.to_owned() });
            if t % EPOCH_S == 0 {
                say(scope(Scope::Epoch, Some(u64::from(t / EPOCH_S)), ""), steps);
                say(scope(Scope::Phase, None, "train"), steps);
            }
            if t % EPOCH_S == 4 {
                // The last step of training, just before: what is taken between the two is neither's.
                say(MarkKind::Step, steps);
                say(scope(Scope::Phase, None, "validation"), steps);
            } else {
                steps += 10;
                say(MarkKind::Step, steps);
            }
        }
        let sample = ProcSample { anon: pages(t_s) as u64, ..ProcSample::empty(ProcId(0)) };
        analyser.push(&Event::Tick(Tick { t_s, procs: vec![sample], ..Tick::default() }));
    }
    analyser.report()
}

/// Grows in training only.
fn in_training(t_s: f64) -> f64 {
    let epochs = (t_s / 5.0).floor();
    300.0 * MIB + (epochs * 4.0 + (t_s - epochs * 5.0).min(4.0)) * MIB
}

#[test]
fn growth_is_told_per_step_and_epoch_and_by_its_phase() {
    let report = run(in_training, in_training, true);
    let leak = report.leak().expect("a leak");
    let growth = leak.growth.as_ref().expect("a rate");
    let near = |value: Option<f64>, wanted: f64| value.is_some_and(|value| (value / wanted - 1.0).abs() < 0.05);
    // 4 MiB and 40 steps an epoch.
    assert!(near(growth.bytes_per_step, 0.1 * MIB), "{growth:?}");
    assert!(near(growth.live_bytes_per_step, 0.1 * MIB), "{growth:?}");
    assert!(near(growth.bytes_per_epoch, 4.0 * MIB), "{growth:?}");
    assert_eq!(leak.phase.as_deref(), Some("train"), "{:?}", leak.evidence);
    assert_eq!(report.progress[0].steps, 960);
    assert_eq!(report.epochs.len(), 24);
}

#[test]
fn without_marks_nothing_is_said_of_steps() {
    let report = run(in_training, in_training, false);
    let growth = report.leak().and_then(|leak| leak.growth.as_ref()).expect("a leak");
    assert_eq!((growth.bytes_per_step, growth.bytes_per_epoch, growth.live_bytes_per_step), (None, None, None));
    assert!(report.progress.is_empty() && report.epochs.is_empty());
}

#[test]
fn live_memory_that_fills_holes_forbids_no_leak() {
    let level = |_| 500.0 * MIB;
    assert_eq!(run(level, level, true).verdict, Verdict::NoLeak);
    let report = run(level, in_training, true);
    assert_eq!(report.verdict, Verdict::Undecided, "{:?}", report.hypotheses);
    assert!(report.hypotheses[0].evidence.contains("live memory"), "{:?}", report.hypotheses[0]);
}

#[test]
fn growth_without_live_memory_is_of_another_kind() {
    let level = |_| 100.0 * MIB;
    let report = run(in_training, level, true);
    let leak = report.leak().expect("a leak");
    assert_eq!(leak.phase, None);
    assert_eq!(leak.kind, Some(Kind::Anonymous), "holes were not seen to grow");
    assert!(leak.evidence.iter().any(|text| text.contains("does not grow with it")), "{:?}", leak.evidence);
}

#[test]
fn what_filled_up_for_a_short_time_and_was_level_for_long_is_not_claimed() {
    let until = |t_s: f64| in_training(t_s.min(40.0));
    assert!(!matches!(run_until(40, until, until, true).verdict, Verdict::Leak | Verdict::LikelyLeak));
}

#[test]
fn what_comes_after_the_last_step_does_not_end_growth() {
    for last in [90, 110, 116] {
        let until = |t_s: f64| in_training(t_s.min(f64::from(last)));
        let verdict = |steps| run_until(steps, until, until, true).verdict;
        assert!(matches!(verdict(last), Verdict::Leak | Verdict::LikelyLeak), "no steps after {last} s: {:?}", verdict(last));
        // A few seconds are a pause like any other.
        let ended = !matches!(verdict(120), Verdict::Leak | Verdict::LikelyLeak);
        assert!(ended || last > 110, "it goes on without growth after {last} s");
    }
}

#[test]
fn what_grows_fast_from_the_start_is_no_loading_where_epochs_go_by() {
    let fast = |t_s: f64| 300.0 * MIB + 30.0 * MIB * t_s;
    let report = run_of(0.0, 120, fast, fast, true);
    assert!(report.leak().is_some(), "{:?} {:?}", report.verdict, report.hypotheses);
    // Nothing tells it from loading where nothing is said of steps.
    let report = run_of(0.0, 120, fast, fast, false);
    assert!(report.leak().is_none() && report.verdict == Verdict::Undecided, "{:?} {:?}", report.verdict, report.findings);
}
