//! What processes say of themselves: steps, epochs, rounds, nodes, phases, and the live bytes at each.
//!
//! None of it makes a leak: that rests on the low tide alone. It gives the verdict its units (per step, per epoch), its
//! phase, and the table of what each epoch took; and live bytes that rise forbid "no leak".

mod between;
pub mod cycles;
pub mod finding;
pub mod late_gc;
mod leftover;
mod nodes;
mod phases;
mod scatter;
pub mod spread;
mod table;
mod trims;

use std::collections::{BTreeMap, VecDeque};

use lowtide_model::{
    Answer, EpochReport, Finding, Mark, MarkKind, NodeReport, PhaseReport, ProcId, ProcSample, ProgressReport, Request, Scope,
};

use crate::judge::{Ask, Judged, judge};
use crate::pyramid::{Pyramid, Window};
use crate::trend;
use late_gc::{Late, LateGc};
use nodes::{Culprit, Nodes};
use phases::Phases;
use table::Table;
use trims::Trims;

/// The most processes whose marks are kept.
const MOST: usize = 256;
/// The fewest steps and marks that a rate per step rests on.
const FEWEST: u64 = 4;
/// Times of full collections that are kept.
const COLLECTIONS: usize = 8;
/// So many stretches before a trim tell what was free then.
const LATELY: usize = 8;
/// Live memory below this share of the growth of pages is hardly any.
const HARDLY_LIVE: f64 = 0.2;

/// Pid and rank of a process.
pub type Identify<'a> = &'a dyn Fn(ProcId) -> (u32, Option<u32>);

/// The marks of all processes of a run.
#[derive(Debug, Default)]
pub struct Marks {
    lines: BTreeMap<ProcId, Line>,
}

/// The marks of one process.
#[derive(Debug, Default)]
pub struct Line {
    /// Steps by time.
    steps: Pyramid,
    /// Live bytes of the C heap by time.
    live: Pyramid,
    /// The same by steps: a loop that stands still for a while leaks nothing meanwhile, and that is no ceiling.
    live_by_step: Pyramid,
    /// Bytes free inside the C heap by time.
    holes: Pyramid,
    /// Bytes that the C heap has, live and free, by time.
    heap: Pyramid,
    /// Blocks in use of Python's own allocator by time.
    blocks: Pyramid,
    /// Objects that Python's collector tracks, by steps.
    objects: Pyramid,
    /// Full collections, and entries of torch's compile cache: at the first step, and last.
    gc_full: Option<(u32, u32)>,
    /// When more full collections were told of than before, seconds: the last [`COLLECTIONS`] times.
    collected_s: VecDeque<f64>,
    compiled: Option<(u32, u32)>,
    taken: u64,
    last_s: f64,
    first_step_s: Option<f64>,
    last_step_s: Option<f64>,
    phases: Phases,
    table: Table,
    nodes: Nodes,
    counts: String,
    off: Option<String>,
    gc_disabled: bool,
    late_gc: LateGc,
    lost: u64,
    trims: Trims,
}

impl Marks {
    /// Takes a mark. Times that go back are taken as they are; none of it can grow without bound.
    pub fn push(&mut self, mark: &Mark) {
        // A DataLoader's worker says nothing of itself, and answers when it is asked for a copy.
        let copied = matches!(mark.what, MarkKind::Answer(Answer { request: Request::Snapshot, .. }));
        if copied && !self.lines.contains_key(&mark.id) {
            return;
        }
        if !mark.t_s.is_finite() || (self.lines.len() >= MOST && !self.lines.contains_key(&mark.id)) {
            return;
        }
        self.lines.entry(mark.id).or_default().push(mark);
    }

    /// Takes a measurement of all processes; `tree`: their memory together with shared pages counted once, where it is
    /// known. Bytes.
    pub fn tick(&mut self, t_s: f64, samples: &[ProcSample], tree: Option<f64>) {
        for sample in samples {
            if let Some(line) = self.lines.get_mut(&sample.id) {
                let own = sample.anon.saturating_add(sample.shmem);
                line.table.measured(t_s, own);
                line.phases.measured(t_s, own, tree.map(|bytes| bytes as u64));
            }
        }
    }

