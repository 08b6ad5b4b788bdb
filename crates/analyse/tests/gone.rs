//! Processes that rose until they ended, before the run did: what is claimed of them, left open, or gone with them.

mod common;

use lowtide_analyse::Analyser;
use lowtide_model::{
    Event, Exit, HypothesisState, Mark, MarkKind, ProcId, ProcSample, Process, Report, Role, SystemSample, Tick, Verdict,
};

const MIB: f64 = 1024.0 * 1024.0;

/// A process beside the trainer: its role, when it lives, and what it has above its 100 MiB by the seconds that it has lived.
#[derive(Clone, Copy)]
struct Beside {
    role: Role,
    from_s: u32,
    to_s: u32,
    has: fn(f64) -> f64,
}

/// A run with a level trainer, which takes steps between two times, if it tells of any.
struct Run {
    trains: Option<(u32, u32)>,
    seconds: u32,
}

const fn worker(from_s: u32, to_s: u32, has: fn(f64) -> f64) -> Beside {
    Beside { role: Role::DataloaderWorker, from_s, to_s, has }
}

const fn helper(from_s: u32, to_s: u32, has: fn(f64) -> f64) -> Beside {
    Beside { role: Role::Other, from_s, to_s, has }
}

/// Two MiB a second.
fn rises(age_s: f64) -> f64 {
    2.0 * age_s
}

fn level(_: f64) -> f64 {
    0.0
}

/// Full after half a minute.
fn fills_up(age_s: f64) -> f64 {
    4.0 * age_s.min(30.0)
}

impl Run {
    fn with(&self, beside: &[Beside]) -> Report {
        let mut analyser = Analyser::new();
        common::start(0.0).iter().for_each(|event| analyser.push(event));
        let mut steps = 0;
        for t in 0..self.seconds {
            let t_s = f64::from(t);
            if self.trains.is_some_and(|(from_s, to_s)| (from_s..to_s).contains(&t)) {
                steps += 10;
                analyser.push(&Event::Mark(Mark { t_s, id: ProcId(0), what: MarkKind::Step, steps, facts: None }));
            }
            let mut procs = vec![ProcSample { anon: (600.0 * MIB) as u64, ..ProcSample::empty(ProcId(0)) }];
            for (index, one) in (1..).zip(beside) {
                let id = ProcId(index);
                if t == one.from_s {
                    let process = common::trainer(index, 100 + index, 7, t_s, None);
                    analyser.push(&Event::Process(Process { role: one.role, parent: Some(ProcId(0)), ..process }));
                }
                if t == one.to_s {
                    analyser.push(&Event::Exit(Exit { t_s, id }));
                }
                if (one.from_s..one.to_s).contains(&t) {
                    let anon = (100.0 + (one.has)(f64::from(t - one.from_s))) * MIB;
                    procs.push(ProcSample { anon: anon as u64, ..ProcSample::empty(id) });
                }
            }
            let system = SystemSample { total: 64 << 30, available: 32 << 30, ..SystemSample::default() };
            analyser.push(&Event::Tick(Tick { t_s, procs, system: Some(system), ..Tick::default() }));
        }
        analyser.report()
    }

    fn verdict(&self, beside: &[Beside]) -> Verdict {
        self.with(beside).verdict
    }
}

fn leaks(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Leak | Verdict::LikelyLeak)
}

#[test]
fn a_worker_that_leaked_for_all_of_training_leaks_however_long_set_up_and_evaluation_take() {
    for set_up_s in [5, 70, 300] {
        for tail_s in [5, 40, 90, 600] {
            let (from_s, to_s) = (set_up_s, set_up_s + 62);
            let run = Run { trains: Some((from_s, to_s)), seconds: to_s + tail_s };
            let report = run.with(&[worker(from_s, to_s, level), worker(from_s, to_s, rises)]);
            assert!(leaks(report.verdict), "{set_up_s} s before, {tail_s} s after: {} {:?}", report.summary, report.hypotheses);
            let found = report.leak().expect("a finding");
            assert_eq!(found.process.as_ref().map(|process| process.pid), Some(102));
            let told = found.evidence.iter().any(|text| text.contains("the process ended at"));
            assert!(told || tail_s < 15, "{:?}", found.evidence);
            assert!(found.oom.is_none() || tail_s < 15, "what has ended fills nothing up: {:?}", found.oom);
            assert_eq!(run.verdict(&[worker(from_s, to_s, level), worker(from_s, to_s, level)]), Verdict::NoLeak);
        }
    }
}

#[test]
fn the_workers_of_an_evaluation_do_not_take_the_place_of_those_of_training() {
    let run = Run { trains: Some((70, 130)), seconds: 230 };
    let evaluation = worker(131, 225, level);
    assert!(leaks(run.verdict(&[worker(70, 130, rises), evaluation])));
    assert!(leaks(run.verdict(&[worker(70, 130, rises), worker(70, 130, rises), evaluation, evaluation])));
    assert_eq!(run.verdict(&[worker(70, 130, level), evaluation]), Verdict::NoLeak);
}

