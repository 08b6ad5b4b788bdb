//! The answer: `lowtide.report/1`. Field names are a contract with other programs; more may be added.

use serde::Serialize;

use crate::{Bytes, LoggedReport, ObjectGrown, Role, Site, SnapshotReport};

/// The version of the JSON that [`Report`] becomes.
pub const SCHEMA: &str = "lowtide.report/1";

/// Is it a leak?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The low tide rises, and a ceiling is ruled out as far as that can be done from what was seen.
    Leak,
    /// The low tide rises; that it stops by itself is not yet ruled out.
    LikelyLeak,
    /// No growth above the detectable rate, or growth that was seen to stop.
    NoLeak,
    /// Not enough data; the report says how much is missing.
    Undecided,
}

impl Verdict {
    /// It in two words, for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Leak => "leak",
            Self::LikelyLeak => "likely leak",
            Self::NoLeak => "no leak",
            Self::Undecided => "undecided",
        }
    }
}

/// What sort of thing a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the documentation: DESIGN's words")]
pub enum Class {
    Leak,
    BoundedGrowth,
    AllocatorRetention,
    GpuReservedGrowth,
    Spikes,
    Sawtooth,
    Overhead,
    FileCache,
    Oom,
    Expectation,
    Source,
}

impl Class {
    /// Memory that rises at low tide: a verdict may rest on it.
    #[must_use]
    pub fn grows(self) -> bool {
        matches!(self, Self::Leak | Self::AllocatorRetention)
    }
}

/// What sort of memory grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the documentation: DESIGN's words")]
pub enum Kind {
    PythonObjects,
    Tensor,
    AutogradGraph,
    NativeHeap,
    AllocatorHoles,
    Anonymous,
    Shmem,
    File,
    Processes,
    Fds,
    Threads,
    Maps,
    GpuAllocated,
    GpuReserved,
    GpuOutside,
}

/// The unit in which a growth's interval is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the documentation")]
pub enum Cycle {
    Second,
    Step,
    Cycle,
}

/// How fast it grows. For [`Kind::Processes`], [`Kind::Fds`], [`Kind::Threads`] and [`Kind::Maps`] the rates
/// count pieces, not bytes, and [`Growth::unit`] says so.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Growth {
    /// Per second.
    pub bytes_per_second: f64,
    /// Per optimizer step, where steps are known.
    pub bytes_per_step: Option<f64>,
    /// Per natural cycle of the run, where one was found.
    pub bytes_per_cycle: Option<f64>,
    /// Per epoch, where epochs are known.
    pub bytes_per_epoch: Option<f64>,
    /// Per federated round, where rounds are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_per_round: Option<f64>,
    /// Live bytes that the federated node of [`ProcessRef::node`] leaves per round, where one is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_bytes_per_round: Option<f64>,
    /// 95 % interval of the rate, in the unit of `per`.
    pub ci95: [f64; 2],
    /// What `ci95` is per.
    pub per: Cycle,
    /// Live bytes per step, where an inner view tells them from pages.
    pub live_bytes_per_step: Option<f64>,
    /// `bytes` or `count`.
    pub unit: &'static str,
}

impl Growth {
    /// Bytes per second and the 95 % interval of that; nothing else is known.
    #[must_use]
    pub fn per_second(bytes_per_second: f64, ci95: [f64; 2]) -> Self {
        Self {
            bytes_per_second,
            bytes_per_step: None,
            bytes_per_cycle: None,
            bytes_per_epoch: None,
            bytes_per_round: None,
            node_bytes_per_round: None,
            ci95,
            per: Cycle::Second,
            live_bytes_per_step: None,
            unit: "bytes",
        }
    }

    /// The rate in the unit of its interval, `per`.
    #[must_use]
    pub fn per_unit(&self) -> Option<f64> {
        match self.per {
            Cycle::Second => Some(self.bytes_per_second),
            Cycle::Step => self.bytes_per_step,
            Cycle::Cycle => self.bytes_per_cycle,
        }
    }
}