    /// The marks of a process, where it has any.
    pub fn of(&self, id: ProcId) -> Option<&Line> {
        self.lines.get(&id)
    }

    /// The process with the most steps: the run's own count of them.
    pub fn leader(&self) -> Option<&Line> {
        self.lines.values().filter(|line| line.taken >= FEWEST).max_by_key(|line| line.taken)
    }

    /// Whether no process says anything of itself.
    pub fn are_none(&self) -> bool {
        self.lines.is_empty()
    }

    /// From the first step of any process to the last one, seconds; `None` where fewer were told than training takes.
    pub fn trained_from_to(&self) -> Option<(f64, f64)> {
        let trained =
            self.lines.values().filter(|line| line.taken >= FEWEST).filter_map(|line| line.first_step_s.zip(line.last_step_s));
        trained.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// Steps that were taken between two times, seconds, by the process that took most.
    pub fn steps_between(&self, from_s: f64, to_s: f64) -> f64 {
        self.lines.values().map(|line| line.steps_at(to_s) - line.steps_at(from_s)).fold(0.0, f64::max)
    }

    /// Epochs of all processes, those of one process together.
    pub fn epochs(&self, who: Identify) -> Vec<EpochReport> {
        self.lines.iter().flat_map(|(id, line)| line.table.rows(*id, who)).collect()
    }

    /// Federated nodes of all processes, those of one process together.
    pub fn nodes(&self, who: Identify) -> Vec<NodeReport> {
        self.lines.iter().flat_map(|(id, line)| line.nodes.rows(*id, who)).collect()
    }

    /// Phases of all processes, those of one process together.
    pub fn phases(&self, who: Identify) -> Vec<PhaseReport> {
        self.lines.iter().flat_map(|(id, line)| line.phases.rows(*id, who, line.last_s, line.taken)).collect()
    }

    /// How far each process is.
    pub fn progress(&self, who: Identify) -> Vec<ProgressReport> {
        let lines = self.lines.iter().filter(|(_, line)| line.taken > 0 || line.phases.now().is_some());
        lines
            .map(|(id, line)| {
                let (pid, rank) = who(*id);
                ProgressReport {
                    id: *id,
                    pid,
                    rank,
                    steps: line.taken,
                    steps_per_second: line.rate(f64::NEG_INFINITY, f64::INFINITY),
                    counts: line.counts.clone(),
                    phase: line.phases.now().map(str::to_owned),
                    epochs: line.table.epochs(),
                    seconds_per_epoch: line.epoch_s(f64::NEG_INFINITY, f64::INFINITY),
                    lost_marks: line.lost,
                    gc_disabled: line.gc_disabled,
                }
            })
            .collect()
    }

    /// How long each request of ours held a process up, milliseconds.
    pub fn pauses_ms(&self) -> Vec<f64> {
        self.lines.values().flat_map(|line| line.trims.pauses_ms()).collect()
    }

    /// What a reader should know that the marks show.
    pub fn warnings(&self) -> Vec<String> {
        let off = self.lines.values().filter_map(|line| line.off.as_deref());
        off.take(1).map(|why| format!("marks of steps and phases went off in a process: {why}")).collect()
    }
}

impl Line {
    fn push(&mut self, mark: &Mark) {
        let taken = mark.steps.max(self.taken);
        if taken > self.taken {
            self.first_step_s.get_or_insert(mark.t_s);
            self.last_step_s = Some(mark.t_s);
        }
        self.taken = taken;
        self.last_s = self.last_s.max(mark.t_s);
        self.table.stepped(taken);
        self.steps.push(mark.t_s, taken as f64);
        let live = mark.facts.as_ref().and_then(|facts| facts.heap_used).map(|bytes| bytes as f64);
        if let Some(facts) = &mark.facts {
            if let Some(bytes) = live {
                self.live.push(mark.t_s, bytes);
                self.live_by_step.push(taken as f64, bytes);
            }
            if let Some(bytes) = facts.heap_free {
                self.holes.push(mark.t_s, bytes as f64);
                if let Some(live) = live {
                    self.heap.push(mark.t_s, live + bytes as f64);
                }
            }
            if let Some(blocks) = facts.python_blocks {
                self.blocks.push(mark.t_s, blocks as f64);
            }
            if let Some(objects) = facts.gc_objects {
                self.objects.push(taken as f64, objects as f64);
            }
            if taken > 0 {
                let since = |seen: Option<(u32, u32)>, now: Option<u32>| {
                    now.map(|now| (seen.map_or(now, |(first, _)| first), now)).or(seen)
                };
                let before = self.gc_full;
                self.gc_full = since(self.gc_full, facts.gc_full);
                if before.zip(self.gc_full).is_some_and(|(before, now)| now.1 > before.1) {
                    if self.collected_s.len() == COLLECTIONS {
                        self.collected_s.pop_front();
                    }
                    self.collected_s.push_back(mark.t_s);
                }
                self.compiled = since(self.compiled, facts.compiled);
            }
            self.gc_disabled |= facts.gc_enabled == Some(false);
        }
        if let (MarkKind::Begin(begun), Some(facts)) = (&mark.what, &mark.facts)
            && taken > 0
        {
            self.late_gc.begin(mark.t_s, begun.scope, &begun.name, facts);
        }
        let facts = mark.facts.as_ref();
        match &mark.what {
            MarkKind::Begin(begun) if begun.scope == Scope::Round => self.nodes.round(taken, facts),
            MarkKind::Begin(begun) if begun.scope == Scope::Node => self.nodes.visit(&begun.name, taken, facts),
            MarkKind::End(Scope::Round) => self.nodes.round_ends(taken, facts),
            MarkKind::End(Scope::Node) => self.nodes.leave(taken, facts),
            _ => {}
        }
        match &mark.what {
            MarkKind::On(counts) => self.counts.clone_from(counts),
            MarkKind::Off(why) => self.off = Some(why.clone()),
            MarkKind::Loss(loss) => self.table.loss(*loss),
            MarkKind::Lost(lost) => self.lost = self.lost.saturating_add(*lost),
            MarkKind::Begin(begun) if begun.scope == Scope::Phase => self.phases.begin(mark.t_s, &begun.name, live, taken),
            MarkKind::End(Scope::Phase) => self.phases.end(mark.t_s, live, taken),
            MarkKind::Begin(begun) => self.table.begin(mark.t_s, begun, taken, facts),
            MarkKind::End(scope) => self.table.end(mark.t_s, *scope, taken, facts),
            MarkKind::Answer(answer) => self.trims.push(mark.t_s, answer),
            MarkKind::Step => self.phases.stepped(mark.t_s, taken, live),
        }
    }

