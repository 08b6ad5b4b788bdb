//! Roles on made-up trees, each as a real run looks.

use super::*;

const WORKER_SIGNALS: u64 = 0x1_0000_44c0;
const FAULTHANDLER: u64 = 0x1_0000_44c0 | ILL | ABRT;
const MIB: u64 = 1 << 20;

/// One process: its parent's place, and what is known of it.
struct One {
    parent: Option<usize>,
    facts: Facts,
    counters: Counters,
    cpu_above_then: Vec<(usize, u64)>,
    part: Part,
    only_waited: bool,
}

fn one(parent: Option<usize>, command: &str, anon_mib: u64) -> One {
    let args: Vec<String> = command.split_ascii_whitespace().map(String::from).collect();
    let exe = args.first().map(|arg| crate::facts::base_name(arg).to_owned()).unwrap_or_default();
    let facts = Facts { comm: exe.clone(), args, exe, ..Facts::default() };
    let counters = Counters { anon: anon_mib * MIB, rss: anon_mib * MIB, ..Counters::default() };
    One { parent, facts, counters, cpu_above_then: Vec::new(), part: Part::default(), only_waited: false }
}

impl One {
    fn torch(mut self) -> Self {
        self.facts.library = Some("torch");
        self
    }

    fn forked(mut self) -> Self {
        self.facts.forked = true;
        self
    }

    fn catches(mut self, caught: u64) -> Self {
        self.counters.caught = caught;
        self
    }

    fn cpu(mut self, ticks: u64) -> Self {
        self.counters.cpu_ticks = ticks;
        self
    }

    /// The CPU time that a process above it had used when it came.
    fn above_then(mut self, place: usize, ticks: u64) -> Self {
        self.cpu_above_then.push((place, ticks));
        self
    }

    fn rank(mut self, rank: u32) -> Self {
        self.facts.rank = Some(("RANK", rank));
        self
    }
}

fn roles(tree: &mut [One]) -> Vec<Role> {
    for (index, one) in tree.iter_mut().enumerate() {
        one.counters.pid = 100 + index as u32;
    }
    let views: Vec<View<'_>> = tree
        .iter()
        .map(|one| View {
            facts: &one.facts,
            counters: one.counters,
            cpu_then: 0,
            cpu_above_then: one.cpu_above_then.clone(),
            parent: one.parent,
            part: &one.part,
            only_waited: one.only_waited,
        })
        .collect();
    let parts = decide(&views);
    for part in &parts {
        assert_eq!(part.role == Role::Other && !part.reason.starts_with("forked"), part.reason.is_empty(), "{part:?}");
    }
    for (one, part) in tree.iter_mut().zip(&parts) {
        one.part = part.clone();
    }
    parts.into_iter().map(|part| part.role).collect()
}

const TRAIN: &str = "/usr/bin/python3 train.py";

#[test]
fn a_trainer_with_workers_below_launchers() {
    let mut tree = [
        one(None, "uv run train.py", 20),
        one(Some(0), TRAIN, 300).torch(),
        one(Some(1), TRAIN, 300).torch().forked().catches(WORKER_SIGNALS),
        one(Some(1), "python3 -c from multiprocessing.resource_tracker import main;main(5)", 8),
        one(Some(1), TRAIN, 300).forked(),
        one(Some(1), "python3 -m mypackage.monitor", 9),
    ];
    let expected = [Role::Launcher, Role::Trainer, Role::DataloaderWorker, Role::ResourceTracker, Role::ForkedChild, Role::Other];
    assert_eq!(roles(&mut tree), expected);
}

#[test]
fn the_same_tree_without_names_keeps_its_shape() {
    let mut tree = [
        one(None, "", 20),
        one(Some(0), "", 300),
        one(Some(1), "", 300).forked().catches(WORKER_SIGNALS),
        one(Some(1), "", 300).forked(),
    ];
    assert_eq!(roles(&mut tree), [Role::Launcher, Role::Trainer, Role::DataloaderWorker, Role::ForkedChild]);
}

#[test]
fn faulthandler_is_no_proof_of_a_worker() {
    let mut tree = [one(None, TRAIN, 300).torch(), one(Some(0), TRAIN, 300).forked().catches(FAULTHANDLER)];
    assert_eq!(roles(&mut tree), [Role::Trainer, Role::ForkedChild]);
}

#[test]
fn a_child_of_a_worker_inherits_its_handlers_and_is_none() {
    let mut tree = [
        one(None, TRAIN, 300).torch(),
        one(Some(0), TRAIN, 300).forked().catches(WORKER_SIGNALS),
        one(Some(1), TRAIN, 300).forked().catches(WORKER_SIGNALS),
    ];
    assert_eq!(roles(&mut tree), [Role::Trainer, Role::DataloaderWorker, Role::Other]);
}

#[test]
fn spawned_workers_are_told_by_their_handlers() {
    let spawn = "python3 -c from multiprocessing.spawn import spawn_main; --multiprocessing-fork";
    let mut tree = [one(None, TRAIN, 300).torch(), one(Some(0), spawn, 200).torch().catches(WORKER_SIGNALS)];
    assert_eq!(roles(&mut tree), [Role::Trainer, Role::DataloaderWorker]);
}

