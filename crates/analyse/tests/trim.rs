//! A process that we had give free memory back: the drop is our doing, so that it may neither hide a leak nor make one.

mod common;

use lowtide_analyse::Analyser;
use lowtide_model::{Answer, Class, Event, InnerFacts, Kind, Mark, MarkKind, ProcId, ProcSample, Report, Request, Tick, Verdict};

const MIB: f64 = 1024.0 * 1024.0;
/// Live bytes, level.
const LIVE: f64 = 100.0 * MIB;
/// When the process is asked, and what it gives back.
const ASKED_S: f64 = 90.0;
const GIVEN: f64 = 60.0 * MIB;

/// Holes of a MiB per second until the trim, so many after it, seen for so long. `asked` not: without the trim.
fn run(end_s: u32, after: f64, asked: bool) -> Report {
    let mut analyser = Analyser::new();
    common::start(-100.0).iter().for_each(|event| analyser.push(event));
    for t in 0..end_s {
        let t_s = f64::from(t);
        let holes = MIB * t_s.min(ASKED_S) + after * (t_s - ASKED_S).max(0.0);
        let facts = InnerFacts { heap_used: Some(LIVE as u64), heap_free: Some(holes as u64), ..InnerFacts::default() };
        let mut say = |t_s, what, facts| {
            analyser.push(&Event::Mark(Mark { t_s, id: ProcId(0), what, steps: u64::from(t) * 10, facts }));
        };
        say(t_s, MarkKind::Step, Some(facts));
        let trimmed = asked && t_s >= ASKED_S;
        if asked && t_s == ASKED_S {
            let (value, free) = (Some(GIVEN as u64), Some(holes as u64));
            let answer = Answer { request: Request::Trim, number: 1, value, free, pause_us: 12_500, why: String::new() };
            say(t_s + 0.0125, MarkKind::Answer(answer), None);
        }
        let anon = LIVE + holes - if trimmed { GIVEN } else { 0.0 };
        let sample = ProcSample { anon: anon as u64, ..ProcSample::empty(ProcId(0)) };
        analyser.push(&Event::Tick(Tick { t_s: t_s + 0.1, procs: vec![sample], ..Tick::default() }));
    }
    analyser.report()
}

#[test]
fn a_leak_of_holes_stays_one_and_is_proven() {
    let before = run(90, MIB, false);
    assert_eq!(before.leak().map(|leak| (leak.class, leak.kind)), Some((Class::Leak, Some(Kind::AllocatorHoles))));
    for end_s in [92, 95, 100, 110, 130, 150, 180, 181, 200, 400] {
        let report = run(end_s, MIB, true);
        assert_eq!(report.verdict, Verdict::Leak, "after {end_s} s");
        let leak = report.leak().expect("it leaks");
        assert_eq!((leak.class, leak.kind), (Class::AllocatorRetention, Some(Kind::AllocatorHoles)), "{:?}", leak.evidence);
        let rate = leak.growth.as_ref().map_or(0.0, |growth| growth.bytes_per_second);
        assert!((rate / MIB - 1.0).abs() < 0.1, "after {end_s} s {rate}");
        let said = |text: &String| text.starts_with("malloc_trim gave back 60 MiB of 90 MiB that were free");
        assert!(leak.evidence.iter().any(said), "{:?}", leak.evidence);
        assert_eq!(report.cost.stops_ms, [12.5]);
    }
}

#[test]
fn what_never_grows_again_is_no_leak_in_the_end() {
    assert_eq!(run(120, 0.0, true).verdict, Verdict::Leak, "too soon to say");
    let report = run(400, 0.0, true);
    assert_eq!(report.verdict, Verdict::NoLeak, "{:?}", report.findings);
}

#[test]
fn what_went_back_is_no_spike() {
    let spikes = |report: &Report| report.findings.iter().any(|finding| finding.class == Class::Spikes);
    assert!(!spikes(&run(200, MIB, true)));
    let tree = &run(200, MIB, true).roles[0];
    assert_eq!((tree.spike_bytes, tree.peak_bytes >> 20), (0, 239), "but the peak was there");
}
