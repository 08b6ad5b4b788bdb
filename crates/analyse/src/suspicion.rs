//! Which process is worth a look: the one whose growth is claimed, else one that seems to grow and may turn out not to.
//!
//! A look is worth most where it was taken early: what grows is told by two of them, and a run may be over soon after its growth
//! is certain.

use std::collections::BTreeMap;

use lowtide_model::{Kind, ProcId, Role};

use crate::analyser::Analyser;
use crate::growth::{Assessment, Series};
use crate::judge::Outcome;
use crate::marks::Line;
use crate::series::Track;

/// A program that maps more than so many bytes of files in so many seconds is being imported.
const LOADS: f64 = 1024.0 * 1024.0;
const LOADS_S: f64 = 6.0;
/// Growth that two looks tell from what comes and goes: bytes, and threads, files or processes.
const ENOUGH_BYTES: f64 = 16.0 * 1024.0 * 1024.0;
const ENOUGH_MORE: f64 = 16.0;

/// A process to look into.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspicion {
    /// Its index in the run.
    pub id: ProcId,
    /// Its pid.
    pub pid: u32,
    /// Growth of its low tide, bytes per second; 0 where something else than memory becomes more.
    pub rate: f64,
    /// Seconds in which it grows by so much that two looks tell it from what comes and goes.
    pub enough_s: f64,
    /// Since when it grows as it does now, seconds: what it took before is warm-up.
    pub since_s: f64,
    /// Seconds from one of its epochs to the next.
    pub epoch_s: Option<f64>,
    /// The growth is claimed; else it is only possible.
    pub claimed: bool,
}

/// Whom to look into. What is claimed goes first.
pub fn suspicion(run: &Analyser, assessment: &Assessment) -> Option<Suspicion> {
    let growing = assessment.growing();
    if growing.first().is_some_and(|first| first.role == Some(Role::Outside)) {
        return None;
    }
    let claimed = growing.iter().find_map(|series| {
        // Long imports look like growth.
        let id = inside(run, assessment, series).filter(|id| trains(run, *id) || series.judged.outcome == Outcome::Leaking)?;
        suspect(run, id, Speed::of(series), series.judged.since_s, true)
    });
    // Who holds a GPU's tensors is told by the heap as well.
    let on_gpu = || {
        let (id, rate, since_s) = crate::gpu::growing_process(&assessment.gpus)?;
        suspect(run, id, Speed::of_memory(rate), since_s, true)
    };
    claimed.or_else(on_gpu).or_else(|| possible(run, assessment))
}

/// The process of the run to look into for a series that grows: its own, one of a role's, or the one that starts ever more.
fn inside(run: &Analyser, assessment: &Assessment, series: &Series) -> Option<ProcId> {
    if series.copied || series.kind == Kind::File {
        return None;
    }
    match (series.process, series.role, series.kind) {
        (Some(id), Some(role), _) if role != Role::Outside => Some(id),
        (None, Some(role), _) => one_of(assessment, role),
        (None, None, Kind::Processes) => parent(run),
        (None, None, Kind::Shmem) => assessment.watch,
        _ => None,
    }
}

/// How fast something grows.
#[derive(Clone, Copy)]
struct Speed {
    /// Bytes per second; 0 of what is no memory.
    rate: f64,
    /// Seconds until it is enough to see.
    enough_s: f64,
}

impl Speed {
    fn of(series: &Series) -> Self {
        let rate = series.judged.rate / f64::from(series.members.max(1));
        if matches!(series.kind, Kind::Anonymous | Kind::Shmem) {
            Self::of_memory(rate)
        } else {
            Self { rate: 0.0, enough_s: ENOUGH_MORE / rate.max(f64::MIN_POSITIVE) }
        }
    }

    fn of_memory(rate: f64) -> Self {
        Self { rate, enough_s: ENOUGH_BYTES / rate.max(f64::MIN_POSITIVE) }
    }
}

/// All processes of a role grow a little: the one that grows most, as far as can be seen.
fn one_of(assessment: &Assessment, role: Role) -> Option<ProcId> {
    let own = |s: &&Series| s.process.is_some() && s.role == Some(role) && s.kind == Kind::Anonymous && !s.copied;
    assessment.series.iter().filter(own).max_by(|a, b| a.judged.rate.total_cmp(&b.judged.rate)).and_then(|series| series.process)
}

/// The process with the most children alive.
fn parent(run: &Analyser) -> Option<ProcId> {
    let mut children: BTreeMap<ProcId, u32> = BTreeMap::new();
    let alive = run.store().tracks.values().filter(|track| track.ended_s.is_none() && track.process.role != Role::Outside);
    for parent in alive.filter_map(|track| track.process.parent) {
        *children.entry(parent).or_default() += 1;
    }
    children.into_iter().max_by_key(|(id, count)| (*count, std::cmp::Reverse(*id))).map(|(id, _)| id)
}

/// Whose growth is significant, and not certain for some other reason; else who keeps ever more in its heap. Before training
/// begins everybody grows.
fn possible(run: &Analyser, assessment: &Assessment) -> Option<Suspicion> {
    let rising = |series: &&Series| series.judged.rising && !series.copied && series.role != Some(Role::Outside);
    // What lies in memory first, then what becomes more.
    let first = |series: &&Series| (Speed::of(series).rate, series.judged.t);
    let rising = assessment.series.iter().filter(rising).filter_map(|series| {
        let id = inside(run, assessment, series).filter(|id| trains(run, *id))?;
        let first_s = run.marks().of(id).and_then(Line::first_step_s).unwrap_or(0.0);
        Some((first(&series), suspect(run, id, Speed::of(series), series.judged.since_s.max(first_s), false)?))
    });
    let fastest = rising.max_by(|((a, s), _), ((b, t), _)| a.total_cmp(b).then(s.total_cmp(t))).map(|(_, suspicion)| suspicion);
    let by_heap = || {
        let id = assessment.watch.filter(|id| trains(run, *id))?;
        let line = run.marks().of(id)?;
        suspect(run, id, Speed::of_memory(line.live_may_rise()?), line.first_step_s()?, false)
    };
    fastest.or_else(by_heap)
}

/// It has begun to train; of one that says nothing of itself, whether it loads no libraries any more.
fn trains(run: &Analyser, id: ProcId) -> bool {
    match run.marks().of(id) {
        Some(line) => line.first_step_s().is_some(),
        None => run.store().tracks.get(&id).is_some_and(|track| !loads(track)),
    }
}

/// Whether pages of files became more of late: a program is being imported.
fn loads(track: &Track) -> bool {
    let windows = track.file.windows();
    let then = windows.iter().rev().find(|window| window.end_s <= track.last_s - LOADS_S);
    // What has not been there for so long is still being started.
    then.is_none_or(|then| track.last.file as f64 > then.high + LOADS)
}

fn suspect(run: &Analyser, id: ProcId, speed: Speed, since_s: f64, claimed: bool) -> Option<Suspicion> {
    let track = run.store().tracks.get(&id).filter(|track| track.ended_s.is_none())?;
    let epoch_s = run.marks().of(id).and_then(|line| line.epoch_s(f64::NEG_INFINITY, f64::INFINITY));
    Some(Suspicion { id, pid: track.process.pid, rate: speed.rate, enough_s: speed.enough_s, since_s, epoch_s, claimed })
}
