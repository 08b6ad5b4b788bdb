//! The collector: one look at a run, tick by tick.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::PathBuf;

use lowtide_model::{
    CgroupSample, Event, Exit, GpuSample, GpuUserSample, Note, NoteKind, ProcId, ProcSample, SystemSample, Tick, WatchCost,
};

use crate::cgroup::Cgroups;
use crate::error::CollectError;
use crate::gpu::{self, GpuSource, Gpus};
use crate::handle::Handle;
use crate::identify::Identifier;
use crate::members::{Announced, MOST_MEMBERS, Members};
use crate::outside::Used;
use crate::parse::stat::Stat;
use crate::rollup::{RollupBudget, Wish};
use crate::root::{Root, Scratch};
use crate::sample;
use crate::scan::Scanner;
use crate::suspects::{Around, Suspects};
use crate::sys;
use crate::system::{self, System};

/// A run that never holds still is shown torn once in this many ticks, rather than not at all.
const MOST_DROPPED_IN_A_ROW: u32 = 9;
/// Of the files that we may open, the part that may stay open for watched processes, and how many each needs.
const KEPT_FILES_PART: usize = 2;
const KEPT_FILES_EACH: usize = 3;

/// How to watch.
#[derive(Clone, Debug)]
pub struct Options {
    /// The file system to read, `/` but for tests.
    pub root: PathBuf,
    /// Seconds between ticks, as asked for.
    pub interval_s: f64,
    /// We started the target and are the reaper of its orphans (PR_SET_CHILD_SUBREAPER): whoever becomes our child after
    /// it belongs to the run.
    pub own_child: bool,
    /// Whether `smaps_rollup` may be read, within its budget.
    pub rollup: bool,
    /// Where GPUs are looked for.
    pub gpu: GpuSource,
}

/// Watches a process and all that descends from it.
#[derive(Debug)]
pub struct Collector {
    root: Root,
    members: Members,
    target: Handle,
    scanner: Scanner,
    identifier: Identifier,
    budget: RollupBudget,
    cgroups: Cgroups,
    system: System,
    gpus: Gpus,
    suspects: Suspects,
    noted: HashSet<&'static str>,
    scratch: Scratch,
    polls: Vec<libc::pollfd>,
    found: Vec<Stat>,
    kept_at_most: usize,
    first_s: Option<f64>,
    oom_kills_before: Option<u64>,
    dropped: u64,
    dropped_in_a_row: u32,
    /// A copy of a process lives.
    copy_lives: bool,
    /// CPU seconds of glances that no tick has accounted for yet.
    unpaid_s: f64,
}

impl Collector {
    /// Looks at the target once.
    ///
    /// # Errors
    /// There is no such process, it has ended, or /proc cannot be read; each says what to do.
    pub fn new(target_pid: u32, options: Options) -> Result<Self, CollectError> {
        let root = Root::new(&options.root);
        let mut scratch = Scratch::default();
        let stat = target_stat(&root, target_pid, &mut scratch)?;
        let ours = root.is_ours();
        let mut members = Members::new(&stat, options.own_child && ours);
        if options.own_child && ours {
            members.ignore_older_siblings(&root, &mut scratch);
        }
        let oom_kills_before = system::oom_kills(&root, &mut scratch);
        Ok(Self {
            members,
            target: Handle::open(&root, &stat, ours, &mut scratch),
            scanner: Scanner::new(&root, &mut scratch),
            identifier: Identifier::new(),
            budget: RollupBudget::new(options.rollup, options.interval_s),
            cgroups: Cgroups::new(&root, target_pid, &mut scratch),
            system: System::new(&root, target_pid),
            gpus: Gpus::new(options.gpu),
            suspects: Suspects::new(&root, target_pid, &mut scratch),
            noted: HashSet::new(),
            polls: Vec::new(),
            found: Vec::new(),
            kept_at_most: if ours { sys::open_file_limit() / KEPT_FILES_PART / KEPT_FILES_EACH } else { 0 },
            first_s: None,
            oom_kills_before,
            dropped: 0,
            dropped_in_a_row: 0,
            copy_lives: false,
            unpaid_s: 0.0,
            scratch,
            root,
        })
    }

