//! Memory that was asked for at once and is filled bit by bit.

mod common;

use lowtide_analyse::Analyser;
use lowtide_model::{
    Event, HypothesisState, InnerFacts, Mark, MarkKind, ProcId, ProcSample, Report, SystemSample, Tick, Verdict,
};

const MIB: f64 = 1024.0 * 1024.0;
/// What the program has besides, and what it asked for without touching it.
const BASE: f64 = 300.0 * MIB;
const STACKS: f64 = 500.0 * MIB;
/// What it writes, bytes per second.
const RATE: f64 = 1.2 * MIB;

/// The report on a process of which pages and what it asked for are given by time; marks, where what malloc has is given.
fn watched(
    seconds: u32,
    pages: impl Fn(f64) -> f64,
    asked: impl Fn(f64) -> Option<f64>,
    live: Option<&dyn Fn(f64) -> f64>,
) -> Report {
    let mut analyser = Analyser::new();
    common::start(-100.0).iter().for_each(|event| analyser.push(event));
    for tick in 0..seconds * 2 {
        let t_s = f64::from(tick) / 2.0;
        let data = asked(t_s).map(|bytes| bytes as u64 >> 20 << 20);
        let sample = ProcSample { anon: pages(t_s) as u64, data, ..ProcSample::empty(ProcId(0)) };
        analyser.push(&Event::Tick(Tick { t_s, procs: vec![sample], ..Tick::default() }));
        if let Some(live) = live {
            let facts =
                Some(InnerFacts { heap_used: Some(live(t_s) as u64), python_blocks: Some(1000), ..InnerFacts::default() });
            analyser.push(&Event::Mark(Mark { t_s, id: ProcId(0), what: MarkKind::Step, steps: u64::from(tick), facts }));
        }
    }
    analyser.report()
}

fn rises(t_s: f64) -> f64 {
    BASE + RATE * t_s
}

fn leaks(report: &Report) -> bool {
    matches!(report.verdict, Verdict::Leak | Verdict::LikelyLeak)
}

#[test]
fn a_buffer_that_is_filled_for_the_first_time_is_no_leak() {
    for seconds in [40, 90, 300, 900] {
        let whole = BASE + STACKS + 4096.0 * MIB;
        let report = watched(seconds, rises, |_| Some(whole), None);
        assert_eq!(report.verdict, Verdict::Undecided, "{seconds} s: {:?}", report.findings);
        let open = report.hypotheses.iter().find(|hypothesis| hypothesis.state == HypothesisState::Open).expect("why");
        assert!(
            open.evidence.contains("asked for no more memory")
                && open.evidence.contains("GiB of all that it asked for are untouched"),
            "{open:?}"
        );
    }
}

#[test]
fn it_may_be_asked_for_while_the_program_starts() {
    let whole = |t_s: f64| Some(BASE + STACKS + if t_s < 10.0 { 30.0 * t_s * MIB } else { 4096.0 * MIB });
    for seconds in [60, 120, 600] {
        assert_eq!(watched(seconds, rises, whole, None).verdict, Verdict::Undecided, "{seconds} s");
    }
}

#[test]
fn what_is_asked_for_anew_is_a_leak() {
    for seconds in [90, 300, 900] {
        let asked = |t_s: f64| Some(rises(t_s) + STACKS);
        assert!(leaks(&watched(seconds, rises, asked, None)), "{seconds} s");
        // In pieces of its own size, as allocators do.
        let pieces = |t_s: f64| Some(((rises(t_s) + STACKS) / (16.0 * MIB)).ceil() * 16.0 * MIB);
        assert!(leaks(&watched(seconds, rises, pieces, None)), "{seconds} s, in pieces");
        // What else is asked for and given back hides nothing, where its low tides are level.
        let swings = |t_s: f64| Some(rises(t_s) + STACKS + if t_s % 20.0 < 12.0 { 900.0 * MIB } else { 0.0 });
        assert!(leaks(&watched(seconds, rises, swings, None)), "{seconds} s, with swings");
    }
    assert!(leaks(&watched(90, rises, |_| None, None)), "nobody told what was asked for");
}

#[test]
fn where_there_is_no_room_or_more_is_alive_it_is_a_leak() {
    let nearly_full = |_: f64| Some(rises(90.0) + 10.0 * MIB);
    assert!(leaks(&watched(90, rises, nearly_full, None)), "it cannot go on like that for long");
    let whole = |_: f64| Some(BASE + STACKS + 4096.0 * MIB);
    assert!(leaks(&watched(90, rises, whole, Some(&rises))), "an allocator with a large arena of its own");
    let level = watched(90, rises, whole, Some(&|_| BASE));
    assert_eq!(level.verdict, Verdict::Undecided, "{:?}", level.findings);
}

#[test]
fn shared_memory_that_is_mapped_whole_is_filled_as_well() {
    let verdict = |mapped: &dyn Fn(f64) -> f64| {
        let mut analyser = Analyser::new();
        common::start(-100.0).iter().for_each(|event| analyser.push(event));
        for tick in 0..180 {
            let t_s = f64::from(tick) / 2.0;
            let (shmem, size) = ((RATE * t_s) as u64, Some(mapped(t_s) as u64 >> 20 << 20));
            let sample = ProcSample { anon: BASE as u64, shmem, size, ..ProcSample::empty(ProcId(0)) };
            let system = SystemSample { total: 64 << 30, available: 32 << 30, dev_shm_used: shmem, ..SystemSample::default() };
            analyser.push(&Event::Tick(Tick { t_s, procs: vec![sample], system: Some(system), ..Tick::default() }));
        }
        analyser.report()
    };
    let filled = verdict(&|_| 9000.0 * MIB);
    assert_eq!(filled.verdict, Verdict::Undecided, "{:?}", filled.findings);
    assert!(filled.hypotheses.iter().any(|open| open.evidence.contains("it mapped no more")), "{:?}", filled.hypotheses);
    assert!(leaks(&verdict(&|t_s| 9000.0 * MIB + RATE * t_s)), "each segment is a new one");
}
