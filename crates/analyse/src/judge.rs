//! The verdict on one series.
//!
//! 1. The tear-down is cut off and the low-water envelope taken ([`crate::floor`]).
//! 2. The line through the later half of the envelope is extended back as far as it fits: what lies before is warm-up.
//! 3. This last uniform stretch is cut into blocks longer than any spike seen; a line goes through the blocks'
//!    minima ([`crate::trend`]).
//! 4. Growth must be significant, larger than an allocator's chunks, made of several rises, and must not have stopped
//!    ([`crate::shape`]) before it is called a leak.

pub use crate::ask::Ask;
use crate::blocks::{Rises, block_minima};
use crate::excursion::{self, Excursions};
use crate::floor::{Point, envelope, without_teardown};
use crate::pyramid::Window;
use crate::shape::{self, Hinge};
use crate::stretch::{WarmUp, after_start_up, late_rise, longest_pause, thin, uniform_stretch};
use crate::trend::{self, Trend};

/// What a series does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Not enough data for anything.
    TooShort,
    /// The low tide does not rise.
    Flat,
    /// It rose after the warm-up and has stopped.
    Stopped,
    /// Something rises or swings, and what it is cannot be told yet.
    Unclear,
    /// It rises; that it will stop is not ruled out.
    Rising,
    /// It rises without bound, as far as can be seen.
    Leaking,
}

/// The verdict on one series, with its evidence. Values in the unit of the series, times in its seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// What it does.
    pub outcome: Outcome,
    /// Why, where it is unclear.
    pub doubt: &'static str,
    /// The uniform last stretch: from.
    pub since_s: f64,
    /// The uniform last stretch: to.
    pub until_s: f64,
    /// Growth per second of the low-water mark (0 where it is level).
    pub rate: f64,
    /// Its 95 % interval.
    pub ci95: [f64; 2],
    /// Rise of the low-water mark over the last stretch.
    pub rise: f64,
    /// Blocks (low tides) that the rate rests on.
    pub tides: usize,
    /// How many standard errors the rate is above zero.
    pub t: f64,
    /// The smallest steady growth per second that would have been found.
    pub detectable: f64,
    /// Seconds still to watch.
    pub more_s: f64,
    /// The low-water mark at the end.
    pub floor: f64,
    /// Rise of the low-water mark between start-up and the level that it stopped at; 0 where there was none.
    pub rose_before: f64,
    /// When that rise began and ended, seconds.
    pub rose_from_to: (f64, f64),
    /// What came back.
    pub excursions: Excursions,
    /// The highest value.
    pub peak: f64,
    /// Half of the growth came in one step.
    pub one_step: bool,
    /// Its rise is significant and large enough to matter, whether or not anything can be claimed of it yet.
    pub rising: bool,
    /// Its low tides are what lives between the steps: spikes hide those of its pages.
    pub between_steps: bool,
}

impl Judged {
    /// It rises, by either degree of certainty.
    #[must_use]
    pub fn grows(&self) -> bool {
        matches!(self.outcome, Outcome::Rising | Outcome::Leaking)
    }

    /// What it rose by is nearly all that there is.
    fn is_nearly_all(&self) -> bool {
        self.rise >= NEARLY_ALL * self.floor
    }

    /// Claims nothing of it after all, for so many seconds more.
    pub fn hold_back(&mut self, doubt: &'static str, more_s: f64) {
        unclear(self, doubt, more_s);
    }
}

