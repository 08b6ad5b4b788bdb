//! Growth that is not claimed at once, since looks show that it may have an end: somebody holds it whom the source, or the container
//! itself, limits; or no name leads to it, and the garbage collector may still come.
//!
//! Before that it cannot be told from a leak by anything else. Where a container says how many elements it takes, it is known when it
//! will be full, and nothing is claimed until then, if there is the memory for it. Else nothing is claimed for some minutes, and after
//! them the growth is no more than likely a leak.

use lowtide_model::{Bytes, HolderGrown, Kind, Seconds, Sort};

use super::blame::{apart_from_one_another, own};
use super::holders::{are_holes_alone, between_holes, holes};
use super::{MATERIAL, PLAUSIBLE, mostly};
use crate::analyser::Analyser;
use crate::growth::Series;
use crate::judge::{Outcome, SURE_S};
use crate::marks::Line;

/// Why growth is open that looks show to be held by what its source limits.
pub const FILLS: &str = "what grows is held by something that its source limits: it may be filling up";
/// Why growth is open that looks show to be of objects which no name leads to.
pub const UNREACHABLE: &str =
    "what grows are objects that no name leads to: they may be cycles which wait for the garbage collector";
/// Why growth is open that is free inside malloc, and does not go on as it began.
pub const SETTLES: &str =
    "what grows is free inside the allocator, and comes more slowly: healthy programs have such holes until they fit";
/// Seconds of such growth after which it is claimed all the same: a limit that is never reached limits nothing, and what is
/// not collected for so long fills memory.
const LONGEST_S: f64 = 300.0;
/// The same in a first epoch, and before it: what keeps each sample of a data set is full after it, and the data set is read by then.
const EPOCH_S: f64 = 3600.0;
/// The least share of the growth that such things must explain for nothing to be claimed.
const MOST_OF_IT: f64 = 0.5;
/// So many full collections that took nothing of it away show that the collector does not come to it: what hangs in a chain of cycles
/// goes link by link.
const COLLECTIONS: usize = 2;
/// What fills up may take so many times as long as its rate between two looks says: runs slow down for validation and checkpoints.
const LATE: f64 = 1.5;
/// And so much longer, seconds: that it has stopped must show.
const SHOWS_S: f64 = 30.0;

/// The second look at a process comes so many epochs after the first.
pub const EPOCHS: f64 = 2.0;
/// And so large a part of the time before the first one after it.
pub const PART: f64 = 0.25;
/// And up to so many seconds after it, where growth is not claimed yet.
pub const APART_S: f64 = 15.0;
/// A low tide is waited for, and the look itself takes its time, seconds.
const COMES_S: f64 = 20.0;

/// Holds back growth that may have an end, for as long as that may still come.
pub fn hold_back(run: &Analyser, series: &mut [Series]) {
    for series in series.iter_mut().filter(|series| series.judged.grows()) {
        let span_s = series.judged.until_s - series.judged.since_s;
        // Things of many ages and sizes leave holes between them, until there are as many as it takes.
        // What was seen for so long and is no leak for certain does not go on as it began.
        let slows = series.judged.outcome == Outcome::Rising && span_s >= SURE_S;
        if slows && span_s < LONGEST_S && are_holes_alone(run, series) {
            series.judged.hold_back(SETTLES, span_s.min(LONGEST_S - span_s));
            continue;
        }
        let Some(open) = open(run, series).filter(|open| open.share >= MOST_OF_IT) else { continue };
        let now_s = series.judged.until_s;
        match open.full.filter(|full| full.fits(run, now_s)) {
            Some(full) if now_s < full.sure_s => series.judged.hold_back(open.doubt, full.sure_s - now_s),
            // Whatever it has taken so far, as much again shows whether it has an end.
            None if span_s < LONGEST_S => series.judged.hold_back(open.doubt, span_s.min(LONGEST_S - span_s)),
            None if open.doubt == FILLS
                && span_s < EPOCH_S
                && (is_first_epoch(run, series) || is_being_made(run, series, &open)) =>
            {
                series.judged.hold_back(open.doubt, span_s.min(EPOCH_S - span_s));
            }
            _ => {}
        }
    }
}

