//! Fakes for tests: a file system root with processes and cgroups that a test changes between two looks, and real
//! child processes that say when they are ready and never outlive their test; a made-up run that is always busy.
//!
//! Panics are the way to fail here: everything in this crate runs inside of tests.
#![allow(clippy::unwrap_used, reason = "test code")]

mod busy;
mod cgroup;
mod child;
mod gpu;
mod process;
mod root;

pub use busy::BusyRun;
pub use cgroup::{FakeCgroupV1, FakeCgroupV2};
pub use child::{Child, Orphan};
pub use gpu::FakeGpus;
pub use process::{FakeProcess, FakeRollup};
pub use root::FakeRoot;

/// `n` MiB in bytes.
#[must_use]
pub const fn mib(n: u64) -> u64 {
    n << 20
}