#[test]
fn workers_that_are_made_anew_each_epoch_take_with_them_what_they_grew_by() {
    for of_each in [1, 2] {
        for epochs in [2, 3, 5] {
            for tail_s in [0, 30] {
                let end_s = 20 + 40 * epochs;
                let run = Run { trains: Some((20, end_s)), seconds: end_s + tail_s };
                let made = |epoch: u32| std::iter::repeat_n(worker(20 + 40 * epoch, 59 + 40 * epoch, rises), of_each);
                let report = run.with(&(0..epochs).flat_map(made).collect::<Vec<_>>());
                assert_eq!(
                    report.verdict,
                    Verdict::NoLeak,
                    "{of_each}, {epochs}, {tail_s}: {} {:?}",
                    report.summary,
                    report.hypotheses
                );
            }
        }
    }
}

#[test]
fn one_that_outlives_and_outgrows_those_before_it_is_no_link_of_a_chain() {
    // A few batches are tried with workers of their own, before those that stay.
    let run = Run { trains: Some((20, 150)), seconds: 150 };
    let tried = worker(5, 11, level);
    assert!(leaks(run.verdict(&[tried, tried, worker(20, 150, rises), worker(20, 150, level)])));
    assert_eq!(run.verdict(&[tried, tried, worker(20, 150, level), worker(20, 150, level)]), Verdict::NoLeak);
}

#[test]
fn training_that_went_on_without_it_for_as_long_shows_that_its_rise_had_an_end() {
    let run = |end_s| Run { trains: Some((10, end_s)), seconds: end_s };
    let early = [worker(10, 60, rises)];
    assert!(leaks(run(85).verdict(&early)), "half as long shows nothing");
    assert_eq!(run(130).verdict(&early), Verdict::NoLeak);
}

#[test]
fn a_helper_that_loads_data_and_exits_is_part_of_the_set_up() {
    for role in [Role::Other, Role::ForkedChild, Role::DataloaderWorker] {
        let helper = Beside { role, ..helper(5, 65, rises) };
        let run = Run { trains: Some((60, 150)), seconds: 160 };
        assert_eq!(run.verdict(&[helper]), Verdict::NoLeak, "{role:?}");
    }
    // Where no steps are told, the run has to go on for as long as it had lived.
    assert_eq!(Run { trains: None, seconds: 160 }.verdict(&[helper(5, 65, rises)]), Verdict::NoLeak);
    assert_eq!(Run { trains: None, seconds: 100 }.verdict(&[helper(5, 65, rises)]), Verdict::Undecided);
}

#[test]
fn a_worker_that_was_full_before_it_ended_is_no_leak() {
    for trains in [None, Some((70, 170))] {
        let run = Run { trains, seconds: 300 };
        assert_eq!(run.verdict(&[worker(70, 170, fills_up)]), Verdict::NoLeak, "{trains:?}");
    }
}

#[test]
fn without_steps_what_a_worker_rose_by_to_its_end_is_left_open_and_never_cleared() {
    for tail_s in [30, 90, 400] {
        let run = Run { trains: None, seconds: 130 + tail_s };
        for beside in [vec![worker(70, 130, rises)], vec![worker(70, 130, rises), worker(131, 125 + tail_s, level)]] {
            let report = run.with(&beside);
            assert_eq!(report.verdict, Verdict::Undecided, "{tail_s}: {}", report.summary);
            let open = report.hypotheses.iter().find(|hypothesis| hypothesis.state == HypothesisState::Open).expect("open");
            assert!(open.evidence.starts_with("pid 101 rose by 1") && open.evidence.contains("to its end"), "{open:?}");
        }
    }
    // Little beside all that the run has is not worth that.
    let little = worker(70, 130, |age_s| 0.05 * age_s);
    assert_eq!(Run { trains: None, seconds: 300 }.verdict(&[little]), Verdict::NoLeak);
}

#[test]
fn an_end_that_takes_seconds_hides_nothing() {
    // Ten seconds in which all goes back.
    fn slow_end(age_s: f64) -> f64 {
        rises(age_s.min(60.0)) * (1.0 - (age_s - 60.0).max(0.0) / 10.0).max(0.0)
    }
    let run = Run { trains: Some((70, 130)), seconds: 240 };
    assert!(leaks(run.verdict(&[worker(70, 140, slow_end)])));
    // The next ones are there before the last is gone.
    let run = Run { trains: Some((10, 290)), seconds: 290 };
    let epoch = |n: u32| worker(10 + 70 * n, 83 + 70 * n, slow_end);
    let report = run.with(&(0..4).map(epoch).collect::<Vec<_>>());
    assert_eq!(report.verdict, Verdict::NoLeak, "{} {:?}", report.summary, report.hypotheses);
}

#[test]
fn trainers_one_after_another_that_all_leak_are_no_workers_made_anew() {
    for trains in [None, Some((200, 330))] {
        let one = |n: u32| Beside { role: Role::Trainer, ..worker(5 + 110 * n, 112 + 110 * n, rises) };
        let run = Run { trains, seconds: 335 };
        assert!(leaks(run.verdict(&[one(0), one(1), one(2)])), "{trains:?}");
        let healthy = |n: u32| Beside { has: fills_up, ..one(n) };
        assert_eq!(run.verdict(&[healthy(0), healthy(1), healthy(2)]), Verdict::NoLeak, "{trains:?}");
    }
}