/// Shortest stretch, in seconds, on which anything is claimed: replay buffers and frame caches of real runs fill
/// for about this long after start-up, and look like leaks while they do.
pub const CLAIM_S: f64 = 15.0;
/// Shortest stretch, in seconds, after which bounded growth counts as ruled out.
pub const SURE_S: f64 = 60.0;
/// Growth per second that a checkpoint or a data set can be loaded at, where leaks are slower as a rule. Bytes.
const LOADING_RATE: f64 = 20.0 * 1024.0 * 1024.0;
/// The share of all that there is from which on a rise may be the loading of it.
const NEARLY_ALL: f64 = 0.75;
/// Why nothing is claimed of what looks like it.
pub(crate) const LOADS: &str = "it may still be loading";
/// Shortest stretch, in seconds, on which growth is claimed that looks like loading.
const LOADING_S: f64 = 120.0;
/// The fewest low tides for a trend.
pub const FEWEST: usize = 6;
/// Standard errors that growth must be above zero. Set by the study in `tests/study.rs`: at serial correlations up to
/// 0.99 it keeps false alarms under 1 %.
const SIGNIFICANT: f64 = 5.0;
/// Standard errors between the significant and the detectable rate: 95 % of a normal distribution.
const POWER: f64 = 1.645;
/// Standard errors of growth that is found in 95 of 100 cases.
pub(crate) const NEEDED: f64 = SIGNIFICANT + POWER;
/// Standard errors between the rate at which a stop shows and the one at which it shows nearly always (87 % of a normal
/// distribution; in the rest the last quarter's own rise is plain).
const STOP_POWER: f64 = 1.5;
/// A line's squared residuals over those of "rises, then level", above which growth has stopped or may have.
const BENT: f64 = 2.0;
/// How much worse, as an F statistic on the blocks, "rose, and stopped in the last quarter" must be than a line:
/// 8 is about the 1 % point.
const STOP_F: f64 = 8.0;
/// The same as an F statistic on the blocks; 10 is the 1 % point for one and 12 degrees of freedom.
const BENT_F: f64 = 10.0;

/// Judges a series.
#[must_use]
pub fn judge(all: &[Window], ask: Ask) -> Judged {
    let kept = if ask.ended { without_teardown(all, ask.quantum) } else { all.len() };
    let windows = &all[..kept];
    let points = envelope(windows);
    let chunk = ask.least;
    let ask = ask.over(windows.last().map_or(0.0, |w| w.end_s - windows[0].start_s));
    let tolerance = excursion::tolerance(windows, ask.least.max(late_rise(&points) / 3.0));
    let excursions = excursion::find(windows, &points, tolerance);
    let mut judged = empty(windows, &points, excursions);
    let duration = judged.until_s - judged.since_s;
    if points.len() < 8 || duration < 4.0 {
        judged.more_s = (CLAIM_S - duration).max(1.0);
        return judged;
    }
    // What never reached the least growth has not grown by it.
    if judged.peak < ask.least && duration >= CLAIM_S {
        judged.outcome = Outcome::Flat;
        judged.detectable = 1.1 * ask.least / duration;
        return judged;
    }
    let mut start = uniform_stretch(&points, tolerance);
    if ask.fresh && start == 0 {
        start = after_start_up(&points);
    }
    let stretch = &points[start..];
    judged.since_s = stretch[0].t_s;
    let span = judged.until_s - judged.since_s;
    let warm_up = WarmUp::of(&points[..=start], ask);

    let blocks = block_minima(&windows[start..], judged.excursions.longest_s);
    let (blocks, wider) = shape::without_step(&blocks, chunk, ask.quantum);
    let fitted = trend::fit(&blocks, ask.quantum).filter(|trend| trend.n >= FEWEST);
    let fitted = fitted.map(|trend| Trend { error: wider * trend.error, ..trend });
    let Some(trend) = fitted else {
        few_tides(&mut judged, &windows[start..], ask);
        return judged;
    };
    judged.tides = trend.n;
    judged.t = trend.t();
    judged.rate = trend.slope;
    judged.ci95 = [trend.slope - 1.96 * trend.error, trend.slope + 1.96 * trend.error];
    judged.rise = (stretch[stretch.len() - 1].floor - stretch[0].floor).max(0.0);
    let rises = Rises::of(&blocks, &windows[start..], ask.quantum);
    let stop = shape::Stop::of(&blocks, 0.5 * ask.quantum);
    judged.detectable = (NEEDED * trend.error)
        .max(1.1 * ask.least.max(rises.swing) / span.max(CLAIM_S) + POWER * trend.error)
        .max(((STOP_F.sqrt() + STOP_POWER) * stop.per_second()).min(rises.late_needs));
    judged.one_step = rises.one_step || rises.largest > 0.5 * judged.rise;

    let fine = thin(stretch, 64);
    let hinge = shape::hinge(&fine, ask.quantum);
    // Twice: once on fine points, where a clean ceiling shows however late it was reached, and once on the blocks'
    // minima, whose scatter says how much of a bend is noise.
    let bent = hinge.filter(|hinge| hinge.ratio >= BENT);
    let bent = bent.or_else(|| shape::hinge(&blocks, ask.quantum).filter(|hinge| hinge.f(blocks.len()) >= BENT_F));
    if bent.is_some_and(|hinge| stopped(&mut judged, &windows[start..], stretch, &hinge, &warm_up, ask)) {
        return judged;
    }
    if grows(&judged, &trend, &rises, ask) {
        judged.rising = true;
        if stop.f < STOP_F && !rises.late {
            unclear(&mut judged, "it grew; whether it still does cannot be told yet", 0.3 * span);
            return judged;
        }
        growing(&mut judged, &trend, &fine, hinge.as_ref(), &warm_up, ask.fresh);
    } else {
        level(&mut judged, &trend, &rises, &warm_up, &windows[start..], ask);
    }
    judged
}

