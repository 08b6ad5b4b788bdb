//! Which events a compaction keeps.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use lowtide_model::{Event, ProcId};

use super::marks::Marks;
use super::window::Windows;
use crate::error::RecordError;
use crate::format::to_us;
use crate::read::stream;

/// Ticks younger than this are all kept, in microseconds: somebody may be looking at them.
const FRESH_US: i64 = 600_000_000;
const SECOND_US: i64 = 1_000_000;

/// How hard to thin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rung {
    /// A window is at most this part of its age: 64 means a window of a minute for what is an hour old.
    pub(crate) per_age: i64,
    /// Processes that lived within one window count by their role only, and those in no kept tick are forgotten. For runs that start
    /// processes all the time, each of which would otherwise keep two ticks.
    pub(crate) forget_brief: bool,
}

const fn rung(per_age: i64, forget_brief: bool) -> Rung {
    Rung { per_age, forget_brief }
}

/// From fine to coarse; the first one that fits the budget is taken.
pub(crate) const RUNGS: [Rung; 10] = [
    rung(256, false),
    rung(128, false),
    rung(64, false),
    rung(32, false),
    rung(16, false),
    rung(8, false),
    rung(8, true),
    rung(4, true),
    rung(2, true),
    rung(1, true),
];

impl Rung {
    /// The window that a tick falls into, start and end in microseconds: the largest power of two seconds that its age
    /// allows, at a multiple of itself. So windows never overlap, and are whole parts of the windows that time makes of them.
    /// `None` for a tick that is kept in any case.
    pub(crate) fn window(self, t_us: i64, last_us: i64) -> Option<(i64, i64)> {
        let age_us = last_us - t_us;
        let most_s = age_us / SECOND_US / self.per_age;
        if age_us < FRESH_US || most_s < 2 {
            return None;
        }
        let length = (1 << most_s.ilog2()) * SECOND_US;
        let start = t_us.div_euclid(length) * length;
        Some((start, start + length))
    }
}

/// What is kept of a recording.
pub(crate) struct Plan {
    /// By the number of the tick in the file.
    keep: Vec<bool>,
    /// By the number of the mark.
    marks: Vec<bool>,
    costs: u64,
    /// Processes that are kept, where brief ones are forgotten.
    processes: Option<HashSet<ProcId>>,
    /// What the kept ticks and marks take in the old file, in bytes: a little less than they will in the new one, being further apart.
    pub(crate) bytes: u64,
}

impl Plan {
    /// Reads a recording whose last tick is at `last_us`.
    pub(crate) fn make(path: &Path, rung: Rung, last_us: i64) -> Result<Self, RecordError> {
        let mut source = stream(path)?;
        let (mut windows, mut marks) = (Windows::new(rung, last_us), Marks::new(rung, last_us));
        let (mut costs, mut at) = (0, source.offset());
        let mut sizes = Vec::new();
        while let Some(event) = source.next() {
            let event = event?;
            if let Event::Tick(tick) = &event {
                windows.tick(tick, to_us(tick.t_s));
                sizes.push(source.offset() - at);
            } else {
                windows.other(&event);
                costs += u64::from(matches!(event, Event::Cost(_)));
                if let Event::Mark(mark) = &event {
                    marks.mark(mark, source.offset() - at);
                }
            }
            at = source.offset();
        }
        let keep = windows.finish();
        let (marks, of_marks) = marks.finish();
        let of_ticks: u64 = sizes.iter().zip(&keep).filter(|(_, keep)| **keep).map(|(size, _)| size).sum();
        let processes = if rung.forget_brief { Some(kept_processes(path, &keep)?) } else { None };
        Ok(Self { keep, marks, costs, processes, bytes: of_ticks + of_marks })
    }

    /// Goes through the events of the same recording once more and says of each, in order, whether it is kept.
    pub(crate) fn walk(&self) -> Walk<'_> {
        Walk { plan: self, ticks: 0, marks: 0, costs: 0 }
    }
}

/// See [`Plan::walk`].
pub(crate) struct Walk<'a> {
    plan: &'a Plan,
    ticks: usize,
    marks: usize,
    costs: u64,
}

impl Walk<'_> {
    pub(crate) fn keeps(&mut self, event: &Event) -> bool {
        let known = |id: ProcId| self.plan.processes.as_ref().is_none_or(|kept| kept.contains(&id));
        match event {
            Event::Tick(_) => {
                self.ticks += 1;
                self.plan.keep.get(self.ticks - 1).copied().unwrap_or(true)
            }
            Event::Cost(_) => {
                self.costs += 1;
                self.costs == self.plan.costs
            }
            Event::Process(process) => known(process.id),
            Event::Exit(exit) => known(exit.id),
            Event::Mark(mark) => {
                self.marks += 1;
                self.plan.marks.get(self.marks - 1).copied().unwrap_or(true) && known(mark.id)
            }
            Event::GpuUser(user) => user.process.is_none_or(known),
            Event::Start(_) | Event::Cgroup(_) | Event::Gpu(_) | Event::Look(_) | Event::Note(_) | Event::End(_) => true,
        }
    }
}

/// The processes that what is kept needs: those in a kept tick or a note, those not in any tick yet, and all their ancestors.
fn kept_processes(path: &Path, keep: &[bool]) -> Result<HashSet<ProcId>, RecordError> {
    let mut parents = HashMap::new();
    let mut kept = HashSet::new();
    let mut announced = Vec::new();
    let mut ticks = keep.iter();
    for event in stream(path)? {
        match event? {
            Event::Tick(tick) => {
                announced.clear();
                if ticks.next().is_none_or(|keep| *keep) {
                    kept.extend(tick.procs.iter().map(|sample| sample.id));
                }
            }
            Event::Process(process) => {
                parents.insert(process.id, process.parent);
                announced.push(process.id);
            }
            Event::Note(note) => kept.extend(note.process),
            Event::Look(look) => kept.extend([look.id]),
            Event::GpuUser(user) => kept.extend(user.process),
            _ => {}
        }
    }
    kept.extend(announced);
    for id in kept.clone() {
        let mut next = parents.get(&id).copied().flatten();
        // Stops at an ancestor that is kept already, and so at a circle too.
        while let Some(parent) = next.filter(|parent| kept.insert(*parent)) {
            next = parents.get(&parent).copied().flatten();
        }
    }
    Ok(kept)
}
