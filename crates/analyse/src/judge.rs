//! The verdict on one series.
//!
//! 1. The tear-down is cut off and the low-water envelope taken ([`crate::floor`]).
//! 2. The line through the later half of the envelope is extended back as far as it fits: what lies before is warm-up.
//! 3. This last uniform stretch is cut into blocks longer than any spike seen; a line goes through the blocks'
//!    minima ([`crate::trend`]).
//! 4. Growth must be significant, larger than an allocator's chunks, made of several rises, and must not have stopped
//!    ([`crate::shape`]) before it is called a leak.

use crate::excursion::{self, Excursions};
use crate::floor::{Point, envelope, without_teardown};
use crate::pyramid::Window;
use crate::shape::{self, Hinge};
use crate::trend::{self, Trend};

/// What to ask of a series.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// Resolution of the values: changes below it mean nothing.
    pub quantum: f64,
    /// The least growth worth a verdict.
    pub least: f64,
    /// The least growth grows with the time watched, as the drift of an allocator does.
    pub drifts: bool,
    /// The series is over: look for a tear-down.
    pub ended: bool,
    /// It began from nothing: its first steep rise is start-up. (A forked child, or a process that was attached to,
    /// has none.)
    pub fresh: bool,
}

impl Ask {
    /// For bytes of memory. A healthy torch run drifts by single allocator chunks of 1 MiB (2 in 290 s were
    /// measured): one such step is no growth, and a verdict needs half as much again in several rises, so that 5 MiB
    /// per minute show in twenty seconds.
    #[must_use]
    pub fn bytes(ended: bool, fresh: bool) -> Self {
        Self { quantum: 256.0 * 1024.0, least: 1.5 * 1024.0 * 1024.0, drifts: true, ended, fresh }
    }

    /// For shares of pages (PSS): they move with every fork and exit around, so a verdict needs more.
    #[must_use]
    pub fn shares(ended: bool) -> Self {
        Self { quantum: 1024.0 * 1024.0, least: 8.0 * 1024.0 * 1024.0, drifts: true, ended, fresh: false }
    }

    /// For counts of processes, threads and file descriptors.
    #[must_use]
    pub fn count(ended: bool) -> Self {
        Self { quantum: 0.9, least: 5.0, drifts: false, ended, fresh: false }
    }
}

/// Seconds for which the least growth is enough as it stands.
const DRIFT_S: f64 = 30.0;

impl Ask {
    /// The same with the least growth for so many seconds. Single chunks come and stay at random moments, so what a
    /// healthy run drifts by grows with the root of time: 1.5 MiB in half a minute, 16 MiB in an hour, 80 MiB in a day.
    fn over(self, seconds: f64) -> Self {
        let factor = if self.drifts { (seconds / DRIFT_S).sqrt().max(1.0) } else { 1.0 };
        Self { least: self.least * factor, ..self }
    }
}

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
}

impl Judged {
    /// It rises, by either degree of certainty.
    #[must_use]
    pub fn grows(&self) -> bool {
        matches!(self.outcome, Outcome::Rising | Outcome::Leaking)
    }
}

/// Shortest stretch, in seconds, on which anything is claimed: replay buffers and frame caches of real runs fill
/// for about this long after start-up, and look like leaks while they do.
pub const CLAIM_S: f64 = 15.0;
/// Shortest stretch, in seconds, after which bounded growth counts as ruled out.
const SURE_S: f64 = 60.0;
/// Blocks that the last stretch is cut into at most; at least [`FEWEST`] are needed.
const BLOCKS: usize = 16;
const FEWEST: usize = 6;
/// Standard errors that growth must be above zero. Set by the study in `tests/study.rs`: at serial correlations up to
/// 0.99 it keeps false alarms under 1 %.
const SIGNIFICANT: f64 = 5.0;
/// Standard errors between the significant and the detectable rate: 95 % of a normal distribution.
const POWER: f64 = 1.645;
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
    let start = uniform_stretch(&points, tolerance);
    let stretch = &points[start..];
    judged.since_s = stretch[0].t_s;
    let span = judged.until_s - judged.since_s;
    let warm_up = WarmUp::of(&points[..=start], ask);

    let blocks = block_minima(&windows[start..], judged.excursions.longest_s);
    let fitted = trend::fit(&blocks, ask.quantum).filter(|trend| trend.n >= FEWEST);
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
    let stop = shape::Stop::of(&blocks, ask.quantum);
    judged.detectable = ((SIGNIFICANT + POWER) * trend.error)
        .max(1.1 * ask.least.max(rises.swing) / span.max(CLAIM_S) + POWER * trend.error)
        .max(1.1 * (STOP_F.sqrt() + POWER) * stop.per_second(trend.scatter()));
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
        if stop.f < STOP_F && !rises.late {
            unclear(&mut judged, "it grew; whether it still does cannot be told yet", 0.3 * span);
            return judged;
        }
        growing(&mut judged, &trend, &fine, hinge.as_ref(), &warm_up);
    } else {
        level(&mut judged, &trend, &rises, &warm_up, &windows[start..], ask);
    }
    judged
}

