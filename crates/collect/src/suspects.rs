//! What becomes of processes outside the tree that grow: they are named, watched with the run, and linked to it where
//! there is a proof (`link/`). The analysis counts only those that are linked; the others are worth a warning.

use std::collections::{BTreeMap, HashSet};

use lowtide_model::{CgroupSample, Event, Exit, Note, NoteKind, ProcId, ProcSample, Role};

use crate::cgroup::Cgroups;
use crate::facts::Facts;
use crate::handle::Handle;
use crate::link::Links;
use crate::members::{Announced, Members};
use crate::outside::{Outside, Suspect, Used};
use crate::roles::Part;
use crate::root::{Root, Scratch};
use crate::sample::{self, Look};
use crate::sys;

/// Strangers that are watched at one time: on a busy machine somebody grows always.
const MOST_STRANGERS_AT_ONCE: usize = 3;
/// Strangers, and linked processes, that are named in one run.
const MOST_STRANGERS: usize = 8;
const MOST_LINKED: usize = 16;

/// What the rest of the tick knows.
pub struct Around<'a> {
    pub root: &'a Root,
    pub now_s: f64,
    pub members: &'a mut Members,
    pub cgroups: &'a Cgroups,
    pub limits: &'a [CgroupSample],
    pub used: Used,
    /// Whether files may be kept open.
    pub keep: bool,
    pub scratch: &'a mut Scratch,
}

/// The suspects of a run.
#[derive(Debug)]
pub struct Suspects {
    outside: Outside,
    links: Links,
    alive: BTreeMap<u32, Announced>,
    linked: HashSet<ProcId>,
    strangers: usize,
}

impl Suspects {
    pub fn new(root: &Root, target: u32, scratch: &mut Scratch) -> Self {
        Self {
            outside: Outside::default(),
            links: Links::new(root, target, scratch),
            alive: BTreeMap::new(),
            linked: HashSet::new(),
            strangers: 0,
        }
    }

    /// When [`Self::glance`] should be called between ticks; `None` once the first seconds are over.
    pub fn glance_due_s(&self) -> Option<f64> {
        self.links.glance_due_s()
    }

    /// Looks at the run's connections only.
    pub fn glance(&mut self, root: &Root, now_s: f64, members: &Members) {
        self.links.look(root, now_s, members.alive.keys().copied());
    }

    /// Names new suspects, samples those that are known, and looks for links.
    pub fn look(&mut self, around: &mut Around<'_>, samples: &mut Vec<ProcSample>, out: &mut Vec<Event>) {
        self.glance(around.root, around.now_s, around.members);
        let found = self.find(around);
        let (named, waiting): (Vec<Suspect>, Vec<Suspect>) = found.into_iter().partition(|suspect| {
            let room = self.alive.len() - self.linked_alive() < MOST_STRANGERS_AT_ONCE && self.strangers < MOST_STRANGERS;
            let named = suspect.large && room && self.name(suspect, around, out);
            self.strangers += usize::from(named);
            named
        });
        self.sample(around, samples, out);
        self.link(&named, &waiting, around, out);
    }

    fn find(&mut self, around: &mut Around<'_>) -> Vec<Suspect> {
        if self.linked.len() >= MOST_LINKED {
            return Vec::new();
        }
        let (members, alive) = (&around.members, &self.alive);
        let ours = |pid: u32| members.alive.contains_key(&pid) || members.is_ignored(pid) || alive.contains_key(&pid);
        self.outside.look(around.root, around.now_s, around.used, ours, around.scratch)
    }

    fn linked_alive(&self) -> usize {
        self.alive.values().filter(|process| self.linked.contains(&process.id)).count()
    }

    /// False where it is gone, or somebody else by now.
    fn name(&mut self, suspect: &Suspect, around: &mut Around<'_>, out: &mut Vec<Event>) -> bool {
        let (root, now_s) = (around.root, around.now_s);
        let ticks = sys::ticks_per_second();
        let (stat, uptime_s) = (root.stat(suspect.pid, around.scratch), root.uptime_s(around.scratch));
        let (Some(stat), Some(uptime_s)) = (stat, uptime_s) else { return false };
        let start_s = now_s - (uptime_s - stat.start_ticks as f64 / ticks);
        // Younger than our first look at its pid: somebody else had it then.
        if start_s > suspect.since_s + 0.1 {
            return false;
        }
        let id = around.members.next_id();
        let handle = Handle::open(root, &stat, around.keep, around.scratch);
        let facts = Facts::read(root, &stat, None, around.scratch);
        let mut process = Announced::new(id, (stat.pid, stat.ppid, None), start_s, handle, facts);
        process.part = Part { role: Role::Outside, reason: suspect.reason.clone(), rank: None };
        let event = process.event();
        let text = format!("pid {} ({}) grows and is {}", suspect.pid, event.name, suspect.reason);
        out.push(Event::Process(event));
        out.push(Event::Note(Note { t_s: now_s, kind: NoteKind::Outside, text, process: Some(id) }));
        self.alive.insert(suspect.pid, process);
        true
    }

    fn sample(&mut self, around: &mut Around<'_>, samples: &mut Vec<ProcSample>, out: &mut Vec<Event>) {
        let mut gone = Vec::new();
        for (pid, process) in &mut self.alive {
            match sample::read_one(*pid, process, around.root, around.scratch) {
                Look::Sample(sample) => samples.push(sample),
                Look::NoMemory => {}
                Look::Ended => gone.push(*pid),
            }
        }
        for id in gone.iter().filter_map(|pid| self.alive.remove(pid)).map(|process| process.id) {
            out.push(Event::Exit(Exit { id, t_s: around.now_s }));
        }
    }

    /// `named`: suspects of this tick, asked about at once. `waiting`: those that are named only if they are linked.
    fn link(&mut self, named: &[Suspect], waiting: &[Suspect], around: &mut Around<'_>, out: &mut Vec<Event>) {
        let mut asked: Vec<u32> = named.iter().map(|suspect| suspect.pid).filter(|pid| self.alive.contains_key(pid)).collect();
        if self.links.may_ask_again(around.now_s) {
            let strangers = self.alive.iter().filter(|(_, process)| !self.linked.contains(&process.id)).map(|(pid, _)| *pid);
            asked = strangers.chain(waiting.iter().map(|suspect| suspect.pid)).collect();
        }
        if asked.is_empty() {
            return;
        }
        let members = &around.members;
        let ours = |pid: u32| members.alive.contains_key(&pid);
        let proofs = self.links.prove(around.root, around.now_s, &asked, ours, around.scratch);
        for (pid, proof) in asked.into_iter().zip(proofs) {
            let shared = |scratch| around.cgroups.limit_shared_with(around.root, pid, around.limits, around.used.total, scratch);
            let Some(text) = proof.or_else(|| shared(around.scratch)) else { continue };
            if let Some(suspect) = waiting.iter().find(|suspect| suspect.pid == pid)
                && !self.name(suspect, around, out)
            {
                continue;
            }
            if let Some(id) = self.alive.get(&pid).map(|process| process.id) {
                self.linked.insert(id);
                out.push(Event::Note(Note { t_s: around.now_s, kind: NoteKind::Linked, text, process: Some(id) }));
            }
        }
    }
}