    /// Reads everything once; pushes processes, cgroups, exits, notes and at most one tick. `now_s` counts from the
    /// run's start on the monotonic clock. Never fails: what cannot be read becomes a note, once.
    pub fn tick(&mut self, now_s: f64, out: &mut Vec<Event>) {
        let cpu = sys::thread_cpu_ns();
        let first_s = *self.first_s.get_or_insert(now_s);
        self.find_processes(now_s, out);
        let pass = self.read_processes(now_s, out);
        if self.members.announced().any(|(_, process)| process.lacks_parts) {
            let why = "this kernel shows only RSS (RssAnon is missing), so file pages of a process cannot be told from a leak; \
                       use Linux 4.5 or newer, or leave the sandbox";
            self.note(now_s, NoteKind::Unavailable, "anonymous memory", why, out);
        }
        self.identifier.update(&mut self.members, &self.root, now_s, &mut self.scratch, out);
        let (system, cgroups) = self.read_limits(now_s, out);
        if let Some(mut samples) = pass {
            let mut around = Around {
                root: &self.root,
                now_s,
                used: used(&samples, system, &cgroups),
                members: &mut self.members,
                cgroups: &self.cgroups,
                limits: &cgroups,
                keep: self.kept_at_most > 0,
                scratch: &mut self.scratch,
            };
            self.suspects.look(&mut around, &mut samples, out);
            let (gpus, gpu_users) = self.read_gpus(now_s, out);
            let spent_s = (sys::thread_cpu_ns() - cpu) as f64 * 1e-9 + std::mem::take(&mut self.unpaid_s);
            if !self.copy_lives {
                self.read_rollups(now_s, first_s, spent_s, &mut samples, out);
            }
            out.push(Event::Tick(Tick { t_s: now_s, procs: samples, system, cgroups, gpus, gpu_users }));
        }
    }

    /// When [`Self::glance`] should be called between ticks, on the clock of [`Self::tick`]; `None` once the first seconds
    /// are over.
    #[must_use]
    pub fn glance_due_s(&self) -> Option<f64> {
        self.suspects.glance_due_s()
    }

    /// Looks at new processes and their connections only: a client may send its job and hang up between two ticks. Costs
    /// some 30 us for a small tree.
    pub fn glance(&mut self, now_s: f64) {
        let cpu = sys::thread_cpu_ns();
        self.find_new(now_s);
        self.suspects.glance(&self.root, now_s, &self.members);
        self.unpaid_s += (sys::thread_cpu_ns() - cpu) as f64 * 1e-9;
    }

    /// False once the target has ended, a zombie included.
    #[must_use]
    pub fn target_alive(&self) -> bool {
        !self.target.has_ended(&self.root, &mut Scratch::default())
    }

    /// What watching has cost since [`Self::new`].
    #[must_use]
    pub fn cost(&self, now_s: f64) -> WatchCost {
        let rss_bytes = Scratch::default()
            .read("/proc/self/status".as_ref())
            .ok()
            .and_then(|bytes| crate::parse::status::Status::parse(bytes).rss)
            .unwrap_or(0);
        WatchCost {
            t_s: now_s,
            cpu_s: self.budget.cpu_s(),
            rss_bytes,
            rollup_reads: self.budget.reads,
            longest_rollup_ms: self.budget.longest_ms,
            rollup_skipped: self.budget.skipped,
        }
    }

    /// Kills for memory since [`Self::new`] in the target's cgroups; where none counts them, on the whole machine.
    #[must_use]
    pub fn oom_kills(&self) -> u64 {
        let mut scratch = Scratch::default();
        self.cgroups.oom_kills(&mut scratch).unwrap_or_else(|| {
            let now = system::oom_kills(&self.root, &mut scratch).unwrap_or(0);
            now.saturating_sub(self.oom_kills_before.unwrap_or(now))
        })
    }

    /// Says that a child of ours is none of the run, nor what descends from it: a command that we start ourselves while
    /// we are the run's reaper. To be called before the next tick. Orphans of it that come and go between two looks are
    /// known by [`crate::COMMAND_MARK`].
    pub fn ignore_child(&mut self, pid: u32) {
        let start_ticks = self.root.stat(pid, &mut self.scratch).map(|stat| stat.start_ticks);
        self.members.ignore(pid, start_ticks);
    }