/// Rise of the envelope over the later half, without its provisional last tenth.
fn late_rise(points: &[Point]) -> f64 {
    let at = |share: usize| points.get(points.len() * share / 100).map_or(0.0, |p| p.floor);
    at(90) - at(50)
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
    }
}

/// The index from which the envelope follows the line of its later half: everything before is warm-up.
fn uniform_stretch(points: &[Point], tolerance: f64) -> usize {
    let (first, last) = (points[0].t_s, points[points.len() - 1].t_s);
    let middle = points.partition_point(|p| p.t_s < f64::midpoint(first, last)).min(points.len() - 4);
    let late: Vec<(f64, f64)> = thin(&points[middle..], 48);
    let slope = trend::theil_sen(&late);
    let mut offsets: Vec<f64> = late.iter().map(|p| p.1 - slope * p.0).collect();
    let intercept = trend::median(&mut offsets);
    let mut misfits: Vec<f64> = offsets.iter().map(|o| (o - intercept).abs()).collect();
    let noise = trend::median(&mut misfits);
    let end_floor = intercept + slope * last;
    // A point fits while it is off the line by less than an eighth of the growth from there on (or than noise).
    let fits = |p: &Point| {
        let growth = (end_floor - p.floor).max(0.0);
        (p.floor - intercept - slope * p.t_s).abs() <= (0.125 * growth).max(4.0 * noise).max(tolerance)
    };
    let mut start = middle;
    while start > 0 && fits(&points[start - 1]) {
        start -= 1;
    }
    start
}

/// Evenly spread points of an envelope, at most `most`.
fn thin(points: &[Point], most: usize) -> Vec<(f64, f64)> {
    let step = points.len().div_ceil(most).max(1);
    // Counted from the end, so that the newest point is always there.
    let mut thinned: Vec<(f64, f64)> = points.iter().rev().step_by(step).map(|p| (p.t_s, p.floor)).collect();
    thinned.reverse();
    thinned
}

/// The minimum of each of up to [`BLOCKS`] blocks of equal length, none shorter than one and a quarter of the
/// longest excursion, so that each block holds a low tide.
fn block_minima(windows: &[Window], longest_s: f64) -> Vec<(f64, f64)> {
    let (first, last) = (windows[0].start_s, windows[windows.len() - 1].end_s);
    let span = last - first;
    let by_tides = if longest_s > 0.0 { (span / (1.25 * longest_s)) as usize } else { BLOCKS };
    let count = by_tides.min(BLOCKS).min(windows.len());
    let mut blocks: Vec<(f64, f64)> = Vec::with_capacity(count);
    let mut current = usize::MAX;
    for window in windows {
        let index = (((window.low_at_s - first) / span * count as f64) as usize).min(count.saturating_sub(1));
        match blocks.last_mut() {
            Some(block) if index == current => {
                if window.low < block.1 {
                    *block = (window.low_at_s, window.low);
                }
            }
            _ => {
                blocks.push((window.low_at_s, window.low));
                current = index;
            }
        }
    }
    blocks
}

/// The rises from block to block.
struct Rises {
    /// How many are above the quantum.
    count: usize,
    /// The largest.
    largest: f64,
    /// The usual change from tick to tick: a drift below it can be the beat of a fast cycle with the sampling.
    swing: f64,
    /// The last quarter's own rise is plain to see.
    late: bool,
    /// One step describes the blocks better than a line does: a single step must not make a trend.
    one_step: bool,
}

impl Rises {
    fn of(blocks: &[(f64, f64)], windows: &[Window], quantum: f64) -> Self {
        let rises = blocks.windows(2).map(|pair| pair[1].1 - pair[0].1);
        // Slow growth rises by less than a quantum per block: then count against the mean rise.
        let total = blocks.last().map_or(0.0, |last| last.1 - blocks[0].1);
        let mean = total / (blocks.len() - 1).max(1) as f64;
        let bar = quantum.min(0.5 * mean.max(0.0)).max(1e-9);
        Self {
            count: rises.clone().filter(|rise| *rise > bar).count(),
            largest: rises.fold(0.0, f64::max),
            swing: excursion::swing(windows),
            late: late_is_plain(blocks, 6.0 * quantum),
            one_step: shape::one_step(blocks, quantum),
        }
    }
}

