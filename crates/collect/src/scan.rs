//! Finds new processes cheaply.
//!
//! Reading every `/proc/PID/stat` of a large machine at each tick would cost more than everything else. The kernel
//! hands out pids in order and shows the last one in `/proc/loadavg`, so only pids between the last look and this one
//! can be new: where it has not moved, nothing was started at all. A full scan repairs what this could miss (a pid
//! chosen by hand, as checkpoint-restore does) and is made as often as 0.2 % of a core allows. Where loadavg cannot
//! be trusted (a fake root, another pid namespace, a container's imitation), full scans are all there is.

use crate::parse::stat::Stat;
use crate::root::{Root, Scratch};
use crate::sys;

/// Up to this many pids are tried one by one; for more, listing /proc is cheaper (measured: 1 us for a pid that is
/// not there, 1 us for each entry of a listing).
const MOST_PROBES: u32 = 256;
/// Seconds between full scans where loadavg shows what is new.
const FULL_SCAN_S: f64 = 30.0;
/// The part of a core that full scans may use.
const FULL_SCAN_SHARE: f64 = 0.002;
/// The kernel does not hand out lower pids a second time (RESERVED_PIDS).
const RESERVED_PIDS: u32 = 300;

/// Remembers where the last looks ended.
#[derive(Debug)]
pub struct Scanner {
    shortcut: bool,
    pid_max: u32,
    /// The last pid handed out at the last look, and at the one before it. Looking from the older one catches a process
    /// that had its pid at the last look and was not yet visible.
    last: Option<u32>,
    before_last: Option<u32>,
    next_full_s: f64,
    pids: Vec<u32>,
}

impl Scanner {
    pub fn new(root: &Root, scratch: &mut Scratch) -> Self {
        let pid_max = scratch.read(&root.proc("sys/kernel/pid_max")).ok().and_then(crate::parse::number);
        Self {
            shortcut: root.is_ours() && sys::is_proc(&root.proc("loadavg")),
            pid_max: pid_max.and_then(|most| u32::try_from(most).ok()).unwrap_or(1 << 22),
            last: None,
            before_last: None,
            next_full_s: f64::NEG_INFINITY,
            pids: Vec::new(),
        }
    }

    /// Pushes every process that may be new since the last call and is not `known` to be alive. The first call pushes
    /// all. Threads of other processes can be among them where they were probed.
    pub fn scan(&mut self, root: &Root, now_s: f64, known: impl Fn(u32) -> bool, scratch: &mut Scratch, found: &mut Vec<Stat>) {
        let last = if self.shortcut { last_pid(root, scratch) } else { None };
        let range = self.before_last.zip(last).map(|(from, to)| PidRange { from, to, pid_max: self.pid_max });
        self.before_last = self.last.or(last);
        self.last = last;
        match range {
            Some(range) if now_s < self.next_full_s => self.look_at(root, &range, known, scratch, found),
            None if now_s < self.next_full_s => {}
            _ => {
                let before = sys::thread_cpu_ns();
                self.list(root, |pid| !known(pid), scratch, found);
                let cost_s = (sys::thread_cpu_ns() - before) as f64 * 1e-9;
                let rest = if range.is_some() { FULL_SCAN_S } else { 0.0 };
                self.next_full_s = now_s + rest.max(cost_s / FULL_SCAN_SHARE);
            }
        }
    }

    fn look_at(
        &mut self,
        root: &Root,
        range: &PidRange,
        known: impl Fn(u32) -> bool,
        scratch: &mut Scratch,
        found: &mut Vec<Stat>,
    ) {
        let len = range.len();
        if len == 0 {
            return;
        }
        if len > MOST_PROBES {
            self.list(root, |pid| range.contains(pid) && !known(pid), scratch, found);
            return;
        }
        found.extend(range.pids().filter(|pid| !known(*pid)).filter_map(|pid| root.stat(pid, scratch)));
    }

    fn list(&mut self, root: &Root, wanted: impl Fn(u32) -> bool, scratch: &mut Scratch, found: &mut Vec<Stat>) {
        // A /proc that cannot be listed just now is listed at the next look.
        if root.pids(&mut self.pids).is_ok() {
            found.extend(self.pids.iter().filter(|pid| wanted(**pid)).filter_map(|pid| root.stat(*pid, scratch)));
        }
    }
}

/// The pid handed out last, the fifth word of `/proc/loadavg`; sandboxes that do not know it write 0.
fn last_pid(root: &Root, scratch: &mut Scratch) -> Option<u32> {
    let text = scratch.read(&root.proc("loadavg")).ok()?;
    let word = text.trim_ascii().rsplit(|byte| *byte == b' ').next()?;
    crate::parse::number(word).and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0)
}

/// The pids after `from` up to `to`, around the end of the pid space where `to` is smaller.
struct PidRange {
    from: u32,
    to: u32,
    pid_max: u32,
}

impl PidRange {
    fn len(&self) -> u32 {
        if self.to >= self.from { self.to - self.from } else { self.pid_max.saturating_sub(self.from).saturating_add(self.to) }
    }

    fn contains(&self, pid: u32) -> bool {
        if self.to >= self.from { pid > self.from && pid <= self.to } else { pid > self.from || pid <= self.to }
    }

    fn pids(&self) -> impl Iterator<Item = u32> {
        let (high, low) = if self.to >= self.from {
            (self.from + 1..self.to.saturating_add(1), 0..0)
        } else {
            (self.from.saturating_add(1)..self.pid_max, RESERVED_PIDS..self.to + 1)
        };
        high.chain(low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_goes_around_the_end_of_the_pid_space() {
        let plain = PidRange { from: 400, to: 403, pid_max: 32768 };
        assert_eq!(plain.pids().collect::<Vec<_>>(), [401, 402, 403]);
        assert_eq!(plain.len(), 3);
        let around = PidRange { from: 32766, to: 301, pid_max: 32768 };
        assert_eq!(around.pids().collect::<Vec<_>>(), [32767, 300, 301]);
        assert!(around.contains(32767) && around.contains(300) && !around.contains(400));
        assert_eq!(PidRange { from: 7, to: 7, pid_max: 32768 }.len(), 0);
    }

    #[test]
    fn finds_what_was_started_between_two_looks_and_only_that() {
        let root = Root::new("/".as_ref());
        let mut scratch = Scratch::default();
        let mut scanner = Scanner::new(&root, &mut scratch);
        let mut found = Vec::new();
        scanner.scan(&root, 0.0, |_| false, &mut scratch, &mut found);
        let us = std::process::id();
        assert!(found.iter().any(|stat| stat.pid == us), "the first look sees all");
        let mut child = std::process::Command::new("sleep").arg("600").spawn().expect("sleep starts");
        found.clear();
        scanner.scan(&root, 0.001, |_| false, &mut scratch, &mut found);
        let seen = found.iter().find(|stat| stat.pid == child.id()).copied();
        child.kill().expect("kill");
        child.wait().expect("wait");
        assert_eq!(seen.map(|stat| stat.ppid), Some(us));
        if scanner.shortcut {
            assert!(found.iter().all(|stat| stat.pid != us), "old processes are not read again");
        }
    }
}
