//! The stream that a run is.

use serde::{Deserialize, Serialize};

use crate::{Cgroup, Exit, Gpu, GpuUser, Look, Mark, ProcId, Process, Tick};

/// One thing that happened in a run, in order of time. Readers skip kinds that they do not know.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The first event of every run.
    Start(RunInfo),
    /// A process appeared, execed, or is better known now.
    Process(Process),
    /// A process left.
    Exit(Exit),
    /// A memory cgroup of the target.
    Cgroup(Cgroup),
    /// A GPU that the run can see.
    Gpu(Gpu),
    /// A process has memory on a GPU, or is better known now.
    GpuUser(GpuUser),
    /// Measurements of one moment.
    Tick(Tick),
    /// A process says where it is in its training.
    Mark(Mark),
    /// A process was looked into.
    Look(Look),
    /// Something that a reader of the report should know.
    Note(Note),
    /// What watching has cost so far; the last one counts.
    Cost(WatchCost),
    /// The target ended, or watching did. A recording without it broke off.
    End(RunEnd),
}

/// How the run came to be watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Started by `lowtide run`.
    Run,
    /// Watched by `lowtide attach` while it ran.
    Attach,
    /// Read from a file that another tool wrote.
    Import,
}

/// What the memory numbers of a run are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// Anonymous, file and shared pages apart: the full picture.
    #[default]
    AnonShmem,
    /// RSS only (in [`crate::ProcSample::anon`]); file pages cannot be told from a leak.
    RssOnly,
    /// The machine's used memory only (in [`crate::ProcSample::anon`] of one made-up process).
    SystemOnly,
}

/// What a run is. Times of other events count from its start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// The version of lowtide that wrote this.
    pub version: String,
    /// How it came to be watched.
    pub mode: Mode,
    /// The command, secrets masked; for an imported file, what it was told to be.
    pub command: Vec<String>,
    /// The host's name, empty where unknown.
    #[serde(default)]
    pub host: String,
    /// Start of watching, seconds since 1970; zero where unknown.
    #[serde(default)]
    pub started_unix_s: f64,
    /// Asked-for seconds between ticks; zero where unknown.
    #[serde(default)]
    pub interval_s: f64,
    /// The pid of the process started or attached to, zero where there is none.
    #[serde(default)]
    pub root_pid: u32,
    /// The rank in a distributed job that the environment names.
    #[serde(default)]
    pub rank: Option<u32>,
    /// What the memory numbers are.
    #[serde(default)]
    pub signal: Signal,
}

/// What a [`Note`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// A source that cannot be read: a blind spot of the verdict. Text: `GPU: no driver`.
    Unavailable,
    /// A warning that does not touch the verdict.
    Warning,
    /// Ticks are missing here (the machine slept, the recorder was starved, the disk was full).
    Gap,
    /// Memory outside the watched tree grows; [`Note::process`] is the suspect.
    Outside,
    /// The outside process [`Note::process`] has to do with the run: a socket connects them, or it lives under the
    /// same limited cgroup. Only such a process's growth can be the run's.
    Linked,
}

/// Something that a reader of the report should know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// When, in seconds after the run's start.
    pub t_s: f64,
    /// What it is about.
    pub kind: NoteKind,
    /// One line, with the reason and, where there is one, the mend.
    pub text: String,
    /// The process that it is about.
    #[serde(default)]
    pub process: Option<ProcId>,
}

/// Watching's own cost, counted from the start of watching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WatchCost {
    /// When this was counted, in seconds after the run's start.
    pub t_s: f64,
    /// CPU seconds that the recorder used.
    pub cpu_s: f64,
    /// The recorder's own RSS in bytes.
    pub rss_bytes: u64,
    /// Reads of `smaps_rollup`.
    pub rollup_reads: u64,
    /// The longest of these reads, milliseconds: the most that an mmap of the target can have waited for us.
    pub longest_rollup_ms: f64,
    /// Processes that share pages, are too big for `smaps_rollup`, and whose `pagemap` says nothing either.
    pub rollup_skipped: u32,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitStatus {
    /// It returned this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// Watching ended first, or nobody could tell.
    Unknown,
}

/// The target ended, or watching did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnd {
    /// When, in seconds after the run's start.
    pub t_s: f64,
    /// How the target ended.
    pub status: ExitStatus,
    /// Why watching ended, in words, where the target did not end: `--for 10m is over`.
    #[serde(default)]
    pub reason: String,
    /// Kills for memory that the cgroups and the machine counted while we watched, where the target was among the likely victims.
    #[serde(default)]
    pub oom_kills: u64,
}

/// What `run` and `attach` say while the target runs: one line each.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// A leak is established.
    Leak(String),
    /// It was said, and what came after it shows that there is none.
    NoLeak(String),
    /// The forecast is nearer than asked for.
    OomNear(String),
}
