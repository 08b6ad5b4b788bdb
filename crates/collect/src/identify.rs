//! Announces processes, notices when they exec, and keeps their roles up to date.

use std::collections::{HashMap, HashSet};

use lowtide_model::{Event, ProcId, Role};

use crate::facts::{self, Facts};
use crate::handle::Handle;
use crate::members::{Announced, CpuThen, Members};
use crate::roles::{self, Part, View};
use crate::root::{Root, Scratch};

/// Roles are judged anew when something happens, and besides so many seconds later, then more rarely up to a limit.
const JUDGE_S: f64 = 2.0;
const JUDGE_MOST_S: f64 = 20.0;
/// A process is searched for a training library after this long, then after twice as long each time, up to a limit;
/// and only once it is big enough to have one (torch alone maps more than 100 MiB).
const LIBRARY_WAIT_S: f64 = 1.0;
const LIBRARY_WAIT_MOST_S: f64 = 120.0;
const LIBRARY_RSS: u64 = 24 << 20;

/// What is remembered between ticks.
#[derive(Debug)]
pub struct Identifier {
    judge_at_s: f64,
    judge_wait_s: f64,
    /// Something changed that roles depend on.
    changed: bool,
}

impl Identifier {
    pub fn new() -> Self {
        Self { judge_at_s: f64::NEG_INFINITY, judge_wait_s: JUDGE_S, changed: false }
    }

    /// Makes a member known. Its event follows with [`Self::update`], once its memory was read too.
    pub fn announce(&mut self, members: &mut Members, pid: u32, start_s: f64, keep: bool, root: &Root, scratch: &mut Scratch) {
        let Some(member) = members.alive.get(&pid) else { return };
        // It may have execed since it was found.
        let Some(stat) = root.stat(pid, scratch).filter(|stat| stat.start_ticks == member.stat.start_ticks) else { return };
        let parent = members.alive.get(&member.parent_pid);
        let known = parent.and_then(|parent| Some((&parent.stat, &parent.announced.as_ref()?.facts)));
        let facts = Facts::read(root, &stat, known, scratch);
        let handle = Handle::open(root, &stat, keep, scratch);
        let parent_id = members.parent_of(member);
        let ppid = member.stat.ppid;
        let cpu_then = CpuThen { own: stat.cpu_ticks, above: cpu_above(members, parent_id, root, scratch) };
        let id = members.next_id();
        if let Some(member) = members.alive.get_mut(&pid) {
            member.stat = stat;
            let announced = Announced::new(id, (pid, ppid, parent_id), start_s, handle, facts);
            member.announced = Some(Announced { cpu_then, ..announced });
            self.changed = true;
        }
    }

    /// Reads again what may have execed, judges roles where something changed or it is time, and pushes every process
    /// that is new or better known.
    pub fn update(&mut self, members: &mut Members, root: &Root, now_s: f64, scratch: &mut Scratch, out: &mut Vec<Event>) {
        let regular = now_s >= self.judge_at_s;
        self.refresh(members, regular, root, scratch);
        self.find_libraries(members, now_s, root);
        if !self.changed && !regular {
            return;
        }
        self.judge_wait_s = if self.changed { JUDGE_S } else { (self.judge_wait_s * 1.5).min(JUDGE_MOST_S) };
        self.judge_at_s = now_s + self.judge_wait_s;
        self.changed = false;
        judge(members);
        let mut news: Vec<&mut Announced> =
            members.announced_mut().map(|(_, process)| process).filter(|process| !process.sent).collect();
        news.sort_by_key(|process| process.id);
        for process in news {
            process.sent = true;
            out.push(Event::Process(process.event()));
        }
    }

    /// Looks for execs: in all processes if it is time, else in those that show signs of one.
    fn refresh(&mut self, members: &mut Members, all: bool, root: &Root, scratch: &mut Scratch) {
        for member in members.alive.values_mut() {
            let Some(process) = member.announced.as_mut() else { continue };
            if !all && !process.stale {
                continue;
            }
            let Some(stat) = root.stat(process.pid, scratch).filter(|stat| stat.start_ticks == member.stat.start_ticks) else {
                continue;
            };
            process.counters.cpu_ticks = stat.cpu_ticks;
            let stale = std::mem::take(&mut process.stale);
            // An exec draws a new layout; where layouts are hidden, only other signs are left.
            let execed = stat.layout != member.stat.layout;
            member.stat = stat;
            if execed || stale {
                let facts = Facts::read(root, &stat, None, scratch);
                self.changed |= process.renew(facts, execed);
            }
        }
    }