/// The process that a finding is about.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProcessRef {
    /// Its pid; 0 where the finding is about a role or about no process at all.
    pub pid: u32,
    /// Its role, by the schema's names.
    pub role: &'static str,
    /// Role, finer than the schema: `forked child of the trainer`, `3 DataLoader workers`.
    pub role_label: String,
    /// Its command, shortened.
    pub name: String,
    /// Its rank.
    pub rank: Option<u32>,
    /// Its host.
    pub host: String,
    /// The federated node that grows, where nodes are known and one of them explains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

impl ProcessRef {
    /// All processes of a role, and no single one of them.
    #[must_use]
    pub fn of_role(role: Role, role_label: String, host: String) -> Self {
        Self { pid: 0, role: role.schema_name(), role_label, name: String::new(), rank: None, host, node: None }
    }
}

/// Who holds what grows, by names of the program.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Holder {
    /// The way to it, step by step, from a module or function.
    pub path: Vec<String>,
    /// How a person calls it: `trainer.history`.
    pub name: String,
    /// The file of that module or function.
    pub file: String,
    /// The line that the function was at.
    pub line: Option<u32>,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// `len()` at two looks, for a container.
    pub length: Option<[u64; 2]>,
    /// Bytes that it held more at the second look.
    pub bytes_delta: i64,
    /// Seconds between the two looks.
    pub seconds: f64,
    /// The share of the measured growth that this explains.
    pub explains: f64,
    /// Others that hold most of it as well: it goes only when all of these let go, too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
}

/// When memory will run out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OomForecast {
    /// Which limit binds: `cgroup`, `system`, `shm`, `expectation`.
    pub limit: String,
    /// That limit.
    pub limit_bytes: u64,
    /// Seconds from the end of watching: low, middle, high.
    pub seconds: Option<[f64; 3]>,
    /// Steps from the end of watching, where steps are known.
    pub steps: Option<[f64; 3]>,
    /// The epoch that it falls into, from 0, where epochs are known and counted through.
    pub epoch: Option<u64>,
    /// The federated round that it falls into, from 0, where rounds are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<u64>,
    /// The figures behind it, by name: `floor`, `spike`, `used`, and those of a decoded kill (`oom_kills`, ...).
    pub numbers: std::collections::BTreeMap<String, f64>,
}

/// Somebody who holds a part of the growth that a finding is about, beside its holder.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Beside {
    /// Who.
    pub holder: Holder,
    /// The line that adds to it.
    pub site: Option<Site>,
    /// The cause in the catalogue, as LT103.
    pub cause: Option<String>,
}

/// One thing found, with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What sort of thing.
    pub class: Class,
    /// How sure, 0 to 1.
    pub confidence: f64,
    /// What is used up: `ram`, `shm`, `gpu0`, `processes`, `fds`, `threads`.
    pub resource: String,
    /// What sort of memory.
    pub kind: Option<Kind>,
    /// How fast.
    pub growth: Option<Growth>,
    /// Who.
    pub process: Option<ProcessRef>,
    /// In which phase, where phases are known.
    pub phase: Option<String>,
    /// What objects become more, where a look into the process told.
    pub objects: Vec<ObjectGrown>,
    /// Who holds them.
    pub holder: Option<Holder>,
    /// The line that adds to it.
    pub site: Option<Site>,
    /// Other lines that add to the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<Site>,
    /// Others that grew in the same time, most first: each is to be mended as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Beside>,
    /// The cause in the catalogue, as LT103.
    pub cause: Option<String>,
    /// What the catalogue calls it, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Why it grows, by that line.
    pub why: Option<String>,
    /// What to do about it.
    pub fix: Option<String>,
    /// When it runs out.
    pub oom: Option<OomForecast>,
    /// One sentence for people.
    pub text: String,
    /// What was seen, one sentence each.
    pub evidence: Vec<String>,
    /// Bytes that it is about where it is no growth: a spike's height, an overhead's size, a ceiling's rise.
    pub bytes: Option<u64>,
}

