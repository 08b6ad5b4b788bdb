//! Numbers that a file says of memory over and over, judged as series.

use serde::Serialize;

use crate::Verdict;

/// One series of such numbers. Values in bytes, or in percent where [`LoggedReport::unit`] says so.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LoggedReport {
    /// Its name, as the file has it.
    pub name: String,
    /// Which of several: `rank 3`, `gpu 0`; empty where that is not said.
    pub entity: String,
    /// Where it stands: `lines of the log`, `nvidia-smi`.
    pub form: String,
    /// `process`, `machine`, `card`, `allocator`, `unsaid`.
    pub whose: &'static str,
    /// `used`, `reserved`, `peak`.
    pub what: &'static str,
    /// `bytes` or `percent`.
    pub unit: &'static str,
    /// What its points are ordered by: `seconds`, `seconds of progress bars`, `steps`, `epochs`, `lines`.
    pub axis: &'static str,
    /// How many.
    pub points: u64,
    /// The first line, counted from 1.
    pub first_line: u64,
    /// The last line.
    pub last_line: u64,
    /// The first value.
    pub first: f64,
    /// The last value.
    pub last: f64,
    /// The low-water mark at the end.
    pub floor: f64,
    /// The highest value.
    pub peak: f64,
    /// What there is, where the file says.
    pub limit: Option<f64>,
    /// Smaller changes do not show in its digits.
    pub resolution: f64,
    /// Of this series alone; `None` for what cannot be judged.
    pub verdict: Option<Verdict>,
    /// Growth of its low-water mark per second, step, epoch or line of the axis; `None` where none was established.
    pub growth: Option<f64>,
    /// The 95 % interval of it.
    pub growth_ci95: Option<[f64; 2]>,
    /// What was seen, in words.
    pub says: String,
}

impl LoggedReport {
    /// Series of fewer numbers get no verdict.
    pub const FEWEST: u64 = 8;
}
