//! The series kept of each process, of each role and of the whole tree.

use std::collections::BTreeMap;

use lowtide_model::{ProcId, ProcSample, Process, Role, Rollup};

use crate::pyramid::Pyramid;

/// What is kept of one process.
#[derive(Debug)]
pub struct Track {
    /// Who it is.
    pub process: Process,
    /// When it was first measured.
    pub first_s: f64,
    /// When it was last measured.
    pub last_s: f64,
    /// When it was found gone.
    pub ended_s: Option<f64>,
    /// Anonymous memory, resident or swapped out.
    pub anon: Pyramid,
    /// Shared memory.
    pub shmem: Pyramid,
    /// Private writable memory that it has asked for, touched or not.
    pub data: Pyramid,
    /// All that it has mapped, shared memory too.
    pub size: Pyramid,
    /// File pages.
    pub file: Pyramid,
    /// Growth of its share of anonymous pages (Pss_Anon) while the set of processes stood still: what copy-on-write
    /// adds, which RssAnon does not show.
    pub copied: Pyramid,
    /// Open file descriptors.
    pub fds: Pyramid,
    /// Threads.
    pub threads: Pyramid,
    /// The last measurement.
    pub last: ProcSample,
    /// The last measurement of what it could have copied, with the generation of the set of processes at that time.
    measured: Option<(Copied, u64)>,
    copied_bytes: f64,
    /// The share of its memory that was its own when that was last read, and all that it had then. Bytes.
    share: Option<(f64, f64)>,
    /// Anonymous plus shared memory when first seen.
    base: f64,
}

/// Anonymous bytes that rise when shared pages are copied: by PSS, or private ones of a process that is too big for that.
#[derive(Clone, Copy, Debug)]
enum Copied {
    Pss(u64),
    Private(u64),
}

impl Copied {
    /// Bytes more than `before`; none where the two were measured in different ways.
    fn since(self, before: Self) -> f64 {
        match (self, before) {
            (Self::Pss(now), Self::Pss(before)) | (Self::Private(now), Self::Private(before)) => now as f64 - before as f64,
            _ => 0.0,
        }
    }
}

impl Track {
    fn new(process: Process, t_s: f64, sample: &ProcSample) -> Self {
        Self {
            process,
            first_s: t_s,
            last_s: t_s,
            ended_s: None,
            anon: Pyramid::default(),
            shmem: Pyramid::default(),
            data: Pyramid::default(),
            size: Pyramid::default(),
            file: Pyramid::default(),
            copied: Pyramid::default(),
            fds: Pyramid::default(),
            threads: Pyramid::default(),
            last: *sample,
            measured: None,
            copied_bytes: 0.0,
            share: None,
            base: own(sample),
        }
    }

    fn push(&mut self, t_s: f64, sample: &ProcSample, generation: u64, sharing: bool) {
        self.last_s = t_s;
        self.last = *sample;
        self.anon.push(t_s, sample.anon as f64 + sample.swap as f64);
        self.shmem.push(t_s, sample.shmem as f64);
        if let Some(data) = sample.data {
            self.data.push(t_s, data as f64);
        }
        if let Some(size) = sample.size {
            self.size.push(t_s, size as f64);
        }
        self.file.push(t_s, sample.file as f64);
        self.threads.push(t_s, f64::from(sample.threads));
        if let Some(fds) = sample.fds {
            self.fds.push(t_s, f64::from(fds));
        }
        if let Some(rollup) = sample.rollup {
            self.copy(t_s, Copied::Pss(rollup.pss_anon), generation, sharing);
            self.share = Some((self.share_of(sample, rollup), own(sample)));
        } else if let Some(private) = sample.private_anon {
            self.copy(t_s, Copied::Private(private), generation, sharing);
            self.share = Some((self.share_by_private(sample, private, 0), own(sample)));
        }
    }

