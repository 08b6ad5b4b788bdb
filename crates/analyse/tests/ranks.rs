//! Marks of several ranks, before the first step, with facts of Python's and the C library's heap, and lost ones.

mod common;

use lowtide_analyse::Analyser;
use lowtide_model::{
    Class, Cycle, Event, InnerFacts, Kind, Mark, MarkKind, ProcId, ProcSample, Report, Scope, ScopeMark, SystemSample, Tick,
    Verdict,
};

const MIB: f64 = 1024.0 * 1024.0;
/// Steps per second.
const PACE: u32 = 10;
/// Seconds of an epoch.
const EPOCH_S: u32 = 5;

/// One rank: its pages at a time, and what it says at a time and a step.
struct Rank {
    pages: fn(f64) -> f64,
    facts: fn(f64, u64) -> InnerFacts,
}

/// Ranks that begin to step after `set_up_s` and are watched for `seconds`.
fn run(ranks: &[Rank], set_up_s: u32, seconds: u32) -> Report {
    let mut analyser = Analyser::new();
    analyser.push(&Event::Start(common::info(&["torchrun", "train.py"])));
    let ids: Vec<ProcId> = (0..ranks.len() as u32).map(ProcId).collect();
    for id in &ids {
        analyser.push(&Event::Process(common::trainer(id.0, 100 + id.0, 7, 0.0, Some(id.0))));
    }
    for t in 0..seconds {
        let t_s = f64::from(t);
        let begun = t.saturating_sub(set_up_s);
        let steps = u64::from(begun * PACE);
        for (id, rank) in ids.iter().zip(ranks) {
            let mut say = |t_s: f64, what, steps| {
                let facts = Some((rank.facts)(t_s, steps));
                analyser.push(&Event::Mark(Mark { t_s, id: *id, what, steps, facts }));
            };
            if t >= set_up_s && begun.is_multiple_of(EPOCH_S) {
                let index = Some(u64::from(begun / EPOCH_S));
                say(t_s, MarkKind::Begin(ScopeMark { scope: Scope::Epoch, index, name: String::new() }), steps);
            }
            say(t_s, if t < set_up_s { MarkKind::On("all".into()) } else { MarkKind::Step }, steps);
        }
        let procs =
            ids.iter().zip(ranks).map(|(id, rank)| ProcSample { anon: (rank.pages)(t_s) as u64, ..ProcSample::empty(*id) });
        let system = SystemSample { total: 64 << 30, available: 32 << 30, ..SystemSample::default() };
        analyser.push(&Event::Tick(Tick { t_s, procs: procs.collect(), system: Some(system), ..Tick::default() }));
    }
    analyser.report()
}

fn level(_: f64) -> f64 {
    600.0 * MIB
}

/// One MiB a second.
fn rising(t_s: f64) -> f64 {
    (600.0 + t_s) * MIB
}

fn nothing(_: f64, _: u64) -> InnerFacts {
    InnerFacts::default()
}

#[test]
fn the_other_ranks_are_the_reference_of_the_one_that_leaks() {
    let report = run(
        &[Rank { pages: level, facts: nothing }, Rank { pages: rising, facts: nothing }, Rank { pages: level, facts: nothing }],
        0,
        120,
    );
    let leak = report.leak().expect("a leak");
    assert_eq!(leak.process.as_ref().and_then(|process| process.rank), Some(1));
    let said = leak.evidence.iter().any(|text| text.starts_with("rank 0, rank 2 took steps as well and stayed level"));
    assert!(said, "{:?}", leak.evidence);
    let together = run(&[Rank { pages: rising, facts: nothing }, Rank { pages: rising, facts: nothing }], 0, 120);
    let leak = together.leak().expect("a leak");
    assert!(!leak.evidence.iter().any(|text| text.contains("stayed level")), "{:?}", leak.evidence);
}

#[test]
fn a_rate_per_step_has_an_interval_of_its_own_and_a_forecast_in_steps_and_epochs() {
    let report = run(&[Rank { pages: rising, facts: nothing }], 0, 120);
    let leak = report.leak().expect("a leak");
    let growth = leak.growth.as_ref().expect("a rate");
    let (step, [low, high]) = (growth.bytes_per_step.expect("per step"), growth.ci95);
    assert_eq!(growth.per, Cycle::Step);
    assert!((step / (0.1 * MIB) - 1.0).abs() < 0.02 && low <= step && step <= high && high < 1.2 * step, "{growth:?}");
    let oom = leak.oom.as_ref().expect("a forecast");
    let ([_, seconds, _], [_, steps, _]) = (oom.seconds.expect("in seconds"), oom.steps.expect("in steps"));
    assert!((steps / (seconds * f64::from(PACE)) - 1.0).abs() < 0.05, "{oom:?}");
    let epoch = oom.epoch.expect("an epoch") as f64;
    assert!((epoch - (119.0 + seconds) / f64::from(EPOCH_S)).abs() < 0.02 * epoch, "{oom:?}");
}

