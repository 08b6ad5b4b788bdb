use lowtide_model::{
    BudgetAt, Change, ComparedRow, DeviceFacts, Event, InnerFacts, Look, Mark, MarkKind, Mode, OnDevice, PartOfBudget, ProcId,
    ProcSample, Process, Quantity, Role, RunInfo, Scope, ScopeMark, Signal, Tick,
};

use super::*;
use crate::Analyser;

const MIB: f64 = 1024.0 * 1024.0;

/// A made-up trainer, measured once a second.
#[derive(Clone, Copy)]
struct Program {
    seconds: u32,
    floor: f64,
    /// MiB per second.
    leak: f64,
    /// MiB, for five of each thirty seconds.
    spike: f64,
    /// Seconds a step; 0: it tells of no steps.
    step_s: f64,
    /// It trains for 25 of each thirty seconds, then validates.
    validates: bool,
    /// What makes its noise.
    seed: u64,
}

const HEALTHY: Program = Program { seconds: 240, floor: 300.0, leak: 0.0, spike: 0.0, step_s: 0.0, validates: false, seed: 1 };

impl Program {
    fn facts(self) -> Facts {
        let mut run = Analyser::new();
        for event in self.events() {
            run.push(&event);
        }
        Facts::of(&run, run.report(), "made-up")
    }

    fn events(self) -> Vec<Event> {
        let id = ProcId(0);
        let mut events = vec![Event::Start(info()), Event::Process(trainer(id))];
        let mut state = self.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut said = 0_u64;
        for t in 0..self.seconds {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let jitter = (state >> 40) as f64 / (1_u64 << 24) as f64;
            let t_s = f64::from(t);
            let spike = if t % 30 >= 25 { self.spike } else { 0.0 };
            let bytes = (self.floor + self.leak * t_s + spike + 0.5 * jitter) * MIB;
            if self.validates && matches!(t % 30, 0 | 25) {
                let name = if t % 30 == 0 { "train" } else { "validation" };
                let scope = ScopeMark { scope: Scope::Phase, index: None, name: name.to_owned() };
                events.push(Event::Mark(Mark { t_s, id, what: MarkKind::Begin(scope), steps: said, facts: None }));
            }
            events.push(Event::Tick(Tick {
                t_s,
                procs: vec![ProcSample { anon: bytes as u64, ..ProcSample::empty(id) }],
                ..Tick::default()
            }));
            let steps = if self.step_s > 0.0 { (t_s / self.step_s) as u64 } else { 0 };
            if steps > said {
                said = steps;
                let scope = ScopeMark { scope: Scope::Phase, index: None, name: "train".to_owned() };
                let what = if t == 1 { MarkKind::Begin(scope) } else { MarkKind::Step };
                events.push(Event::Mark(Mark { t_s, id, what, steps, facts: None }));
            }
        }
        events
    }
}

fn info() -> RunInfo {
    RunInfo {
        version: "0".to_owned(),
        mode: Mode::Run,
        command: vec!["python".to_owned(), "train.py".to_owned()],
        host: String::new(),
        started_unix_s: 0.0,
        interval_s: 1.0,
        root_pid: 1,
        rank: None,
        signal: Signal::AnonShmem,
    }
}

fn trainer(id: ProcId) -> Process {
    Process {
        id,
        pid: 100,
        ppid: 1,
        parent: None,
        start_s: -60.0,
        name: "python".to_owned(),
        command: "python train.py".to_owned(),
        role: Role::Trainer,
        role_reason: String::new(),
        rank: None,
    }
}

fn outcome(before: Program, after: Program) -> (Change, String) {
    let comparison = compare(&[before.facts()], &[after.facts()]);
    (comparison.outcome, comparison.summary)
}

