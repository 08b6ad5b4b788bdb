//! Growth of training beside the growth of a set-up, which is seldom of the same slope: it is found where the run ends as it was while it
//! lasted.

mod common;

use lowtide_analyse::Analyser;
use lowtide_model::{Event, Exit, ExitStatus, Mark, MarkKind, ProcId, ProcSample, RunEnd, Tick, Verdict};

const MIB: f64 = 1024.0 * 1024.0;
/// Seconds that memory takes to go back at the end.
const FALL_S: f64 = 3.0;

/// A program that loads so many MiB, then trains and grows by so many a second until it ends.
#[derive(Clone, Copy, Debug)]
struct Program {
    set_up_s: f64,
    loads: f64,
    trains_s: f64,
    grows: f64,
}

impl Program {
    fn pages(self, t_s: f64) -> f64 {
        let trained_s = self.set_up_s + self.trains_s;
        let loaded = 20.0 + self.loads * (t_s / self.set_up_s).min(1.0);
        let warm = 40.0 * ((t_s - self.set_up_s) / 2.0).clamp(0.0, 1.0);
        let top = loaded + warm + self.grows * (t_s.min(trained_s) - self.set_up_s).max(0.0);
        // What an allocator moves by.
        let moves = 0.3 * (t_s * 12.9898).sin().abs();
        (top + moves) * (1.0 - (t_s - trained_s).max(0.0) / FALL_S).max(0.1) * MIB
    }

    /// The verdict every few seconds, and the last one.
    fn verdicts(self) -> (Vec<(f64, Verdict)>, Verdict) {
        let mut analyser = Analyser::new();
        common::start(0.0).iter().for_each(|event| analyser.push(event));
        let mut said = Vec::new();
        let (mut t_s, mut tick) = (0.0, 0_u64);
        while t_s < self.set_up_s + self.trains_s + FALL_S {
            if t_s >= self.set_up_s && t_s < self.set_up_s + self.trains_s {
                let steps = ((t_s - self.set_up_s) * 20.0) as u64 + 1;
                analyser.push(&Event::Mark(Mark { t_s, id: ProcId(0), what: MarkKind::Step, steps, facts: None }));
            }
            let sample = ProcSample { anon: self.pages(t_s) as u64, ..ProcSample::empty(ProcId(0)) };
            analyser.push(&Event::Tick(Tick { t_s, procs: vec![sample], ..Tick::default() }));
            if t_s > self.set_up_s && tick.is_multiple_of(9) {
                said.push((t_s, analyser.report().verdict));
            }
            tick += 1;
            t_s += if t_s < 30.0 { 0.2 } else { 1.0 };
        }
        analyser.push(&Event::Exit(Exit { t_s, id: ProcId(0) }));
        analyser.push(&Event::End(RunEnd { t_s, status: ExitStatus::Code(0), reason: String::new(), oom_kills: 0 }));
        (said, analyser.report().verdict)
    }
}

fn leaks(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Leak | Verdict::LikelyLeak)
}

#[test]
fn a_long_set_up_hides_no_leak_of_training_at_the_end() {
    for set_up_s in [8.0, 25.0, 70.0] {
        for loads in [100.0, 400.0] {
            for trains_s in [25.0, 60.0] {
                for grows in [1.0, 5.0, 25.0] {
                    let program = Program { set_up_s, loads, trains_s, grows };
                    let (said, last) = program.verdicts();
                    let first = said.iter().find(|(_, verdict)| leaks(*verdict));
                    assert!(first.is_none() || leaks(last), "{program:?}: claimed after {first:?}, then {last:?}");
                    assert!(trains_s < 60.0 || grows > 20.0 || leaks(last), "{program:?}: {last:?}");
                }
            }
        }
    }
}

#[test]
fn a_long_set_up_alone_is_no_leak() {
    for set_up_s in [8.0, 25.0, 70.0] {
        for loads in [100.0, 2000.0] {
            for trains_s in [25.0, 60.0] {
                let program = Program { set_up_s, loads, trains_s, grows: 0.0 };
                let (_, last) = program.verdicts();
                assert!(!leaks(last), "{program:?}: {last:?}");
            }
        }
    }
}
