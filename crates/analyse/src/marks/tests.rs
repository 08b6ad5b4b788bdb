use super::*;
use lowtide_model::{InnerFacts, ScopeMark};
use proptest::prelude::*;

const MIB: f64 = 1024.0 * 1024.0;

fn mark(t_s: f64, what: MarkKind, steps: u64, live: f64) -> Mark {
    let facts = InnerFacts { heap_used: Some(live as u64), heap_free: Some(0), ..InnerFacts::default() };
    Mark { t_s, id: ProcId(1), what, steps, facts: Some(facts) }
}

fn phase(name: &str) -> MarkKind {
    MarkKind::Begin(ScopeMark { scope: Scope::Phase, index: None, name: name.to_owned() })
}

fn epoch(index: u64) -> MarkKind {
    MarkKind::Begin(ScopeMark { scope: Scope::Epoch, index: Some(index), name: String::new() })
}

/// Twelve epochs of 8 s of training, 40 steps, and 2 s of validation, which leave so many bytes behind.
fn run(train: f64, validation: f64) -> Marks {
    let mut marks = Marks::default();
    let mut live = 100.0 * MIB;
    for i in 0..12_u64 {
        let t = i as f64 * 10.0;
        marks.push(&mark(t, epoch(i), i * 40, live));
        marks.push(&mark(t, phase("train"), i * 40, live));
        for step in 1..=40 {
            live += train / 40.0;
            marks.push(&mark(t + step as f64 * 0.2, MarkKind::Step, i * 40 + step, live));
        }
        marks.push(&mark(t + 8.0, phase("validation"), i * 40 + 40, live));
        live += validation;
    }
    marks
}

#[test]
fn the_phase_that_leaves_memory_behind_is_named() {
    let blame = |train, validation| run(train, validation).of(ProcId(1)).and_then(|line| line.blame(20.0));
    assert_eq!(blame(4.0 * MIB, 0.0).map(|found| found.0).as_deref(), Some("train"));
    assert_eq!(blame(0.0, 4.0 * MIB).map(|found| found.0).as_deref(), Some("validation"));
    assert_eq!(blame(4.0 * MIB, 4.0 * MIB), None, "both");
    assert_eq!(blame(0.0, 0.0), None, "neither");
    let (_, seen) = blame(4.0 * MIB, 0.0).expect("named");
    assert!(seen.iter().any(|text| text.contains("validation adds nothing")), "{seen:?}");
}

#[test]
fn steps_and_epochs_are_counted() {
    let marks = run(4.0 * MIB, 0.0);
    let line = marks.of(ProcId(1)).expect("known");
    let rate = line.rate(20.0, 110.0).expect("enough");
    assert!((rate - 4.0).abs() < 0.25, "{rate}");
    assert!((line.epoch_s(0.0, 120.0).expect("enough") - 10.0).abs() < 1e-9);
    let live = line.live_growth(20.0, 120.0).expect("enough");
    assert!((live - 0.4 * MIB).abs() < 0.05 * MIB, "{live}");
    let progress = marks.progress(&|_| (0, None));
    assert_eq!((progress[0].steps, progress[0].epochs, progress[0].phase.as_deref()), (480, 12, Some("validation")));
}

#[test]
fn an_epoch_knows_its_floor_and_what_it_left() {
    let mut marks = Marks::default();
    let sample = |bytes: f64| ProcSample { anon: bytes as u64, ..ProcSample::empty(ProcId(1)) };
    for i in 0..3_u64 {
        let t = i as f64 * 10.0;
        marks.push(&mark(t, epoch(i), i * 5, 100.0 * MIB + i as f64 * MIB));
        for tick in 0..10 {
            let spike = if tick == 5 { 50.0 * MIB } else { 0.0 };
            marks.tick(t + f64::from(tick), &[sample(200.0 * MIB + i as f64 * 2.0 * MIB + spike)]);
        }
    }
    let rows = marks.epochs(&|_| (0, None));
    assert_eq!(rows.len(), 3);
    assert_eq!((rows[0].epoch, rows[0].steps, rows[0].end_s), (Some(0), 5, Some(10.0)));
    assert_eq!(rows[0].delta_bytes, None);
    assert_eq!(rows[1].delta_bytes, Some(2.0 * MIB));
    assert_eq!(rows[1].peak_bytes, Some((252.0 * MIB) as u64));
    assert_eq!(rows[1].live_delta_bytes, Some(MIB));
    assert_eq!((rows[1].mean_step_s, rows[2].end_s), (Some(2.0), None));
}