impl Finding {
    /// A finding with nothing but its class and sentence.
    #[must_use]
    pub fn new(class: Class, resource: &str, text: impl Into<String>) -> Self {
        Self {
            class,
            confidence: 1.0,
            resource: resource.to_owned(),
            kind: None,
            growth: None,
            process: None,
            phase: None,
            objects: Vec::new(),
            holder: None,
            site: None,
            sites: Vec::new(),
            beside: Vec::new(),
            cause: None,
            title: None,
            why: None,
            fix: None,
            oom: None,
            text: text.into(),
            evidence: Vec::new(),
            bytes: None,
        }
    }
}

impl Finding {
    /// It is growth that a verdict may rest on. What PyTorch's allocator holds on a GPU grows with the data, too: then it says
    /// no rate.
    #[must_use]
    pub fn grows(&self) -> bool {
        self.class.grows() || self.class == Class::GpuReservedGrowth && self.growth.is_some()
    }

    /// All lines that add to it, the most telling first.
    pub fn lines(&self) -> impl Iterator<Item = &Site> {
        self.site.iter().chain(&self.sites)
    }

    /// Whether it says that the run was killed for memory (`oom_kills` of its numbers), not that it may be.
    #[must_use]
    pub fn is_kill(&self) -> bool {
        let kills = self.oom.as_ref().and_then(|oom| oom.numbers.get("oom_kills"));
        self.class == Class::Oom && kills.is_some_and(|kills| *kills > 0.0)
    }

    /// Whether it says that memory ran out: the run was killed, or was refused memory (`oom_errors` of its numbers).
    #[must_use]
    pub fn ran_out(&self) -> bool {
        let errors = self.oom.as_ref().and_then(|oom| oom.numbers.get("oom_errors"));
        self.is_kill() || (self.class == Class::Oom && errors.is_some_and(|errors| *errors > 0.0))
    }
}

/// One process in the report's tree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProcessReport {
    /// Its index in the run.
    #[serde(skip)]
    pub id: crate::ProcId,
    /// Its parent's index.
    #[serde(skip)]
    pub parent: Option<crate::ProcId>,
    /// Its pid.
    pub pid: u32,
    /// Its parent's pid.
    pub ppid: u32,
    /// Its role by the schema's names.
    #[serde(serialize_with = "schema_role")]
    pub role: Role,
    /// How the role was told.
    pub role_reason: String,
    /// Its rank.
    pub rank: Option<u32>,
    /// Its command, secrets masked.
    pub name: String,
    /// The one to watch.
    pub watch: bool,
    /// When it started, seconds after the run's start.
    pub start_s: f64,
    /// When it ended; `None` while it lives.
    pub end_s: Option<f64>,
    /// Its memory at the end, shared pages counted once where PSS could be read (else anon + shmem).
    pub bytes: u64,
    /// The most it had.
    pub peak_bytes: u64,
    /// Growth of its own low tide, bytes per second; 0 where none was established.
    pub growth: f64,
}

fn schema_role<S: serde::Serializer>(role: &Role, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(role.schema_name())
}

/// All processes of one role together, or (with `role` empty) the whole tree. Sizes in bytes of anonymous and
/// shared memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RoleReport {
    /// The role by the schema's names; empty for the whole tree.
    pub role: String,
    /// What a person calls it.
    pub label: String,
    /// The most processes of it alive at one time.
    pub count: u32,
    /// The low-water mark at the end of watching.
    pub floor_bytes: u64,
    /// The most it had.
    pub peak_bytes: u64,
    /// The highest rise above the low-water mark that came back.
    pub spike_bytes: u64,
    /// What it has at the end.
    pub end_bytes: u64,
    /// The shared-memory part of `peak_bytes`; for the tree, the peak of /dev/shm.
    pub shm_bytes: u64,
    /// Growth of its low-water mark, bytes per second; `None` where none was established.
    pub growth: Option<f64>,
    /// The most that its growth can be by what was seen (95 %), bytes per second; `None` where it cannot be said yet.
    pub growth_upper: Option<f64>,
}