#[test]
fn ranks_side_by_side_are_all_trainers_and_their_helpers_are_not() {
    let mut tree = [
        one(None, "/usr/bin/python3 /usr/bin/torchrun train.py", 150).torch(),
        one(Some(0), TRAIN, 900).torch().rank(0),
        one(Some(0), TRAIN, 700).torch().rank(1),
        one(Some(1), "python3 plot.py", 200).torch().rank(0),
    ];
    assert_eq!(roles(&mut tree), [Role::Launcher, Role::Trainer, Role::Trainer, Role::Other]);
    assert_eq!(tree[2].part.rank, Some(1));
    assert!(tree[2].part.reason.contains("RANK=1"), "{}", tree[2].part.reason);
}

#[test]
fn a_wrapper_in_python_that_imports_torch_only_waits() {
    let by_cpu =
        [one(None, "python3 main.py", 150).torch().cpu(300), one(Some(0), "python3 main.py --inner", 180).torch().cpu(3000)];
    let by_memory = [one(None, "python3 main.py", 150).torch(), one(Some(0), "python3 main.py --inner", 900).torch()];
    let not_yet_clear =
        [one(None, "python3 main.py", 150).torch().cpu(200), one(Some(0), "python3 main.py --inner", 160).torch().cpu(300)];
    for mut tree in [by_cpu, by_memory, not_yet_clear] {
        assert_eq!(roles(&mut tree), [Role::Launcher, Role::Trainer]);
    }
}

#[test]
fn a_wrapper_that_was_taken_for_the_trainer_is_found_out_by_its_waiting() {
    // As big as what it started, which comes to its library only after it.
    let mut tree =
        [one(None, "python3 main.py", 150).torch().cpu(300), one(Some(0), "python3 main.py --inner", 30).above_then(0, 298)];
    assert_eq!(roles(&mut tree)[0], Role::Trainer);
    tree[1].facts.library = Some("torch");
    tree[1].counters.anon = 150 * MIB;
    tree[1].counters.cpu_ticks = 290;
    assert_eq!(roles(&mut tree)[0], Role::Trainer, "it has done more so far");
    tree[1].counters.cpu_ticks = 310;
    assert_eq!(roles(&mut tree), [Role::Launcher, Role::Trainer]);
    let [mut wrapper, _] = tree;
    wrapper.only_waited = true;
    assert_eq!(roles(&mut [wrapper]), [Role::Launcher], "what it waited for has ended");
}

#[test]
fn a_trainer_that_waits_for_a_helper_stays_the_trainer() {
    let mut tree =
        [one(None, TRAIN, 500).torch().cpu(9000), one(Some(0), "python3 evaluate.py", 400).torch().cpu(2000).above_then(0, 9000)];
    assert_eq!(roles(&mut tree), [Role::Trainer, Role::Other]);
}

#[test]
fn a_helper_that_outgrows_its_trainer_a_little_stays_a_helper() {
    let mut tree = [one(None, TRAIN, 500).torch().cpu(9000), one(Some(0), "python3 evaluate.py", 300).torch().cpu(100)];
    assert_eq!(roles(&mut tree), [Role::Trainer, Role::Other]);
    tree[1].counters.anon = 600 * MIB;
    assert_eq!(roles(&mut tree), [Role::Trainer, Role::Other]);
}

#[test]
fn the_trainer_changes_only_on_clear_evidence() {
    let mut tree = [one(None, "sh run.sh", 1), one(Some(0), "python3 a.py", 100), one(Some(0), "python3 b.py", 90)];
    assert_eq!(roles(&mut tree)[1..], [Role::Trainer, Role::Other]);
    tree[2].counters.anon = 120 * MIB;
    assert_eq!(roles(&mut tree)[1..], [Role::Trainer, Role::Other], "a little more is no reason");
    tree[2].counters.anon = 200 * MIB;
    assert_eq!(roles(&mut tree)[1..], [Role::Other, Role::Trainer]);
}

#[test]
fn a_worker_that_is_leaving_stays_a_worker() {
    let mut tree = [one(None, TRAIN, 300).torch(), one(Some(0), TRAIN, 300).forked().catches(WORKER_SIGNALS)];
    roles(&mut tree);
    tree[1].counters.caught = 0;
    assert_eq!(roles(&mut tree), [Role::Trainer, Role::DataloaderWorker]);
}

#[test]
fn compilers_and_what_they_fork() {
    let pool = "python3 /x/torch/_inductor/compile_worker/__main__.py --workers=2";
    let mut tree = [
        one(None, TRAIN, 300).torch(),
        one(Some(0), pool, 250).torch(),
        one(Some(1), pool, 250).torch().forked(),
        one(Some(0), "/usr/bin/cc1plus -quiet x.cpp", 80),
    ];
    assert_eq!(roles(&mut tree), [Role::Trainer, Role::CompileWorker, Role::CompileWorker, Role::CompileWorker]);
}
