//! Counting what the kernel lists but does not count: memory maps, and open files before Linux 6.2.
//!
//! The dearer a count was, the more rarely it is made again: a process with many files costs most, and its number says
//! the same a minute later.

use std::fs::File;
use std::io::Read;

use crate::root::Root;
use crate::sys;

/// Seconds between counts of one process: at least these, and so many that counting takes at most [`SHARE`] of a core.
const MAPS_EVERY_S: f64 = 30.0;
const FILES_EVERY_S: f64 = 5.0;
const SHARE: f64 = 0.0001;
/// What a first count may cost, in seconds; the next one is expected to cost what the last one did.
const FIRST_COST_S: f64 = 0.0005;
/// And no more than this, or a purse that holds little could never pay for it.
const MOST_COST_S: f64 = 0.03;
/// More open files are not counted: 50 ms of work for nothing new.
const MOST_FILES: u32 = 65_536;

/// When something of one process is counted next, and what that cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counting {
    next_s: Option<f64>,
    cost_s: f64,
}

impl Counting {
    /// Lines of `maps`, if it is time and `means_s` CPU seconds may be spent; with what it cost.
    pub fn maps(&mut self, now_s: f64, means_s: f64, root: &Root, pid: u32) -> (Option<u32>, f64) {
        self.count(now_s, MAPS_EVERY_S, means_s, || lines(root, pid))
    }

    /// Open files, the same way.
    pub fn files(&mut self, now_s: f64, means_s: f64, root: &Root, pid: u32) -> (Option<u32>, f64) {
        self.count(now_s, FILES_EVERY_S, means_s, || entries(root, pid))
    }

    fn count(&mut self, now_s: f64, every_s: f64, means_s: f64, count: impl FnOnce() -> Option<u32>) -> (Option<u32>, f64) {
        if self.next_s.is_some_and(|next_s| now_s < next_s) || means_s < self.cost_s.clamp(FIRST_COST_S, MOST_COST_S) {
            return (None, 0.0);
        }
        let before = sys::thread_cpu_ns();
        let counted = count();
        self.cost_s = (sys::thread_cpu_ns() - before) as f64 * 1e-9;
        self.next_s = Some(now_s + every_s.max(self.cost_s / SHARE));
        (counted, self.cost_s)
    }
}

/// Lines of `maps`. The kernel gives them out a page at a time and lets go of the target's lock in between.
fn lines(root: &Root, pid: u32) -> Option<u32> {
    /// A kernel's default limit (vm.max_map_count) is 65530 maps of about 100 bytes.
    const MOST_BYTES: u64 = 64 << 20;
    let mut file = File::open(root.of(pid, "maps")).ok()?.take(MOST_BYTES);
    let mut buffer = [0; 8192];
    let mut count = 0_u32;
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(count),
            read => count += u32::try_from(buffer[..read].iter().filter(|byte| **byte == b'\n').count()).unwrap_or(0),
        }
    }
}

/// Entries of `fd`; `None` where there are more than are worth counting, or we may not look.
fn entries(root: &Root, pid: u32) -> Option<u32> {
    let mut count = 0;
    for entry in std::fs::read_dir(root.of(pid, "fd")).ok()? {
        entry.ok()?;
        count += 1;
        if count > MOST_FILES {
            return None;
        }
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_is_there() {
        let root = Root::new("/".as_ref());
        let us = std::process::id();
        let before = entries(&root, us).expect("our files");
        let files: Vec<File> = (0..200).map(|_| File::open("/dev/null").expect("open")).collect();
        // Other tests of this process open and close files too.
        assert!(entries(&root, us).expect("our files") >= before.min(50) + 100, "{}", files.len());
        assert!(lines(&root, us).expect("our maps") > 10);
        assert_eq!(entries(&root, u32::MAX), None);
    }

    #[test]
    fn what_costs_much_is_counted_rarely() {
        let mut counting = Counting::default();
        let mut look = |now_s: f64, means_s: f64| counting.count(now_s, 5.0, means_s, || Some(7)).0;
        assert_eq!(look(0.0, 0.0001), None, "no means");
        assert_eq!(look(0.0, 0.01), Some(7));
        assert_eq!(look(4.0, 0.01), None, "too soon");
        // A cheap count, however slow the machine.
        assert_eq!(look(100_000.0, 1e6), Some(7));
        let mut dear = Counting { next_s: None, cost_s: 0.02 };
        assert_eq!(dear.count(0.0, 5.0, 0.01, || Some(7)), (None, 0.0), "it cost more than there is");
        let work = || {
            let start = sys::thread_cpu_ns();
            while sys::thread_cpu_ns() - start < 10_000_000 {}
            Some(7)
        };
        assert_eq!(dear.count(0.0, 5.0, 1.0, work).0, Some(7));
        assert_eq!(dear.count(99.0, 5.0, 1.0, || Some(7)).0, None, "10 ms are worth 100 s of rest");
    }
}
