//! Who belongs to the run: the target, everything that descends from it, and what stays of that when parents go.
//!
//! A child of a member belongs to the run and stays in it when it is reparented (a daemon). Children that live for less
//! than [`YOUNG_S`] are not announced: a build that forks hundreds of compilers a second would flood the recording,
//! and no worker that matters for memory lives so briefly. Their own children are still recognised.

use std::collections::{BTreeMap, HashSet};

use lowtide_model::{ProcId, Process, Role};

use crate::facts::Facts;
use crate::handle::Handle;
use crate::parse::stat::Stat;
use crate::roles::{self, Part};
use crate::rollup::RollupState;
use crate::root::{Root, Scratch};

/// A process is announced once it is this old, in seconds, or the target itself.
pub const YOUNG_S: f64 = 0.5;
/// At most this many live processes are watched at one time.
pub const MOST_MEMBERS: usize = 4096;
/// A command that we start ourselves while we are the reaper of the run's orphans has our pid in this variable of its
/// environment, so that its own orphans are not taken for those of the run.
pub const COMMAND_MARK: &str = "LOWTIDE_ON";
/// And at most so many are remembered that are none of the run.
const MOST_IGNORED: usize = 4096;

/// One process of the run.
#[derive(Debug)]
pub struct Member {
    /// Its `stat` when it was found, or when it last execed.
    pub stat: Stat,
    /// Its parent when it was found.
    pub parent_pid: u32,
    /// That parent's index in the run.
    pub parent_id: Option<ProcId>,
    /// What is set when it is announced.
    pub announced: Option<Announced>,
}

/// What is kept of a process that the recording knows.
#[derive(Debug)]
pub struct Announced {
    pub id: ProcId,
    pub pid: u32,
    /// Its parent when it was found.
    pub ppid: u32,
    pub parent: Option<ProcId>,
    pub start_s: f64,
    pub handle: Handle,
    pub facts: Facts,
    pub part: Part,
    /// Whether the recording has been told all of this.
    pub sent: bool,
    pub counters: Counters,
    /// Its CPU time in clock ticks when it was last found to be a launcher.
    pub launcher_cpu: u64,
    /// What it and those above it had used of the CPU when it was announced.
    pub cpu_then: CpuThen,
    /// The signal handlers that its role was told from.
    pub judged_caught: u64,
    pub rollup: RollupState,
    /// When to look for a training library next, and how long to wait after that.
    pub library_at_s: f64,
    pub library_wait_s: f64,
    /// It must be looked at again: it may have execed.
    pub stale: bool,
    /// The kernel shows its RSS and not the parts of it.
    pub lacks_parts: bool,
}

impl Announced {
    /// `place`: its pid, its parent's pid, and its parent in the run.
    pub fn new(id: ProcId, place: (u32, u32, Option<ProcId>), start_s: f64, handle: Handle, facts: Facts) -> Self {
        let (pid, ppid, parent) = place;
        Self {
            id,
            pid,
            ppid,
            parent,
            start_s,
            handle,
            facts,
            part: Part::default(),
            sent: false,
            counters: Counters { pid, ..Counters::default() },
            launcher_cpu: 0,
            cpu_then: CpuThen::default(),
            judged_caught: 0,
            rollup: RollupState::default(),
            library_at_s: f64::NEG_INFINITY,
            library_wait_s: 0.0,
            stale: false,
            lacks_parts: false,
        }
    }

    /// Whether it has done nothing of note since it was found to be a launcher: what it waited for may have ended, and
    /// that makes it no trainer.
    pub fn only_waited(&self) -> bool {
        self.part.role == Role::Launcher && self.counters.cpu_ticks.saturating_sub(self.launcher_cpu) < roles::WORK_TICKS
    }

    /// What the recording is told of it.
    pub fn event(&self) -> Process {
        Process {
            id: self.id,
            pid: self.pid,
            ppid: self.ppid,
            parent: self.parent,
            start_s: self.start_s,
            name: self.facts.comm.clone(),
            command: self.facts.command(),
            role: self.part.role,
            role_reason: self.part.reason.clone(),
            rank: self.part.rank,
        }
    }
}

/// CPU time in clock ticks at the moment when a process was announced.
#[derive(Clone, Debug, Default)]
pub struct CpuThen {
    /// Its own.
    pub own: u64,
    /// That of each announced process above it.
    pub above: Vec<(ProcId, u64)>,
}

