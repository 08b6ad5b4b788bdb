//! When will it be killed: floor plus spike against the tightest limit.

use std::collections::BTreeMap;

use lowtide_model::{Cgroup, CgroupId, CgroupSample, LimitReport, OomForecast, SystemSample};

/// What is known of the limits at the last tick.
#[derive(Debug, Default)]
pub struct Limits {
    /// The target's cgroups by their index.
    pub cgroups: BTreeMap<CgroupId, (Cgroup, Option<CgroupSample>)>,
    /// The machine.
    pub system: Option<SystemSample>,
    /// The largest working set seen of each cgroup. Bytes.
    pub most_used: BTreeMap<CgroupId, u64>,
}

impl Limits {
    /// Takes a measurement of an announced cgroup.
    pub fn measured(&mut self, sample: &CgroupSample) {
        if let Some(entry) = self.cgroups.get_mut(&sample.id) {
            entry.1 = Some(*sample);
            let most = self.most_used.entry(sample.id).or_default();
            *most = (*most).max(sample.working_set());
        }
    }

    /// Bytes that the tightest limit of memory leaves; of /dev/shm another is asked for.
    pub fn left(&self) -> u64 {
        let all = self.all();
        let of_memory = all.iter().filter(|limit| limit.name != "shm");
        of_memory.map(|limit| limit.bytes.saturating_sub(limit.used)).min().unwrap_or(u64::MAX)
    }

    /// All limits, the one with the least room first.
    pub fn all(&self) -> Vec<LimitReport> {
        let mut limits = Vec::new();
        for (cgroup, sample) in self.cgroups.values() {
            if let Some(sample) = sample
                && let Some(limit) = sample.limit
            {
                limits.push(LimitReport {
                    name: "cgroup".into(),
                    bytes: limit,
                    used: sample.working_set(),
                    path: cgroup.path.clone(),
                });
            }
        }
        if let Some(system) = self.system {
            if system.total > 0 {
                // Swap counts: the kernel kills only when that is used up, too.
                let bytes = system.total.saturating_add(system.swap_total);
                let used = system.total.saturating_sub(system.available).saturating_add(system.swap_used);
                limits.push(LimitReport { name: "system".into(), bytes, used, path: String::new() });
            }
            if system.dev_shm_size > 0 {
                let (bytes, used) = (system.dev_shm_size, system.dev_shm_used);
                limits.push(LimitReport { name: "shm".into(), bytes, used, path: "/dev/shm".into() });
            }
        }
        limits.sort_by_key(|limit| limit.bytes.saturating_sub(limit.used));
        limits
    }

    /// When growth of `rate` (with `ci95`) bytes per second meets the tightest limit. `above_floor`: how much of
    /// what is used now will come back; `spike`: how much a spike takes on top of the floor; `shm`: the growth is in
    /// /dev/shm, whose size is a limit too.
    pub fn forecast(&self, rate: f64, ci95: [f64; 2], above_floor: f64, spike: f64, shm: bool) -> Option<OomForecast> {
        if rate <= 0.0 {
            return None;
        }
        let binding = self.all().into_iter().find(|limit| limit.name != "shm" || shm)?;
        let floor = (binding.used as f64 - above_floor).max(0.0);
        let room = binding.bytes as f64 - floor;
        let until = |rate: f64, spike: f64| if rate > 0.0 { ((room - spike) / rate).max(0.0) } else { f64::INFINITY };
        let seconds = [until(ci95[1].max(rate), spike), until(rate, spike), until(ci95[0].min(rate), spike)];
        let mut numbers = BTreeMap::new();
        numbers.insert("floor".to_owned(), floor);
        numbers.insert("spike".to_owned(), spike);
        numbers.insert("used".to_owned(), binding.used as f64);
        Some(OomForecast {
            limit: binding.name,
            limit_bytes: binding.bytes,
            seconds: Some(seconds),
            steps: None,
            epoch: None,
            round: None,
            numbers,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowtide_model::CgroupVersion;

    fn limits() -> Limits {
        let mut limits = Limits::default();
        for (id, limit) in [(0, None), (1, Some(1000)), (2, Some(5000))] {
            let cgroup = Cgroup { id: CgroupId(id), path: format!("/{id}"), version: CgroupVersion::V2 };
            let mut sample = CgroupSample::empty(CgroupId(id));
            (sample.usage, sample.limit, sample.inactive_file) = (600, limit, 100);
            limits.cgroups.insert(CgroupId(id), (cgroup, Some(sample)));
        }
        limits.system = Some(SystemSample { total: 10_000, available: 9000, ..SystemSample::default() });
        limits
    }

    #[test]
    fn the_tightest_limit_binds() {
        let all = limits().all();
        assert_eq!((all[0].path.as_str(), all[0].bytes, all[0].used), ("/1", 1000, 500));
        assert_eq!(all.last().map(|limit| limit.name.as_str()), Some("system"));
    }

    #[test]
    fn a_spike_brings_the_end_nearer() {
        let forecast = |spike| limits().forecast(10.0, [8.0, 12.5], 100.0, spike, false).and_then(|oom| oom.seconds);
        // Room 1000 - (500 - 100) = 600 at the floor.
        assert_eq!(forecast(0.0), Some([48.0, 60.0, 75.0]));
        assert_eq!(forecast(200.0), Some([32.0, 40.0, 50.0]));
        assert_eq!(limits().forecast(0.0, [0.0, 0.0], 0.0, 0.0, false), None);
    }
}
