//! What looks into a process say of its growth: who holds what was added.
//!
//! A look never makes a leak and never rules one out: it names somebody only for growth that was found without it, and only
//! where what grew between two looks is of the size of that growth. Where that is something that its source limits, the growth is no
//! more than likely a leak.

use std::collections::BTreeMap;

use lowtide_model::{Bytes, Finding, Grown, Holder, HolderGrown, Kind, Look, ObjectGrown, ProcId, Seconds, Sort};

use crate::analyser::Analyser;
use crate::growth::Series;

/// The most processes whose looks are kept.
const MOST: usize = 256;
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
        self.count += 1;
        self.held_us = self.held_us.saturating_add(look.pause_us);
        if !look.copied {
            self.stops_ms.push(look.pause_us as f64 / 1e3);
        }
        if let Some(grown) = look.grown.as_ref().filter(|grown| grown.seconds.is_finite() && grown.seconds > 0.0) {
            // The newest has been over the longest time.
            self.by_process.insert(look.id, grown.clone());
        }
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

/// Names who holds the growth that a finding is about, or says what sort of memory it is that nobody holds.
pub fn complete(run: &Analyser, group: &[&Series], finding: &mut Finding) {
    let looked = group.iter().find_map(|series| Some((series, run.looks().by_process.get(&series.process?)?)));
    let Some((series, grown)) = looked else { return };
    if series.copied || !matches!(series.kind, Kind::Anonymous | Kind::Shmem) {
        return;
    }
    let expected = series.judged.rate * grown.seconds;
    if expected <= 0.0 {
        return;
    }
    let apart = Seconds(grown.seconds);
    let candidates = apart_from_one_another(&grown.holders);
    let share = |holder: &HolderGrown| holder.bytes as f64 / expected;
    let mut fitting = candidates.iter().filter(|holder| (MATERIAL..=PLAUSIBLE).contains(&share(holder)) && !holder.bounded);
    let Some(first) = fitting.next() else {
        finding.evidence.extend(unheld(grown, expected, &candidates));
        if mostly(grown, Sort::Native) && series.kind == Kind::Anonymous && finding.kind == Some(Kind::Anonymous) {
            finding.kind = Some(Kind::NativeHeap);
        }
        return;
    };
    let beside: Vec<&&HolderGrown> = candidates
        .iter()
        .filter(|holder| holder.path != first.path && !holder.bounded && (BESIDE..=PLAUSIBLE).contains(&share(holder)))
        .collect();
    let all = (share(first) + beside.iter().map(|holder| share(holder)).sum::<f64>()).min(PLAUSIBLE);
    finding.evidence.push(format!(
        "two looks {apart} apart: {}{} grew by {}, {:.0} % of what the process did in that time",
        first.name,
        if beside.is_empty() { String::new() } else { format!(" and {} more", beside.len()) },
        Bytes(first.bytes.unsigned_abs()),
        100.0 * all
    ));
    for holder in beside {
        finding.evidence.push(format!(
            "beside it {} ({}) grew by {}",
            holder.name,
            holder.kind,
            Bytes(holder.bytes.unsigned_abs())
        ));
    }
    if finding.kind == Some(Kind::Anonymous)
        && let Some(kind) = first.objects.first().filter(|object| object.bytes_delta.saturating_mul(2) >= first.bytes).map(kind)
    {
        finding.kind = Some(kind);
    }
    finding.objects.clone_from(&first.objects);
    finding.site.clone_from(&first.site);
    finding.cause = Some(first.cause.clone()).filter(|cause| !cause.is_empty());
    finding.why = Some(first.why.clone()).filter(|why| !why.is_empty());
    finding.holder = Some(Holder {
        path: first.path.clone(),
        name: first.name.clone(),
        file: first.file.clone(),
        line: first.line,
        kind: first.kind.clone(),
        length: first.len,
        bytes_delta: first.bytes,
        seconds: grown.seconds,
        explains: share(first),
    });
}