/// The last counters of a process, as the roles need them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    pub pid: u32,
    pub anon: u64,
    pub rss: u64,
    pub high_water: u64,
    pub caught: u64,
    pub cpu_ticks: u64,
}

/// The processes of the run that are alive, by pid.
#[derive(Debug)]
pub struct Members {
    pub target: u32,
    pub target_start: u64,
    /// Our own pid, where orphans of the run become our children; never a member itself.
    reaper: Option<u32>,
    pub alive: BTreeMap<u32, Member>,
    /// Processes that make copies of themselves for us to read.
    copied: HashSet<u32>,
    /// Children of ours that are none of the run, by pid and start.
    ignored: Vec<(u32, u64)>,
    next_id: u32,
}

impl Members {
    pub fn new(target: &Stat, own_child: bool) -> Self {
        let mut members = Self {
            target: target.pid,
            target_start: target.start_ticks,
            reaper: own_child.then(std::process::id),
            alive: BTreeMap::new(),
            copied: HashSet::new(),
            ignored: Vec::new(),
            next_id: 0,
        };
        members.insert(*target);
        members
    }

    /// The next free index of the run.
    pub fn next_id(&mut self) -> ProcId {
        let id = ProcId(self.next_id);
        self.next_id += 1;
        id
    }

    /// Children that we had before the target. Their starts may be the same, since the kernel shows them in hundredths of
    /// a second.
    pub fn ignore_older_siblings(&mut self, root: &Root, scratch: &mut Scratch) {
        let mut pids = Vec::new();
        if root.pids(&mut pids).is_ok() {
            let siblings = pids.into_iter().filter(|pid| *pid != self.target).filter_map(|pid| root.stat(pid, scratch));
            self.ignored.extend(
                siblings
                    .filter(|stat| Some(stat.ppid) == self.reaper && stat.start_ticks <= self.target_start)
                    .map(|stat| (stat.pid, stat.start_ticks)),
            );
        }
    }

    /// Never takes this child of ours, nor what descends from it. `start_ticks` where it can still be told.
    pub fn ignore(&mut self, pid: u32, start_ticks: Option<u64>) {
        self.ignored.push((pid, start_ticks.unwrap_or(self.target_start)));
    }

    /// Whether a pid was last seen to be somebody that is never taken.
    pub fn is_ignored(&self, pid: u32) -> bool {
        !self.alive.contains_key(&pid) && self.ignored.iter().any(|(ignored, _)| *ignored == pid)
    }

    /// Takes those of the found processes that belong to the run.
    pub fn adopt(&mut self, found: &mut Vec<Stat>, root: &Root, scratch: &mut Scratch) {
        found.retain(|stat| !stat.ended() && stat.pid != std::process::id() && stat.pid > 0);
        self.ignore_descendants(found);
        // A grandchild may stand before its parent in the list: repeat while somebody was taken.
        loop {
            let before = found.len();
            found.retain(|stat| {
                let taken = self.belongs(stat) && is_leader(root, stat.pid, scratch);
                if taken && (self.is_copy(stat) || self.is_marked(stat, root, scratch)) {
                    self.ignore(stat.pid, Some(stat.start_ticks));
                } else if taken {
                    self.insert(*stat);
                }
                !taken
            });
            if found.len() == before || found.is_empty() {
                return;
            }
        }
    }

    /// Children of the ignored are ignored: as orphans they come to us like those of the run.
    fn ignore_descendants(&mut self, found: &[Stat]) {
        if self.ignored.is_empty() || self.reaper.is_none() {
            return;
        }
        loop {
            let before = self.ignored.len();
            let of_ignored = |stat: &&Stat| {
                let older = |pid: u32| {
                    !self.alive.contains_key(&pid)
                        && self.ignored.iter().any(|(ignored, start)| *ignored == pid && *start <= stat.start_ticks)
                };
                let known = self.ignored.contains(&(stat.pid, stat.start_ticks)) || self.alive.contains_key(&stat.pid);
                !known && (older(stat.ppid) || (stat.session > 0 && older(stat.session)))
            };
            let new: Vec<(u32, u64)> = found.iter().filter(of_ignored).map(|stat| (stat.pid, stat.start_ticks)).collect();
            self.ignored.extend(new);
            if self.ignored.len() > MOST_IGNORED {
                self.ignored.drain(..MOST_IGNORED / 2);
            }
            if self.ignored.len() <= before {
                return;
            }
        }
    }