    /// What it copied since it was last measured the same way, unless processes came or went meanwhile.
    fn copy(&mut self, t_s: f64, now: Copied, generation: u64, sharing: bool) {
        if sharing {
            let before = self.measured.filter(|(_, at)| *at == generation).map(|(before, _)| before);
            self.copied_bytes += before.map_or(0.0, |before| now.since(before));
            self.copied.push(t_s, self.copied_bytes.max(0.0));
        }
        self.measured = Some((now, generation));
    }

    /// The share of its memory that counts as its own. By private pages where those are known, with what a child shares
    /// counted at its parent: unlike PSS that holds while siblings come, so that a rare look suffices. Else by PSS.
    fn share_of(&self, sample: &ProcSample, rollup: Rollup) -> f64 {
        match rollup.private_dirty {
            0 => share(rollup.pss_anon as f64 + rollup.pss_shmem as f64 + sample.swap as f64, own(sample)),
            private => self.share_by_private(sample, private, rollup.pss_shmem),
        }
    }

    fn share_by_private(&self, sample: &ProcSample, private: u64, shmem: u64) -> f64 {
        let mine = private as f64 + shmem as f64 + sample.swap as f64;
        if self.shares() { share(mine, own(sample)) } else { 1.0 }
    }

    /// Its memory with shared pages counted once: the cheap counters of this moment by the share that was last read.
    /// Where it was not read yet, by `guess`. Bytes.
    fn once(&self, guess: Option<f64>) -> Option<f64> {
        self.share.or(guess.map(|guess| (guess, self.base))).map(|(share, then)| mine(own(&self.last), share, then))
    }

    /// It may share pages with the process that it was forked from.
    #[must_use]
    pub fn shares(&self) -> bool {
        shares(&self.process)
    }

    /// Its memory with shared pages counted once where that is known, else anonymous plus shared memory. Bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes_as(1.0)
    }

    /// The same, by the share of its siblings where its own was not read. Bytes.
    #[must_use]
    pub fn bytes_as(&self, siblings: f64) -> u64 {
        let (share, then) = self.share.unwrap_or((siblings, self.base));
        mine(own(&self.last), share, then) as u64
    }

    /// The share of its memory that is its own, where it was read.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        self.share.map(|(share, _)| share)
    }

    /// It counts at the end of what was seen: it lives then, or went down with the run.
    #[must_use]
    pub fn counts(&self, end_s: f64) -> bool {
        self.ended_s.is_none() || self.last_s >= end_s - (0.15 * end_s).clamp(3.0, 10.0)
    }

    /// Seconds that it was seen alive.
    #[must_use]
    pub fn life_s(&self) -> f64 {
        self.last_s - self.first_s
    }

    /// How far its memory rose at most above what it had when it was first seen. Bytes.
    #[must_use]
    pub fn rose(&self) -> f64 {
        self.peak() - self.base
    }

    /// It was started from nothing while it was watched.
    #[must_use]
    pub fn fresh(&self) -> bool {
        self.process.start_s > -1.0 && self.process.role != Role::ForkedChild && self.process.role != Role::DataloaderWorker
    }

    /// The most anonymous plus shared memory that it had. Bytes.
    #[must_use]
    pub fn peak(&self) -> f64 {
        self.anon.peak().max(self.shmem.peak())
    }
}

fn share(mine: f64, all: f64) -> f64 {
    if all > 0.0 { (mine / all).min(1.0) } else { 1.0 }
}

/// What is a process's own now, by its share of what it had `then`: pages that came since are new, and shared with nobody.
fn mine(now: f64, share: f64, then: f64) -> f64 {
    now.min(then) * share + (now - then).max(0.0)
}

fn shares(process: &Process) -> bool {
    !matches!(process.role, Role::Trainer | Role::Launcher | Role::ResourceTracker | Role::Outside)
}

/// Anonymous plus shared memory of a sample, swapped out or not.
fn own(sample: &ProcSample) -> f64 {
    sample.anon as f64 + sample.swap as f64 + sample.shmem as f64
}

