//! A finding in the units of the training: growth per step and epoch, its phase, what the process itself says about it.

use lowtide_model::{Bytes, Cycle, Finding, Growth, Kind, Rate, Role};

use super::Line;
use crate::analyser::Analyser;
use crate::growth::{Assessment, Series};
use crate::judge::Outcome;

/// Live memory that explains less of the growth of pages than this share does not grow with them.
const NOT_LIVE: f64 = 0.1;
/// Holes that grow by this share of the growth of pages explain it, where hardly any of it is live.
const HOLES: f64 = 0.6;
/// Bytes of a usual small block: an object of a few fields, a float, a short text.
const SMALL_BLOCK: f64 = 64.0;
/// Garbage-collected objects per step from which on their growth is worth a line: one new list is two objects.
const OBJECTS: f64 = 0.5;
/// A rate per step that was measured step by step is taken as long as it is within this share of the one by time.
const AGREES: f64 = 0.3;

/// Tells a finding's growth in steps, epochs and rounds and adds what the marks show. Steps are the process's own, or those of
/// the one that started it: a worker loads data for its trainer's steps.
pub fn complete(run: &Analyser, assessment: &Assessment, group: &[&Series], finding: &mut Finding) {
    let first = group[0];
    let own = first.process.and_then(|id| run.marks().of(id));
    let Some(line) = own.or_else(|| parent(run, first)) else { return };
    let Some(growth) = &mut finding.growth else { return };
    let (since_s, until_s) = (first.judged.since_s, first.judged.until_s);
    let pages = growth.bytes_per_second;
    growth.bytes_per_epoch = line.epoch_s(since_s, until_s).map(|seconds| pages * seconds);
    growth.bytes_per_round = line.round_s(since_s, until_s).map(|seconds| pages * seconds);
    growth.bytes_per_step = line.rate(since_s, until_s).map(|steps| pages / steps);
    if group.len() == 1 {
        step_by_step(run, line, first, growth);
    }
    if own.is_none() {
        return;
    }
    growth.live_bytes_per_step = line.live_per_step(since_s, until_s);
    finding.evidence.extend(objects(line, first));
    if first.kind != Kind::Anonymous || first.copied {
        return;
    }
    // The strongest of what was seen comes after how sure the growth itself is.
    let mut seen = Vec::new();
    if let Some(node) = line.node() {
        seen.push(node.sentence);
        growth.node_bytes_per_round = Some(node.per_round);
        if let Some(process) = &mut finding.process {
            process.node = Some(node.name);
        }
    }
    if let Some((phase, sentences)) = line.blame(since_s) {
        finding.phase = phase;
        seen.extend(sentences);
    }
    seen.extend(siblings(run, assessment, first));
    finding.evidence.splice(1..1, seen);
    if let Some(live) = line.live_growth(since_s, until_s) {
        let share = live / pages;
        let blocks = line.block_growth(since_s, until_s).filter(|blocks| blocks * SMALL_BLOCK >= NOT_LIVE * pages);
        finding.evidence.push(if share < NOT_LIVE {
            match blocks {
                Some(blocks) => {
                    format!("live memory of the C heap does not grow, but Python has {blocks:.0} small blocks more each second")
                }
                None => "live memory of the C heap does not grow with it: holes in the heap, or memory outside of it".to_owned(),
            }
        } else {
            format!("live memory of the C heap grows by {}/s, {:.0} % of it", Rate(live), (100.0 * share).min(999.0))
        });
        if !line.grows_alive(pages, since_s, until_s)
            && line.hole_growth(since_s, until_s).is_some_and(|holes| holes > HOLES * pages)
        {
            finding.kind = Some(Kind::AllocatorHoles);
        }
    }
    line.explain_by_trim(pages, finding);
    if line.gc_disabled() {
        finding.evidence.push("Python's cyclic garbage collector is off: cycles are never freed".to_owned());
    }
}

fn parent<'a>(run: &'a Analyser, series: &Series) -> Option<&'a Line> {
    run.marks().of(run.store().tracks.get(&series.process?)?.process.parent?)
}

