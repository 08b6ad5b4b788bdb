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
    assert_eq!(blame(4.0 * MIB, 0.0).and_then(|found| found.0).as_deref(), Some("train"));
    assert_eq!(blame(0.0, 4.0 * MIB).and_then(|found| found.0).as_deref(), Some("validation"));
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
fn rounds_and_epochs_have_lengths_however_many_there_were() {
    let mut marks = Marks::default();
    let mut steps = 0;
    let begin = |scope, index: u64, name: &str| MarkKind::Begin(ScopeMark { scope, index: Some(index), name: name.to_owned() });
    // A hundred rounds of 12 s: two nodes, three epochs of 2 s each, five steps in each.
    for round in 0..100_u64 {
        let t = round as f64 * 12.0;
        marks.push(&mark(t, begin(Scope::Round, round, ""), steps, 0.0));
        for (node, name) in [(0.0, "a"), (6.0, "b")] {
            marks.push(&mark(t + node, begin(Scope::Node, 0, name), steps, 0.0));
            for epoch in 0..3_u64 {
                marks.push(&mark(t + node + epoch as f64 * 2.0, self::epoch(epoch), steps, 0.0));
                steps += 5;
            }
        }
    }
    let line = marks.of(ProcId(1)).expect("known");
    let near = |seconds: Option<f64>, right: f64| (seconds.expect("enough") - right).abs() < 1e-9;
    assert!(near(line.epoch_s(0.0, 1e9), 2.0) && near(line.round_s(0.0, 1e9), 12.0), "{:?}", line.round_s(0.0, 1e9));
    assert!(near(line.round_s(1000.0, 1150.0), 12.0));
    assert_eq!((line.round_now(), line.epoch_now()), (Some(99), None));
    assert_eq!(run(0.0, 0.0).of(ProcId(1)).and_then(|line| line.round_s(0.0, 1e9)), None, "no rounds");
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
            marks.tick(t + f64::from(tick), &[sample(200.0 * MIB + i as f64 * 2.0 * MIB + spike)], None);
        }
    }
    marks.push(&mark(29.0, MarkKind::Loss(0.25), 15, 103.0 * MIB));
    let rows = marks.epochs(&|_| (0, None));
    assert_eq!(rows.len(), 3);
    assert_eq!((rows[0].epoch, rows[0].steps, rows[0].end_s), (Some(0), 5, Some(10.0)));
    assert_eq!(rows[0].delta_bytes, None);
    assert_eq!(rows.iter().map(|row| row.loss).collect::<Vec<_>>(), [None, None, Some(0.25)]);
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
fn a_phase_that_came_once_is_no_rival() {
    for once in [0.6, 50.0] {
        let mut marks = Marks::default();
        marks.push(&mark(0.0, phase("sanity check"), 0, 100.0 * MIB));
        let mut live = (100.0 + once) * MIB;
        for i in 0..6_u64 {
            let t = 1.0 + i as f64 * 10.0;
            marks.push(&mark(t, phase("train"), i * 5, live));
            marks.push(&mark(t + 8.0, phase("validation"), i * 5 + 5, live));
            live += 5.0 * MIB;
        }
        let found = marks.of(ProcId(1)).and_then(|line| line.blame(0.0)).and_then(|found| found.0);
        assert_eq!(found.as_deref(), Some("validation"), "{once} MiB");
    }
}

#[test]
fn what_is_kept_between_phases_is_no_phase() {
    let mut marks = Marks::default();
    for i in 0..6_u64 {
        let (t, live) = (i as f64 * 10.0, (100.0 + 4.0 * i as f64) * MIB);
        marks.push(&mark(t, phase("train"), i * 5, live));
        marks.push(&mark(t + 8.0, MarkKind::End(Scope::Phase), i * 5 + 5, live));
    }
    let (named, seen) = marks.of(ProcId(1)).and_then(|line| line.blame(0.0)).expect("told");
    assert_eq!(named, None);
    assert!(seen[0].starts_with("what runs between the phases leaves 4 MiB"), "{seen:?}");
}

/// Six epochs of five steps, told by switching between two phases: bytes that each step, what comes after the last one, and
/// the validation leave. The phase that is named, and the first sentence.
fn switched(step: f64, after: f64, validation: f64) -> Option<(Option<String>, String)> {
    let mut marks = Marks::default();
    let mut live = 100.0 * MIB;
    for i in 0..6_u64 {
        let t = i as f64 * 10.0;
        marks.push(&mark(t, phase("train"), i * 5, live));
        for done in 1..=5 {
            // The hook is called inside a step: what it keeps comes after.
            marks.push(&mark(t + done as f64, MarkKind::Step, i * 5 + done, live));
            live += step;
        }
        live += after;
        marks.push(&mark(t + 8.0, phase("validation"), i * 5 + 5, live));
        live += validation;
    }
    let (named, seen) = marks.of(ProcId(1)).and_then(|line| line.blame(0.0))?;
    Some((named, seen.first().cloned().unwrap_or_default()))
}

#[test]
fn what_is_taken_after_the_last_step_is_between() {
    let (named, said) = switched(0.0, 4.0 * MIB, 0.0).expect("told");
    assert_eq!(named, None);
    assert!(said.starts_with("what runs between the phases leaves 4 MiB"), "{said}");
    // With what the steps leave beside it, neither explains it alone.
    assert_eq!(switched(MIB, 4.0 * MIB, 0.0), None);
}