/// All processes of one role, or of the whole tree.
#[derive(Debug, Default)]
pub struct Group {
    /// Anonymous plus shared memory of those alive.
    pub total: Pyramid,
    /// The same with shared pages counted once, where the set of processes stood still for long enough to tell.
    pub once: Pyramid,
    /// The last value of `once`, held back until the next tick shows that it was not read in the middle of a change.
    pending: Option<(f64, f64)>,
    /// Growth of those alive since each was first seen: births and deaths leave it alone.
    pub grown: Pyramid,
    /// The most alive at one time.
    pub most: u32,
    /// Highest shared memory.
    pub shm_peak: u64,
}

/// The most processes that are kept; beyond it those that lived shortest go.
const MOST_TRACKS: usize = 600;

/// All series of a run.
#[derive(Debug, Default)]
pub struct Store {
    /// Every process that matters.
    pub tracks: BTreeMap<ProcId, Track>,
    /// By role.
    pub roles: BTreeMap<Role, Group>,
    /// The whole tree, without outside suspects.
    pub tree: Group,
    /// Number of processes alive in the tree.
    pub alive: Pyramid,
    /// Growth by copy-on-write of all forked children alive.
    pub copied: Pyramid,
    /// Processes that came and went and are not kept.
    pub forgotten: u64,
    /// Outside processes that have to do with the run, with how.
    pub linked: BTreeMap<ProcId, String>,
    announced: BTreeMap<ProcId, Process>,
    generation: u64,
    members: Vec<ProcId>,
}

impl Store {
    /// A process appeared or is better known.
    pub fn know(&mut self, process: &Process) {
        if let Some(track) = self.tracks.get_mut(&process.id) {
            track.process = process.clone();
        } else {
            self.announced.insert(process.id, process.clone());
        }
    }

    /// A process left.
    pub fn ended(&mut self, id: ProcId, t_s: f64) {
        self.announced.remove(&id);
        if let Some(track) = self.tracks.get_mut(&id) {
            track.ended_s = Some(t_s);
        }
        if self.tracks.len() > MOST_TRACKS {
            let shortest = self
                .tracks
                .iter()
                .filter(|(_, track)| track.ended_s.is_some())
                .min_by(|a, b| a.1.life_s().total_cmp(&b.1.life_s()));
            if let Some(id) = shortest.map(|(id, _)| *id) {
                self.tracks.remove(&id);
                self.forgotten += 1;
            }
        }
    }

    /// We had a process give memory back at this time: its pages, those of its role and those of the tree begin anew.
    pub fn gave_back(&mut self, id: ProcId, t_s: f64) {
        let Some(track) = self.tracks.get_mut(&id) else { return };
        track.anon.cut(t_s);
        for group in self.roles.get_mut(&track.process.role).into_iter().chain([&mut self.tree]) {
            [&mut group.total, &mut group.once, &mut group.grown].into_iter().for_each(|series| series.cut(t_s));
            group.pending = None;
        }
    }

    /// Whether these are the processes of the tick before, in whatever order.
    fn same_members(&self, samples: &[ProcSample]) -> bool {
        let sorted = |mut ids: Vec<ProcId>| {
            ids.sort_unstable();
            ids
        };
        sorted(samples.iter().map(|sample| sample.id).collect()) == sorted(self.members.clone())
    }

