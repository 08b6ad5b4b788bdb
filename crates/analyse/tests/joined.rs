//! Arrays that are joined anew in each step: each copy doubles them for a while, and takes longer the more there is.

mod common;

use lowtide_analyse::{Analyser, Review};
use lowtide_model::{Cycle, Event, InnerFacts, Mark, MarkKind, ProcId, ProcSample, Report, Tick, Verdict};

const MIB: f64 = 1024.0 * 1024.0;
/// What the program has besides.
const BASE: f64 = 300.0 * MIB;
/// Seconds of a step beside its copy, and of the copy of a MiB.
const STEP_S: f64 = 0.08;
const COPY_S: f64 = 0.001;

/// A loop that joins a MiB to an array in each step, of which at most so much is kept (MiB).
struct Joined {
    most: f64,
    /// Steps so far, and when the one that is on began.
    steps: u64,
    began_s: f64,
    /// What malloc had in use after its last step, by marks.
    marked_s: f64,
}

impl Joined {
    fn new(most: f64) -> Self {
        Self { most, steps: 0, began_s: 0.0, marked_s: 0.0 }
    }

    fn array(&self) -> f64 {
        (self.steps as f64).min(self.most)
    }

    /// Steps until a time; a mark about once a second.
    fn go(&mut self, t_s: f64, mut mark: impl FnMut(f64, u64, f64)) {
        loop {
            let ends_s = self.began_s + STEP_S + COPY_S * self.array();
            if ends_s > t_s {
                return;
            }
            self.began_s = ends_s;
            self.steps += 1;
            if ends_s - self.marked_s >= 1.0 {
                self.marked_s = ends_s;
                mark(ends_s, self.steps, self.array() * MIB);
            }
        }
    }

    /// Pages at that time: while it copies, what it has copied so far on top.
    fn pages(&self, t_s: f64) -> f64 {
        let copied = ((t_s - self.began_s - STEP_S) / (COPY_S * self.array())).clamp(0.0, 1.0);
        BASE + self.array() * MIB * (1.0 + copied)
    }
}

/// The report after so many seconds, of measurements each second from the first half minute on; `pages` of what it would be.
fn watched(seconds: f64, most: f64, marks: bool, pages: impl Fn(f64) -> f64) -> Report {
    reviewed(seconds, most, marks, false, pages).report
}

/// What watching comes to, with dense measurements or not.
fn reviewed(seconds: f64, most: f64, marks: bool, dense: bool, pages: impl Fn(f64) -> f64) -> Review {
    let mut analyser = Analyser::new();
    common::start(-100.0).iter().for_each(|event| analyser.push(event));
    let mut joined = Joined::new(most);
    let mut t_s = 0.0;
    while t_s < seconds {
        joined.go(t_s, |t_s, steps, live| {
            let facts = Some(InnerFacts { heap_used: Some(live as u64), ..InnerFacts::default() });
            if marks {
                analyser.push(&Event::Mark(Mark { t_s, id: ProcId(0), what: MarkKind::Step, steps, facts }));
            }
        });
        let sample = ProcSample { anon: pages(joined.pages(t_s)) as u64, ..ProcSample::empty(ProcId(0)) };
        analyser.push(&Event::Tick(Tick { t_s, procs: vec![sample], ..Tick::default() }));
        t_s += if dense || t_s < 30.0 { 0.2 } else { 1.0 };
    }
    analyser.review()
}

fn leaks(report: &Report) -> bool {
    matches!(report.verdict, Verdict::Leak | Verdict::LikelyLeak)
}

#[test]
fn what_is_joined_anew_in_each_step_is_found_by_what_lives_between_them() {
    for seconds in [25, 40, 50, 60, 70, 80, 90, 100, 150, 300] {
        let report = watched(f64::from(seconds), f64::INFINITY, true, |pages| pages);
        assert!(leaks(&report), "{seconds} s: {:?} {:?}", report.verdict, report.hypotheses[0]);
        let growth = report.leak().and_then(|leak| leak.growth.as_ref()).expect("a rate");
        let per_step = growth.bytes_per_step.expect("steps") / MIB;
        assert!((0.8..1.25).contains(&per_step), "{seconds} s: {growth:?}");
        assert_eq!(growth.per, Cycle::Step, "{seconds} s: a rate per second would be wrong a minute later");
    }
    let report = watched(150.0, f64::INFINITY, true, |pages| pages);
    assert_eq!(report.verdict, Verdict::Leak, "growth per second falls, and growth per step does not");
}

#[test]
fn what_is_cut_to_the_last_entries_is_no_leak_once_it_is_full() {
    for (most, seconds) in [(60.0, 40), (60.0, 90), (150.0, 60), (150.0, 120), (300.0, 150), (300.0, 300)] {
        let report = watched(f64::from(seconds), most, true, |pages| pages);
        assert!(!leaks(&report), "{most} MiB, {seconds} s: {:?} {:?}", report.verdict, report.findings);
    }
}

#[test]
fn what_lives_more_in_holes_of_the_heap_is_not_claimed() {
    // Its pages swing as before, about a level that does not rise.
    let report = watched(120.0, f64::INFINITY, true, |pages| 1500.0 * MIB + (pages - BASE) % (40.0 * MIB));
    assert_eq!(report.verdict, Verdict::Undecided, "{:?} {:?}", report.verdict, report.findings);
}

#[test]
fn without_steps_more_measurements_are_asked_for_and_tell() {
    for seconds in [40, 60, 80, 100, 150] {
        let review = reviewed(f64::from(seconds), f64::INFINITY, false, false, |pages| pages);
        assert!(review.swings_fast, "{seconds} s: {:?}", review.report.verdict);
        let report = reviewed(f64::from(seconds), f64::INFINITY, false, true, |pages| pages).report;
        assert!(leaks(&report), "{seconds} s: {:?} {:?}", report.verdict, report.hypotheses[0]);
    }
    // Nothing swings, or so slowly that each low tide is seen.
    assert!(!reviewed(60.0, f64::INFINITY, false, false, |_| BASE).swings_fast);
    let slow = |pages: f64| BASE + (pages - BASE) % (400.0 * MIB);
    assert!(!reviewed(100.0, 1e9, false, false, slow).swings_fast);
}
