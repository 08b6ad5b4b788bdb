//! What the marks add to a finding: its units, its phase, its node, and what lives behind it.

use lowtide_model::{Finding, Kind, Rate};

use crate::analyser::Analyser;
use crate::growth::Series;

/// The growth in the units of the training, and its phase. Steps are the process's own, or those of the one that started
/// it: a worker loads data for its trainer's steps.
pub fn complete(run: &Analyser, first: &Series, finding: &mut Finding) {
    let own = first.process.and_then(|id| run.marks().of(id));
    let parent = || run.marks().of(run.store().tracks.get(&first.process?)?.process.parent?);
    let Some(line) = own.or_else(parent) else { return };
    let Some(growth) = &mut finding.growth else { return };
    let (since_s, until_s) = (first.judged.since_s, first.judged.until_s);
    let pages = growth.bytes_per_second;
    let steps = line.rate(since_s, until_s);
    growth.bytes_per_step = steps.map(|steps| pages / steps);
    growth.bytes_per_epoch = line.epoch_s(since_s, until_s).map(|seconds| pages * seconds);
    if own.is_none() {
        return;
    }
    let live = line.live_growth(since_s, until_s);
    if let Some((live, steps)) = live.zip(steps) {
        growth.live_bytes_per_step = Some(live / steps);
    }
    if first.kind != Kind::Anonymous || first.copied {
        return;
    }
    if let Some(live) = live {
        let share = live / pages;
        finding.evidence.push(if share < 0.1 {
            "live memory of the C heap does not grow with it: holes in the heap, or memory outside of it".to_owned()
        } else {
            format!("live memory of the C heap grows by {}/s, {:.0} % of it", Rate(live), (100.0 * share).min(999.0))
        });
        // Free bytes inside the heap that grow as the pages do, while nothing of it is live.
        if share < 0.2 && line.hole_growth(since_s, until_s).is_some_and(|holes| holes > 0.6 * pages) {
            finding.kind = Some(Kind::AllocatorHoles);
        }
    }
    if let Some((phase, seen)) = line.blame(since_s) {
        finding.phase = Some(phase);
        // The strongest of what was seen, after how sure the growth itself is.
        finding.evidence.splice(1..1, seen);
    }
    if let Some((node, seen)) = line.node() {
        finding.evidence.insert(1, seen);
        if let Some(process) = &mut finding.process {
            process.node = Some(node);
        }
    }
    if line.gc_disabled() {
        finding.evidence.push("Python's cyclic garbage collector is off: cycles are never freed".to_owned());
    }
}
