//! Who is related to a process: a server's children do the work that the server was asked for.

use std::collections::HashMap;

use crate::root::{Root, Scratch};

/// Of one process at most this many descendants are looked at, and ancestors this far up.
const MOST_DESCENDANTS: usize = 64;
const MOST_ANCESTORS: usize = 32;
const INIT: u32 = 1;

/// All processes by their parents, at one moment.
#[derive(Debug, Default)]
pub struct Families {
    parents: HashMap<u32, u32>,
    children: HashMap<u32, Vec<u32>>,
}

/// How somebody is related to the process that is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kinship {
    Itself,
    Parent,
    Ancestor,
    Descendant,
}

impl Families {
    /// Reads every process of the machine.
    pub fn read(root: &Root, scratch: &mut Scratch) -> Self {
        let mut pids = Vec::new();
        if root.pids(&mut pids).is_err() {
            return Self::default();
        }
        Self::of(pids.into_iter().filter_map(|pid| root.stat(pid, scratch)).map(|stat| (stat.pid, stat.ppid)))
    }

    fn of(pairs: impl Iterator<Item = (u32, u32)>) -> Self {
        let mut families = Self::default();
        for (pid, parent) in pairs {
            families.parents.insert(pid, parent);
            families.children.entry(parent).or_default().push(pid);
        }
        families
    }

    /// The parents of a process, the nearest first, init the last.
    pub fn ancestors(&self, pid: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(self.parents.get(&pid).copied(), |pid| self.parents.get(pid).copied())
            .take_while(|pid| *pid > 0)
            .take(MOST_ANCESTORS)
    }

    /// Whoever may act for `pid`: itself, its ancestors and its descendants. Not init, not those that stand above the
    /// run too (a shell, a terminal, a service manager: what they hold says nothing about this process), and nobody of
    /// the run.
    pub fn kin(&self, pid: u32, target: u32, ours: impl Fn(u32) -> bool) -> Vec<(u32, Kinship)> {
        let above_target: Vec<u32> = self.ancestors(target).collect();
        let mut kin = vec![(pid, Kinship::Itself)];
        // One that stands above the run has the run, and half the session, among its descendants.
        if pid == INIT || above_target.contains(&pid) {
            return kin;
        }
        let up = self.ancestors(pid).take_while(|pid| *pid != INIT && !above_target.contains(pid) && !ours(*pid));
        kin.extend(up.enumerate().map(|(far, pid)| (pid, if far == 0 { Kinship::Parent } else { Kinship::Ancestor })));
        let first = kin.len();
        let mut next = vec![pid];
        while let Some(parent) = next.pop() {
            for child in self.children.get(&parent).into_iter().flatten().copied().filter(|child| !ours(*child)) {
                // A table that was read while processes came and went could hold a circle.
                if kin.len() - first < MOST_DESCENDANTS && kin.iter().all(|(known, _)| *known != child) {
                    kin.push((child, Kinship::Descendant));
                    next.push(child);
                }
            }
        }
        kin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// init 1 - terminal 10 - shells 11 and 12; the run is 20 under 11, 30 works under 12; server 40 has 41 and 42.
    fn families() -> Families {
        let pairs = [(1, 0), (10, 1), (11, 10), (12, 10), (20, 11), (30, 12), (31, 30), (40, 1), (41, 40), (42, 41)];
        Families::of(pairs.into_iter())
    }

    #[test]
    fn kin_ends_below_what_stands_above_the_run() {
        let families = families();
        assert_eq!(
            families.kin(30, 20, |pid| pid == 20),
            [(30, Kinship::Itself), (12, Kinship::Parent), (31, Kinship::Descendant)]
        );
        assert_eq!(families.kin(10, 20, |pid| pid == 20), [(10, Kinship::Itself)], "the terminal answers for itself only");
        assert_eq!(
            families.kin(42, 20, |pid| pid == 20),
            [(42, Kinship::Itself), (41, Kinship::Parent), (40, Kinship::Ancestor)]
        );
    }

    #[test]
    fn a_circle_ends() {
        let circle = Families::of([(5, 6), (6, 5)].into_iter());
        assert!(circle.kin(5, 20, |_| false).len() < 40);
        assert_eq!(circle.ancestors(5).count(), MOST_ANCESTORS);
    }
}