    /// Steps per second between two times; `None` over too few of them.
    pub fn rate(&self, since_s: f64, until_s: f64) -> Option<f64> {
        let mut windows = self.steps.windows().iter().filter(|w| w.end_s >= since_s && w.start_s <= until_s);
        let (first, last) = (windows.clone().next()?, windows.next_back()?);
        let (steps, span) = (last.last - first.low, last.end_s - first.start_s);
        (steps >= FEWEST as f64 && span > 0.0).then(|| steps / span)
    }

    /// Cycles of Python objects that wait for a collection.
    pub fn late_gc(&self) -> Option<Late> {
        self.late_gc.find()
    }

    /// Steps by time.
    pub fn steps_by_time(&self) -> &[Window] {
        self.steps.windows()
    }

    /// Steps so far.
    pub fn steps(&self) -> u64 {
        self.taken
    }

    /// When its first step was told: what came before is set-up. Seconds.
    pub fn first_step_s(&self) -> Option<f64> {
        self.first_step_s
    }

    /// When its last step was told. Seconds.
    pub fn last_step_s(&self) -> Option<f64> {
        self.last_step_s
    }

    /// Steps that were taken by then, between the marks by their mean rate; 0 before the first mark.
    fn steps_at(&self, t_s: f64) -> f64 {
        let windows = self.steps.windows();
        let at = windows.partition_point(|w| w.end_s < t_s);
        let before = at.checked_sub(1).and_then(|before| windows.get(before)).map(|w| (w.end_s, w.last));
        let Some(next) = windows.get(at) else { return before.map_or(0.0, |(_, steps)| steps) };
        // Inside a window, or in the gap before it.
        let inside = t_s >= next.start_s;
        let Some(from) = (if inside { Some((next.start_s, next.low)) } else { before }) else { return 0.0 };
        let to = if inside { (next.end_s, next.last) } else { (next.start_s, next.low) };
        let share = if to.0 > from.0 { (t_s - from.0) / (to.0 - from.0) } else { 1.0 };
        from.1 + share * (to.1 - from.1)
    }