/// The slope of the low tides by steps instead of by time, with its own interval: a loop that is slowed down leaks as much
/// per step as before.
fn step_by_step(run: &Analyser, line: &Line, series: &Series, growth: &mut Growth) {
    let Some(track) = series.process.and_then(|id| run.store().tracks.get(&id)) else { return };
    let pages = match series.kind {
        Kind::Anonymous if !series.copied => &track.anon,
        Kind::Shmem => &track.shmem,
        _ => return,
    };
    let judged = &series.judged;
    if judged.between_steps {
        // It was judged by steps already.
        if let Some(by_time) = growth.bytes_per_step.filter(|_| growth.bytes_per_second > 0.0) {
            growth.ci95 = growth.ci95.map(|bound| bound * by_time / growth.bytes_per_second);
            growth.per = Cycle::Step;
        }
        return;
    }
    let Some((slope, half)) =
        line.per_step(pages.around(judged.since_s), judged.since_s, judged.until_s, judged.excursions.longest_s)
    else {
        return;
    };
    let Some(by_time) = growth.bytes_per_step else { return };
    if (slope - by_time).abs() <= AGREES * by_time.abs() {
        growth.bytes_per_step = Some(slope);
        (growth.ci95, growth.per) = ([(slope - half).max(0.0), slope + half], Cycle::Step);
    }
}

/// What Python's collector and torch's compile cache say of the growth.
fn objects(line: &Line, series: &Series) -> Vec<String> {
    let mut seen = Vec::new();
    if let Some(objects) = line.objects_per_step(series.judged.since_s, series.judged.until_s).filter(|n| *n >= OBJECTS) {
        seen.push(format!("Python's collector tracks {objects:.1} objects more with each step"));
        if line.never_collected() {
            seen.push("and ran no full collection since the first step: garbage in cycles would not be freed yet".to_owned());
        }
    }
    if let Some((first, last)) = line.compiled().filter(|(first, last)| last > first) {
        seen.push(format!("torch's compile cache grew from {first} to {last} entries: shapes that change are compiled anew"));
    }
    seen
}

/// Other ranks that trained as long and do not grow: whatever all of them do is not the leak.
fn siblings(run: &Analyser, assessment: &Assessment, series: &Series) -> Option<String> {
    let track = run.store().tracks.get(&series.process?)?;
    let steps = run.marks().of(series.process?)?.steps();
    let level = |s: &&Series| {
        let longer = s.process.and_then(|id| run.marks().of(id)).is_some_and(|line| line.steps() >= steps.div_ceil(2));
        s.process != series.process
            && s.kind == series.kind
            && s.role == Some(Role::Trainer)
            && matches!(s.judged.outcome, Outcome::Flat | Outcome::Stopped)
            && longer
    };
    let mut others: Vec<_> =
        assessment.series.iter().filter(level).filter_map(|s| Some((s, run.store().tracks.get(&s.process?)?))).collect();
    others.sort_by_key(|(_, other)| (other.process.rank, other.process.pid));
    let (reference, _) = others.first()?;
    let name = |rank: Option<u32>, pid: u32| rank.map_or_else(|| format!("pid {pid}"), |rank| format!("rank {rank}"));
    let names: Vec<String> = others.iter().take(4).map(|(_, other)| name(other.process.rank, other.process.pid)).collect();
    let more = if others.len() > names.len() { format!(" and {} more", others.len() - names.len()) } else { String::new() };
    let most = others.iter().map(|(s, _)| s.judged.detectable).fold(reference.judged.detectable, f64::max);
    let bound = if most.is_finite() && most > 0.0 { format!(" (to {}/s)", Bytes(most as u64)) } else { String::new() };
    Some(format!(
        "{}{more} took steps as well and stayed level{bound}: look for what only {} does",
        names.join(", "),
        name(track.process.rank, track.process.pid)
    ))
}

/// The forecast in steps, and as the epoch and the round that it falls into.
pub fn forecast(run: &Analyser, series: &Series, finding: &mut Finding) {
    let (Some(growth), Some(oom)) = (&finding.growth, &mut finding.oom) else { return };
    if let Some(bytes) = growth.bytes_per_step.filter(|bytes| *bytes > 0.0) {
        oom.steps = oom.seconds.map(|seconds| seconds.map(|s| s * growth.bytes_per_second / bytes));
    }
    let line = series.process.and_then(|id| run.marks().of(id)).or_else(|| parent(run, series));
    // Beyond that nobody trains, and a number says nothing.
    let number = |now: Option<u64>, bytes: Option<f64>| {
        let ([_, middle, _], seconds) = (oom.seconds?, bytes? / growth.bytes_per_second);
        let ahead = middle / seconds;
        (seconds > 0.0 && ahead < 1e6).then(|| now.map(|now| now.saturating_add(ahead as u64)))?
    };
    oom.epoch = number(line.and_then(Line::epoch_now), growth.bytes_per_epoch);
    oom.round = number(line.and_then(Line::round_now), growth.bytes_per_round);
}
