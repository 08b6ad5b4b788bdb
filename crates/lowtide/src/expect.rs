//! `--expect`: what a run must keep to, per role, and what became of it.
//!
//! `docs/expectations.md` defines every word. The rule that matters most: an expectation that could not be
//! checked fails nothing, but the report says so aloud; it never passes as kept.

mod judge;
mod parse;

pub use judge::judge;

use lowtide_model::Role;

/// One expectation, as read.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// As it was written.
    text: String,
    check: Check,
}

#[derive(Clone, Debug, PartialEq)]
enum Check {
    /// `no-oom`.
    NoOom,
    /// `[scope.]metric < bound`.
    Bound(Bound),
}

#[derive(Clone, Debug, PartialEq)]
struct Bound {
    scope: Scope,
    metric: Metric,
    /// `<`: the bound itself is too much already.
    strict: bool,
    /// In bytes, or in bytes per `per`.
    bytes: f64,
    per: Option<Per>,
}

/// Whose memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Tree,
    Role(Role),
    Phase(&'static str),
}

/// Which number of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Metric {
    Ram,
    Gpu,
    Shm,
    Peak,
    Floor,
    Growth,
    Spike,
}

/// What a growth is per.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Per {
    Step,
    Epoch,
    Hour,
    Minute,
    Second,
}

const METRICS: [(&str, Metric); 7] = [
    ("ram", Metric::Ram),
    ("gpu", Metric::Gpu),
    ("shm", Metric::Shm),
    ("peak", Metric::Peak),
    ("floor", Metric::Floor),
    ("growth", Metric::Growth),
    ("spike", Metric::Spike),
];

const PERS: [(&str, Per); 5] =
    [("step", Per::Step), ("epoch", Per::Epoch), ("hour", Per::Hour), ("minute", Per::Minute), ("second", Per::Second)];

const PHASES: [&str; 6] = ["train", "validation", "test", "checkpoint", "setup", "idle"];

/// Roles that can be named; what is outside the watched tree has no row of its own to hold to anything.
const ROLES: [(&str, Role); 7] = [
    ("trainer", Role::Trainer),
    ("dataloader_worker", Role::DataloaderWorker),
    ("compile_worker", Role::CompileWorker),
    ("launcher", Role::Launcher),
    ("resource_tracker", Role::ResourceTracker),
    ("forked_child", Role::ForkedChild),
    ("other", Role::Other),
];