#[test]
fn a_leak_that_is_gone_is_fixed_and_the_way_back_is_worse() {
    let leaking = Program { leak: 1.0, ..HEALTHY };
    let (change, text) = outcome(leaking, Program { seed: 2, ..HEALTHY });
    assert_eq!(change, Change::Fixed, "{text}");
    assert!(text.starts_with("fixed: the leak of 60") && text.contains("is gone; what may be left is less than"), "{text}");
    let (change, text) = outcome(HEALTHY, leaking);
    assert_eq!(change, Change::Worse, "{text}");
    assert!(text.starts_with("worse: it leaks now: 60"), "{text}");
}

#[test]
fn a_leak_that_is_slower_is_better_and_no_more() {
    let (change, text) = outcome(Program { leak: 1.0, ..HEALTHY }, Program { leak: 0.4, seed: 2, ..HEALTHY });
    assert_eq!(change, Change::Better, "{text}");
    assert!(text.contains("still leaks, but more slowly: 24"), "{text}");
    assert_eq!(outcome(Program { leak: 0.4, ..HEALTHY }, Program { leak: 1.0, ..HEALTHY }).0, Change::Worse);
}

#[test]
fn a_spike_that_is_gone_is_better() {
    let (change, text) = outcome(Program { spike: 400.0, ..HEALTHY }, Program { seed: 2, ..HEALTHY });
    assert_eq!(change, Change::Better, "{text}");
    assert!(text.contains("the peak is 400 MiB lower (-57 %)") && !text.contains("floor"), "{text}");
}

#[test]
fn one_program_is_no_different_from_itself() {
    for base in [
        HEALTHY,
        Program { leak: 1.0, ..HEALTHY },
        Program { spike: 400.0, ..HEALTHY },
        Program { leak: 0.2, spike: 200.0, ..HEALTHY },
    ] {
        for seed in 2..8 {
            let (change, text) = outcome(base, Program { seed, ..base });
            assert_eq!(change, Change::NoDifference, "{text}");
            assert!(text.contains("would have been seen: "), "{text}");
        }
    }
}

#[test]
fn how_long_a_leaking_run_was_makes_no_difference() {
    let (short, long) = (Program { leak: 1.0, ..HEALTHY }, Program { leak: 1.0, seconds: 700, seed: 2, ..HEALTHY });
    let comparison = compare(&[short.facts()], &[long.facts()]);
    assert_eq!(comparison.outcome, Change::NoDifference, "{}", comparison.summary);
    assert!(
        comparison.notes.iter().any(|note| note.contains("floor, peak and spike are those of the first 3 min 59 s")),
        "{:?}",
        comparison.notes
    );
}

#[test]
fn a_cache_that_was_not_full_yet_is_no_reason_to_call_a_full_one_worse() {
    // 1 MiB a second for a minute and a half, then level, against what has all of it from the start, watched for a minute.
    let filling = || {
        let mut run = Analyser::new();
        for event in (Program { seconds: 400, ..HEALTHY }).events() {
            run.push(&match event {
                Event::Tick(mut tick) => {
                    tick.procs[0].anon += (tick.t_s.min(90.0) * MIB) as u64;
                    Event::Tick(tick)
                }
                other => other,
            });
        }
        Facts::of(&run, run.report(), "filling")
    };
    let full = Program { floor: 390.0, seconds: 60, seed: 2, ..HEALTHY };
    let comparison = compare(&[filling()], &[full.facts()]);
    assert_eq!((comparison.outcome, comparison.matched.until), (Change::NoDifference, None), "{}", comparison.summary);
}

