//! Fake tensors of a running process: which device they claim, on every Python that has torch.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::Target;
use lowtide_pyheap::memory::Memory;
use lowtide_pyheap::torch::{find, groups};
use lowtide_pyheap::{Census, Part, Python, budget};
use std::time::Duration;

#[test]
fn fake_tensors_are_told_by_the_device_that_they_claim() {
    for python in common::torches() {
        let target = Target::start(&python, "fake.py");
        let (process, image) = target.look();
        let runtime = Python::runtime(&process, &image).unwrap();
        let stopped = process.stop(Duration::from_secs(60)).unwrap();
        let image = stopped.image().unwrap();
        let mut memory = Memory::look(&process, &image, &find::shipped()).unwrap();
        let mut census = Census::take(image, Python::at(&stopped.image().unwrap(), runtime).unwrap(), 2).unwrap();
        stopped.release();
        let who = python.display();

        let plain = |memory: &Memory| groups::groups(memory.torch.as_ref().unwrap()).iter().any(|group| group.kind.fake);
        assert!(!plain(&memory), "{who}: nothing is known of them before");
        memory.find_fakes(&census);
        let groups = groups::groups(memory.torch.as_ref().unwrap());
        let of = |shape: &[i64]| {
            let group = groups.iter().find(|group| group.kind.shape == shape).unwrap();
            (group.count, group.kind.device.as_str(), group.kind.fake)
        };
        assert_eq!(of(&[3, 32]), (40, "cuda:1", true), "{who} {}", target.said);
        assert_eq!(of(&[7]), (1, "cpu", true), "{who}");
        assert_eq!(of(&[5]), (1, "meta", false), "{who}: another attribute is none of its own");

        // They are in no memory, and stand apart from what is on a device.
        let budget = budget::budget(&mut memory, Some(&census));
        assert_eq!(budget.devices["cuda:1 (fake)"][&Part::Data], 40 * 3 * 32 * 4, "{who} {:?}", budget.devices);
        assert!(!budget.devices.contains_key("cuda:1"), "{who}");
        let elsewhere = memory.count_tensors(&mut census);
        assert!(elsewhere.values().sum::<u64>() >= 40 * 3 * 32 * 4, "{who}");
    }
}
