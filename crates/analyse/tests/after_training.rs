//! What a program does after its last step says little of what grew until then.

mod common;

use lowtide_analyse::Analyser;
use lowtide_model::{Event, Mark, MarkKind, ProcId, ProcSample, Tick, Verdict};

const MIB: f64 = 1024.0 * 1024.0;

/// The verdict on a program that trains for so long and grows for so long, 3 MiB a second, and stays there for a while.
fn verdict(trains_s: f64, grows_s: f64, stays_s: f64) -> Verdict {
    let mut analyser = Analyser::new();
    common::start(0.0).iter().for_each(|event| analyser.push(event));
    let mut tick = 0;
    loop {
        let t_s = f64::from(tick) / 2.0;
        if t_s > trains_s + stays_s {
            return analyser.report().verdict;
        }
        if t_s <= trains_s {
            let steps = tick as u64 * 5 + 1;
            analyser.push(&Event::Mark(Mark { t_s, id: ProcId(0), what: MarkKind::Step, steps, facts: None }));
        }
        let pages = 200.0 + 3.0 * t_s.min(grows_s) + 0.2 * (t_s * 12.9898).sin().abs();
        let sample = ProcSample { anon: (pages * MIB) as u64, ..ProcSample::empty(ProcId(0)) };
        analyser.push(&Event::Tick(Tick { t_s, procs: vec![sample], ..Tick::default() }));
        tick += 1;
    }
}

#[test]
fn growth_that_ends_with_the_last_step_was_growth_of_training() {
    for stays_s in [5.0, 15.0, 25.0, 40.0] {
        assert!(
            matches!(verdict(44.0, 44.0, stays_s), Verdict::Leak | Verdict::LikelyLeak),
            "a process that takes {stays_s} s to end: {:?}",
            verdict(44.0, 44.0, stays_s)
        );
    }
    assert_eq!(verdict(44.0, 44.0, 120.0), Verdict::NoLeak, "it went on for far longer without");
}

#[test]
fn growth_that_ended_before_was_full() {
    for stays_s in [25.0, 40.0] {
        assert_eq!(verdict(80.0, 44.0, stays_s), Verdict::NoLeak, "{stays_s} s after");
    }
}
