//! Memory that grows outside the watched tree.
//!
//! A watched command is often only a client: the job it sends runs in a server that was there before and is no child of
//! it. The machine's memory (or the cgroup's) then grows while the tree's does not. All processes are looked at now and
//! then, by the cheapest file there is, and whoever grew steadily is a suspect. What becomes of suspects is told in
//! `suspects.rs`.

use std::collections::HashMap;

use lowtide_model::Bytes;

use crate::parse::number;
use crate::root::{Root, Scratch};
use crate::sys;

/// Seconds between looks at all processes while nothing grows outside, and once something does; and the part of a core
/// that they may cost at most.
const IDLE_LOOK_S: f64 = 20.0;
const LOOK_S: f64 = 2.0;
const LOOK_SHARE: f64 = 0.001;
/// Growth outside from which on it is looked at closely.
const NOTICEABLE: u64 = 8 << 20;
/// Growth outside below this, or below a thousandth of the machine, is everyday life.
const LEAST_OUTSIDE: u64 = 48 << 20;
/// The share of the whole growth that must lie outside.
const LEAST_SHARE: f64 = 0.5;
/// A suspect's own growth; and the part of what grew outside from which on it explains that growth by itself.
const LEAST_OWN: u64 = 16 << 20;
const LEAST_PART: f64 = 0.2;
/// It grew in this part of the looks, of which there must be some.
const LEAST_RISES: f64 = 0.6;
const LEAST_LOOKS: u32 = 4;
/// Suspects of one look, the largest first.
const MOST_AT_ONCE: usize = 16;
/// Processes remembered.
const MOST_TRACKED: usize = 65_536;

/// One process outside.
#[derive(Clone, Copy, Debug)]
struct Track {
    first: u64,
    first_s: f64,
    last: u64,
    most: u64,
    looks: u32,
    rises: u32,
}

/// Memory in use at one moment, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Used {
    /// Of the machine, without shared memory (which no process owns).
    pub machine: u64,
    /// Size of the machine.
    pub total: u64,
    /// Anonymous memory of the innermost cgroup.
    pub cgroup: Option<u64>,
    /// Anonymous memory of the watched tree.
    pub tree: u64,
}

/// Somebody outside who grows.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspect {
    pub pid: u32,
    /// Seconds after the run's start when it was first looked at.
    pub since_s: f64,
    /// It alone is a large part of what grew outside.
    pub large: bool,
    /// In words.
    pub reason: String,
}

/// What is remembered between looks.
#[derive(Debug)]
pub struct Outside {
    tracks: HashMap<u32, Track>,
    base: Option<Used>,
    last_s: f64,
    /// The rest after the last look that keeps their cost within its share.
    rest_s: f64,
    pids: Vec<u32>,
}

impl Default for Outside {
    fn default() -> Self {
        Self { tracks: HashMap::new(), base: None, last_s: f64::NEG_INFINITY, rest_s: 0.0, pids: Vec::new() }
    }
}

impl Outside {
    /// Looks at all processes if it is time; gives those who grow while the tree does not account for it, `ours` aside.
    pub fn look(
        &mut self,
        root: &Root,
        now_s: f64,
        used: Used,
        ours: impl Fn(u32) -> bool,
        scratch: &mut Scratch,
    ) -> Vec<Suspect> {
        let base = *self.base.get_or_insert(used);
        let wait_s = if outside_growth(base, used, NOTICEABLE).is_some() { LOOK_S } else { IDLE_LOOK_S };
        if now_s < self.last_s + wait_s.max(self.rest_s) {
            return Vec::new();
        }
        self.last_s = now_s;
        let before = sys::thread_cpu_ns();
        if root.pids(&mut self.pids).is_err() {
            return Vec::new();
        }
        let page = sys::page_size();
        let mut seen = HashMap::with_capacity(self.tracks.len() + 8);
        for pid in self.pids.iter().copied().filter(|pid| !ours(*pid) && *pid != std::process::id()).take(MOST_TRACKED) {
            if let Some(anon) = scratch.read(&root.of(pid, "statm")).ok().and_then(anon_pages) {
                let track = self.tracks.get(&pid).copied();
                seen.insert(pid, Track::next(track, anon.saturating_mul(page), now_s));
            }
        }
        self.tracks = seen;
        let cost_s = (sys::thread_cpu_ns() - before) as f64 * 1e-9;
        self.rest_s = cost_s / LOOK_SHARE;
        let least = LEAST_OUTSIDE.max(used.total / 1024);
        let grown = outside_growth(base, used, least);
        grown.map(|(outside, place)| self.suspects(outside, place, now_s)).unwrap_or_default()
    }

