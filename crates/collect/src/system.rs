//! The machine: memory, kills, pressure, and the target's /dev/shm.

use std::path::PathBuf;

use lowtide_model::SystemSample;

use crate::parse::{keyed, number};
use crate::root::{Root, Scratch};
use crate::sys;

/// vmstat sums over all CPUs and has no memory in it that moves fast: read it this rarely, in seconds.
const VMSTAT_EVERY_S: f64 = 5.0;

/// What is remembered between looks at the machine.
#[derive(Debug)]
pub struct System {
    shm: PathBuf,
    oom_kills: u64,
    vmstat_at_s: f64,
    /// Sources that were missing at the last look, each with why.
    pub missing: Vec<(&'static str, String)>,
}

impl System {
    /// `pid`: the target, whose /dev/shm counts.
    pub fn new(root: &Root, pid: u32) -> Self {
        let mut missing = Vec::new();
        let through_target = root.of(pid, "root/dev/shm");
        let shm = match std::fs::metadata(&through_target) {
            Ok(_) => through_target,
            Err(error) => {
                if error.kind() == std::io::ErrorKind::PermissionDenied {
                    missing.push((
                        "target's /dev/shm",
                        format!("{error}; our own is shown, which is another one if the target is in a container; run as its user or as root"),
                    ));
                }
                root.path("dev/shm")
            }
        };
        Self { shm, oom_kills: 0, vmstat_at_s: f64::NEG_INFINITY, missing }
    }

    /// Reads everything once; `None` without meminfo.
    pub fn sample(&mut self, root: &Root, now_s: f64, scratch: &mut Scratch) -> Option<SystemSample> {
        let mut sample = match scratch.read(&root.proc("meminfo")) {
            Ok(bytes) => meminfo(bytes),
            Err(error) => {
                self.missing.push(("machine's memory", format!("/proc/meminfo: {error}; is /proc mounted whole?")));
                return None;
            }
        };
        if now_s - self.vmstat_at_s >= VMSTAT_EVERY_S {
            self.vmstat_at_s = now_s;
            self.oom_kills = oom_kills(root, scratch).unwrap_or(self.oom_kills);
        }
        sample.oom_kills = self.oom_kills;
        match scratch.read(&root.proc("pressure/memory")).map(keyed::psi_full_us) {
            Ok(full) => sample.psi_full_us = full.unwrap_or(0),
            Err(error) => self.missing.push((
                "memory pressure (PSI)",
                format!("/proc/pressure/memory: {error}; boot with psi=1 on a kernel that has it (4.20)"),
            )),
        }
        if let Some((size, used)) = sys::file_system(&self.shm) {
            (sample.dev_shm_size, sample.dev_shm_used) = (size, used);
        }
        Some(sample)
    }
}

/// Kills for memory since boot; `None` on kernels before 4.13.
pub fn oom_kills(root: &Root, scratch: &mut Scratch) -> Option<u64> {
    keyed::value_of(scratch.read(&root.proc("vmstat")).ok()?, b"oom_kill")
}

/// proc(5) meminfo.
pub fn meminfo(bytes: &[u8]) -> SystemSample {
    let mut sample = SystemSample::default();
    let (mut swap_free, mut free, mut available) = (0, 0, None);
    keyed::pairs(bytes, |name, value| {
        let bytes = number(value).and_then(|value| value.checked_mul(1024)).unwrap_or(0);
        match name {
            b"MemTotal" => sample.total = bytes,
            b"MemFree" => free = bytes,
            b"MemAvailable" => available = Some(bytes),
            b"SwapTotal" => sample.swap_total = bytes,
            b"SwapFree" => swap_free = bytes,
            b"Shmem" => sample.shmem = bytes,
            b"Cached" => sample.cached = bytes,
            _ => {}
        }
    });
    // Before Linux 3.14 there is no MemAvailable: the page cache without shared memory can be had as well.
    sample.available = available.unwrap_or(free.saturating_add(sample.cached.saturating_sub(sample.shmem)));
    sample.swap_used = sample.swap_total.saturating_sub(swap_free);
    sample
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_meminfo_of_new_and_old_kernels() {
        let new = meminfo(b"MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 600 kB\nCached: 500 kB\nSwapTotal: 50 kB\nSwapFree: 20 kB\nShmem: 30 kB\n");
        assert_eq!((new.total, new.available, new.swap_used, new.shmem), (1000 << 10, 600 << 10, 30 << 10, 30 << 10));
        let old = meminfo(b"MemTotal: 1000 kB\nMemFree: 100 kB\nCached: 500 kB\nShmem: 30 kB\n");
        assert_eq!(old.available, 570 << 10);
    }

    #[test]
    fn reads_this_machine() {
        let root = Root::new("/".as_ref());
        let mut scratch = Scratch::default();
        let mut system = System::new(&root, std::process::id());
        let sample = system.sample(&root, 0.0, &mut scratch).expect("meminfo");
        assert!(sample.total > sample.available && sample.available > 0);
    }
}