/// Whether looks show that what grows is held by something that its source limits: before it is full, nothing rules out that it
/// stops.
pub fn may_fill_up(run: &Analyser, series: &Series) -> bool {
    let Some(grown) = series.process.and_then(|id| run.looks().by_process.get(&id)) else { return false };
    let expected = series.judged.rate * grown.seconds;
    let fits = |holder: &&HolderGrown| (MATERIAL..=PLAUSIBLE).contains(&(holder.bytes as f64 / expected));
    let fitting: Vec<&HolderGrown> = apart_from_one_another(&grown.holders).into_iter().filter(fits).collect();
    let held = !mostly(grown, Sort::Native) && !mostly(grown, Sort::Holes);
    held && !series.copied && !fitting.is_empty() && fitting.iter().all(|holder| holder.bounded)
}

/// Without those that another one holds: their bytes are in its own.
fn apart_from_one_another(holders: &[HolderGrown]) -> Vec<&HolderGrown> {
    let mut apart: Vec<&HolderGrown> = Vec::new();
    for holder in holders.iter().filter(|holder| holder.bytes > 0) {
        let within = |outer: &&&HolderGrown| holder.path.starts_with(&outer.path) || outer.path.starts_with(&holder.path);
        if !apart.iter().any(|outer| within(&outer)) {
            apart.push(holder);
        }
    }
    apart
}

/// What sort of memory grew, where nobody who holds it can be named.
fn unheld(grown: &Grown, expected: f64, candidates: &[&HolderGrown]) -> Vec<String> {
    let apart = Seconds(grown.seconds);
    let mut said = Vec::new();
    let mut parts: Vec<_> = grown.parts.iter().filter(|part| part.bytes as f64 >= BESIDE * expected).collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.bytes));
    if !parts.is_empty() {
        let parts: Vec<String> =
            parts.iter().map(|part| format!("{} by {}", part.name, Bytes(part.bytes.unsigned_abs()))).collect();
        said.push(format!("two looks {apart} apart: what grew is {}", parts.join(", ")));
    }
    if mostly(grown, Sort::Native) {
        said.push("no object of Python holds it: memory that a library has allocated and not freed".to_owned());
    } else if mostly(grown, Sort::Holes) {
        said.push("it is free inside the allocator: holes, which nobody holds".to_owned());
    }
    // What comes and goes looks like growth at some moments: it is told as what it is.
    let largest = candidates.first().map(|holder| (holder, holder.bytes as f64 / expected));
    match largest {
        Some((holder, share)) if holder.bounded && share >= BESIDE / 2.0 => said.push(format!(
            "{} grew by {}, but its source keeps it from growing for ever ({}), so that it is not named as the reason",
            holder.name,
            Bytes(holder.bytes.unsigned_abs()),
            holder.why
        )),
        Some((holder, share)) if share > PLAUSIBLE => said.push(format!(
            "{} held {} more at the second look than at the first, which is more than the process grew by: it comes and goes, and \
             is not named as the reason",
            holder.name,
            Bytes(holder.bytes.unsigned_abs())
        )),
        Some((holder, share)) if share >= BESIDE / 2.0 => said.push(format!(
            "{} grew most, by {}: only {:.0} % of the growth, and not named as the reason",
            holder.name,
            Bytes(holder.bytes.unsigned_abs()),
            100.0 * share
        )),
        _ => {}
    }
    said
}

fn mostly(grown: &Grown, sort: Sort) -> bool {
    let of = |sort| grown.parts.iter().filter(|part| part.sort == sort).map(|part| part.bytes).sum::<i64>();
    grown.total > 0 && of(sort) as f64 >= MOSTLY * grown.total as f64
}

fn kind(object: &ObjectGrown) -> Kind {
    match (object.device.is_empty(), object.grad_fn) {
        (true, _) => Kind::PythonObjects,
        (false, false) => Kind::Tensor,
        (false, true) => Kind::AutogradGraph,
    }
}