#[test]
fn growth_is_matched_by_step_where_both_sides_have_steps() {
    // The same leak per step; the second run takes twice as long for one.
    let before = Program { leak: 1.0, step_s: 0.25, ..HEALTHY };
    let after = Program { leak: 0.5, step_s: 0.5, seed: 2, ..HEALTHY };
    let comparison = compare(&[before.facts()], &[after.facts()]);
    assert_eq!(comparison.matched.by, "step");
    assert_eq!(comparison.outcome, Change::NoDifference, "{}", comparison.summary);
    assert!(
        comparison.price.contains("a step is 100.0 % longer") && comparison.price.contains("does not tell"),
        "{}",
        comparison.price
    );
    // By time the leak is slower.
    let comparison = compare(&[before.facts()], &[Program { step_s: 0.0, ..after }.facts()]);
    assert_eq!((comparison.matched.by, comparison.outcome), ("second", Change::Better), "{}", comparison.summary);
    assert!(comparison.notes.iter().any(|note| note.contains("steps are known on one side only")));
}

#[test]
fn several_runs_a_side_tell_the_price_and_the_phases() {
    let runs = |base: Program, steps: [f64; 3]| -> Vec<Facts> {
        (1..).zip(steps).map(|(seed, step_s)| Program { seed, step_s, ..base }.facts()).collect()
    };
    let leaking = Program { leak: 1.0, ..HEALTHY };
    let comparison = compare(&runs(leaking, [0.200, 0.201, 0.199]), &runs(HEALTHY, [0.220, 0.221, 0.219]));
    assert_eq!(comparison.outcome, Change::Fixed, "{}", comparison.summary);
    assert!(comparison.price.starts_with("a step is 10.0 % longer (95 %: +"), "{}", comparison.price);
    let phase = comparison.rows.iter().find(|row| row.phase.as_deref() == Some("train") && row.quantity == Quantity::Peak);
    assert_eq!(phase.expect("a row").differs, Some(true));
    // Runs that differ among themselves hide as much.
    let comparison = compare(&runs(leaking, [0.200, 0.240, 0.160]), &runs(leaking, [0.220, 0.180, 0.250]));
    assert_eq!(comparison.outcome, Change::NoDifference, "{}", comparison.summary);
    assert!(comparison.price.starts_with("time per step: no difference seen"), "{}", comparison.price);
}

#[test]
fn a_phase_that_comes_again_and_again_tells_by_one_run_a_side() {
    let row = |before: Program, after: Program, phase: &str, quantity| {
        let comparison = compare(&[before.facts()], &[after.facts()]);
        let mut rows = comparison.rows.into_iter();
        rows.find(|row| row.phase.as_deref() == Some(phase) && row.quantity == quantity).expect("a row")
    };
    let spiking = Program { spike: 200.0, validates: true, ..HEALTHY };
    let calm = Program { validates: true, seed: 2, ..HEALTHY };
    let peak = row(spiking, calm, "validation", Quantity::Peak);
    assert_eq!(peak.differs, Some(true), "{peak:?}");
    let [low, high] = peak.difference.and_then(|difference| difference.ci95).expect("an interval");
    assert!(low < -200.0 * MIB && -200.0 * MIB < high && high < -100.0 * MIB, "{low} {high}");
    assert_eq!(row(spiking, calm, "train", Quantity::Peak).differs, Some(false));
    // The longer a leak is watched the more there is: that is no difference of the program.
    let leaking = Program { leak: 1.0, validates: true, ..HEALTHY };
    let longer = row(leaking, Program { seconds: 400, seed: 2, ..leaking }, "train", Quantity::Peak);
    assert_eq!(longer.differs, None, "{longer:?}");
    // Once is no noise.
    let once = Program { seconds: 45, ..spiking };
    assert_eq!(row(once, Program { seed: 2, ..once }, "validation", Quantity::Peak).differs, None);
}

#[test]
fn what_cannot_be_compared_is_said_and_nothing_is_claimed() {
    let nothing = Analyser::new();
    let empty = || Facts::of(&nothing, nothing.report(), "empty");
    let comparison = compare(&[empty()], &[HEALTHY.facts()]);
    assert_eq!(comparison.outcome, Change::NoDifference);
    assert!(comparison.notes.iter().any(|note| note.contains("holds no measurement")), "{:?}", comparison.notes);
    let short = Program { seconds: 5, leak: 1.0, ..HEALTHY };
    let comparison = compare(&[short.facts()], &[HEALTHY.facts()]);
    assert_eq!(comparison.outcome, Change::NoDifference, "{}", comparison.summary);
    assert!(comparison.notes.iter().any(|note| note.contains("watched too short")), "{:?}", comparison.notes);
    assert!(comparison.notes.iter().any(|note| note.contains("is still running")), "{:?}", comparison.notes);
}

