//! Processes and the part each plays in a run.

use serde::{Deserialize, Serialize};

/// A process within one run: an index into the run's list of processes, in order of first sight. Pids are
/// reused by the kernel; this is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProcId(pub u32);

/// What a process is in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Runs the training loop; one per rank.
    Trainer,
    /// Proven to load data for a trainer.
    DataloaderWorker,
    /// Compiles kernels for a trainer (torch inductor's pool, Triton, nvcc).
    CompileWorker,
    /// Starts the trainer and waits for it (`uv run`, `torchrun`, `accelerate`, a shell).
    Launcher,
    /// Python's `multiprocessing.resource_tracker`.
    ResourceTracker,
    /// Forked from a trainer without exec; its own command line is its parent's, so no more can be proven.
    ForkedChild,
    /// Not in the watched tree; named because it grows while the tree does not.
    Outside,
    /// None of these.
    Other,
}

impl Role {
    /// Every role, in the order in which a report lists them.
    pub const ALL: [Self; 8] = [
        Self::Trainer,
        Self::DataloaderWorker,
        Self::CompileWorker,
        Self::Launcher,
        Self::ResourceTracker,
        Self::ForkedChild,
        Self::Outside,
        Self::Other,
    ];

    /// The name in `lowtide.report/1`, which knows six roles; the two finer ones count as `other` there.
    #[must_use]
    pub fn schema_name(self) -> &'static str {
        match self {
            Self::Trainer => "trainer",
            Self::DataloaderWorker => "dataloader_worker",
            Self::CompileWorker => "compile_worker",
            Self::Launcher => "launcher",
            Self::ResourceTracker => "resource_tracker",
            Self::ForkedChild | Self::Outside | Self::Other => "other",
        }
    }

    /// What a person calls it.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Trainer => "trainer",
            Self::DataloaderWorker => "DataLoader worker",
            Self::CompileWorker => "compile worker",
            Self::Launcher => "launcher",
            Self::ResourceTracker => "resource tracker",
            Self::ForkedChild => "forked child of the trainer",
            Self::Outside => "outside the watched tree",
            Self::Other => "other",
        }
    }
}

/// A process of the run. Sent when it is first seen and again, with the same `id`, when it execs or when more
/// is known about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// Its index in this run.
    pub id: ProcId,
    /// Its pid as the recorder sees it.
    pub pid: u32,
    /// Its parent's pid when first seen.
    pub ppid: u32,
    /// Its parent, where that is a process of this run. Stays what it was when a daemon is reparented.
    #[serde(default)]
    pub parent: Option<ProcId>,
    /// When it started, in seconds after the run's start (negative where it is older).
    pub start_s: f64,
    /// Its name (comm), at most 15 bytes on Linux.
    #[serde(default)]
    pub name: String,
    /// Its command line with secrets masked; empty for kernel threads and where it cannot be read.
    #[serde(default)]
    pub command: String,
    /// What it is in the run.
    pub role: Role,
    /// How that was told, in words: `forked by the trainer and catches SIGBUS, SIGSEGV and SIGFPE as torch's workers do`.
    #[serde(default)]
    pub role_reason: String,
    /// The global rank (RANK) of a trainer, else its LOCAL_RANK.
    #[serde(default)]
    pub rank: Option<u32>,
}

/// A process left.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exit {
    /// Which process.
    pub id: ProcId,
    /// When it was found gone, in seconds after the run's start.
    pub t_s: f64,
}