/// A limit that the run lives under.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LimitReport {
    /// `cgroup`, `system`, `shm`.
    pub name: String,
    /// The limit.
    pub bytes: u64,
    /// Used of it at the end of watching (for a cgroup its working set).
    pub used: u64,
    /// The cgroup's path.
    pub path: String,
}

/// A GPU that the run was seen on, at the end of watching. Sizes in bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GpuReport {
    /// `gpu0`, `gpu0.mig1`.
    pub resource: String,
    /// Its model.
    pub name: String,
    /// There is no such GPU: the numbers are made up.
    pub emulated: bool,
    /// All that it has, where the driver tells.
    pub total_bytes: Option<u64>,
    /// What is used of it, where the driver tells.
    pub used_bytes: Option<u64>,
    /// The most that was; without a driver the most that PyTorch's allocator held.
    pub peak_bytes: u64,
    /// What processes have that are none of the run, where the driver tells.
    pub others_bytes: Option<u64>,
    /// What the run's processes have.
    pub processes: Vec<GpuHolder>,
}

/// What one process has on a GPU. Sizes in bytes; `None` where it is not told.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GpuHolder {
    /// Its pid.
    pub pid: u32,
    /// Its rank.
    pub rank: Option<u32>,
    /// What the driver counts for it.
    pub used_bytes: Option<u64>,
    /// Tensors that live.
    pub allocated_bytes: Option<u64>,
    /// The most of these at one time.
    pub peak_allocated_bytes: Option<u64>,
    /// What PyTorch's allocator holds.
    pub reserved_bytes: Option<u64>,
    /// The part of it that is free in blocks that are used in part.
    pub fragments_bytes: Option<u64>,
    /// The part of it in private pools.
    pub private_pools_bytes: Option<u64>,
    /// Outside PyTorch's allocator: the CUDA context, libraries, other allocators.
    pub outside_bytes: Option<u64>,
    /// The same at the first measurement: what is there from the start.
    pub outside_at_start_bytes: Option<u64>,
    /// Host memory that torch's allocator has pinned.
    pub pinned_host_bytes: Option<u64>,
    /// Times that free blocks were given back to satisfy a request.
    pub retries: Option<u32>,
    /// Requests that failed.
    pub failures: Option<u32>,
    /// What it is for; empty where neither objects nor the allocator tell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub budget: Vec<GpuPart>,
    /// The most that it needed in each phase, and for what; empty where no phase is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<GpuPhase>,
}

/// The most tensors that a process had on a GPU at one time in a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GpuPhase {
    /// The phase: `train`, `validation`.
    pub phase: String,
    /// Their bytes.
    pub peak_bytes: u64,
    /// It may have been more: PyTorch counts its most over all phases, and another one had as much.
    pub at_least: bool,
    /// What they were for; together they are the peak.
    pub parts: Vec<GpuPart>,
}

/// A part of what a process has on a GPU. All parts but those of the peak add up to what it has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GpuPart {
    /// What it is for: `parameters`, `optimizer state`, `CUDA context`.
    pub name: String,
    /// Its bytes.
    pub bytes: u64,
    /// Who tells: `objects` (a look into the process), `allocator` (PyTorch's, at marks), `driver`.
    pub source: &'static str,
    /// It is there only at the peak, and lies in what is free else.
    pub at_peak: bool,
}

/// What became of one explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HypothesisState {
    /// The evidence is for it.
    Holds,
    /// The evidence is against it.
    RuledOut,
    /// It could not be told.
    Open,
}

impl HypothesisState {
    /// It in words, for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::RuledOut => "ruled out",
            Self::Open => "open",
        }
    }
}