    fn suspects(&self, outside: u64, place: &str, now_s: f64) -> Vec<Suspect> {
        let mut found: Vec<(u64, u32, &Track)> = self
            .tracks
            .iter()
            .filter_map(|(pid, track)| {
                let grown = track.last.saturating_sub(track.first);
                let much = grown >= LEAST_OWN;
                let steady = track.looks >= LEAST_LOOKS && f64::from(track.rises) >= f64::from(track.looks) * LEAST_RISES;
                (much && steady && track.last >= track.most / 10 * 9).then_some((grown, *pid, track))
            })
            .collect();
        found.sort_by_key(|(grown, pid, _)| (std::cmp::Reverse(*grown), *pid));
        found.truncate(MOST_AT_ONCE);
        found
            .into_iter()
            .map(|(grown, pid, track)| Suspect {
                pid,
                since_s: track.first_s,
                large: grown as f64 >= outside as f64 * LEAST_PART,
                reason: format!(
                    "not in the watched tree; its anonymous memory grew by {} in {:.0} s, in {} of {} looks, while the {place} grew by {} more than the tree",
                    Bytes(grown),
                    now_s - track.first_s,
                    track.rises,
                    track.looks,
                    Bytes(outside),
                ),
            })
            .collect()
    }
}

impl Track {
    fn next(before: Option<Self>, anon: u64, now_s: f64) -> Self {
        match before {
            Some(track) => Self {
                last: anon,
                most: track.most.max(anon),
                looks: track.looks + 1,
                rises: track.rises + u32::from(anon > track.last),
                ..track
            },
            None => Self { first: anon, first_s: now_s, last: anon, most: anon, looks: 0, rises: 0 },
        }
    }
}

/// Growth of at least so many bytes that the tree does not account for, and where it was seen.
fn outside_growth(base: Used, now: Used, least: u64) -> Option<(u64, &'static str)> {
    // A tree that shrinks (workers end, whose shared pages were counted for each) must not look like growth outside.
    let tree = now.tree.saturating_sub(base.tree);
    let beyond = |grown: u64, least: u64| {
        let outside = grown.saturating_sub(tree);
        (outside >= least && outside as f64 >= grown as f64 * LEAST_SHARE).then_some(outside)
    };
    // A cgroup holds few others: what grows there means more than on a machine with many users.
    let in_cgroup =
        now.cgroup.zip(base.cgroup).and_then(|(now, base)| beyond(now.saturating_sub(base), least.min(LEAST_OUTSIDE)));
    let in_machine = beyond(now.machine.saturating_sub(base.machine), least);
    in_cgroup.map(|outside| (outside, "cgroup")).or_else(|| in_machine.map(|outside| (outside, "machine")))
}

/// Resident minus shared pages of `/proc/PID/statm` (proc(5)); `None` for kernel threads.
fn anon_pages(bytes: &[u8]) -> Option<u64> {
    let mut words = bytes.split(|byte| *byte == b' ').skip(1);
    let (resident, shared) = (number(words.next()?)?, number(words.next()?)?);
    (resident > 0).then(|| resident.saturating_sub(shared))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn growth_counts_as_outside_only_where_the_tree_does_not_explain_it() {
        let base = Used { machine: 1000 * MIB, total: 8000 * MIB, cgroup: None, tree: 100 * MIB };
        let grown = |machine: u64, tree: u64| {
            outside_growth(base, Used { machine: machine * MIB, tree: tree * MIB, ..base }, LEAST_OUTSIDE)
        };
        assert_eq!(grown(1100, 100), Some((100 * MIB, "machine")));
        assert_eq!(grown(1100, 190), None, "the tree took it");
        assert_eq!(grown(1030, 100), None, "too little to mean anything");
        assert_eq!(grown(1000, 20), None, "a tree that shrinks is no growth outside");
        let cgroup = Used { cgroup: Some(10 * MIB), ..base };
        assert_eq!(outside_growth(cgroup, Used { cgroup: Some(90 * MIB), ..cgroup }, 1 << 40), Some((80 * MIB, "cgroup")));
    }

    #[test]
    fn a_single_jump_is_not_steady() {
        let mut outside = Outside::default();
        let (mut steady, mut jump) = (None, None);
        for look in 0..10_u64 {
            steady = Some(Track::next(steady, 50 * MIB + look * 10 * MIB, look as f64));
            jump = Some(Track::next(jump, if look < 5 { 50 * MIB } else { 500 * MIB }, look as f64));
        }
        outside.tracks.extend([(7, steady.expect("a track")), (8, jump.expect("a track"))]);
        let suspects = outside.suspects(100 * MIB, "machine", 9.0);
        assert_eq!(suspects.iter().map(|suspect| suspect.pid).collect::<Vec<_>>(), [7]);
    }

    #[test]
    fn reads_statm() {
        assert_eq!(anon_pages(b"765 416 388 5 0 90 0\n"), Some(28));
        assert_eq!(anon_pages(b"0 0 0 0 0 0 0\n"), None);
        assert_eq!(anon_pages(b""), None);
    }
}