fn empty(windows: &[Window], points: &[Point], excursions: Excursions) -> Judged {
    let (since_s, until_s) = (windows.first().map_or(0.0, |w| w.start_s), windows.last().map_or(0.0, |w| w.end_s));
    Judged {
        outcome: Outcome::TooShort,
        doubt: "",
        since_s,
        until_s,
        rate: 0.0,
        ci95: [0.0; 2],
        rise: 0.0,
        tides: 0,
        t: 0.0,
        detectable: f64::INFINITY,
        more_s: 0.0,
        floor: points.last().map_or(0.0, |p| p.floor),
        rose_before: 0.0,
        rose_from_to: (since_s, since_s),
        excursions,
        peak: windows.iter().fold(0.0, |peak, w| peak.max(w.high)),
        one_step: false,
        rising: false,
        between_steps: false,
    }
}

fn grows(judged: &Judged, trend: &Trend, rises: &Rises, ask: Ask) -> bool {
    let span = judged.until_s - judged.since_s;
    judged.t >= SIGNIFICANT && trend.slope * span >= ask.least.max(rises.swing) && rises.count >= 4 && !rises.one_step
}

/// Twice the rise of the minimum from the first to the second half of a time: of the values, not of the envelope,
/// whose last points follow the last value up.
fn rise_within(windows: &[Window], from_s: f64, to_s: f64) -> f64 {
    let middle = f64::midpoint(from_s, to_s);
    let low = |from: f64, to: f64| {
        windows.iter().filter(|w| w.low_at_s >= from && w.low_at_s <= to).map(|w| w.low).fold(f64::INFINITY, f64::min)
    };
    let rise = 2.0 * (low(middle, to_s) - low(from_s, middle));
    if rise.is_finite() { rise } else { 0.0 }
}

/// The envelope rose and is level since: how certain that is decides between "stopped" and "unclear".
/// False where a line describes it better.
fn stopped(judged: &mut Judged, windows: &[Window], stretch: &[Point], hinge: &Hinge, warm_up: &WarmUp, ask: Ask) -> bool {
    let level_s = judged.until_s - hinge.at_s;
    let missing = hinge.slope * level_s;
    let still_rising = rise_within(windows, hinge.at_s, judged.until_s);
    let material = hinge.slope > 0.0 && missing >= ask.least.min(0.05 * judged.rise);
    if !material || still_rising > 0.3 * missing || hinge.level - stretch[0].floor < ask.least {
        return false;
    }
    let needed = level_needed(longest_pause(stretch, hinge.at_s, ask), hinge.at_s - judged.since_s);
    if still_rising > 2.0 * ask.least {
        unclear(judged, "it rose fast and may go on slowly", level_s);
    } else if level_s >= needed && missing >= ask.least {
        judged.rose_before = warm_up.rise + hinge.level - stretch[0].floor;
        judged.rose_from_to = (if warm_up.rise > 0.0 { warm_up.from_to.0 } else { judged.since_s }, hinge.at_s);
        judged.since_s = hinge.at_s;
        judged.detectable = 1.1 * ask.least / level_s;
        judged.rate = 0.0;
        judged.outcome = Outcome::Stopped;
    } else {
        unclear(judged, "it rose and may have stopped", needed - level_s);
    }
    true
}