/// An explanation that was weighed: spikes only, a slow leak, leaking workers, ...
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hypothesis {
    /// What it says.
    pub name: String,
    /// What became of it.
    pub state: HypothesisState,
    /// By what evidence.
    pub evidence: String,
    /// What to do if it holds or stays open; empty where it is ruled out.
    pub action: String,
}

/// What became of an expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectationState {
    /// It was measured and it holds.
    Kept,
    /// It was measured and it does not hold.
    Broken,
    /// It could not be measured or not be told yet; it fails nothing, and is never passed silently.
    Unknown,
}

/// An expectation of the user's and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExpectationReport {
    /// As the user wrote it.
    pub text: String,
    /// What became of it.
    pub state: ExpectationState,
    /// The numbers, or why it could not be told.
    pub reason: String,
}

/// What watching cost the target.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CostReport {
    /// Share of one core.
    pub core_share: f64,
    /// Stops of the target, milliseconds each.
    pub stops_ms: Vec<f64>,
    /// Looks into processes of the run.
    pub looks: u64,
    /// How long all of these held processes up together, seconds.
    pub held_seconds: f64,
    /// The recorder's RSS in bytes.
    pub recorder_rss_bytes: u64,
    /// The longest read of `smaps_rollup`, milliseconds.
    pub longest_read_ms: f64,
}

/// What was sampled how often.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SamplingReport {
    /// Ticks seen.
    pub ticks: u64,
    /// Median seconds between them.
    pub interval_s: f64,
    /// Reads of `smaps_rollup`.
    pub rollup_reads: u64,
    /// Processes that share pages, are too big for it, and whose `pagemap` says nothing either.
    pub rollup_skipped: u32,
}

/// Which run the report is about.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunSummary {
    /// The command, secrets masked.
    pub command: String,
    /// The host.
    pub host: String,
    /// Seconds since 1970.
    pub started_unix_s: f64,
    /// `run`, `attach`, or what the imported file was told to be.
    pub source: String,
    /// `exit 0`, `signal 9`, `still running`, `broke off`.
    pub ended: String,
    /// The recording's file, where there is one.
    pub recording: Option<String>,
}

/// How far a process is in its training, by its own marks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgressReport {
    /// Its index in the run.
    #[serde(skip)]
    pub id: crate::ProcId,
    /// Its pid.
    pub pid: u32,
    /// Its rank.
    pub rank: Option<u32>,
    /// Steps so far.
    pub steps: u64,
    /// Steps per second, where there were enough.
    pub steps_per_second: Option<f64>,
    /// What is counted as a step.
    pub counts: String,
    /// The phase it is in, or was in at the end.
    pub phase: Option<String>,
    /// Epochs that began.
    pub epochs: u64,
    /// Seconds from one epoch (or round, where there are only these) to the next, where there were enough.
    pub seconds_per_epoch: Option<f64>,
    /// Marks that were lost; the count of steps is exact all the same.
    pub lost_marks: u64,
    /// Python's cyclic collector was seen to be off.
    pub gc_disabled: bool,
}

/// All times of one phase of a process together, and what is between its phases as `between`. Sizes in bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseReport {
    /// The process's index in the run.
    #[serde(skip)]
    pub id: crate::ProcId,
    /// Its pid.
    pub pid: u32,
    /// Its rank.
    pub rank: Option<u32>,
    /// `train`, `validation`, ...
    pub name: String,
    /// Times that it began.
    pub count: u64,
    /// Seconds in it.
    pub seconds: f64,
    /// Steps in it.
    pub steps: u64,
    /// The least anonymous and shared memory that the process had in it; `None` where no measurement fell into it.
    pub floor_bytes: Option<u64>,
    /// The most.
    pub peak_bytes: Option<u64>,
    /// The least that the whole tree had meanwhile.
    pub tree_floor_bytes: Option<u64>,
    /// The most that the whole tree had meanwhile.
    pub tree_peak_bytes: Option<u64>,
    /// The highest rise of the whole tree in it that came back: above what there was both before and after.
    pub spike_bytes: Option<u64>,
    /// Live bytes of the C heap that stay of one time: the mean, without the first.
    pub live_left_bytes: Option<f64>,
    /// By how much its floor, peak and spike differ from one time to the next, as standard deviations; `None` where it was too
    /// few times. Comparisons rest on it.
    #[serde(skip)]
    pub scatter_bytes: [Option<f64>; 3],
}

