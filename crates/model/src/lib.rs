//! The nouns that every part of lowtide shares.
//!
//! A run is a stream of [`Event`]s: who was alive ([`Process`]), what was measured at each tick
//! ([`Tick`]), what could not be seen ([`Note`]), how it ended ([`RunEnd`]). Live collection, a
//! recording and a file of somebody else's tool all become this stream; the analysis turns it into a
//! [`Report`], and the report is all that a reader of lowtide ever sees.
//!
//! Invariant: nothing here does I/O or knows the time of day.

mod bytes;
mod civil;
mod comparison;
mod event;
mod gpu;
mod logged;
mod look;
mod mark;
mod process;
mod report;
mod snapshot;
mod span;
mod tick;

pub use bytes::{Bytes, ParseBytesError, Rate};
pub use civil::civil;
pub use comparison::{
    COMPARISON_SCHEMA, Change, ComparedRow, ComparedRun, Comparison, Matched, Measured, Quantity, Unit, budget_moment,
};
pub use event::{Event, ExitStatus, Mode, Note, NoteKind, Notice, RunEnd, RunInfo, Signal, WatchCost};
pub use gpu::{Gpu, GpuDriver, GpuId, GpuSample, GpuUser, GpuUserId, GpuUserSample};
pub use logged::LoggedReport;
pub use look::{
    AllocatedGrown, BudgetAt, Grown, HolderGrown, LineGrown, Look, MALLOC_HOLES, MOST_ALLOCATED, MOST_ALSO, MOST_HOLDERS,
    MOST_LINES, MOST_OBJECTS, MOST_ON_DEVICES, MOST_PARTS, MOST_SITES, MOST_UNTOUCHED, OPENS_AND, ObjectGrown, OnDevice,
    PartGrown, PartOfBudget, Site, Sort, UntouchedData,
};
pub use mark::{Answer, DeviceFacts, InnerFacts, Mark, MarkKind, Request, Scope, ScopeMark};
pub use process::{Exit, ProcId, Process, Role};
pub use report::{
    Beside, BudgetReport, Class, CostReport, Cycle, EpochReport, ExpectationReport, ExpectationState, Finding, GpuHolder,
    GpuPart, GpuPhase, GpuReport, Growth, Holder, Hypothesis, HypothesisState, Kind, LimitReport, NodeReport, OomForecast,
    PhaseReport, ProcessRef, ProcessReport, ProgressReport, Report, RoleReport, RunSummary, SCHEMA, SamplingReport, Verdict,
};
pub use snapshot::{SnapshotLine, SnapshotReport};
pub use span::Seconds;
pub use tick::{Cgroup, CgroupId, CgroupSample, CgroupVersion, ProcSample, Rollup, SystemSample, Tick};
