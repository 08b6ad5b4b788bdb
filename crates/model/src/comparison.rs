//! Two runs side by side: `lowtide.compare/1`. Field names are a contract with other programs; more may be added.

use serde::Serialize;

use crate::Verdict;

/// The version of the JSON that [`Comparison`] becomes.
pub const COMPARISON_SCHEMA: &str = "lowtide.compare/1";

/// What became of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It leaked before, and does not any more.
    Fixed,
    /// It leaks more slowly, or needs less.
    Better,
    /// Whatever differs is within what two runs of one program differ by.
    NoDifference,
    /// It leaks now, or faster, or needs more.
    Worse,
}

/// What a row of the table is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Growth of the low-water mark.
    Growth,
    /// The low-water mark at the end of what is compared.
    Floor,
    /// The most there was.
    Peak,
    /// The highest rise above the low-water mark that came back.
    Spike,
    /// Seconds for a step.
    StepTime,
    /// What one part of a process's memory is for, where processes were looked into.
    Budget,
}

/// The unit of a row's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the documentation")]
pub enum Unit {
    Bytes,
    BytesPerSecond,
    BytesPerStep,
    Seconds,
}

/// A value of one side, and its 95 % interval where the noise is known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// The value; of several runs the mean.
    pub value: f64,
    /// Where the true one lies, by the noise of this side's runs.
    pub ci95: Option<[f64; 2]>,
}

/// One quantity, before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedRow {
    /// What.
    pub quantity: Quantity,
    /// In which unit.
    pub unit: Unit,
    /// Of which role, by the schema's names; `None` for the whole tree.
    pub role: Option<String>,
    /// In which phase; `None` for the whole run. Of a budget: near whose peak; `None` at rest.
    pub phase: Option<String>,
    /// Of a budget: of which card (`gpu0`); `None` for RAM.
    pub resource: Option<String>,
    /// Of a budget: which part of it (`parameters`, `batches in DataLoaders`), or `all`.
    pub part: Option<String>,
    /// Before; `None` where it could not be told.
    pub before: Option<Measured>,
    /// After; `None` where it could not be told.
    pub after: Option<Measured>,
    /// After less before, with its 95 % interval: what the runs' noise and what two runs of one program differ by allow.
    pub difference: Option<Measured>,
    /// Whether that is a difference; `None` where it cannot be told.
    pub differs: Option<bool>,
    /// The smallest difference that would have been seen, 95 times in 100.
    pub smallest_seen: Option<f64>,
}

/// When it is that a row of the budget is about: `trainer at rest`, `trainer near the peak of train`, `trainer on gpu0 at the peak of
/// train`. `role`: by the schema's names; `phase`: near whose peak, `None` at rest.
#[must_use]
pub fn budget_moment(role: &str, resource: Option<&str>, phase: Option<&str>) -> String {
    let role = role.replace('_', " ");
    match (resource, phase) {
        (None, None) => format!("{role} at rest"),
        (None, Some(phase)) => format!("{role} near the peak of {phase}"),
        // What is at rest on a card is told at the end of a step.
        (Some(resource), None) => format!("{role} on {resource} at rest"),
        (Some(resource), Some(phase)) => format!("{role} on {resource} at the peak of {phase}"),
    }
}

/// One of the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedRun {
    /// The file it was read from.
    pub file: String,
    /// Its command, secrets masked.
    pub command: String,
    /// What is said of it alone.
    pub verdict: Verdict,
    /// Seconds watched.
    pub duration_s: f64,
    /// Steps, where they are known.
    pub steps: Option<u64>,
    /// The most processes alive at one time.
    pub processes: u32,
    /// How it ended: `exit 0`, `signal 9`, `still running`, `broke off`; empty where the file does not say.
    pub ended: String,
}

/// How far the runs are compared where what is compared depends on how long a run is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Matched {
    /// `step` or `second`.
    pub by: &'static str,
    /// Floor, peak and spike are those up to this one; `None`: of the whole runs, since none of them grows at its end.
    pub until: Option<f64>,
}

/// The whole answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Always [`COMPARISON_SCHEMA`].
    pub schema: &'static str,
    /// What became of the memory.
    pub outcome: Change,
    /// The same in one sentence.
    pub summary: String,
    /// What it costs in time, in one sentence.
    pub price: String,
    /// What of the budget differs most, in one sentence; `None` where what memory is for is not known on both sides.
    pub budget: Option<String>,
    /// How far the runs were compared.
    pub matched: Matched,
    /// The runs before.
    pub before: Vec<ComparedRun>,
    /// The runs after.
    pub after: Vec<ComparedRun>,
    /// The whole tree first, then roles, then phases, then what memory is for.
    pub rows: Vec<ComparedRow>,
    /// What a reader should know before trusting it.
    pub notes: Vec<String>,
}