#[test]
fn growth_before_the_first_step_is_set_up() {
    // Eighty seconds of reading a data set, then training that keeps nothing.
    fn loading(t_s: f64) -> f64 {
        (600.0 + 10.0 * t_s.min(80.0)) * MIB
    }
    // Without a step to be seen it looks like a leak.
    let unknown = run(&[Rank { pages: loading, facts: nothing }], u32::MAX, 82);
    assert!(matches!(unknown.verdict, Verdict::Leak | Verdict::LikelyLeak), "{:?}", unknown.verdict);
    let early = run(&[Rank { pages: loading, facts: nothing }], 80, 82);
    assert_eq!(early.verdict, Verdict::Undecided, "{}", early.summary);
    assert!(early.more_seconds_needed > 0.0);
    let later = run(&[Rank { pages: loading, facts: nothing }], 80, 140);
    assert_eq!(later.verdict, Verdict::NoLeak, "{} {:?}", later.summary, later.detectable_bytes_per_second);
    // And a leak of training stays one, however long it was set up.
    let leaking = run(&[Rank { pages: rising, facts: nothing }], 60, 150);
    assert!(leaking.leak().is_some(), "{}", leaking.summary);
}

#[test]
fn holes_of_the_heap_are_told_from_live_memory() {
    fn holes(t_s: f64, _: u64) -> InnerFacts {
        let free = (50.0 + t_s) * MIB;
        InnerFacts { heap_used: Some((100.0 * MIB) as u64), heap_free: Some(free as u64), ..InnerFacts::default() }
    }
    let report = run(&[Rank { pages: rising, facts: holes }], 0, 120);
    let leak = report.leak().expect("a leak");
    assert_eq!((leak.class, leak.kind, leak.phase.as_deref()), (Class::Leak, Some(Kind::AllocatorHoles), None), "{leak:?}");
    // Every other second all that is free is in use, as a validation of ever more samples needs it.
    fn filled(t_s: f64, _: u64) -> InnerFacts {
        let (room, busy) = ((50.0 + t_s) * MIB, t_s as u64 % 2 == 1);
        let used = 100.0 * MIB + if busy { room } else { 0.0 };
        let free = if busy { 0.0 } else { room };
        InnerFacts { heap_used: Some(used as u64), heap_free: Some(free as u64), ..InnerFacts::default() }
    }
    let report = run(&[Rank { pages: rising, facts: filled }], 0, 120);
    assert_eq!(report.leak().map(|leak| leak.kind), Some(Some(Kind::AllocatorHoles)), "{:?}", report.leak());
    // Nor is it holes where what lives rises, and room that swings lies above it.
    fn alive(t_s: f64, steps: u64) -> InnerFacts {
        let facts = filled(t_s, steps);
        InnerFacts { heap_used: facts.heap_used.map(|used| used + (t_s * MIB) as u64), ..facts }
    }
    let report = run(&[Rank { pages: rising, facts: alive }], 0, 120);
    assert_eq!(report.leak().map(|leak| leak.kind), Some(Some(Kind::Anonymous)), "{:?}", report.leak());
}

#[test]
fn what_python_says_of_its_objects_is_evidence() {
    fn objects(_: f64, steps: u64) -> InnerFacts {
        InnerFacts {
            gc_objects: Some(50_000 + 3 * steps),
            gc_full: Some(4),
            gc_enabled: Some(false),
            compiled: Some(u32::try_from(steps / 100).unwrap_or(u32::MAX)),
            ..InnerFacts::default()
        }
    }
    let report = run(&[Rank { pages: rising, facts: objects }], 0, 120);
    let evidence = report.leak().expect("a leak").evidence.join("; ");
    for part in
        ["tracks 3.0 objects more with each step", "no full collection", "compile cache grew from 0 to 11", "collector is off"]
    {
        assert!(evidence.contains(part), "{part}: {evidence}");
    }
    assert!(report.progress[0].gc_disabled);
}

#[test]
fn lost_marks_cost_no_step() {
    let mut analyser = Analyser::new();
    for (t_s, what, steps) in [(1.0, MarkKind::Step, 10), (2.0, MarkKind::Lost(4_000), 4_010), (3.0, MarkKind::Step, 4_020)] {
        analyser.push(&Event::Mark(Mark { t_s, id: ProcId(0), what, steps, facts: None }));
    }
    let report = analyser.report();
    assert_eq!((report.progress[0].steps, report.progress[0].lost_marks), (4_020, 4_000));
}