fn growing(judged: &mut Judged, trend: &Trend, fine: &[(f64, f64)], hinge: Option<&Hinge>, warm_up: &WarmUp, fresh: bool) {
    let span = judged.until_s - judged.since_s;
    let late = shape::late_share(fine, trend.slope, trend.residual);
    if late.is_some_and(|(share, error)| share + 1.645 * error < 0.5) {
        return unclear(judged, "its growth is slowing down", 0.5 * span);
    }
    if span < CLAIM_S {
        return unclear(judged, "it grows, and so does a cache that fills up", CLAIM_S - span);
    }
    if span < 1.5 * judged.excursions.longest_s {
        let more = 1.5 * judged.excursions.longest_s - span;
        return unclear(judged, "it grows, as it did before it came back down", more);
    }
    // From the start on, fast, and nearly all that it has: that is also how a model or a data set is loaded.
    let loading = fresh && judged.is_nearly_all() && judged.rate >= LOADING_RATE;
    if loading && span < LOADING_S {
        return unclear(judged, LOADS, LOADING_S - span);
    }
    let steady = late.is_some_and(|(share, _)| share >= 0.6) && hinge.is_none_or(|h| h.ratio < 1.6);
    let sure_s = if loading { 2.5 * LOADING_S } else { SURE_S };
    let sure = span >= sure_s && judged.tides >= 10 && steady && span >= warm_up.rise_s;
    judged.outcome = if sure { Outcome::Leaking } else { Outcome::Rising };
    judged.more_s = 0.0;
}

/// Seconds in which there are enough low tides between excursions of up to `longest_s`.
pub(crate) fn few_tides_s(longest_s: f64) -> f64 {
    FEWEST as f64 * 1.3 * longest_s
}

/// Where excursions are so long that there are too few low tides for a trend, one thing can still be seen: that
/// it came back down to where it was.
fn few_tides(judged: &mut Judged, stretch: &[Window], ask: Ask) {
    let span = judged.until_s - judged.since_s;
    let low = |from: f64, to: f64| {
        let inside = |w: &&Window| (from..=to).contains(&((w.low_at_s - judged.since_s) / span));
        stretch.iter().filter(inside).map(|w| w.low).fold(f64::INFINITY, f64::min)
    };
    let (early, late) = (low(0.0, 0.5), low(0.5, 0.95));
    if span >= CLAIM_S && late <= early + ask.least {
        judged.ci95 = [0.0, 2.0 * (ask.least + (late - early).max(0.0)) / span];
        judged.outcome = Outcome::Flat;
    } else {
        let needed = few_tides_s(judged.excursions.longest_s).max(1.5 * span);
        unclear(judged, "it swings too much, or too slowly, for the time watched", (needed - span).max(5.0));
    }
}

fn level(judged: &mut Judged, trend: &Trend, rises: &Rises, warm_up: &WarmUp, stretch: &[Window], ask: Ask) {
    let span = judged.until_s - judged.since_s;
    let rise = trend.slope * span;
    let suspicious = judged.t >= 2.5 && rises.count >= 3 && !rises.one_step && rise > ask.quantum;
    if suspicious {
        // The least growth grows with the root of time, the growth with time: they meet at the square.
        let short = ask.least / (trend.slope * span).max(1e-12);
        let by_size = span * (if ask.drifts { short * short } else { short } - 1.0).max(0.0);
        // The error of a slope falls with the 1.5th power of the time watched.
        let by_noise = span * ((SIGNIFICANT / judged.t).max(1.0).powf(2.0 / 3.0) - 1.0);
        return unclear(judged, "it may grow slowly", by_size.max(by_noise).max(CLAIM_S - span).max(5.0));
    }
    let needed = if warm_up.rise > 0.0 { level_needed(warm_up.pause_s, warm_up.rise_s) } else { CLAIM_S };
    if span < needed.min(CLAIM_S) || span < 2.0 * warm_up.pause_s {
        return unclear(judged, "it is level for too short a time", needed.max(2.0 * warm_up.pause_s) - span);
    }
    // A claim that nothing grows must mean something: growth that doubles the floor in a minute would have shown.
    if judged.detectable * 60.0 > judged.floor.max(4.0 * ask.least) {
        return few_tides(judged, stretch, ask);
    }
    judged.rate = 0.0;
    judged.rose_before = warm_up.rise;
    judged.rose_from_to = warm_up.from_to;
    judged.outcome = if warm_up.rise > 0.0 { Outcome::Stopped } else { Outcome::Flat };
}

fn unclear(judged: &mut Judged, doubt: &'static str, more_s: f64) {
    judged.outcome = Outcome::Unclear;
    judged.doubt = doubt;
    judged.more_s = more_s.max(1.0);
}

/// How long growth must stay away before it counts as stopped: three times its longest pause while it lasted (a
/// staircase pauses too), and long against the time that it took.
fn level_needed(pause_s: f64, rose_s: f64) -> f64 {
    (3.0 * pause_s).max(0.2 * rose_s).max(5.0)
}