    /// Growth per step of the low tides of a series between two times, and half of its 95 % interval. `longest_s`: how
    /// long the longest excursion from them lasts.
    pub fn per_step(&self, windows: &[Window], since_s: f64, until_s: f64, longest_s: f64) -> Option<(f64, f64)> {
        let by_steps = |w: &Window| Window {
            start_s: self.steps_at(w.start_s),
            low_at_s: self.steps_at(w.low_at_s),
            end_s: self.steps_at(w.end_s),
            ..*w
        };
        let inside = windows.iter().filter(|w| w.start_s >= since_s && w.end_s <= until_s);
        let windows: Vec<Window> = inside.map(by_steps).collect();
        let (first, last) = (windows.first()?, windows.last()?);
        if last.end_s - first.start_s < FEWEST as f64 {
            return None;
        }
        let longest = longest_s * self.rate(since_s, until_s)?;
        let trend = trend::fit(&crate::blocks::block_minima(&windows, longest), Ask::bytes(false, false).quantum)?;
        Some((trend.slope, 1.96 * trend.error))
    }

    /// The number of the epoch that it is in, from 0; `None` where rounds or nodes count their epochs anew.
    pub fn epoch_now(&self) -> Option<u64> {
        self.table.epoch_now()
    }

    /// Seconds per epoch between two times, where there were three or more.
    pub fn epoch_s(&self, since_s: f64, until_s: f64) -> Option<f64> {
        self.table.period_s(since_s, until_s)
    }

    /// The number of the federated round that it is in, where there are rounds.
    pub fn round_now(&self) -> Option<u64> {
        self.table.round_now()
    }

    /// Seconds per round between two times, where there were three or more.
    pub fn round_s(&self, since_s: f64, until_s: f64) -> Option<f64> {
        self.table.round_s(since_s, until_s)
    }

    /// Growth of the live bytes of the C heap between two times, per second: of their low-water marks, by the median of
    /// the slopes between all pairs.
    pub fn live_growth(&self, since_s: f64, until_s: f64) -> Option<f64> {
        low_growth(&self.live, since_s, until_s)
    }

    /// Growth of the live bytes of the C heap between two times, per step.
    pub fn live_per_step(&self, since_s: f64, until_s: f64) -> Option<f64> {
        low_growth(&self.live_by_step, self.steps_at(since_s), self.steps_at(until_s))
    }

    /// Growth of what Python's collector tracks between two times, objects per step.
    pub fn objects_per_step(&self, since_s: f64, until_s: f64) -> Option<f64> {
        low_growth(&self.objects, self.steps_at(since_s), self.steps_at(until_s))
    }

    /// Python's collector ran no full collection since the first step, as far as it was told.
    pub fn never_collected(&self) -> bool {
        self.gc_full.is_some_and(|(first, last)| first == last)
    }

    /// At how many times between these two, seconds, full collections of Python's were told of: at most [`COLLECTIONS`].
    pub fn collections(&self, since_s: f64, until_s: f64) -> usize {
        self.collected_s.iter().filter(|t_s| (since_s..=until_s).contains(t_s)).count()
    }

