//! How much memory is left for something that lowtide itself starts.

use std::path::Path;

use crate::cgroup::Cgroups;
use crate::parse::status::Status;
use crate::root::{Root, Scratch};
use crate::system;

/// Bytes that process `pid` could take before the tightest limit on it is met: that of the machine, or that of one of its
/// cgroups, whose page cache that is dropped first counts as free. `None` where not even the machine's memory can be read.
pub fn room(root: &Path, pid: u32) -> Option<u64> {
    let (root, mut scratch) = (Root::new(root), Scratch::default());
    let machine = system::meminfo(scratch.read(&root.proc("meminfo")).ok()?).available;
    let mut samples = Vec::new();
    Cgroups::new(&root, pid, &mut scratch).sample(0.0, &mut scratch, &mut samples);
    let left = samples.iter().filter_map(|sample| {
        let limit = sample.limit?.min(sample.high.unwrap_or(u64::MAX));
        Some(limit.saturating_sub(sample.usage.saturating_sub(sample.inactive_file)))
    });
    Some(left.fold(machine, u64::min))
}

/// Anonymous bytes that a process has in memory; `None` where that cannot be read.
pub fn anonymous(root: &Path, pid: u32) -> Option<u64> {
    let (root, mut scratch) = (Root::new(root), Scratch::default());
    Status::parse(scratch.read(&root.proc(&format!("{pid}/status"))).ok()?).anon
}

/// Makes this process the first that the kernel kills where memory runs out. Some containers do not allow it.
pub fn be_killed_first() {
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowtide_testkit::{FakeCgroupV2, FakeProcess, FakeRoot};

    const GIB: u64 = 1 << 30;

    #[test]
    fn the_tightest_limit_counts() {
        let mut root = FakeRoot::new();
        root.memory(64 * GIB, 20 * GIB);
        assert_eq!(room(root.path(), 7), Some(20 * GIB), "no cgroup is known: the machine alone");
        root.mount_v2("/");
        let mut process = FakeProcess::new(7, 1, 0.0, "python train.py");
        process.cgroup = "0::/job/one\n".to_owned();
        root.set(&process);
        let job = FakeCgroupV2 { current: 5 * GIB, max: Some(8 * GIB), inactive_file: GIB, ..FakeCgroupV2::default() };
        root.cgroup_v2("/job", &job);
        root.cgroup_v2("/job/one", &FakeCgroupV2 { max: None, ..job });
        assert_eq!(room(root.path(), 7), Some(4 * GIB));
        std::fs::remove_file(root.path().join("proc/meminfo")).expect("it was there");
        assert_eq!(room(root.path(), 7), None);
    }

    #[test]
    fn anonymous_memory_is_what_the_kernel_says() {
        let root = FakeRoot::new();
        assert_eq!(anonymous(root.path(), 7), None);
        root.write("proc/7/status", "Name:\tpython\nRssAnon:\t  2048 kB\nRssFile:\t 9 kB\n");
        assert_eq!(anonymous(root.path(), 7), Some(2 << 20));
    }
}