    /// Says that a process of the run may copy itself, to be read in its place (`lowtide_remote::Copied`): the copy is none of
    /// the run. To be called before it is asked to.
    pub fn expect_copy(&mut self, maker: u32) {
        self.members.expect_copy(maker);
    }

    /// Says that this process used processor seconds for something else than to collect: they are part of the cost, and no reason to
    /// read less.
    pub fn spent_elsewhere(&mut self, cpu_s: f64) {
        self.budget.elsewhere_s += cpu_s;
    }

    /// A copy of a process lives, and shares its pages: `smaps_rollup` is not read meanwhile, since nothing would seem to be
    /// its own.
    pub fn copy_lives(&mut self, lives: bool) {
        self.copy_lives = lives;
    }

    /// Ticks that were dropped since processes kept ending while they were read.
    #[must_use]
    pub fn dropped_ticks(&self) -> u64 {
        self.dropped
    }

    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    /// The run's processes that are alive.
    pub(crate) fn pids(&self) -> impl Iterator<Item = u32> {
        self.members.alive.keys().copied()
    }

    fn find_new(&mut self, now_s: f64) {
        let (root, scratch) = (&self.root, &mut self.scratch);
        self.found.clear();
        let alive = &self.members.alive;
        self.scanner.scan(root, now_s, |pid| alive.contains_key(&pid), scratch, &mut self.found);
        self.members.adopt(&mut self.found, root, scratch);
    }

    fn find_processes(&mut self, now_s: f64, out: &mut Vec<Event>) {
        self.members.prune_young(&self.root, &mut self.scratch);
        self.find_new(now_s);
        let (root, scratch) = (&self.root, &mut self.scratch);
        if self.members.alive.values().all(|member| member.announced.is_some()) {
            return;
        }
        let ticks = sys::ticks_per_second();
        let uptime_s = root.uptime_s(scratch);
        if uptime_s.is_none() {
            let why = "/proc/uptime cannot be read; only the target is watched; mount /proc whole";
            self.note(now_s, NoteKind::Unavailable, "age of processes", why, out);
        }
        for pid in self.members.grown_up(uptime_s.unwrap_or(0.0) * ticks, ticks) {
            let keep = self.members.announced().count() < self.kept_at_most;
            let start_ticks = self.members.alive.get(&pid).map_or(0, |member| member.stat.start_ticks);
            let age_s = uptime_s.map_or(0.0, |uptime_s| uptime_s - start_ticks as f64 / ticks);
            self.identifier.announce(&mut self.members, pid, now_s - age_s, keep, &self.root, &mut self.scratch);
        }
        if self.members.announced().count() >= MOST_MEMBERS {
            let text = format!("more than {MOST_MEMBERS} processes are alive; the newest are not watched");
            self.note(now_s, NoteKind::Warning, "many processes", &text, out);
        }
    }

    /// Samples all processes; once more if somebody ended in the middle; `None` where that did not help.
    fn read_processes(&mut self, now_s: f64, out: &mut Vec<Event>) -> Option<Vec<ProcSample>> {
        for attempt in 0..2 {
            let pass = sample::pass(&mut self.members, &self.root, &mut self.scratch, &mut self.polls);
            for pid in pass.ended {
                if let Some(process) = self.members.remove(pid).and_then(|member| member.announced) {
                    // It may have come and gone within this tick.
                    if !process.sent {
                        out.push(Event::Process(process.event()));
                    }
                    out.push(Event::Exit(Exit { id: process.id, t_s: now_s }));
                }
            }
            if !pass.torn || (attempt == 1 && self.dropped_in_a_row >= MOST_DROPPED_IN_A_ROW) {
                self.dropped_in_a_row = 0;
                return Some(pass.samples);
            }
        }
        self.dropped += 1;
        self.dropped_in_a_row += 1;
        None
    }