/// The run's facts, where it was looked into at these times: parameters that stay, and a cache that has so many MiB by then.
fn looked_into(program: Program, at_s: &[f64], cache: impl Fn(f64) -> f64) -> Facts {
    let mut events = program.events();
    for t_s in at_s.iter().copied() {
        let part = |name: &str, mib: f64| PartOfBudget { name: name.to_owned(), bytes: (mib * MIB) as u64 };
        let parts = vec![part("parameters", 100.0), part("caches", cache(t_s))];
        let total = parts.iter().map(|part| part.bytes).sum();
        let look = Look {
            t_s,
            id: ProcId(0),
            copied: false,
            pause_us: 1000,
            objects: 0,
            grown: None,
            budget: Some(BudgetAt { total, parts, ..BudgetAt::default() }),
            allocated: Vec::new(),
            devices: Vec::new(),
        };
        let at = events.iter().position(|event| matches!(event, Event::Tick(tick) if tick.t_s > t_s)).unwrap_or(events.len());
        events.insert(at, Event::Look(look));
    }
    let mut run = Analyser::new();
    events.iter().for_each(|event| run.push(event));
    Facts::of(&run, run.report(), "made-up")
}

fn part<'a>(comparison: &'a Comparison, name: &str) -> &'a ComparedRow {
    let found = |row: &&ComparedRow| row.quantity == Quantity::Budget && row.part.as_deref() == Some(name);
    comparison.rows.iter().find(found).expect("a row of the budget")
}

#[test]
fn what_memory_is_for_is_compared_by_part() {
    let before = looked_into(HEALTHY, &[60.0, 120.0, 180.0], |_| 150.0);
    let after = looked_into(Program { seed: 2, ..HEALTHY }, &[60.0, 120.0, 180.0], |_| 20.0);
    let comparison = compare(&[before], &[after]);
    assert_eq!(part(&comparison, "caches").differs, Some(true), "{:?}", part(&comparison, "caches"));
    assert_eq!(part(&comparison, "parameters").differs, Some(false));
    assert_eq!(part(&comparison, "all").differs, Some(true));
    let said = comparison.budget.expect("a sentence");
    assert_eq!(said, "trainer at rest: 130 MiB less for caches");
}

/// The facts of a run that has so many MiB of tensors on a card, and in each training so many more for a while; of the tensors a look
/// finds so many MiB of optimizer state, where there was one.
fn on_card(allocated: u64, more: u64, state: Option<u64>) -> Facts {
    let device = |peak: u64| {
        let bytes = |mib: u64| mib << 20;
        let now = DeviceFacts { allocated: bytes(allocated), reserved: bytes(400), peak: bytes(peak), ..DeviceFacts::default() };
        Some(InnerFacts { devices: vec![now], ..InnerFacts::default() })
    };
    let mut events = Program { validates: true, ..HEALTHY }.events();
    let mut peak = allocated;
    for event in &mut events {
        if let Event::Mark(mark) = event {
            mark.facts = device(peak);
            peak = allocated + more;
        }
    }
    if let Some(state) = state {
        let part = |name: &str, mib: u64| OnDevice { device: "cuda:0".to_owned(), name: name.to_owned(), bytes: mib << 20 };
        let look = Look {
            t_s: 100.0,
            id: ProcId(0),
            copied: false,
            pause_us: 1000,
            objects: 10,
            grown: None,
            budget: None,
            allocated: Vec::new(),
            devices: vec![part("parameters", 50), part("optimizer state", state)],
        };
        events.push(Event::Look(look));
    }
    let mut run = Analyser::new();
    events.iter().for_each(|event| run.push(event));
    Facts::of(&run, run.report(), "made-up")
}

