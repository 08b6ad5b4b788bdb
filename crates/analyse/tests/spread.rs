//! Pages that creep upwards while nothing more is alive: an allocator that spreads, until there is too much of it.

mod common;

use lowtide_analyse::Analyser;
use lowtide_model::{Event, InnerFacts, Mark, MarkKind, ProcId, ProcSample, Report, Tick, Verdict};

const MIB: f64 = 1024.0 * 1024.0;
/// Growth of pages as a healthy run showed it, bytes per second.
const CREEP: f64 = 5.0 * MIB / 60.0;

/// What a program is told of, by the time.
struct Program {
    pages: fn(f64) -> f64,
    used: fn(f64) -> Option<f64>,
    free: fn(f64) -> Option<f64>,
    blocks: fn(f64) -> Option<f64>,
}

/// It creeps; all facts are known; nothing more is alive.
const SPREADING: Program = Program {
    pages: |t_s| (130.0 * MIB + CREEP * t_s).floor(),
    used: |t_s| Some(80.0 * MIB + 4096.0 * (t_s * 7.0).sin()),
    free: |_| Some(6.0 * MIB),
    blocks: |t_s| Some(900_000.0 + 300.0 * (t_s * 5.0).cos()),
};

/// A report on so many seconds of it, measured five times a second.
fn run(program: &Program, end_s: u32) -> Report {
    let mut analyser = Analyser::new();
    common::start(-100.0).iter().for_each(|event| analyser.push(event));
    for tick in 0..end_s * 5 {
        let t_s = f64::from(tick) / 5.0;
        let bytes = |value: Option<f64>| value.map(|value| value as u64);
        let facts = InnerFacts {
            heap_used: bytes((program.used)(t_s)),
            heap_free: bytes((program.free)(t_s)),
            python_blocks: bytes((program.blocks)(t_s)),
            ..InnerFacts::default()
        };
        analyser.push(&Event::Mark(Mark {
            t_s,
            id: ProcId(0),
            what: MarkKind::Step,
            steps: u64::from(tick) * 4,
            facts: Some(facts),
        }));
        let sample = ProcSample { anon: (program.pages)(t_s) as u64, ..ProcSample::empty(ProcId(0)) };
        analyser.push(&Event::Tick(Tick { t_s: t_s + 0.1, procs: vec![sample], ..Tick::default() }));
    }
    analyser.report()
}

#[test]
fn pages_that_creep_while_nothing_more_is_alive_are_open() {
    for end_s in [20, 36, 50, 70] {
        let report = run(&SPREADING, end_s);
        assert_eq!(report.verdict, Verdict::Undecided, "after {end_s} s: {}", report.summary);
        assert!(report.more_seconds_needed >= 1.0, "{}", report.more_seconds_needed);
    }
}

#[test]
fn it_takes_both_allocators_to_hold_a_verdict_back() {
    let unknown = |_| None;
    let cases = [
        ("blocks unknown", Program { blocks: unknown, ..SPREADING }),
        ("live bytes unknown", Program { used: unknown, ..SPREADING }),
        ("holes unknown", Program { free: unknown, ..SPREADING }),
        ("small objects", Program { blocks: |t_s| Some(900_000.0 + CREEP / 64.0 * t_s), ..SPREADING }),
        ("large objects", Program { used: |t_s| Some(80.0 * MIB + CREEP * t_s), ..SPREADING }),
        ("blocks that swing too much to tell", Program { blocks: |t_s| Some(900_000.0 + 4e4 * (t_s * t_s).sin()), ..SPREADING }),
        ("no room for it in the heap", Program { free: |_| Some(0.5 * MIB), ..SPREADING }),
        ("facts of the first half only", Program { used: |t_s| (t_s < 18.0).then_some(80.0 * MIB), ..SPREADING }),
    ];
    for (name, program) in cases {
        let report = run(&program, 36);
        assert_eq!(report.verdict, Verdict::LikelyLeak, "{name}: {}", report.summary);
        let told = report.findings[0].evidence.iter().any(|text| text.ends_with("1365 small blocks more each second"));
        assert_eq!(told, name == "small objects", "{name}: {:?}", report.findings[0].evidence);
    }
}

#[test]
fn holes_without_bound_are_a_leak_in_the_end() {
    let holes = Program { pages: |t_s| 130.0 * MIB + MIB * t_s, free: |t_s| Some(6.0 * MIB + MIB * t_s), ..SPREADING };
    assert_eq!(run(&holes, 36).verdict, Verdict::Undecided);
    assert_eq!(run(&holes, 70).verdict, Verdict::Leak);
    // And a slow one by its size.
    let slow = Program { free: |t_s| Some(6.0 * MIB + CREEP * t_s), ..SPREADING };
    let long = run(&slow, 400);
    assert_eq!(long.verdict, Verdict::Leak, "{}", long.summary);
}

#[test]
fn what_has_settled_after_its_start_is_level() {
    // A cache is filled in the first seconds, as pages go on to creep.
    let settled = Program { used: |t_s| Some((60.0 + 20.0 * (t_s / 6.0).min(1.0)) * MIB), ..SPREADING };
    assert_eq!(run(&settled, 36).verdict, Verdict::Undecided);
}
