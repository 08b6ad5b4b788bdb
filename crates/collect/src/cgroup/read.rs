//! The files of one memory cgroup, kept open (kernel: Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst).

use std::fs::File;
use std::path::{Path, PathBuf};

use lowtide_model::{CgroupId, CgroupSample, CgroupVersion};

use crate::parse::{keyed, number};
use crate::root::Scratch;

/// Limits, peaks and pressure move slowly or only upwards: read them this rarely, in seconds.
const SLOW_EVERY_S: f64 = 5.0;
/// From here on version 1 means "no limit" (it writes the largest multiple of a page).
const NO_LIMIT: u64 = 1 << 62;

/// The open files of one cgroup.
#[derive(Debug)]
pub struct Files {
    version: CgroupVersion,
    usage: Option<File>,
    stat: Option<File>,
    events: Option<File>,
    folder: PathBuf,
    pressure: Option<PathBuf>,
    slow_at_s: f64,
    slow: Slow,
    /// The smallest limit of this group and all above it, where version 1 tells it.
    pub limit_above: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slow {
    limit: Option<u64>,
    high: Option<u64>,
    peak: u64,
    limit_hits: u64,
    psi_full_us: u64,
}

impl Files {
    pub fn new(folder: &Path, version: CgroupVersion, pressure: Option<PathBuf>) -> Self {
        let open = |name: &str| File::open(folder.join(name)).ok();
        let (usage, events) = match version {
            CgroupVersion::V1 => (open("memory.usage_in_bytes"), open("memory.oom_control")),
            CgroupVersion::V2 => (open("memory.current"), open("memory.events")),
        };
        Self {
            version,
            usage,
            stat: open("memory.stat"),
            events,
            pressure: pressure.or_else(|| (version == CgroupVersion::V2).then(|| folder.join("memory.pressure"))),
            folder: folder.to_owned(),
            slow_at_s: f64::NEG_INFINITY,
            slow: Slow::default(),
            limit_above: None,
        }
    }

    /// Reads the group; `None` once it was removed.
    pub fn sample(&mut self, id: CgroupId, now_s: f64, scratch: &mut Scratch) -> Option<CgroupSample> {
        let mut sample = CgroupSample::empty(id);
        sample.usage = read_number(self.usage.as_ref()?, scratch)?;
        if let Some(bytes) = self.stat.as_ref().and_then(|file| scratch.read_again(file).ok()) {
            let limit_above = parts(self.version, bytes, &mut sample);
            self.limit_above = limit_above.filter(|limit| *limit < NO_LIMIT);
        }
        sample.oom_kills = self.oom_kills(scratch).unwrap_or(0);
        if now_s - self.slow_at_s >= SLOW_EVERY_S {
            self.slow_at_s = now_s;
            self.slow = self.read_slow(scratch);
        }
        sample.limit = self.slow.limit;
        sample.high = self.slow.high;
        sample.peak = self.slow.peak.max(sample.usage);
        sample.limit_hits = self.slow.limit_hits;
        sample.psi_full_us = self.slow.psi_full_us;
        Some(sample)
    }

    /// Kills for memory since the group was made; `None` where the kernel does not count them.
    pub fn oom_kills(&self, scratch: &mut Scratch) -> Option<u64> {
        keyed::value_of(scratch.read_again(self.events.as_ref()?).ok()?, b"oom_kill")
    }

    fn read_slow(&self, scratch: &mut Scratch) -> Slow {
        let mut number_of = |name: &str| scratch.read(&self.folder.join(name)).ok().and_then(number);
        let mut slow = match self.version {
            // "max" is no number, and means none.
            CgroupVersion::V2 => Slow {
                limit: number_of("memory.max"),
                high: number_of("memory.high"),
                peak: number_of("memory.peak").unwrap_or(0),
                ..Slow::default()
            },
            CgroupVersion::V1 => Slow {
                limit: number_of("memory.limit_in_bytes").filter(|limit| *limit < NO_LIMIT),
                peak: number_of("memory.max_usage_in_bytes").unwrap_or(0),
                limit_hits: number_of("memory.failcnt").unwrap_or(0),
                ..Slow::default()
            },
        };
        if self.version == CgroupVersion::V2
            && let Some(bytes) = self.events.as_ref().and_then(|file| scratch.read_again(file).ok())
        {
            slow.limit_hits = keyed::value_of(bytes, b"max").unwrap_or(0);
        }
        if let Some(bytes) = self.pressure.as_ref().and_then(|path| scratch.read(path).ok()) {
            slow.psi_full_us = keyed::psi_full_us(bytes).unwrap_or(0);
        }
        slow
    }
}

fn read_number(file: &File, scratch: &mut Scratch) -> Option<u64> {
    number(scratch.read_again(file).ok()?)
}

/// Fills the parts of memory.stat in; returns version 1's smallest limit of the group and its ancestors.
fn parts(version: CgroupVersion, bytes: &[u8], sample: &mut CgroupSample) -> Option<u64> {
    let mut above = None;
    let mut own_rss = None;
    let mut total_rss = None;
    keyed::pairs(bytes, |name, value| {
        let value = number(value).unwrap_or(0);
        match (version, name) {
            (CgroupVersion::V2, b"anon") => sample.anon = value,
            (CgroupVersion::V2, b"shmem") | (CgroupVersion::V1, b"total_shmem") => sample.shmem = value,
            (CgroupVersion::V2, b"file") | (CgroupVersion::V1, b"total_cache") => sample.file = value,
            (CgroupVersion::V2, b"inactive_file") | (CgroupVersion::V1, b"total_inactive_file") => sample.inactive_file = value,
            (CgroupVersion::V1, b"rss") => own_rss = Some(value),
            (CgroupVersion::V1, b"total_rss") => total_rss = Some(value),
            (CgroupVersion::V1, b"hierarchical_memory_limit") => above = Some(value),
            _ => {}
        }
    });
    if version == CgroupVersion::V1 {
        sample.anon = total_rss.or(own_rss).unwrap_or(0);
    }
    above
}