/// What a process's memory was for at one moment of a look: at a low tide, or near the peak of a phase. Sizes in bytes of resident
/// private memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BudgetReport {
    /// The process's index in the run.
    #[serde(skip)]
    pub id: crate::ProcId,
    /// Its pid.
    pub pid: u32,
    /// Its rank.
    pub rank: Option<u32>,
    /// The phase near whose peak it was; `None` at a low tide.
    pub phase: Option<String>,
    /// When, in seconds after the run's start.
    pub t_s: f64,
    /// All of it; the parts together.
    pub bytes: u64,
    /// The most anonymous memory that was measured in that phase by then.
    pub most_bytes: Option<u64>,
    /// By what it is for: `parameters`, `gradients`, ...
    pub parts: Vec<crate::PartOfBudget>,
}

/// One epoch of a process, or a round or node where these have no epochs. Sizes in bytes of its anonymous and shared memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EpochReport {
    /// The process's index in the run.
    #[serde(skip)]
    pub id: crate::ProcId,
    /// Its pid.
    pub pid: u32,
    /// Its rank.
    pub rank: Option<u32>,
    /// The federated round, from 0.
    pub round: Option<u64>,
    /// The federated node.
    pub node: Option<String>,
    /// The epoch, from 0.
    pub epoch: Option<u64>,
    /// When it began, seconds after the run's start.
    pub start_s: f64,
    /// When it ended; `None` while it goes on.
    pub end_s: Option<f64>,
    /// At its first measurement.
    pub start_bytes: Option<u64>,
    /// At its last measurement.
    pub end_bytes: Option<u64>,
    /// The least in it.
    pub floor_bytes: Option<u64>,
    /// The least in it less the least in the row before.
    pub delta_bytes: Option<f64>,
    /// The most in it.
    pub peak_bytes: Option<u64>,
    /// Live bytes of the C heap at its end less those at its beginning.
    pub live_delta_bytes: Option<f64>,
    /// Live tensors on all devices at its end.
    pub allocated_bytes: Option<u64>,
    /// What PyTorch's allocator held on all devices at its end.
    pub reserved_bytes: Option<u64>,
    /// Steps in it.
    pub steps: u64,
    /// Seconds per step, validation included.
    pub mean_step_s: Option<f64>,
    /// The mean of the losses that were logged in it, by HF Trainer, Lightning or `lowtide.step(loss=...)`.
    pub loss: Option<f64>,
}

/// All visits of a federated node together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeReport {
    /// The process's index in the run.
    #[serde(skip)]
    pub id: crate::ProcId,
    /// Its pid.
    pub pid: u32,
    /// Its rank.
    pub rank: Option<u32>,
    /// The node's name.
    pub name: String,
    /// Rounds in which it was visited; where the program tells of none, its visits.
    pub rounds: u64,
    /// Times that it was visited.
    pub visits: u64,
    /// Steps in it.
    pub steps: u64,
    /// Live bytes of the C heap that it leaves per round: the mean, without the first one.
    pub live_bytes_per_round: Option<f64>,
    /// Live bytes of tensors on all devices that it leaves per round, likewise.
    pub allocated_bytes_per_round: Option<f64>,
}