    fn find_libraries(&mut self, members: &mut Members, now_s: f64, root: &Root) {
        for (pid, process) in members.announced_mut() {
            let wanted = process.facts.library.is_none() && process.counters.rss >= LIBRARY_RSS;
            if wanted && now_s >= process.library_at_s {
                process.facts.library = facts::library(root, pid);
                self.changed |= process.facts.library.is_some();
                process.library_wait_s = (process.library_wait_s * 2.0).clamp(LIBRARY_WAIT_S, LIBRARY_WAIT_MOST_S);
                process.library_at_s = now_s + process.library_wait_s;
            }
        }
    }

    /// Processes that others were forked from, so that they share pages with them.
    pub fn forking_parents(members: &Members) -> HashSet<ProcId> {
        members.announced().filter(|(_, process)| process.facts.forked).filter_map(|(_, process)| process.parent).collect()
    }
}

impl Announced {
    /// Takes new facts of the same process; returns whether they differ.
    fn renew(&mut self, mut facts: Facts, execed: bool) -> bool {
        // One that is about to end has no memory any more, and so no words: it stays what it was.
        if facts.args.is_empty() && facts.exe.is_empty() {
            return false;
        }
        // Facts that were told with the parent's help, or that cost more, stay while the program is the same.
        let execed = execed || facts.exe != self.facts.exe;
        if execed {
            self.part = Part::default();
            (self.library_at_s, self.library_wait_s) = (0.0, 0.0);
        } else {
            facts.forked = self.facts.forked;
            facts.library = self.facts.library;
        }
        // Handlers count as well: roles are told from them.
        let differs = execed || facts != self.facts || self.judged_caught != self.counters.caught;
        if facts.command() != self.facts.command() || facts.comm != self.facts.comm {
            self.sent = false;
        }
        self.facts = facts;
        differs
    }
}

/// The CPU time so far of a process and of those above it.
fn cpu_above(members: &Members, from: Option<ProcId>, root: &Root, scratch: &mut Scratch) -> Vec<(ProcId, u64)> {
    let mut above = Vec::new();
    let mut next = from;
    while let Some(process) = next.and_then(|id| members.announced().map(|(_, process)| process).find(|process| process.id == id))
    {
        let stat = root.stat(process.pid, scratch);
        above.push((process.id, stat.map_or(process.counters.cpu_ticks, |stat| stat.cpu_ticks)));
        // Parents are announced before their children, so this ends.
        next = process.parent.filter(|parent| *parent < process.id);
    }
    above
}

/// Decides the role of every known process.
fn judge(members: &mut Members) {
    let mut order: Vec<(ProcId, u32)> = members.announced().map(|(pid, process)| (process.id, pid)).collect();
    order.sort_unstable();
    let place: HashMap<ProcId, usize> = order.iter().enumerate().map(|(index, (id, _))| (*id, index)).collect();
    let views: Vec<View<'_>> = order
        .iter()
        .filter_map(|(_, pid)| members.alive.get(pid)?.announced.as_ref())
        .map(|process| View {
            facts: &process.facts,
            counters: process.counters,
            cpu_then: process.cpu_then.own,
            cpu_above_then: process.cpu_then.above.iter().filter_map(|(id, ticks)| Some((*place.get(id)?, *ticks))).collect(),
            parent: process.parent.and_then(|parent| place.get(&parent).copied()),
            part: &process.part,
            only_waited: process.only_waited(),
        })
        .collect();
    let parts = roles::decide(&views);
    for ((_, pid), part) in order.iter().zip(parts) {
        if let Some(process) = members.alive.get_mut(pid).and_then(|member| member.announced.as_mut()) {
            process.judged_caught = process.counters.caught;
            if part.role == Role::Launcher && !process.only_waited() {
                process.launcher_cpu = process.counters.cpu_ticks;
            }
            // A reason alone may change with the numbers in it: that is no news.
            if part.role != process.part.role || part.rank != process.part.rank {
                process.sent = false;
                process.part = part;
            }
        }
    }
}
