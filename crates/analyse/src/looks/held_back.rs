//! Growth that is not claimed at once, since looks show that it may have an end: its source limits who holds it, or nobody
//! can be named who does, and the garbage collector may still come to it.

use lowtide_model::{Bytes, HolderGrown, Kind, Seconds, Sort};

use super::{MATERIAL, PLAUSIBLE, apart_from_one_another, mostly, own};
use crate::analyser::Analyser;
use crate::growth::Series;

/// Why growth is open that looks show to be held by what its source limits.
pub const FILLS: &str = "what grows is held by something that its source limits: it may be filling up";
/// Why growth is open that looks show to be of objects which no name leads to.
pub const UNREACHABLE: &str =
    "what grows are objects that no name leads to: they may be cycles which wait for the garbage collector";
/// Seconds of such growth after which it is claimed all the same: a limit that is never reached limits nothing, and what is
/// not collected for so long fills memory.
const LONGEST_S: f64 = 300.0;
/// The least share of the growth that such things must explain for nothing to be claimed.
const MOST_OF_IT: f64 = 0.5;
/// So many full collections that took nothing of it away show that the collector does not come to it: what hangs in a chain of cycles
/// goes link by link.
const COLLECTIONS: usize = 2;

/// Holds back growth that may have an end, for some minutes.
pub fn hold_back(run: &Analyser, series: &mut [Series]) {
    for series in series.iter_mut().filter(|series| series.judged.grows()) {
        let span_s = series.judged.until_s - series.judged.since_s;
        if let Some(open) = open(run, series).filter(|open| span_s < LONGEST_S && open.share >= MOST_OF_IT) {
            // Whatever it has taken so far, as much again shows whether it has an end.
            series.judged.hold_back(open.doubt, span_s.min(LONGEST_S - span_s));
        }
    }
}

/// Who holds growth that is held back, why that may have an end, and what to do.
pub fn who_may_end(run: &Analyser, series: &Series) -> Option<(String, &'static str)> {
    let Open { doubt, holder, seconds, .. } = open(run, series)?;
    let grew = format!("{} grew by {} in {}", holder.name, Bytes(own(holder).unsigned_abs()), Seconds(seconds));
    Some(if doubt == FILLS {
        let said = format!("{grew}, and its source keeps it from growing for ever ({})", holder.why);
        (said, "watch on: it must stop growing where it is full")
    } else {
        let said = format!("{grew}, and no name of the program leads there: a full collection may free it");
        (said, "watch on, or call gc.collect() once: what falls then was held by cycles")
    })
}

/// Whether growth cannot be more than likely a leak, since looks show that it may have an end.
pub fn may_end(run: &Analyser, series: &Series) -> bool {
    open(run, series).is_some()
}

/// Growth of which nothing rules out that it stops.
struct Open<'a> {
    /// Why.
    doubt: &'static str,
    /// The first of those that hold it.
    holder: &'a HolderGrown,
    /// The share of the growth that all of them explain.
    share: f64,
    /// Between the two looks.
    seconds: f64,
}

/// Where things that their source limits, or that no name leads to, explain some of the growth, and nothing else does.
fn open<'a>(run: &'a Analyser, series: &Series) -> Option<Open<'a>> {
    if series.copied || !matches!(series.kind, Kind::Anonymous | Kind::Shmem) {
        return None;
    }
    let grown = run.looks().by_process.get(&series.process?)?;
    if mostly(grown, Sort::Native) || mostly(grown, Sort::Holes) {
        return None;
    }
    let expected = series.judged.rate * grown.seconds;
    let share = |holder: &HolderGrown| own(holder) as f64 / expected;
    let apart = apart_from_one_another(&grown.holders);
    let fitting: Vec<_> = apart.into_iter().filter(|holder| (MATERIAL..=PLAUSIBLE).contains(&share(holder))).collect();
    let waits = |holder: &HolderGrown| holder.unreachable && may_be_collected(run, series);
    let all = fitting.iter().all(|holder| holder.bounded || waits(holder));
    let holder = fitting.first().copied().filter(|_| all)?;
    let doubt = if holder.bounded { FILLS } else { UNREACHABLE };
    Some(Open { doubt, holder, share: fitting.into_iter().map(share).sum(), seconds: grown.seconds })
}

/// Whether the collector may still come to what grew: it is not off, and was not seen to leave it alone.
fn may_be_collected(run: &Analyser, series: &Series) -> bool {
    let Some(line) = series.process.and_then(|id| run.marks().of(id)) else { return true };
    !line.gc_disabled() && line.collections(series.judged.since_s, series.judged.until_s) < COLLECTIONS
}