    /// Entries of torch's compile cache at the first step and last.
    pub fn compiled(&self) -> Option<(u32, u32)> {
        self.compiled
    }

    /// Seconds that a step took in the mean, since the first one.
    fn step_s(&self) -> f64 {
        let (begin_s, end_s) = (self.first_step_s.unwrap_or(0.0), self.steps.windows().last().map_or(0.0, |w| w.end_s));
        (end_s - begin_s).max(0.0) / (self.taken.max(1) as f64)
    }

    /// The verdict on the live bytes of the C heap, step by step: they may rise while pages do not, as long as they fill
    /// holes. Times are those that the steps would have had at their mean rate.
    fn live(&self) -> Judged {
        let step_s = self.step_s();
        let by_mean_rate = |window: &Window| Window {
            start_s: window.start_s * step_s,
            low_at_s: window.low_at_s * step_s,
            end_s: window.end_s * step_s,
            ..*window
        };
        let windows: Vec<Window> = self.live_by_step.windows().iter().map(by_mean_rate).collect();
        judge(&windows, Ask::bytes(false, true))
    }

    /// How fast they rise, bytes per second, where they do.
    pub fn live_rises(&self) -> Option<f64> {
        let live = self.live();
        (live.grows() && live.rate > 0.0).then_some(live.rate)
    }

    /// The same, where that is not certain enough to be claimed yet.
    pub fn live_may_rise(&self) -> Option<f64> {
        let live = self.live();
        ((live.grows() || live.rising) && live.rate > 0.0).then_some(live.rate)
    }

    /// Growth of what is free inside the C heap at low tides of what lives there, per second. Its own low tides are when most is alive:
    /// a validation fills all holes, and leaves more of them each time.
    pub fn hole_growth(&self, since_s: f64, until_s: f64) -> Option<f64> {
        Some(low_growth(&self.heap, since_s, until_s)? - low_growth(&self.live, since_s, until_s)?)
    }

    /// Whether what lives in the C heap is known to be more than hardly any of so much growth of pages per second.
    pub fn grows_alive(&self, pages: f64, since_s: f64, until_s: f64) -> bool {
        self.live_growth(since_s, until_s).is_some_and(|live| live >= HARDLY_LIVE * pages)
    }

    /// Growth of the number of blocks of Python's own allocator, per second.
    pub fn block_growth(&self, since_s: f64, until_s: f64) -> Option<f64> {
        low_growth(&self.blocks, since_s, until_s)
    }

    /// What came of asking the process to give free memory back, about growth of so many bytes per second.
    pub fn explain_by_trim(&self, rate: f64, finding: &mut Finding) {
        let windows = self.holes.windows();
        let room = |t_s: f64| windows.iter().rev().filter(|w| w.end_s < t_s).take(LATELY).map(|w| w.high).fold(0.0, f64::max);
        self.trims.explain(rate, self.first_step_s.unwrap_or(0.0), room, finding);
    }

    /// The phase across which live bytes stay (`None` if it is between phases), and what was seen of the others.
    pub fn blame(&self, since_s: f64) -> Option<(Option<String>, Vec<String>)> {
        self.phases.blame(since_s)
    }

    /// The federated node that leaves live memory behind.
    pub fn node(&self) -> Option<Culprit> {
        self.nodes.culprit()
    }

    /// Python's cyclic collector was off.
    pub fn gc_disabled(&self) -> bool {
        self.gc_disabled
    }
}

/// The slope of the minima of up to 16 blocks of a series, per unit of its time (seconds, or steps).
fn low_growth(series: &Pyramid, since_s: f64, until_s: f64) -> Option<f64> {
    let inside: Vec<_> = series.windows().iter().filter(|w| w.start_s >= since_s && w.end_s <= until_s).copied().collect();
    let blocks = if inside.len() >= 8 { crate::blocks::block_minima(&inside, 0.0) } else { return None };
    (blocks.len() >= 4).then(|| trend::theil_sen(&blocks))
}

#[cfg(test)]
mod tests;
