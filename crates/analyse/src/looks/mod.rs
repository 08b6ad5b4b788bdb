//! What looks into a process say of its growth: who holds what was added.
//!
//! A look never makes a leak and never rules one out: it names somebody only for growth that was found without it, and only
//! where what grew between two looks is of the size of that growth. What may have an end is in `held_back.rs`.

mod blame;
mod device;
mod held_back;
mod holders;

use std::collections::{BTreeMap, VecDeque};

use lowtide_model::{
    AllocatedGrown, BudgetAt, BudgetReport, Finding, Grown, HolderGrown, Kind, Look, OnDevice, ProcId, Role, Seconds, Sort,
    UntouchedData,
};

use crate::analyser::Analyser;
use crate::growth::Series;
use blame::{apart_from_one_another, own};
use holders::{name_holder, name_opener};

pub use device::{complete_by_history, complete_on_gpu};
pub use held_back::{APART_S, EPOCHS, FILLS, PART, UNREACHABLE, hold_back, is_awaited, may_end, who_may_end};

/// The most processes whose looks are kept.
const MOST: usize = 256;
/// Budgets that are kept for comparisons: a watch of weeks takes more looks than anyone asks for.
const MOMENTS: usize = 512;
/// The least share of the measured growth that a holder has to explain. Pages were seen to grow up to 3.5 times as fast as
/// the objects on them, at default settings of malloc.
const MATERIAL: f64 = 0.25;
/// What grew faster than this many times the process itself comes and goes.
const PLAUSIBLE: f64 = 3.0;
/// The share of what grew from which on one sort of memory is all there is to say about it.
const MOSTLY: f64 = 0.6;
/// Holders beside the first that are worth a word, as a share of the growth.
const BESIDE: f64 = 0.1;

/// The looks of all processes.
#[derive(Debug, Default)]
pub struct Looks {
    by_process: BTreeMap<ProcId, Grown>,
    /// When each of these was taken, seconds.
    grown_s: BTreeMap<ProcId, f64>,
    /// When each process was looked into last without anything to compare with, seconds.
    first_s: BTreeMap<ProcId, f64>,
    /// What PyTorch's allocator gave out more by its history, by process and device, and how long telling it held the process up,
    /// microseconds.
    allocated: BTreeMap<(ProcId, u32), (AllocatedGrown, u64)>,
    /// What lay on devices of each process, by phase: by the newest look at a low tide, else by the one that found most.
    devices: BTreeMap<ProcId, BTreeMap<String, Vec<OnDevice>>>,
    /// What memory was for, by process and phase: the newest of low tides, else that with the most.
    budgets: BTreeMap<(ProcId, String), (f64, BudgetAt)>,
    /// The newest of all of them, in the order of time: at most [`MOMENTS`].
    moments: VecDeque<(ProcId, f64, BudgetAt)>,
    /// How many there were.
    count: u64,
    /// How long they held processes up, all together, microseconds.
    held_us: u64,
    stops_ms: Vec<f64>,
}

impl Looks {
    /// Takes a look.
    pub fn push(&mut self, look: &Look) {
        if self.count >= MOST as u64 {
            return;
        }
        for grown in look.allocated.iter().filter(|grown| grown.seconds.is_finite() && grown.seconds > 0.0) {
            self.allocated.insert((look.id, grown.device), (grown.clone(), look.pause_us));
        }
        self.held_us = self.held_us.saturating_add(look.pause_us);
        if !look.allocated.is_empty() {
            return;
        }
        self.count += 1;
        // One in passing holds nobody up.
        if !look.copied && look.pause_us > 0 {
            self.stops_ms.push(look.pause_us as f64 / 1e3);
        }
        if !look.devices.is_empty() {
            let phase = look.budget.as_ref().map_or("", |budget| budget.phase.as_str());
            let phases = self.devices.entry(look.id).or_default();
            let total = |parts: &[OnDevice]| parts.iter().map(|part| part.bytes).fold(0, u64::saturating_add);
            if phase.is_empty() || phases.get(phase).is_none_or(|known| total(known) < total(&look.devices)) {
                phases.insert(phase.to_owned(), look.devices.clone());
            }
        }
        if let Some(budget) = &look.budget {
            if self.moments.len() == MOMENTS {
                self.moments.pop_front();
            }
            self.moments.push_back((look.id, look.t_s, budget.clone()));
            let known = self.budgets.get(&(look.id, budget.phase.clone()));
            if budget.phase.is_empty() || known.is_none_or(|(_, known)| known.total < budget.total) {
                self.budgets.insert((look.id, budget.phase.clone()), (look.t_s, budget.clone()));
            }
        }
        if let Some(grown) = look.grown.as_ref().filter(|grown| grown.seconds.is_finite() && grown.seconds > 0.0) {
            // The newest has been over the longest time.
            self.by_process.insert(look.id, grown.clone());
            self.grown_s.insert(look.id, look.t_s);
        } else if look.objects > 0 {
            self.first_s.insert(look.id, look.t_s);
        }
    }

    /// What lay on devices of a process near the peak of a phase, or at a low tide, where `phase` is empty; `None` where it was not
    /// looked into there.
    pub fn on_devices(&self, process: ProcId, phase: &str) -> Option<&[OnDevice]> {
        Some(self.devices.get(&process)?.get(phase)?.as_slice())
    }