    fn read_limits(&mut self, now_s: f64, out: &mut Vec<Event>) -> (Option<SystemSample>, Vec<CgroupSample>) {
        let mut new = Vec::new();
        self.cgroups.look_now_and_then(&self.root, now_s, &mut self.scratch, &mut new);
        out.extend(new.into_iter().map(Event::Cgroup));
        let mut cgroups = Vec::new();
        self.cgroups.sample(now_s, &mut self.scratch, &mut cgroups);
        let system = self.system.sample(&self.root, now_s, &mut self.scratch);
        for (name, why) in std::mem::take(&mut self.system.missing) {
            self.note(now_s, NoteKind::Unavailable, name, &why, out);
        }
        if let Some(why) = self.cgroups.missing.take() {
            self.note(now_s, NoteKind::Unavailable, "cgroup", &why, out);
        }
        (system, cgroups)
    }

    fn read_gpus(&mut self, now_s: f64, out: &mut Vec<Event>) -> (Vec<GpuSample>, Vec<GpuUserSample>) {
        if now_s < self.gpus.due_s() {
            return Default::default();
        }
        let member =
            |(pid, process): (u32, &Announced)| gpu::Member { pid, id: process.id, visible: process.facts.visible_gpus.clone() };
        let members: Vec<gpu::Member> = self.members.announced().map(member).collect();
        let ticked = self.gpus.tick(now_s, &self.root, &members, &mut self.scratch, out);
        self.spent_elsewhere(ticked.cpu_s);
        (ticked.gpus, ticked.users)
    }

    fn read_rollups(&mut self, now_s: f64, first_s: f64, spent_s: f64, samples: &mut [ProcSample], out: &mut Vec<Event>) {
        let parents: HashSet<ProcId> = Identifier::forking_parents(&self.members);
        let mut by_id: BTreeMap<ProcId, &mut ProcSample> = samples.iter_mut().map(|sample| (sample.id, sample)).collect();
        let mut wishes = Vec::with_capacity(by_id.len());
        for (pid, process) in self.members.announced_mut() {
            if let Some(sample) = by_id.remove(&process.id) {
                wishes.push(Wish {
                    pid,
                    rss: process.counters.rss,
                    shares_pages: process.facts.forked || parents.contains(&process.id),
                    state: &mut process.rollup,
                    sample,
                });
            }
        }
        self.budget.spend(now_s, first_s, spent_s, &mut wishes, &self.root, &mut self.scratch);
        if self.budget.too_big {
            let text = "reading smaps_rollup would hold a big process up for more than 20 ms: PSS of it is not read; anonymous and \
                        shared memory are, and private pages where it shares some";
            self.note(now_s, NoteKind::Unavailable, "PSS of big processes", text, out);
        }
        if self.budget.denied {
            let text = "smaps_rollup of another user's process cannot be read; run as its user or as root to see private pages";
            self.note(now_s, NoteKind::Unavailable, "PSS", text, out);
        }
    }

    /// Says something once.
    fn note(&mut self, t_s: f64, kind: NoteKind, name: &'static str, why: &str, out: &mut Vec<Event>) {
        if self.noted.insert(name) {
            out.push(Event::Note(Note { t_s, kind, text: format!("{name}: {why}"), process: None }));
        }
    }
}

fn used(samples: &[ProcSample], system: Option<SystemSample>, cgroups: &[CgroupSample]) -> Used {
    let system = system.unwrap_or_default();
    Used {
        machine: system.total.saturating_sub(system.available).saturating_sub(system.shmem),
        total: system.total,
        cgroup: cgroups.first().map(|cgroup| cgroup.anon),
        tree: samples.iter().map(|sample| sample.anon).sum(),
    }
}

fn target_stat(root: &Root, pid: u32, scratch: &mut Scratch) -> Result<Stat, CollectError> {
    let path = root.of(pid, "stat");
    match scratch.read(&path) {
        Ok(bytes) => match Stat::parse(bytes) {
            Some(stat) if stat.pid != pid => Err(CollectError::NoSuchProcess { pid }),
            Some(stat) if stat.ended() => Err(CollectError::Zombie { pid }),
            Some(stat) => Ok(stat),
            None => Err(CollectError::Format { path, proc: root.path("proc") }),
        },
        Err(source) if source.kind() == io::ErrorKind::PermissionDenied => Err(CollectError::Denied { path, source }),
        Err(_) => match std::fs::read_dir(root.path("proc")) {
            Ok(_) => Err(CollectError::NoSuchProcess { pid }),
            Err(source) => Err(CollectError::NoProc { path: root.path("proc"), source }),
        },
    }
}
