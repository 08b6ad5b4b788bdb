//! What a page draws of a run, gathered while its events stream by: memory of the whole tree and of each role by sort,
//! phases, births and deaths of processes, the moments at which lowtide held one up, and memory of the GPUs ([`cards`]).
//!
//! Memory is bounded whatever the length of the run ([`thin`]).

mod cards;
mod logged;
mod thin;

use std::collections::BTreeMap;

use lowtide_model::{Event, MarkKind, NoteKind, ProcId, ProcSample, Process, Role, Rollup, Scope, Signal, Tick};

use cards::Cards;
pub(crate) use cards::{Card, CardRow};
pub use logged::LoggedCurve;
use thin::{Moment, Thin};

/// Roles that a row tells apart.
pub(crate) const GROUPS: usize = Role::ALL.len();
/// Sorts of memory, in the order in which they are stacked: what a low tide counts lies at the bottom.
pub(crate) const SORTS: [&str; 4] = ["anon", "swap", "shmem", "file"];
/// So many of the first sorts count as a low tide.
const TIDE: usize = 3;
/// The most phases, processes and stops that are kept.
const MOST: usize = 4096;

/// Memory at one moment, by role (as in [`Role::ALL`]) and sort (as in [`SORTS`]). Bytes, shared pages counted once where
/// that is known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    /// Seconds after the run's start.
    pub t_s: f64,
    pub sorts: [[u64; SORTS.len()]; GROUPS],
}

impl Row {
    fn at(t_s: f64) -> Self {
        Self { t_s, sorts: [[0; SORTS.len()]; GROUPS] }
    }

    /// What a low tide of the role counts. Bytes.
    pub fn group(&self, group: usize) -> u64 {
        self.sorts[group][..TIDE].iter().copied().fold(0, u64::saturating_add)
    }

    /// What a low tide of the whole tree counts. Bytes.
    pub fn tree(&self) -> u64 {
        (0..GROUPS).map(|group| self.group(group)).fold(0, u64::saturating_add)
    }
}

impl Moment for Row {
    fn t_s(&self) -> f64 {
        self.t_s
    }

    /// The whole tree, then each role.
    fn sizes(&self) -> Vec<u64> {
        std::iter::once(self.tree()).chain((0..GROUPS).map(|group| self.group(group))).collect()
    }
}

/// A stretch of time with a name: a phase.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Band {
    pub name: String,
    pub start_s: f64,
    pub end_s: Option<f64>,
}

/// When a process was there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Life {
    pub pid: u32,
    pub role: Role,
    pub start_s: f64,
    pub end_s: Option<f64>,
}

/// A moment at which lowtide held a process up.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stop {
    pub t_s: f64,
    pub pid: u32,
    pub what: &'static str,
    /// Milliseconds.
    pub ms: f64,
}

/// What is drawn of a run. Made by [`Gather`].
#[derive(Clone, Debug, Default)]
pub struct Curve {
    pub(crate) rows: Vec<Row>,
    /// GPUs that the run was on.
    pub(crate) cards: Vec<Card>,
    /// The numbers are resident memory of all sorts, or of the whole machine.
    pub(crate) signal: Signal,
    /// Phases of one process.
    pub(crate) phases: Vec<Band>,
    pub(crate) phases_of: Option<u32>,
    pub(crate) lives: Vec<Life>,
    pub(crate) stops: Vec<Stop>,
    /// Without measurements from here on for a while.
    pub(crate) gaps: Vec<f64>,
    /// Phases, processes and stops that were too many to keep.
    pub(crate) left_out: u64,
    /// Numbers that a file says, where it has no processes.
    pub(crate) logged: Vec<LoggedCurve>,
}

impl Curve {
    /// Of numbers that a file says.
    #[must_use]
    pub fn of_logged(logged: Vec<LoggedCurve>) -> Self {
        Self { logged, ..Self::default() }
    }

    /// Numbers that a file says.
    #[must_use]
    pub fn logged(&self) -> &[LoggedCurve] {
        &self.logged
    }

    /// Whether there is anything to draw.
    pub(crate) fn is_drawn(&self) -> bool {
        self.rows.len() > 1
            || self.cards.iter().any(|card| card.rows.len() > 1)
            || self.logged.iter().any(|one| one.points.len() > 1)
    }

    /// Takes out what a stranger should not read: phases are named by users.
    pub fn redact(&mut self, names: &mut crate::Redaction) {
        for band in &mut self.phases {
            band.name = names.phase(&band.name);
        }
        for one in &mut self.logged {
            one.name = names.text(&one.name);
        }
    }
}