/// The whole answer. `lowtide.report/1`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// Is it a leak?
    pub verdict: Verdict,
    /// One sentence.
    pub summary: String,
    /// What was found; the first one matters most.
    pub findings: Vec<Finding>,
    /// The process tree, parents before children.
    pub processes: Vec<ProcessReport>,
    /// Memory by role, the whole tree first.
    pub roles: Vec<RoleReport>,
    /// The limits, the tightest first.
    pub limits: Vec<LimitReport>,
    /// The GPUs that the run was seen on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<GpuReport>,
    /// Natural cycles seen; 0 where none were told.
    pub cycles: u64,
    /// Seconds watched.
    pub duration_s: f64,
    /// The smallest steady growth that this much watching would have found, bytes per second; `None` where nothing could be said.
    pub detectable_bytes_per_second: Option<f64>,
    /// Seconds still to watch until a verdict; 0 where there is one.
    pub more_seconds_needed: f64,
    /// What was weighed.
    pub hypotheses: Vec<Hypothesis>,
    /// The user's expectations, broken ones first. The analysis leaves this empty; the command line fills it.
    pub expectations: Vec<ExpectationReport>,
    /// How far each process is, where it has marks.
    pub progress: Vec<ProgressReport>,
    /// Their phases.
    pub phases: Vec<PhaseReport>,
    /// What memory was for, where a process was looked into.
    pub budgets: Vec<BudgetReport>,
    /// Its epochs, rounds and nodes: the first and the last ones of each process.
    pub epochs: Vec<EpochReport>,
    /// Federated nodes, of each process the one that leaves most first.
    pub nodes: Vec<NodeReport>,
    /// What memory snapshots of PyTorch show, by device.
    pub snapshots: Vec<SnapshotReport>,
    /// Numbers that a file says of memory over and over.
    pub logged: Vec<LoggedReport>,
    /// What watching cost.
    pub cost: CostReport,
    /// What was sampled how often.
    pub sampling: SamplingReport,
    /// What could not be seen, and why.
    pub blind_spots: Vec<String>,
    /// Warnings that do not touch the verdict.
    pub warnings: Vec<String>,
    /// Which run.
    pub run: RunSummary,
}

impl Report {
    /// A report of nothing.
    #[must_use]
    pub fn empty(verdict: Verdict) -> Self {
        Self {
            schema: SCHEMA,
            verdict,
            summary: String::new(),
            findings: Vec::new(),
            processes: Vec::new(),
            roles: Vec::new(),
            limits: Vec::new(),
            gpus: Vec::new(),
            cycles: 0,
            duration_s: 0.0,
            detectable_bytes_per_second: None,
            more_seconds_needed: 0.0,
            hypotheses: Vec::new(),
            expectations: Vec::new(),
            progress: Vec::new(),
            phases: Vec::new(),
            budgets: Vec::new(),
            epochs: Vec::new(),
            nodes: Vec::new(),
            snapshots: Vec::new(),
            logged: Vec::new(),
            cost: CostReport::default(),
            sampling: SamplingReport::default(),
            blind_spots: Vec::new(),
            warnings: Vec::new(),
            run: RunSummary::default(),
        }
    }

    /// The finding that the verdict rests on, if it is growth without bound.
    #[must_use]
    pub fn leak(&self) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.grows())
    }

    /// The nearest end that is forecast by a limit of the machine; a limit that the user only expects kills nobody.
    #[must_use]
    pub fn forecast(&self) -> Option<&OomForecast> {
        let middle = |oom: &OomForecast| oom.seconds.map_or(f64::INFINITY, |[_, middle, _]| middle);
        self.findings
            .iter()
            .filter_map(|finding| finding.oom.as_ref())
            .filter(|oom| oom.limit != "expectation" && middle(oom).is_finite())
            .min_by(|a, b| middle(a).total_cmp(&middle(b)))
    }

    /// Memory of the whole tree at the end, shared pages counted once where PSS could be read.
    #[must_use]
    pub fn tree_bytes(&self) -> Bytes {
        Bytes(
            self.processes
                .iter()
                .filter(|process| process.end_s.is_none() && process.role != Role::Outside)
                .map(|process| process.bytes)
                .fold(0, u64::saturating_add),
        )
    }
}