/// Whether each sample comes for the first time, as far as the process, or who trains, has told.
fn is_first_epoch(run: &Analyser, series: &Series) -> bool {
    let own = series.process.and_then(|id| run.marks().of(id)).and_then(Line::epoch_now);
    own.or_else(|| run.marks().leader()?.epoch_now()) == Some(0)
}

/// Whether all that fills is filled before the training, nothing has been trained yet, and memory does not end before much more of it.
fn is_being_made(run: &Analyser, series: &Series, open: &Open) -> bool {
    let has_room = run.limits().left() as f64 > LONGEST_S * series.judged.rate;
    open.making && has_room && run.marks().trained_from_to().is_none()
}

/// Who holds growth that is held back, why that may have an end, and what to do.
pub fn who_may_end(run: &Analyser, series: &Series) -> Option<(String, &'static str)> {
    let open = open(run, series)?;
    let grew = format!("{} grew by {} in {}", open.holder.name, Bytes(own(open.holder).unsigned_abs()), Seconds(open.seconds));
    Some(if open.doubt == FILLS {
        (format!("{grew}{}", limit(run, series, &open)), "watch on: it must stop growing where it is full")
    } else {
        let said = format!("{grew}, and no name of the program leads there: a full collection may free it");
        (said, "watch on, or call gc.collect() once: what falls then was held by cycles")
    })
}

/// What limits it, and when it is full.
fn limit(run: &Analyser, series: &Series, open: &Open) -> String {
    let Some(full) = &open.full else {
        return format!(", and its source keeps it from growing for ever ({})", open.holder.why);
    };
    let left_s = full.at_s - series.judged.until_s;
    let when = match left_s > 0.0 {
        true => {
            format!("at this rate it is full in {}, with {} more", Seconds(left_s), Bytes(full.bytes_at(series.judged.until_s)))
        }
        false => "by its rate it is full by now".to_owned(),
    };
    let room = if full.fits(run, series.judged.until_s) { "" } else { ", and that is more memory than is left" };
    format!(": it fills up to {} elements ({} when it was looked into); {when}{room}", full.limit, full.len)
}

/// Whether growth cannot be more than likely a leak, since looks show that it may have an end.
pub fn may_end(run: &Analyser, series: &Series) -> bool {
    open(run, series).is_some()
}

/// Whether a look that may show so is still to come: a process was looked into once, and its second look tells what grows. It comes some
/// seconds and epochs after the first, at a low tide; for one that does not come nobody waits for ever.
pub fn is_awaited(run: &Analyser, series: &Series) -> bool {
    let Some(first_s) = series.process.and_then(|id| run.looks().alone_s(id)).filter(|_| !run.over()) else { return false };
    let epoch_s = series.process.and_then(|id| run.marks().of(id)?.epoch_s(f64::NEG_INFINITY, f64::INFINITY));
    let apart_s = epoch_s.map_or(0.0, |epoch_s| EPOCHS * epoch_s).min(LONGEST_S).max(PART * first_s).max(APART_S);
    run.last_s() < first_s + apart_s + COMES_S
}

/// Growth of which nothing rules out that it stops.
struct Open<'a> {
    /// Why.
    doubt: &'static str,
    /// The first of those who hold it.
    holder: &'a HolderGrown,
    /// The share of the growth that all of them explain, with the holes between what they keep.
    share: f64,
    /// Whether all of them are filled while they are made.
    making: bool,
    /// Between the two looks.
    seconds: f64,
    /// When the last of them is full, where all of them say how many elements they take.
    full: Option<Full>,
}