    /// What memory was for when it was looked into, a row for each moment; those at low tides before peaks of phases.
    pub fn budgets(&self, who: &dyn Fn(ProcId) -> (u32, Option<u32>)) -> Vec<BudgetReport> {
        let row = |((id, phase), (t_s, budget)): (&(ProcId, String), &(f64, BudgetAt))| {
            let (pid, rank) = who(*id);
            let phase = Some(phase.clone()).filter(|phase| !phase.is_empty());
            let most_bytes = Some(budget.most).filter(|most| *most > 0);
            let parts = budget.parts.clone();
            BudgetReport { id: *id, pid, rank, phase, t_s: *t_s, bytes: budget.total, most_bytes, parts }
        };
        self.budgets.iter().map(row).collect()
    }

    /// What memory was for the last times that it was looked into, in the order of time: the process, seconds, the parts.
    pub fn moments(&self) -> impl Iterator<Item = &(ProcId, f64, BudgetAt)> {
        self.moments.iter()
    }

    /// The array or tensor of a process that had most of its memory untouched when it was looked into at rest, and when that was, seconds.
    pub(crate) fn untouched(&self, process: ProcId) -> Option<(f64, &UntouchedData)> {
        let (t_s, budget) = self.budgets.get(&(process, String::new()))?;
        Some((*t_s, budget.untouched.first()?))
    }

    /// What grew in a process between the two looks that are furthest apart, and when the second of them was, seconds.
    pub(crate) fn grown(&self, process: ProcId) -> Option<(f64, &Grown)> {
        Some((*self.grown_s.get(&process)?, self.by_process.get(&process)?))
    }

    /// When a process was looked into of which no comparison has come since, seconds.
    pub(crate) fn alone_s(&self, process: ProcId) -> Option<f64> {
        let first_s = *self.first_s.get(&process)?;
        self.grown_s.get(&process).is_none_or(|grown_s| *grown_s < first_s).then_some(first_s)
    }

    /// How many looks there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How long they held processes up, all together, seconds.
    pub fn held_s(&self) -> f64 {
        self.held_us as f64 * 1e-6
    }

    /// How long each stop was, milliseconds. A copy is told by the mark that answered for it.
    pub fn stops_ms(&self) -> &[f64] {
        &self.stops_ms
    }
}

/// Names who holds the growth that a finding is about, or says what sort of memory it is that nobody holds, or why neither is known.
pub fn complete(run: &Analyser, group: &[&Series], finding: &mut Finding) {
    let Some((series, id, grown)) = group.iter().find_map(|series| looked(run, series)) else {
        finding.evidence.extend(unlooked(run, group));
        return;
    };
    match series.kind {
        Kind::Processes | Kind::Fds | Kind::Threads => name_opener(series, grown, finding),
        Kind::Anonymous | Kind::Shmem if !series.copied => {
            if series.process.is_none() && series.role.is_some() {
                let pid = run.store().tracks.get(&id).map_or(0, |track| track.process.pid);
                finding.evidence.push(format!("each grows a little; one of them was looked into, pid {pid}"));
            }
            name_holder(run, series, grown, finding);
        }
        _ => {}
    }
}

/// The comparison that tells of a series: of its own process, of one of its role, or of a process that starts others.
fn looked<'a>(run: &'a Analyser, series: &'a Series) -> Option<(&'a Series, ProcId, &'a Grown)> {
    let by_process = &run.looks().by_process;
    let of_role = |id: &ProcId| run.store().tracks.get(id).is_some_and(|track| Some(track.process.role) == series.role);
    let (id, grown) = match (series.process, series.role, series.kind) {
        (Some(id), _, _) => (id, by_process.get(&id)?),
        (None, Some(_), _) => by_process.iter().find(|(id, _)| of_role(id)).map(|(id, grown)| (*id, grown))?,
        (None, None, Kind::Processes) => by_process.iter().next().map(|(id, grown)| (*id, grown))?,
        (None, None, _) => return None,
    };
    Some((series, id, grown))
}

/// Whether looks show that most of the growth is something new: somebody holds it whom nothing limits, or native code has it.
pub fn is_held(run: &Analyser, series: &Series) -> bool {
    let Some((_, grown)) = series.process.and_then(|id| run.looks().grown(id)) else { return false };
    let expected = series.judged.rate * grown.seconds;
    let share = |holder: &HolderGrown| own(holder) as f64 / expected;
    let free = apart_from_one_another(&grown.holders).into_iter().filter(|holder| !holder.bounded);
    let held: f64 = free.map(share).filter(|share| (BESIDE..=PLAUSIBLE).contains(share)).sum();
    held >= MOSTLY || mostly(grown, Sort::Native)
}

/// Why it is not known who holds it, where that can be told.
fn unlooked(run: &Analyser, group: &[&Series]) -> Option<String> {
    let first = group.first()?;
    let track = run.store().tracks.get(&first.process?)?;
    let pid = track.process.pid;
    if track.process.role == Role::Outside {
        return Some(format!(
            "who holds it is not known: a process that the run did not start is not looked into unasked; `lowtide heap {pid} --diff 30s` \
             tells it"
        ));
    }
    let first_s = run.looks().first_s.get(&first.process?).filter(|_| run.over())?;
    Some(format!("who holds it is not known: it was looked into at {}, and ended before a second look", Seconds(*first_s)))
}

fn mostly(grown: &Grown, sort: Sort) -> bool {
    grown.total > 0 && of_sort(grown, sort) as f64 >= MOSTLY * grown.total as f64
}

/// Bytes by which one sort of memory grew.
fn of_sort(grown: &Grown, sort: Sort) -> i64 {
    grown.parts.iter().filter(|part| part.sort == sort).map(|part| part.bytes).sum()
}