fn on_gpu<'a>(comparison: &'a Comparison, phase: Option<&str>, name: &str) -> Option<&'a ComparedRow> {
    let of_card = comparison.rows.iter().filter(|row| row.resource.as_deref() == Some("gpu0") && row.phase.as_deref() == phase);
    let named = |row: &&ComparedRow| row.part.as_deref().is_some_and(|part| part.starts_with(name));
    of_card.filter(|row| row.quantity == Quantity::Budget).find(named)
}

#[test]
fn what_a_card_is_used_for_is_compared_by_part_at_rest_and_at_the_peak_of_a_phase() {
    let comparison = compare(&[on_card(200, 100, Some(100))], &[on_card(150, 60, Some(50))]);
    let differs = |phase, name| on_gpu(&comparison, phase, name).map(|row| row.differs);
    assert_eq!((differs(None, "optimizer state"), differs(None, "parameters")), (Some(Some(true)), Some(Some(false))));
    assert_eq!(differs(None, "all"), Some(Some(false)), "the allocator holds as much");
    assert_eq!(differs(Some("train"), "all"), Some(Some(true)), "{:#?}", comparison.rows);
    assert_eq!(differs(Some("train"), "activations"), Some(Some(true)));
    assert_eq!(differs(Some("validation"), "all"), None, "it is not known on either side");
    let said = comparison.budget.expect("a sentence");
    assert!(
        said.contains(
            "trainer on gpu0 at rest: 50 MiB less for optimizer state, 50 MiB more for free, kept by the allocator (cache);"
        ),
        "{said}"
    );
    assert!(
        said.contains("trainer on gpu0 at the peak of train: 50 MiB less for optimizer state, 40 MiB less for activations"),
        "{said}"
    );
}

#[test]
fn what_only_one_side_was_looked_into_for_is_no_difference() {
    let comparison = compare(&[on_card(200, 100, Some(100))], &[on_card(200, 100, None)]);
    assert_eq!(on_gpu(&comparison, None, "tensors that live").map(|row| row.differs), Some(Some(false)));
    assert!(on_gpu(&comparison, None, "optimizer state").is_none(), "{:#?}", comparison.rows);
    assert!(comparison.rows.iter().all(|row| row.resource.is_none() || row.differs != Some(true)), "{:#?}", comparison.rows);
}

#[test]
fn looks_at_different_times_of_a_leak_are_no_difference() {
    let leak = Program { leak: 0.5, ..HEALTHY };
    let cache = |t_s: f64| 0.5 * t_s;
    let comparison = compare(&[looked_into(leak, &[60.0], cache)], &[looked_into(Program { seed: 2, ..leak }, &[200.0], cache)]);
    assert_ne!(part(&comparison, "caches").differs, Some(true), "{:?}", part(&comparison, "caches"));
    assert!(comparison.notes.iter().any(|note| note.contains("was looked at after")), "{:?}", comparison.notes);
    // Where one of several looks came as early, that one counts.
    let often = looked_into(Program { seed: 2, ..leak }, &[60.0, 200.0], cache);
    let comparison = compare(&[looked_into(leak, &[60.0], cache)], &[often]);
    assert_eq!(part(&comparison, "caches").after.map(|after| (after.value / MIB).round()), Some(30.0));
}

#[test]
fn a_budget_of_one_side_is_no_budget() {
    let comparison = compare(&[looked_into(HEALTHY, &[60.0], |_| 10.0)], &[HEALTHY.facts()]);
    assert!(comparison.budget.is_none() && comparison.rows.iter().all(|row| row.quantity != Quantity::Budget));
    assert!(comparison.notes.iter().any(|note| note.contains("only looked at before")), "{:?}", comparison.notes);
}