/// Takes a run's events in order and gives its curve.
#[derive(Debug, Default)]
pub struct Gather {
    thin: Thin<Row>,
    cards: Cards,
    signal: Signal,
    processes: BTreeMap<ProcId, Known>,
    phases: Vec<Band>,
    phases_of: Option<ProcId>,
    stops: Vec<Stop>,
    gaps: Vec<f64>,
    left_out: u64,
    /// By role: what was read last of one process, as a guess for those of which nothing was read yet.
    guesses: [Option<Shares>; GROUPS],
}

#[derive(Debug)]
struct Known {
    life: Life,
    shares: Option<Shares>,
    /// Anonymous memory when it was first measured. Bytes.
    base: Option<u64>,
}

impl Known {
    fn of(process: &Process) -> Self {
        let life = Life { pid: process.pid, role: process.role, start_s: process.start_s, end_s: None };
        Self { life, shares: None, base: None }
    }
}

/// The shares of a process's pages that count as its own, as last read.
#[derive(Clone, Copy, Debug)]
struct Shares {
    anon: f64,
    /// Anonymous and swapped bytes when that was read: what came since is shared with nobody.
    then: u64,
    shmem: f64,
    file: f64,
}

impl Gather {
    /// Takes the next event.
    pub fn push(&mut self, event: &Event) {
        self.cards.push(event);
        match event {
            Event::Start(info) => self.signal = info.signal,
            Event::Process(process) => self.know(process),
            Event::Exit(exit) => {
                if let Some(known) = self.processes.get_mut(&exit.id) {
                    known.life.end_s = Some(exit.t_s);
                }
            }
            Event::Tick(tick) => self.tick(tick),
            Event::Mark(mark) => match &mark.what {
                MarkKind::Begin(begin) if begin.scope == Scope::Phase => self.phase(mark.id, mark.t_s, Some(&begin.name)),
                MarkKind::End(Scope::Phase) => self.phase(mark.id, mark.t_s, None),
                MarkKind::Answer(answer) => {
                    let what = match answer.request {
                        lowtide_model::Request::Snapshot | lowtide_model::Request::SnapshotAtBackward => {
                            "copied itself to be looked at"
                        }
                        lowtide_model::Request::Trim => "gave free memory back",
                        lowtide_model::Request::History => "wrote a snapshot of its GPU memory",
                    };
                    let ms = answer.pause_us as f64 * 1e-3;
                    self.stop(mark.id, mark.t_s - ms * 1e-3, what, ms);
                }
                _ => {}
            },
            Event::Look(look) if !look.copied => self.stop(look.id, look.t_s, "looked into", look.pause_us as f64 * 1e-3),
            Event::Note(note) if note.kind == NoteKind::Gap && self.gaps.len() < MOST => self.gaps.push(note.t_s),
            _ => {}
        }
    }

    /// The curve of all that was pushed.
    #[must_use]
    pub fn finish(self) -> Curve {
        let pid = self.phases_of.and_then(|id| self.processes.get(&id)).map(|known| known.life.pid);
        let shown = |life: &Life| life.role != Role::Outside;
        Curve {
            rows: self.thin.rows(),
            cards: self.cards.finish(),
            signal: self.signal,
            phases: self.phases,
            phases_of: pid,
            lives: self.processes.into_values().map(|known| known.life).filter(shown).collect(),
            stops: self.stops,
            gaps: self.gaps,
            left_out: self.left_out,
            logged: Vec::new(),
        }
    }

    fn know(&mut self, process: &Process) {
        let room = self.processes.len() < MOST;
        match self.processes.get_mut(&process.id) {
            Some(known) => known.life.role = process.role,
            None if room => drop(self.processes.insert(process.id, Known::of(process))),
            None => self.forget(process),
        }
    }

    /// Makes room by the process that has ended first: it is not needed for what is to come.
    fn forget(&mut self, process: &Process) {
        self.left_out += 1;
        let ended = self.processes.iter().filter_map(|(id, known)| Some((*id, known.life.end_s?)));
        if let Some((id, _)) = ended.min_by(|a, b| a.1.total_cmp(&b.1)) {
            self.processes.remove(&id);
            self.processes.insert(process.id, Known::of(process));
        }
    }

    fn tick(&mut self, tick: &Tick) {
        let mut row = Row::at(tick.t_s);
        for sample in &tick.procs {
            let Some(known) = self.processes.get_mut(&sample.id) else { continue };
            known.base.get_or_insert(sample.anon);
            if let Some(rollup) = &sample.rollup {
                known.shares = Some(Shares::of(sample, rollup, known.life.role));
                self.guesses[place(known.life.role)] = known.shares;
            } else if let Some(private) = sample.private_anon {
                known.shares = Some(Shares::by_private(sample, private, known.life.role));
                self.guesses[place(known.life.role)] = known.shares;
            }
        }
        for sample in &tick.procs {
            let known = self.processes.get(&sample.id);
            let role = known.map_or(Role::Other, |known| known.life.role);
            // Strangers that are only watched belong to no sum.
            if role == Role::Outside {
                continue;
            }
            let base = known.and_then(|known| known.base);
            let guess = self.guesses[place(role)].map(|guess| Shares { then: base.unwrap_or(guess.then), ..guess });
            let read = known.and_then(|known| known.shares).or(guess);
            let shares = read.unwrap_or_else(|| Shares::unread(sample, role, base));
            let anon = own(sample, &shares);
            let sorts = [
                anon.saturating_sub(scaled(sample.swap, shares.anon)),
                scaled(sample.swap, shares.anon),
                scaled(sample.shmem, shares.shmem),
                scaled(sample.file, shares.file),
            ];
            for (sum, size) in row.sorts[place(role)].iter_mut().zip(sorts) {
                *sum = sum.saturating_add(size);
            }
        }
        self.thin.push(row);
    }

