//! Memory cgroups of a fake file system. All sizes in bytes.

/// A memory cgroup of version 2.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "the kernel's names")]
pub struct FakeCgroupV2 {
    pub current: u64,
    /// `None` is `max`.
    pub max: Option<u64>,
    /// `None` is `max`.
    pub high: Option<u64>,
    pub peak: u64,
    pub anon: u64,
    pub file: u64,
    pub shmem: u64,
    pub inactive_file: u64,
    pub oom_kill: u64,
    /// `max` of memory.events.
    pub limit_hits: u64,
    /// `full total` of memory.pressure.
    pub psi_full_us: u64,
    /// cgroup.procs.
    pub procs: Vec<u32>,
}

impl FakeCgroupV2 {
    pub(crate) fn files(&self) -> Vec<(&'static str, String)> {
        let limit = |limit: Option<u64>| limit.map_or("max\n".to_owned(), |bytes| format!("{bytes}\n"));
        vec![
            ("memory.current", format!("{}\n", self.current)),
            ("memory.max", limit(self.max)),
            ("memory.high", limit(self.high)),
            ("memory.peak", format!("{}\n", self.peak)),
            (
                "memory.stat",
                format!(
                    "anon {}\nfile {}\nkernel 0\nshmem {}\nactive_file 0\ninactive_file {}\n",
                    self.anon, self.file, self.shmem, self.inactive_file
                ),
            ),
            (
                "memory.events",
                format!("low 0\nhigh 0\nmax {}\noom 0\noom_kill {}\noom_group_kill 0\n", self.limit_hits, self.oom_kill),
            ),
            (
                "memory.pressure",
                format!(
                    "some avg10=0.00 avg60=0.00 avg300=0.00 total={0}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total={0}\n",
                    self.psi_full_us
                ),
            ),
            ("cgroup.procs", procs(&self.procs)),
        ]
    }
}

/// A memory cgroup of version 1.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the kernel's names")]
pub struct FakeCgroupV1 {
    pub usage: u64,
    /// The kernel writes 9223372036854771712 for none.
    pub limit: u64,
    /// The smallest limit of the group and its ancestors, in memory.stat.
    pub hierarchical_limit: u64,
    pub max_usage: u64,
    pub rss: u64,
    pub cache: u64,
    pub shmem: u64,
    pub inactive_file: u64,
    pub oom_kill: u64,
    pub failcnt: u64,
    /// cgroup.procs.
    pub procs: Vec<u32>,
}

impl FakeCgroupV1 {
    /// What version 1 writes where there is no limit.
    pub const NO_LIMIT: u64 = 9_223_372_036_854_771_712;
}

impl Default for FakeCgroupV1 {
    fn default() -> Self {
        Self {
            usage: 0,
            limit: Self::NO_LIMIT,
            hierarchical_limit: Self::NO_LIMIT,
            max_usage: 0,
            rss: 0,
            cache: 0,
            shmem: 0,
            inactive_file: 0,
            oom_kill: 0,
            failcnt: 0,
            procs: Vec::new(),
        }
    }
}

impl FakeCgroupV1 {
    pub(crate) fn files(&self) -> Vec<(&'static str, String)> {
        vec![
            ("memory.usage_in_bytes", format!("{}\n", self.usage)),
            ("memory.limit_in_bytes", format!("{}\n", self.limit)),
            ("memory.max_usage_in_bytes", format!("{}\n", self.max_usage)),
            (
                "memory.stat",
                format!(
                    "cache 0\nrss 0\nhierarchical_memory_limit {}\ntotal_cache {}\ntotal_rss {}\ntotal_shmem {}\ntotal_inactive_file {}\n",
                    self.hierarchical_limit, self.cache, self.rss, self.shmem, self.inactive_file
                ),
            ),
            ("memory.oom_control", format!("oom_kill_disable 0\nunder_oom 0\noom_kill {}\n", self.oom_kill)),
            ("memory.failcnt", format!("{}\n", self.failcnt)),
            ("cgroup.procs", procs(&self.procs)),
        ]
    }
}

fn procs(pids: &[u32]) -> String {
    pids.iter().map(|pid| format!("{pid}\n")).collect()
}
