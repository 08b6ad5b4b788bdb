//! What was asked for and never written is told from what takes memory.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::Target;
use lowtide_pyheap::memory::Memory;
use lowtide_pyheap::torch::find;
use lowtide_pyheap::{Census, Python};
use std::time::Duration;

const MIB: u64 = 1 << 20;

#[test]
fn arrays_and_tensors_that_are_written_in_part_are_told_with_the_part() {
    for python in common::torches() {
        let target = Target::start(&python, "untouched.py");
        let (process, image) = target.look();
        let runtime = Python::runtime(&process, &image).unwrap();
        let stopped = process.stop(Duration::from_secs(60)).unwrap();
        let image = stopped.image().unwrap();
        let memory = Memory::look(&process, &image, &find::shipped()).unwrap();
        let found = Python::at(&image, runtime).unwrap();
        let census = Census::take(image, found, 2).unwrap();
        let told: Vec<(String, u64, u64)> = memory
            .untouched(&census)
            .into_iter()
            .filter(|data| data.bytes >= MIB)
            .map(|data| (census.path(data.id).to_string(), data.bytes / MIB, data.resident / MIB))
            .collect();
        let at = format!("{} {}: {told:?}", python.display(), target.said["version"]);
        let [first, second] = &told[..] else { panic!("{at}") };
        assert!(first.0.contains("-> part: ") && first.1 == 64 && (10..=12).contains(&first.2), "{at}");
        assert!(second.0.contains("-> bank: ") && second.1 == 40 && (5..=7).contains(&second.2), "{at}");
    }
}