/// The end of filling.
#[derive(Clone, Copy)]
struct Full {
    /// Elements that it had at the last look, and that it takes.
    len: u64,
    limit: u64,
    /// When it is full by the rate between two looks, and when for sure, seconds.
    at_s: f64,
    sure_s: f64,
    /// By how many bytes a second it grows until then.
    rate: f64,
}

impl Full {
    /// By what a holder was at a look, and by how many bytes a second the process has grown since.
    fn of(holder: &HolderGrown, look_s: f64, seconds: f64, rate: f64) -> Option<Self> {
        let (limit, [before, len]) = (holder.limit?, holder.len?);
        let more = len.checked_sub(before).filter(|more| *more > 0)? as f64;
        let between = own(holder).max(0) as f64 / seconds;
        // It may have become slower since.
        let slower = if rate > 0.0 && rate < between { between / rate } else { 1.0 };
        let left_s = limit.saturating_sub(len) as f64 * seconds / more * slower;
        let sure_s = look_s + LATE * left_s + SHOWS_S;
        Some(Self { len, limit, at_s: look_s + left_s, sure_s, rate: between / slower })
    }

    /// Bytes that are still to come.
    fn bytes_at(&self, now_s: f64) -> u64 {
        (self.rate * (self.at_s - now_s).max(0.0)) as u64
    }

    /// Whether there is the memory for it: a limit that is never reached limits nothing.
    fn fits(&self, run: &Analyser, now_s: f64) -> bool {
        run.limits().left() > self.bytes_at(now_s)
    }
}

/// Where what is limited, or what no name leads to, explains some of the growth, and nothing else does.
fn open<'a>(run: &'a Analyser, series: &Series) -> Option<Open<'a>> {
    if series.copied || !matches!(series.kind, Kind::Anonymous | Kind::Shmem) {
        return None;
    }
    let (look_s, grown) = run.looks().grown(series.process?)?;
    let apart = apart_from_one_another(&grown.holders);
    let by_holes = between_holes(run, series, grown, &apart);
    if mostly(grown, Sort::Native) || mostly(grown, Sort::Holes) && by_holes.is_none() {
        return None;
    }
    let expected = series.judged.rate * grown.seconds;
    let share = |holder: &HolderGrown| own(holder) as f64 / expected;
    let mut fitting: Vec<_> = apart.into_iter().filter(|holder| (MATERIAL..=PLAUSIBLE).contains(&share(holder))).collect();
    if fitting.is_empty() {
        fitting.extend(by_holes);
    }
    let waits = |holder: &HolderGrown| holder.unreachable && may_be_collected(run, series);
    let all = fitting.iter().all(|holder| holder.bounded || waits(holder));
    let holder = fitting.first().copied().filter(|_| all)?;
    let making = fitting.iter().all(|holder| holder.making);
    let full: Option<Vec<Full>> =
        fitting.iter().map(|holder| Full::of(holder, look_s, grown.seconds, series.judged.rate)).collect();
    let full = full.and_then(|full| full.into_iter().max_by(|a, b| a.at_s.total_cmp(&b.at_s)));
    let doubt = if holder.bounded { FILLS } else { UNREACHABLE };
    let held: f64 = fitting.into_iter().map(share).sum();
    // What is kept between things that come and go leaves holes, as much again: no more of them come when no more is kept.
    let between = holes(grown) as f64 / expected;
    let share = if by_holes.is_some() { held + between } else { held + between.clamp(0.0, held) };
    Some(Open { doubt, holder, share, making, seconds: grown.seconds, full })
}

/// Whether the collector may still come to what grew: it is not off, and was not seen to leave it alone.
fn may_be_collected(run: &Analyser, series: &Series) -> bool {
    let Some(line) = series.process.and_then(|id| run.marks().of(id)) else { return true };
    !line.gc_disabled() && line.collections(series.judged.since_s, series.judged.until_s) < COLLECTIONS
}