    fn phase(&mut self, id: ProcId, t_s: f64, name: Option<&str>) {
        // Those of the first process that tells of any: ranks go through the same ones.
        if *self.phases_of.get_or_insert(id) != id {
            return;
        }
        if let Some(open) = self.phases.last_mut().filter(|band| band.end_s.is_none()) {
            open.end_s = Some(t_s);
        }
        let Some(name) = name else { return };
        if self.phases.len() >= MOST {
            self.left_out += self.drop_shortest();
        }
        self.phases.push(Band { name: name.to_owned(), start_s: t_s, end_s: None });
    }

    /// What is too short to be seen goes first.
    fn drop_shortest(&mut self) -> u64 {
        let long_s = |band: &Band| band.end_s.map_or(f64::INFINITY, |end_s| end_s - band.start_s);
        let mut lengths: Vec<f64> = self.phases.iter().map(long_s).collect();
        lengths.sort_by(f64::total_cmp);
        let least_s = lengths[lengths.len() / 2];
        let before = self.phases.len();
        let mut even = false;
        self.phases.retain(|band| {
            even = !even;
            long_s(band) > least_s || (long_s(band) == least_s && even)
        });
        (before - self.phases.len()) as u64
    }

    fn stop(&mut self, id: ProcId, t_s: f64, what: &'static str, ms: f64) {
        if self.stops.len() < MOST {
            let pid = self.processes.get(&id).map_or(0, |known| known.life.pid);
            self.stops.push(Stop { t_s, pid, what, ms });
        } else {
            self.left_out += 1;
        }
    }
}

impl Shares {
    const ALL: Self = Self { anon: 1.0, then: u64::MAX, shmem: 1.0, file: 1.0 };

    /// Nothing was read of it nor of any of its role: what a process has just after its fork is its parent's.
    fn unread(sample: &ProcSample, role: Role, base: Option<u64>) -> Self {
        let forked = matches!(role, Role::DataloaderWorker | Role::ForkedChild);
        match base.filter(|_| forked && sample.anon > 0) {
            Some(base) => Self { anon: sample.anon.saturating_sub(base) as f64 / sample.anon as f64, ..Self::ALL },
            None => Self::ALL,
        }
    }

    /// By private pages, with what a child shares counted at its parent, as the verdict counts: unlike PSS that holds while
    /// siblings come and go.
    fn of(sample: &ProcSample, rollup: &Rollup, role: Role) -> Self {
        let anon = match rollup.private_dirty {
            0 => share(rollup.pss_anon, sample.anon),
            private => Self::by_private(sample, private, role).anon,
        };
        let then = sample.anon.saturating_add(sample.swap);
        Self { anon, then, shmem: share(rollup.pss_shmem, sample.shmem), file: share(rollup.pss_file, sample.file) }
    }

    fn by_private(sample: &ProcSample, private: u64, role: Role) -> Self {
        let parent = matches!(role, Role::Trainer | Role::Launcher | Role::ResourceTracker);
        let then = sample.anon.saturating_add(sample.swap);
        Self { anon: if parent { 1.0 } else { share(private, sample.anon) }, then, ..Self::ALL }
    }
}

/// Anonymous bytes, swapped out or not, that are a process's own: its share of what it had when that was read, and all that came
/// since.
fn own(sample: &ProcSample, shares: &Shares) -> u64 {
    let now = sample.anon.saturating_add(sample.swap);
    scaled(now.min(shares.then), shares.anon).saturating_add(now.saturating_sub(shares.then))
}

fn share(part: u64, all: u64) -> f64 {
    if all > 0 { (part as f64 / all as f64).min(1.0) } else { 1.0 }
}

/// Where the role stands in [`Role::ALL`].
fn place(role: Role) -> usize {
    Role::ALL.iter().position(|one| *one == role).unwrap_or(GROUPS - 1)
}

fn scaled(bytes: u64, share: f64) -> u64 {
    if share >= 1.0 { bytes } else { (bytes as f64 * share) as u64 }
}