    /// One tick's processes.
    pub fn push(&mut self, t_s: f64, samples: &[ProcSample]) {
        // In the same order as before as a rule; then nothing is to be sorted.
        let same_order = samples.iter().map(|sample| sample.id).eq(self.members.iter().copied());
        let settled = same_order || self.same_members(samples);
        if !same_order {
            self.members = samples.iter().map(|sample| sample.id).collect();
        }
        if !settled {
            self.generation += 1;
        }
        let known = |id: &ProcId| self.tracks.get(id).map(|track| &track.process).or_else(|| self.announced.get(id));
        let sharing = samples.iter().any(|sample| known(&sample.id).is_some_and(shares));
        // A child that was just forked shares as its siblings do.
        let siblings =
            samples.iter().filter(|_| sharing).filter_map(|s| self.tracks.get(&s.id).filter(|track| track.shares())?.share());
        let mut siblings: Vec<f64> = siblings.collect();
        let guess = (!siblings.is_empty()).then(|| crate::trend::median(&mut siblings));
        let mut groups: BTreeMap<Role, Sum> = BTreeMap::new();
        let mut tree = Sum::default();
        let mut copied = (0.0, false);
        for sample in samples {
            let Some(track) = self.track(t_s, sample, sharing) else { continue };
            let once = if sharing { track.once(guess) } else { Some(own(sample)) };
            let sum = Sum { total: own(sample), once, grown: own(sample) - track.base, alive: 1, shm: sample.shmem };
            // Of the children only: they take it with them when they go. Their parent's share rises as well while they
            // copy, and falls back when they end, at a moment that is not counted; in it that would add up for ever.
            if track.shares() {
                copied = (copied.0 + track.copied_bytes, copied.1 || track.measured.is_some());
            }
            let role = track.process.role;
            groups.entry(role).or_default().add(sum);
            if role != Role::Outside {
                tree.add(sum);
            }
        }
        for (role, sum) in groups {
            self.roles.entry(role).or_default().push(t_s, sum, settled);
        }
        if tree.alive > 0 {
            self.tree.push(t_s, tree, settled);
            self.alive.push(t_s, f64::from(tree.alive));
            if copied.1 && sharing {
                self.copied.push(t_s, copied.0.max(0.0));
            }
        }
    }

    fn track(&mut self, t_s: f64, sample: &ProcSample, sharing: bool) -> Option<&Track> {
        let generation = self.generation;
        if !self.tracks.contains_key(&sample.id) {
            let process = self.announced.remove(&sample.id)?;
            self.tracks.insert(sample.id, Track::new(process, t_s, sample));
        }
        let track = self.tracks.get_mut(&sample.id)?;
        track.push(t_s, sample, generation, sharing);
        Some(track)
    }
}

#[derive(Clone, Copy, Debug)]
struct Sum {
    total: f64,
    once: Option<f64>,
    grown: f64,
    alive: u32,
    shm: u64,
}

impl Default for Sum {
    fn default() -> Self {
        Self { total: 0.0, once: Some(0.0), grown: 0.0, alive: 0, shm: 0 }
    }
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.total += other.total;
        self.once = self.once.zip(other.once).map(|(a, b)| a + b);
        self.grown += other.grown;
        self.alive += other.alive;
        self.shm = self.shm.saturating_add(other.shm);
    }
}

/// Fewest windows of `once` that stand for the whole.
const ENOUGH: usize = 8;
/// Seconds after which `once` is out of date.
const STALE_S: f64 = 15.0;

impl Group {
    /// Its memory, shared pages counted once where that could be told.
    #[must_use]
    pub fn memory(&self) -> &Pyramid {
        let (once, all) = (self.once.windows(), self.total.windows());
        let fresh = once.last().zip(all.last()).is_some_and(|(once, all)| all.end_s - once.end_s <= STALE_S);
        // One process alone shares with itself only; its share falls when it forks, which is no change of its memory.
        if self.most > 1 && once.len() >= ENOUGH && fresh { &self.once } else { &self.total }
    }

    /// Its memory at this tick, shared pages counted once; `None` where that cannot be told.
    #[must_use]
    pub fn now(&self) -> Option<f64> {
        self.pending.map(|(_, bytes)| bytes)
    }

    fn push(&mut self, t_s: f64, sum: Sum, settled: bool) {
        if let Some((t_s, bytes)) = self.pending.take().filter(|_| settled) {
            self.once.push(t_s, bytes);
        }
        self.pending = sum.once.map(|bytes| (t_s, bytes));
        self.total.push(t_s, sum.total);
        self.grown.push(t_s, sum.grown.max(0.0));
        self.most = self.most.max(sum.alive);
        self.shm_peak = self.shm_peak.max(sum.shm);
    }
}