#[test]
fn the_rest_of_the_last_step_belongs_to_its_phase() {
    let (named, said) = switched(MIB, 0.0, 0.0).expect("told");
    assert_eq!(named.as_deref(), Some("train"), "{said}");
    assert!(said.starts_with("train leaves 5 MiB"), "{said}");
}

#[test]
fn what_another_phase_gives_back_names_nobody() {
    // Of 20 MiB that training holds the validation lets 16 go: whose 4 MiB stay cannot be told.
    assert_eq!(switched(4.0 * MIB, 0.0, -16.0 * MIB), None);
    let (named, _) = switched(4.0 * MIB, 0.0, -2.0 * MIB).expect("told");
    assert_eq!(named.as_deref(), Some("train"));
}

#[test]
fn what_a_late_collection_gives_back_does_not_stay() {
    let mut marks = Marks::default();
    // Each epoch keeps 7 MiB, every fourth gives 21 back.
    let mut live = 100.0 * MIB;
    for i in 0..14_u64 {
        marks.push(&mark(i as f64, phase("train"), i, live));
        live += if i % 4 == 0 { -21.0 } else { 7.0 } * MIB;
    }
    let rows = marks.phases(&|_| (0, None));
    let left = rows[0].live_left_bytes.expect("known");
    assert!(left.abs() < 0.1 * MIB, "{left}");
}

#[test]
fn a_phase_knows_its_steps_its_peak_and_what_came_back() {
    let mut marks = Marks::default();
    let tick = |marks: &mut Marks, t_s: f64, mib: f64| {
        let sample = ProcSample { anon: (mib * MIB) as u64, ..ProcSample::empty(ProcId(1)) };
        marks.tick(t_s, &[sample], Some((mib + 10.0) * MIB));
    };
    for i in 0..3_u64 {
        let t = i as f64 * 10.0;
        // Training loads 50 MiB the first time, which stay; each validation takes 200 MiB and gives 180 of them back.
        let base = 100.0 + 20.0 * i as f64;
        marks.push(&mark(t, phase("train"), i * 7, 0.0));
        for at in 0..8 {
            tick(&mut marks, t + f64::from(at), base + if i > 0 || at > 4 { 50.0 } else { 0.0 });
        }
        marks.push(&mark(t + 8.0, phase("validation"), i * 7 + 7, 0.0));
        tick(&mut marks, t + 8.0, base + 250.0);
        tick(&mut marks, t + 9.0, base + 240.0);
    }
    let rows = marks.phases(&|_| (0, None));
    let of = |name: &str| rows.iter().find(|row| row.name == name).expect("seen");
    let mib = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64 / MIB);
    let validation = of("validation");
    assert_eq!((validation.count, validation.steps), (3, 0));
    assert_eq!((mib(validation.peak_bytes), mib(validation.tree_peak_bytes)), (Some(390.0), Some(400.0)));
    assert_eq!(mib(validation.spike_bytes), Some(180.0), "the last one is not over");
    let train = of("train");
    assert_eq!((train.count, train.steps, mib(train.floor_bytes)), (3, 21, Some(100.0)));
    assert_eq!(mib(train.spike_bytes), Some(0.0), "what stays is no spike");
}

#[test]
fn growth_per_step_is_the_same_where_steps_slow_down() {
    let (mut marks, mut pages) = (Marks::default(), Pyramid::default());
    let mut t = 0.0;
    for step in 1..=200_u64 {
        t += if step > 100 { 1.0 } else { 0.2 };
        marks.push(&mark(t, MarkKind::Step, step, 0.0));
        pages.push(t, 500.0 * MIB + step as f64 * 0.5 * MIB);
    }
    let (slope, half) = marks.of(ProcId(1)).and_then(|line| line.per_step(pages.windows(), 0.0, t, 0.0)).expect("enough");
    assert!((slope / (0.5 * MIB) - 1.0).abs() < 0.02 && half < 0.05 * slope, "{slope} +- {half}");
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
        marks.of(ProcId(1)).and_then(Line::node).map(|node| node.name)
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
                0..4 => MarkKind::Begin(ScopeMark { scope, index: number, name: format!("{}{}", steps % 100, "x".repeat(usize::from(kind) * 40)) }),
                4 => MarkKind::End(scope),
                5 => MarkKind::Lost(steps),
                _ => MarkKind::Step,
            };
            let facts = InnerFacts { heap_used: number, gc_objects: number, ..InnerFacts::default() };
            all.push(&Mark { t_s, id: ProcId(id % 3 * 200), what, steps, facts: Some(facts) });
            all.tick(t_s, &[ProcSample { anon: steps, shmem: steps, ..ProcSample::empty(ProcId(0)) }], Some(t_s));
        }
        prop_assert!(all.epochs(&|_| (0, None)).len() <= MOST * 130);
        prop_assert!(all.phases(&|_| (0, None)).len() <= 3 * 24);
        prop_assert!(all.nodes(&|_| (0, None)).len() <= 3 * 256);
        prop_assert!(all.progress(&|_| (0, None)).len() <= MOST);
        for line in all.lines.values() {
            let _ = (line.rate(0.0, 1e9), line.epoch_s(0.0, 1e9), line.live_growth(0.0, 1e9), line.blame(0.0));
            let _ = (line.per_step(line.live.windows(), 0.0, 1e9, 1.0), line.objects_per_step(0.0, 1e9), line.live());
            let _ = (line.live_per_step(0.0, 1e9), line.epoch_now());
        }
    }
}