#[test]
fn rounds_and_nodes_nest() {
    let mut marks = Marks::default();
    let begin = |scope, index, name: &str| MarkKind::Begin(ScopeMark { scope, index, name: name.to_owned() });
    let mut t = 0.0;
    for round in 0..2 {
        marks.push(&mark(t, begin(Scope::Round, Some(round), ""), 0, 0.0));
        for node in ["a", "b"] {
            marks.push(&mark(t, begin(Scope::Node, None, node), 0, 0.0));
            for index in 0..2 {
                marks.push(&mark(t, begin(Scope::Epoch, Some(index), ""), 0, 0.0));
                t += 1.0;
            }
            marks.push(&mark(t, MarkKind::End(Scope::Node), 0, 0.0));
        }
    }
    let rows = marks.epochs(&|_| (0, None));
    let names: Vec<_> = rows.iter().map(|row| (row.round, row.node.as_deref(), row.epoch)).collect();
    assert_eq!(names.len(), 8, "{names:?}");
    assert_eq!(names[3], (Some(0), Some("b"), Some(1)));
    assert_eq!(names[4], (Some(1), Some("a"), Some(0)));
}

#[test]
fn a_loop_that_stands_still_leaks_nothing_meanwhile() {
    let mut marks = Marks::default();
    for step in 1..=200_u64 {
        // A minute without a step in the middle.
        let t = step as f64 * 0.2 + if step > 100 { 60.0 } else { 0.0 };
        marks.push(&mark(t, MarkKind::Step, step, 100.0 * MIB + step as f64 * 0.2 * MIB));
    }
    let live = marks.of(ProcId(1)).expect("known").live();
    assert!(live.grows(), "{live:?}");
}

#[test]
fn the_node_that_leaves_memory_behind_is_named() {
    let leaking = |left: [f64; 3]| {
        let mut marks = Marks::default();
        let (mut t, mut live) = (0.0, 100.0 * MIB);
        for _ in 0..4 {
            for (name, left) in ["a", "b", "c"].into_iter().zip(left) {
                let begin = MarkKind::Begin(ScopeMark { scope: Scope::Node, index: None, name: name.to_owned() });
                marks.push(&mark(t, begin, 0, live));
                marks.push(&mark(t, epoch(0), 0, live));
                t += 1.0;
                live += left;
            }
        }
        marks.of(ProcId(1)).and_then(Line::node).map(|(name, _)| name)
    };
    assert_eq!(leaking([0.0, 5.0 * MIB, 0.0]).as_deref(), Some("b"));
    assert_eq!(leaking([5.0 * MIB; 3]), None, "all");
    assert_eq!(leaking([0.0; 3]), None, "none");
}

proptest! {
    #[test]
    fn nothing_panics_and_nothing_grows(
        marks in proptest::collection::vec((any::<f64>(), 0_u8..8, any::<u64>(), any::<Option<u64>>(), 0_u32..400), 0..2000)
    ) {
        let mut all = Marks::default();
        for (t_s, kind, steps, number, id) in marks {
            let scope = [Scope::Round, Scope::Node, Scope::Epoch, Scope::Phase][usize::from(kind % 4)];
            let what = match kind {
                0..4 => MarkKind::Begin(ScopeMark { scope, index: number, name: "x".repeat(usize::from(kind) * 40) }),
                4 => MarkKind::End(scope),
                5 => MarkKind::Lost(steps),
                _ => MarkKind::Step,
            };
            let facts = InnerFacts { heap_used: number, ..InnerFacts::default() };
            all.push(&Mark { t_s, id: ProcId(id % 3 * 200), what, steps, facts: Some(facts) });
        }
        prop_assert!(all.epochs(&|_| (0, None)).len() <= MOST * 130);
        prop_assert!(all.progress(&|_| (0, None)).len() <= MOST);
        for line in all.lines.values() {
            let _ = (line.rate(0.0, 1e9), line.epoch_s(0.0, 1e9), line.live_growth(0.0, 1e9), line.blame(0.0));
        }
    }
}
