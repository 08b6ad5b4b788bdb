//! What is measured at one moment.

use serde::{Deserialize, Serialize};

use crate::{GpuSample, GpuUserSample, ProcId};

/// Everything measured at one moment. A reader may find ticks missing (compaction keeps the ticks that hold a
/// minimum or a maximum), never averaged: each one was really seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tick {
    /// Seconds after the run's start, on the monotonic clock.
    pub t_s: f64,
    /// The processes of the run (and outside suspects) alive at this moment.
    pub procs: Vec<ProcSample>,
    /// The machine, where it could be read.
    pub system: Option<SystemSample>,
    /// The memory cgroups of the target, innermost first, announced by [`crate::Event::Cgroup`].
    pub cgroups: Vec<CgroupSample>,
    /// The GPUs, announced by [`crate::Event::Gpu`]; empty on ticks when they were not read.
    pub gpus: Vec<GpuSample>,
    /// What processes have on them, announced by [`crate::Event::GpuUser`].
    pub gpu_users: Vec<GpuUserSample>,
}

/// One process at one moment. All sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProcSample {
    /// Which process.
    pub id: ProcId,
    /// Resident anonymous pages (RssAnon of proc(5) status). Where a foreign file has RSS only, RSS, and
    /// [`crate::RunInfo::signal`] says so.
    pub anon: u64,
    /// Resident file pages (RssFile).
    pub file: u64,
    /// Resident shared memory (RssShmem): shared mappings, memfd, tmpfs.
    pub shmem: u64,
    /// Swapped-out anonymous memory (VmSwap).
    pub swap: u64,
    /// Private writable memory that it has asked for, whether touched or not (VmData), rounded down to MiB; `None` where it was not told.
    pub data: Option<u64>,
    /// All that it has mapped, files and shared memory too (VmSize), rounded down to MiB; `None` where it was not told.
    pub size: Option<u64>,
    /// Threads.
    pub threads: u32,
    /// Open file descriptors, where they could be counted.
    pub fds: Option<u32>,
    /// Memory maps, where they could be counted.
    pub maps: Option<u32>,
    /// The costlier view of `smaps_rollup`, on the ticks when it was read.
    pub rollup: Option<Rollup>,
    /// Anonymous bytes that nobody else maps, by `pagemap`, on the ticks when a reading of it ended: of processes that are
    /// too big for `smaps_rollup`.
    pub private_anon: Option<u64>,
}

impl ProcSample {
    /// A sample with no memory, to be filled in.
    #[must_use]
    pub fn empty(id: ProcId) -> Self {
        Self {
            id,
            anon: 0,
            file: 0,
            shmem: 0,
            swap: 0,
            data: None,
            size: None,
            threads: 0,
            fds: None,
            maps: None,
            rollup: None,
            private_anon: None,
        }
    }
}

/// What `smaps_rollup` adds: pages counted by how many share them. All sizes in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rollup {
    /// Proportional set size: a page shared by n counts 1/n.
    pub pss: u64,
    /// Unique set size: pages that nobody else maps (Private_Clean + Private_Dirty).
    pub uss: u64,
    /// Private pages that were written (Private_Dirty): what a copy-on-write leak grows.
    pub private_dirty: u64,
    /// The anonymous part of PSS.
    pub pss_anon: u64,
    /// The file part of PSS.
    pub pss_file: u64,
    /// The shared-memory part of PSS.
    pub pss_shmem: u64,
}

/// The machine at one moment. All sizes in bytes; a field is zero where its source does not have it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SystemSample {
    /// MemTotal.
    pub total: u64,
    /// MemAvailable: what can be had without swapping.
    pub available: u64,
    /// SwapTotal.
    pub swap_total: u64,
    /// SwapTotal - SwapFree.
    pub swap_used: u64,
    /// Shmem: all shared memory and tmpfs pages of the machine.
    pub shmem: u64,
    /// Cached: page cache, shared memory included.
    pub cached: u64,
    /// Used bytes of the target's /dev/shm.
    pub dev_shm_used: u64,
    /// Size of the target's /dev/shm.
    pub dev_shm_size: u64,
    /// Processes killed for memory since boot (oom_kill of /proc/vmstat).
    pub oom_kills: u64,
    /// Microseconds in which all tasks were stalled on memory since boot (PSI, `full total`).
    pub psi_full_us: u64,
}

/// Which of a run's cgroups; an index, innermost cgroup first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CgroupId(pub u32);

/// The hierarchy that a cgroup is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CgroupVersion {
    /// The memory controller of version 1.
    V1,
    /// The unified hierarchy.
    V2,
}

/// A memory cgroup that holds the target, or an ancestor of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cgroup {
    /// Its index in this run.
    pub id: CgroupId,
    /// Its path below the hierarchy's mount, `/` for the root.
    pub path: String,
    /// Which hierarchy.
    pub version: CgroupVersion,
}

/// A memory cgroup at one moment. Sizes in bytes; a counter is zero where its version does not have it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CgroupSample {
    /// Which cgroup.
    pub id: CgroupId,
    /// memory.current, or memory.usage_in_bytes.
    pub usage: u64,
    /// memory.max, or memory.limit_in_bytes; `None` without a limit.
    pub limit: Option<u64>,
    /// memory.high: above it the kernel slows the group down; `None` where unset or version 1.
    pub high: Option<u64>,
    /// The most ever used, memory.peak or memory.max_usage_in_bytes.
    pub peak: u64,
    /// Anonymous memory charged.
    pub anon: u64,
    /// Shared memory charged.
    pub shmem: u64,
    /// Page cache charged (file of memory.stat, or total_cache).
    pub file: u64,
    /// The part of the page cache that the kernel drops first.
    pub inactive_file: u64,
    /// Processes killed here for memory.
    pub oom_kills: u64,
    /// Times the limit was hit (max of memory.events, or memory.failcnt).
    pub limit_hits: u64,
    /// Microseconds in which all its tasks were stalled on memory (PSI, `full total`).
    pub psi_full_us: u64,
}

impl CgroupSample {
    /// The working set, on which the kubelet evicts: usage without the inactive page cache.
    #[must_use]
    pub fn working_set(&self) -> u64 {
        self.usage.saturating_sub(self.inactive_file)
    }

    /// A sample with nothing in it, to be filled in.
    #[must_use]
    pub fn empty(id: CgroupId) -> Self {
        Self {
            id,
            usage: 0,
            limit: None,
            high: None,
            peak: 0,
            anon: 0,
            shmem: 0,
            file: 0,
            inactive_file: 0,
            oom_kills: 0,
            limit_hits: 0,
            psi_full_us: 0,
        }
    }
}
