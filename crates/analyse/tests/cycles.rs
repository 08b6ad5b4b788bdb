//! Pages that rise while cycles of Python objects wait for the collector: open while collections bring what is alive back.

mod common;

use lowtide_analyse::Analyser;
use lowtide_model::{Event, InnerFacts, Mark, MarkKind, ProcId, ProcSample, Report, Scope, ScopeMark, Tick, Verdict};

const MIB: f64 = 1024.0 * 1024.0;
/// Growth of pages, bytes per second.
const GROWTH: f64 = MIB;
/// What an epoch of two seconds adds, bytes.
const ADDS: f64 = 4.0 * MIB;

/// A report on so many seconds of a program whose pages rise, with a full collection every so many epochs until some time.
/// `leaks`: what a collection leaves alive rises with the pages.
fn run(end_s: u32, every: u32, collects_until_s: f64, leaks: bool) -> Report {
    let mut analyser = Analyser::new();
    common::start(-100.0).iter().for_each(|event| analyser.push(event));
    let (mut waiting, mut collections) = (0.0, 3);
    for tick in 0..end_s * 5 {
        let t_s = f64::from(tick) / 5.0;
        let epoch = tick / 10;
        let begins = tick % 10 == 0;
        if begins && epoch > 0 {
            waiting += ADDS;
            if epoch % every == 0 && t_s < collects_until_s {
                (waiting, collections) = (0.0, collections + 1);
            }
        }
        let left = if leaks { GROWTH * t_s } else { 0.0 };
        let facts = InnerFacts {
            heap_used: Some((200.0 * MIB + left + waiting) as u64),
            heap_free: Some(MIB as u64),
            gc_full: Some(collections),
            ..InnerFacts::default()
        };
        let begun = ScopeMark { scope: Scope::Epoch, name: String::new(), index: Some(u64::from(epoch)) };
        let what = if begins && epoch > 0 { MarkKind::Begin(begun) } else { MarkKind::Step };
        let steps = u64::from(tick) + 1;
        analyser.push(&Event::Mark(Mark { t_s, id: ProcId(0), what, steps, facts: Some(facts) }));
        let sample = ProcSample { anon: (250.0 * MIB + GROWTH * t_s) as u64, ..ProcSample::empty(ProcId(0)) };
        analyser.push(&Event::Tick(Tick { t_s: t_s + 0.1, procs: vec![sample], ..Tick::default() }));
    }
    analyser.report()
}

#[test]
fn pages_that_rise_while_collections_bring_memory_back_are_open() {
    for end_s in [36, 50] {
        let report = run(end_s, 3, f64::MAX, false);
        assert_eq!(report.verdict, Verdict::Undecided, "after {end_s} s: {}", report.summary);
        assert!(report.more_seconds_needed >= 1.0, "{}", report.more_seconds_needed);
        let open = report.hypotheses.iter().any(|hypothesis| hypothesis.evidence.contains("cycles may be waiting"));
        assert!(open, "{:?}", report.hypotheses);
    }
}

#[test]
fn what_collections_leave_alive_makes_it_a_leak() {
    let report = run(36, 3, f64::MAX, true);
    assert_eq!(report.verdict, Verdict::LikelyLeak, "{}", report.summary);
}

#[test]
fn it_is_held_back_no_longer_than_it_takes_to_tell() {
    assert_eq!(run(80, 3, f64::MAX, false).verdict, Verdict::Leak, "pages rise for more than a minute all the same");
    assert_ne!(run(60, 3, 20.0, false).verdict, Verdict::Undecided, "the collections that it waits for have ended");
}