    fn belongs(&self, stat: &Stat) -> bool {
        let ignored = self.ignored.contains(&(stat.pid, stat.start_ticks));
        if ignored || self.alive.contains_key(&stat.pid) || self.alive.len() >= MOST_MEMBERS * 4 {
            return false;
        }
        let after_target = stat.start_ticks >= self.target_start;
        // A pid alone proves nothing: the parent must be older than its child.
        let older = |pid: u32| self.alive.get(&pid).is_some_and(|member| member.stat.start_ticks <= stat.start_ticks);
        if older(stat.ppid) || (after_target && self.reaper == Some(stat.ppid)) {
            return true;
        }
        // An orphan whose parent came and went between two looks. Sessions are only inherited, so the session of a
        // member proves it; a process group can be shared with siblings (a pipeline), so it must be an orphan too.
        after_target && ((stat.session > 0 && older(stat.session)) || (stat.ppid == 1 && stat.pgrp > 0 && older(stat.pgrp)))
    }

    /// A process may copy itself from now on, to be read: such children are none of the run.
    pub fn expect_copy(&mut self, maker: u32) {
        self.copied.insert(maker);
    }

    /// A copy that a process made of itself for us: unlike any other child that has not execed, its end is told to nobody.
    fn is_copy(&self, stat: &Stat) -> bool {
        stat.silent && self.copied.contains(&stat.ppid)
    }

    /// An orphan of an ignored command that nobody saw being born, by the mark in its environment.
    fn is_marked(&self, stat: &Stat, root: &Root, scratch: &mut Scratch) -> bool {
        if self.ignored.is_empty() || self.reaper != Some(stat.ppid) {
            return false;
        }
        let mark = format!("{COMMAND_MARK}={}", std::process::id());
        let environment = scratch.read(&root.of(stat.pid, "environ"));
        let marked = environment.is_ok_and(|bytes| bytes.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes()));
        scratch.wipe();
        marked
    }

    fn insert(&mut self, stat: Stat) {
        let parent_id = self.alive.get(&stat.ppid).and_then(Member::id);
        self.alive.insert(stat.pid, Member { stat, parent_pid: stat.ppid, parent_id, announced: None });
    }

    /// Forgets a process that ended. Its children keep its place in the tree: its index, or its own parent's where it
    /// was never announced.
    pub fn remove(&mut self, pid: u32) -> Option<Member> {
        let gone = self.alive.remove(&pid)?;
        for child in self.alive.values_mut().filter(|child| child.parent_pid == pid && child.announced.is_none()) {
            child.parent_id = gone.id().or(gone.parent_id);
            if gone.id().is_none() {
                child.parent_pid = gone.parent_pid;
            }
        }
        Some(gone)
    }

    /// Removes processes that ended before they were announced.
    pub fn prune_young(&mut self, root: &Root, scratch: &mut Scratch) {
        let gone: Vec<u32> = self
            .alive
            .iter()
            .filter(|(_, member)| member.announced.is_none())
            .filter(|(pid, member)| {
                root.stat(**pid, scratch).is_none_or(|stat| stat.start_ticks != member.stat.start_ticks || stat.ended())
            })
            .map(|(pid, _)| *pid)
            .collect();
        for pid in gone {
            self.remove(pid);
        }
    }

    /// Pids of those that are old enough to be announced, parents before children.
    pub fn grown_up(&self, uptime_ticks: f64, ticks_per_second: f64) -> Vec<u32> {
        let mut ready: Vec<(u64, u32)> = self
            .alive
            .iter()
            .filter(|(pid, member)| {
                let age_s = (uptime_ticks - member.stat.start_ticks as f64) / ticks_per_second;
                member.announced.is_none() && (**pid == self.target || age_s >= YOUNG_S)
            })
            .map(|(pid, member)| (member.stat.start_ticks, *pid))
            .collect();
        ready.sort_unstable();
        let room = MOST_MEMBERS.saturating_sub(self.announced().count());
        ready.truncate(room);
        ready.into_iter().map(|(_, pid)| pid).collect()
    }

    /// The index of a member's parent in the run.
    pub fn parent_of(&self, member: &Member) -> Option<ProcId> {
        member.parent_id.or_else(|| self.alive.get(&member.parent_pid).and_then(Member::id))
    }

    /// The processes that the recording knows.
    pub fn announced(&self) -> impl Iterator<Item = (u32, &Announced)> {
        self.alive.iter().filter_map(|(pid, member)| Some((*pid, member.announced.as_ref()?)))
    }

    /// The same, to be changed.
    pub fn announced_mut(&mut self) -> impl Iterator<Item = (u32, &mut Announced)> {
        self.alive.iter_mut().filter_map(|(pid, member)| Some((*pid, member.announced.as_mut()?)))
    }
}

