//! What each series of GPU memory does: the same machinery as for host memory.

use lowtide_model::{GpuId, Kind, ProcId};

use super::{Gpus, Inner};
use crate::analyser::Analyser;
use crate::judge::{Ask, Judged, Outcome, judge};
use crate::marks::Line;
use crate::pyramid::{Pyramid, Window};
use crate::series::Track;

/// The share of the growth of what is reserved from which on something explains it.
const EXPLAINS: f64 = 0.5;

/// Why the allocator holds more while no more lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It follows the largest batch so far.
    LargestBatch,
    /// Free pieces of blocks that are used in part.
    Fragments,
    /// Pools of CUDA graphs, or of the program's own.
    PrivatePools,
    /// Whole blocks that are free and not used again: another stream's, or of sizes that nobody asks for.
    Unused,
    /// From outside only the whole is seen.
    Unseen,
}

/// What was judged.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Whose.
    pub process: ProcId,
    /// The device as the process counts, where its allocator tells.
    pub device: Option<u32>,
    /// The card.
    pub gpu: Option<GpuId>,
    /// What reports call it.
    pub resource: String,
    pub kind: Kind,
    pub judged: Judged,
    /// Of reserved memory that grows.
    pub reason: Option<Reason>,
    /// It may be somebody else's.
    pub unsure: bool,
}

impl Verdict {
    /// A leak may be claimed of it: it rises, is the run's, and is not bounded by the data.
    pub fn counts(&self) -> bool {
        self.judged.grows() && !self.unsure && self.reason != Some(Reason::LargestBatch)
    }
}

/// The process whose live GPU memory grows, and how fast, bytes per second, since when.
pub fn growing_process(all: &[Verdict]) -> Option<(ProcId, f64, f64)> {
    let grows = all.iter().filter(|v| v.kind == Kind::GpuAllocated && v.counts());
    let fastest = grows.max_by(|a, b| a.judged.rate.total_cmp(&b.judged.rate))?;
    Some((fastest.process, fastest.judged.rate, fastest.judged.since_s))
}

/// Everything of the run, in no order.
pub fn all(run: &Analyser) -> Vec<Verdict> {
    let gpus = run.gpus();
    let mut all: Vec<Verdict> = Vec::new();
    for ((process, device), inner) in &gpus.inner {
        all.extend(of_process(run, *process, *device, inner));
    }
    // Of a process that says nothing of its allocator, what the driver counts is all there is.
    for user in gpus.users.values() {
        let Some(process) = user.who.process else { continue };
        let silent = gpus.inner.range((process, 0)..=(process, u32::MAX)).next().is_none();
        if silent && newest(gpus, process, user.who.gpu, user.last_s) {
            let gpu = user.who.gpu;
            all.push(Verdict {
                process,
                device: None,
                gpu: Some(gpu),
                resource: gpus.cards.get(&gpu).map_or_else(|| format!("gpu{}", gpu.0), |card| card.gpu.resource.clone()),
                kind: Kind::GpuReserved,
                judged: by(run, process, &user.used),
                reason: Some(Reason::Unseen),
                unsure: false,
            });
        }
    }
    all
}

fn newest(gpus: &Gpus, process: ProcId, gpu: GpuId, last_s: f64) -> bool {
    gpus.users_of(process).get(&gpu).is_some_and(|user| user.last_s <= last_s)
}

/// Without what was measured after the last mark of a run that is over: it was taken down meanwhile. `process`: whose last mark; all of
/// the run's where it is nobody's.
pub fn before_the_end<'a>(run: &Analyser, process: Option<ProcId>, windows: &'a [Window]) -> &'a [Window] {
    let of = |id: &ProcId| process.is_none_or(|process| process == *id);
    let last_s = run.gpus().inner.iter().filter(|((id, _), _)| of(id)).map(|(_, inner)| inner.last_s).reduce(f64::max);
    match last_s.filter(|_| run.over()) {
        Some(last_s) => &windows[..windows.partition_point(|window| window.end_s <= last_s)],
        None => windows,
    }
}

/// Judges a series of a process: what came before its first step is set-up.
fn by(run: &Analyser, process: ProcId, series: &Pyramid) -> Judged {
    let first_s = run.marks().of(process).and_then(Line::first_step_s);
    let windows = before_the_end(run, Some(process), series.windows());
    let after = windows.partition_point(|window| first_s.is_some_and(|first_s| window.start_s < first_s));
    let fresh = first_s.is_none() && run.store().tracks.get(&process).is_some_and(Track::fresh);
    judge(&windows[after..], Ask::bytes(run.over(), fresh))
}

fn of_process(run: &Analyser, process: ProcId, device: u32, inner: &Inner) -> Vec<Verdict> {
    let gpus = run.gpus();
    let (resource, gpu) = (gpus.resource_of(process, device), gpus.card_of(process, device).map(|card| card.gpu.id));
    let new = |kind, judged| Verdict {
        process,
        device: Some(device),
        gpu,
        resource: resource.clone(),
        kind,
        judged,
        reason: None,
        unsure: false,
    };
    let allocated = new(Kind::GpuAllocated, by(run, process, &inner.allocated));
    let mut reserved = new(Kind::GpuReserved, by(run, process, &inner.reserved));
    // What lives more makes the allocator hold more.
    if allocated.judged.grows() || allocated.judged.rising {
        reserved.judged.outcome = Outcome::Flat;
        reserved.judged.rising = false;
    }
    if reserved.judged.grows() {
        reserved.reason = Some(reason(inner, &reserved.judged));
    }
    let mut all = vec![allocated, reserved];
    if inner.outside.windows().len() > 1 {
        all.push(new(Kind::GpuOutside, by(run, process, &inner.outside)));
    } else if let Some(card) = gpu.and_then(|gpu| gpus.cards.get(&gpu)).filter(|card| card.beyond.windows().len() > 1) {
        // The driver tells of the card only. It is this process's where nobody else is known to be there; where the driver does not
        // even list this one, it may hide others as well.
        let alone = gpus.others_on(card.gpu.id).next().is_none() && gpus.inner_on(card.gpu.id).count() == 1;
        let listed = gpus.user_of(process, device).is_some();
        let mut beyond = new(Kind::GpuOutside, by(run, process, &card.beyond));
        beyond.unsure = !alone || !listed;
        if beyond.judged.outcome == Outcome::Leaking {
            beyond.judged.outcome = Outcome::Rising;
        }
        all.push(beyond);
    }
    all
}

fn reason(inner: &Inner, judged: &Judged) -> Reason {
    let explains = |series: &Pyramid| rise(series, judged.since_s) >= EXPLAINS * rise(&inner.reserved, judged.since_s);
    if explains(&inner.peak) {
        Reason::LargestBatch
    } else if explains(&inner.pools) {
        Reason::PrivatePools
    } else if explains(&inner.split) {
        Reason::Fragments
    } else {
        Reason::Unused
    }
}

/// By how much a series is higher at its end than at a time.
pub fn rise(series: &Pyramid, since_s: f64) -> f64 {
    let from = series.windows().iter().find(|window| window.end_s >= since_s);
    from.zip(series.last()).map_or(0.0, |(from, last)| last - from.low)
}