/// Whether the last quarter of the blocks rises by itself: by more than `least`, more than six times the blocks'
/// scatter from one to the next (by second differences, which a bend does not inflate), and at two fifths of the
/// mean rate or more.
fn late_is_plain(blocks: &[(f64, f64)], least: f64) -> bool {
    let late = &blocks[blocks.len() - blocks.len() / 4 - 1..];
    let (Some(first), Some(last)) = (late.first(), late.last()) else { return false };
    let mut bends: Vec<f64> = blocks.windows(3).map(|three| (three[0].1 - 2.0 * three[1].1 + three[2].1).abs()).collect();
    // In white noise a second difference has sqrt(6) standard deviations; its median size is 0.6745 of that.
    let scatter = trend::median(&mut bends) / (0.6745 * 6.0_f64.sqrt());
    let all = &blocks[blocks.len() - 1];
    let mean = (all.1 - blocks[0].1) / (all.0 - blocks[0].0);
    let rise = last.1 - first.1;
    late.len() >= 3 && rise >= least && rise >= 6.0 * scatter && rise >= 0.4 * mean * (last.0 - first.0)
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
        judged.rate = 0.0;
        judged.outcome = Outcome::Stopped;
    } else {
        unclear(judged, "it rose and may have stopped", needed - level_s);
    }
    true
}

fn growing(judged: &mut Judged, trend: &Trend, fine: &[(f64, f64)], hinge: Option<&Hinge>, warm_up: &WarmUp) {
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
    let steady = late.is_some_and(|(share, _)| share >= 0.6) && hinge.is_none_or(|h| h.ratio < 1.6);
    let sure = span >= SURE_S && judged.tides >= 10 && steady && span >= warm_up.rise_s;
    judged.outcome = if sure { Outcome::Leaking } else { Outcome::Rising };
    judged.more_s = 0.0;
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
        judged.detectable = f64::INFINITY;
        judged.outcome = Outcome::Flat;
    } else {
        let needed = (FEWEST as f64 * 1.3 * judged.excursions.longest_s).max(1.5 * span);
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

/// The longest time between two rises of the envelope before `until_s`.
fn longest_pause(points: &[Point], until_s: f64, ask: Ask) -> f64 {
    let Some(first) = points.first() else { return 0.0 };
    let (mut last_rise_s, mut last, mut longest) = (first.t_s, first.floor, 0.0_f64);
    for point in points.iter().take_while(|p| p.t_s <= until_s) {
        if point.floor > last + ask.quantum {
            longest = longest.max(point.t_s - last_rise_s);
            last_rise_s = point.t_s;
            last = point.floor;
        }
    }
    longest
}

/// What happened before the last uniform stretch.
struct WarmUp {
    /// Rise after start-up, 0 where there was only a start-up or a single step.
    rise: f64,
    /// How long that rise took, seconds.
    rise_s: f64,
    /// When it began and ended.
    from_to: (f64, f64),
    /// Its longest pause, seconds.
    pause_s: f64,
}

impl WarmUp {
    /// `points` end where the last uniform stretch begins.
    fn of(points: &[Point], ask: Ask) -> Self {
        let none = Self { rise: 0.0, rise_s: 0.0, from_to: (0.0, 0.0), pause_s: 0.0 };
        let (Some(first), Some(last)) = (points.first(), points.last()) else { return none };
        if points.len() < 4 || last.floor - first.floor < 2.0 * ask.least {
            return none;
        }
        // A process that starts from nothing has a start-up; a forked child or one attached to later has none.
        let starts_up = ask.fresh && first.floor < 0.3 * last.floor;
        let begin = if starts_up { uniform_stretch(points, ask.least) } else { 0 };
        let grown = &points[begin..];
        let (rise, rise_s) = (last.floor - grown[0].floor, last.t_s - grown[0].t_s);
        let start_up_s = grown[0].t_s - first.t_s;
        let start_up_rate = (grown[0].floor - first.floor) / start_up_s.max(0.1);
        let pause_s = longest_pause(grown, last.t_s, ask);
        let in_one_step = grown.windows(2).any(|pair| pair[1].floor - pair[0].floor > 0.6 * rise);
        let still_starting =
            starts_up && (rise_s < START_UP_AGAIN * start_up_s || rise / rise_s > START_UP_SLOWER * start_up_rate);
        if rise < 2.0 * ask.least || rise_s < 2.0 || in_one_step || still_starting {
            return Self { pause_s, ..none };
        }
        Self { rise, rise_s, from_to: (grown[0].t_s, last.t_s), pause_s }
    }
}

/// Growth after start-up takes longer than this times the start-up, and is slower than [`START_UP_SLOWER`] times its
/// rate; else it belongs to the start-up (imports and the first batches of a starved machine come in waves).
const START_UP_AGAIN: f64 = 1.2;
const START_UP_SLOWER: f64 = 0.5;
