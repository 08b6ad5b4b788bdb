//! What a report is held against: expectations, and what makes the exit code 1.

use lowtide_model::Report;

use crate::exit::Failure;
use crate::watch::Observer;

/// What to hold a report against.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct JudgeArgs {}

/// The same, read and found right.
#[derive(Default)]
pub struct Judging {}

impl Judging {
    /// Reads the options.
    pub fn of(_: &JudgeArgs) -> Result<Self, Failure> {
        Ok(Self {})
    }

    /// Looks at the run while it goes on.
    pub fn observers(&self) -> Vec<Observer> {
        Vec::new()
    }

    /// Adds to the report what became of the expectations.
    pub fn judge(&self, _: &mut Report) {}

    /// Whether the report holds what `--fail-on` names.
    pub fn found(&self, _: &Report) -> bool {
        false
    }
}