impl Member {
    /// Its index in the run, once it is announced.
    pub fn id(&self) -> Option<ProcId> {
        self.announced.as_ref().map(|announced| announced.id)
    }
}

/// Whether a pid is a process and not a thread of one: `/proc/TID` can be read too, and has the same parent.
fn is_leader(root: &Root, pid: u32, scratch: &mut Scratch) -> bool {
    scratch.read(&root.of(pid, "status")).is_ok_and(|bytes| {
        let tgid = crate::parse::status::Status::parse(bytes).tgid;
        tgid == pid || tgid == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(pid: u32, ppid: u32, start_ticks: u64) -> Stat {
        Stat { pid, ppid, start_ticks, state: b'S', threads: 1, ..Stat::default() }
    }

    #[test]
    fn a_reused_pid_does_not_bring_strangers_into_the_run() {
        let members = Members::new(&stat(100, 1, 500), false);
        assert!(members.belongs(&stat(101, 100, 500)));
        assert!(!members.belongs(&stat(102, 100, 499)), "older than its parent: that parent had the pid before");
        assert!(!members.belongs(&stat(103, 7, 600)));
    }

    #[test]
    fn orphans_belong_by_session_and_by_group() {
        let members = Members::new(&stat(100, 1, 500), false);
        let session = Stat { session: 100, ..stat(200, 1, 600) };
        let orphan = Stat { pgrp: 100, ..stat(201, 1, 600) };
        let pipeline = Stat { pgrp: 100, ..stat(202, 50, 600) };
        assert!(members.belongs(&session));
        assert!(members.belongs(&orphan));
        assert!(!members.belongs(&pipeline), "`train | tee`: the group is shared, the parent is the shell");
    }

    #[test]
    fn a_child_of_a_short_lived_child_hangs_on_its_grandparent() {
        let mut members = Members::new(&stat(100, 1, 500), false);
        members.insert(stat(101, 100, 501));
        members.insert(stat(102, 101, 502));
        members.remove(101);
        assert_eq!(members.alive[&102].parent_pid, 100);
    }

    #[test]
    fn only_the_grown_up_are_announced() {
        let mut members = Members::new(&stat(100, 1, 500), false);
        members.insert(stat(101, 100, 510));
        members.insert(stat(102, 100, 590));
        assert_eq!(members.grown_up(600.0, 100.0), [100, 101]);
    }

    #[test]
    fn what_descends_from_an_ignored_child_is_ignored_too() {
        let root = Root::new("/nowhere".as_ref());
        let mut members = Members::new(&stat(100, std::process::id(), 500), true);
        let hook = Stat { session: 300, ..stat(300, std::process::id(), 600) };
        members.ignore(hook.pid, Some(hook.start_ticks));
        let child = Stat { session: 300, ..stat(301, 300, 610) };
        let grandchild = Stat { session: 302, ..stat(302, 301, 620) };
        members.adopt(&mut vec![grandchild, child], &root, &mut Scratch::default());
        // Their parents end, and they come to us.
        let orphan = |stat: Stat| Stat { ppid: std::process::id(), ..stat };
        for stat in [hook, orphan(child), orphan(grandchild)] {
            assert!(!members.belongs(&stat) && members.is_ignored(stat.pid), "{stat:?}");
        }
        // Never seen before, and known by its session only.
        let mut late = vec![Stat { session: 300, ..stat(303, std::process::id(), 630) }];
        members.adopt(&mut late, &root, &mut Scratch::default());
        assert!(!members.belongs(&late[0]));
        assert!(members.belongs(&stat(400, std::process::id(), 640)), "an orphan of the run");
    }
}
