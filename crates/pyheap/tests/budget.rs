//! The budget of a training run against what the run itself says its components hold, on every Python that has torch.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::Target;
use lowtide_pyheap::memory::Memory;
use lowtide_pyheap::torch::find;
use lowtide_pyheap::{Budget, Census, Part, Python, budget};
use std::time::Duration;

#[test]
fn components_hold_what_the_run_says() {
    for python in common::torches() {
        let target = Target::start(&python, "budget.py");
        let said = target.said.clone();
        let budget = look(&target);
        let who = format!("{}: {said} {:#?}", python.display(), budget.ram);
        assert_eq!(budget.ram.values().sum::<u64>(), budget.total, "{who}");
        let close = |part: Part, truth: u64, slack: u64| {
            let ours = budget.ram.get(&part).copied().unwrap_or(0);
            assert!((truth..=truth + slack).contains(&ours), "{}: {ours}, not {truth} in {who}", part.name());
        };
        let said = |name: &str| said[name].as_u64().unwrap();
        close(Part::Parameters, said("parameters"), 0);
        close(Part::Gradients, said("gradients"), 0);
        close(Part::OptimizerState, said("optimizer"), 0);
        close(Part::ModelOther, said("buffers"), 64);
        // The rest of what a Dataset holds: its lists, and Python's objects of 500 tensors.
        close(Part::Data, said("data_tensors") + said("data_objects"), 200 << 10);
        close(Part::Locals, said("batch"), 200 << 10);
        close(Part::Graph, said("graph"), said("graph") / 10);
    }
}

fn look(target: &Target) -> Budget {
    let (process, image) = target.look();
    let runtime = Python::runtime(&process, &image).unwrap();
    let stopped = process.stop(Duration::from_secs(60)).unwrap();
    let image = stopped.image().unwrap();
    let mut memory = Memory::look(&process, &image, &find::shipped()).unwrap();
    let python = Python::at(&image, runtime).unwrap();
    let census = Census::take(image, python, 2).unwrap();
    budget::budget(&mut memory, Some(&census))
}
