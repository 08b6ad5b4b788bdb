//! The last uniform stretch of a series, and the warm-up before it.

use crate::ask::Ask;
use crate::floor::Point;
use crate::trend;

/// The index from which the envelope follows the line of its later half: everything before is warm-up.
pub fn uniform_stretch(points: &[Point], tolerance: f64) -> usize {
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

/// A stretch that reaches back to the birth of a process holds its start-up: small against all growth since, and yet no
/// part of it. Skips what rises more than three times as fast as the rest, a sixteenth of the time at a go.
pub fn after_start_up(points: &[Point]) -> usize {
    let Some(last) = points.last() else { return 0 };
    let rate = |from: &Point, to: &Point| (to.floor - from.floor) / (to.t_s - from.t_s).max(1e-9);
    let width = (last.t_s - points[0].t_s) / 16.0;
    let mut start = 0;
    for _ in 0..4 {
        let next = points.partition_point(|p| p.t_s < points[start].t_s + width);
        let Some(point) = points.get(next).filter(|_| next > start) else { break };
        if rate(&points[start], point) <= 3.0 * rate(point, last).max(0.0) {
            break;
        }
        start = next;
    }
    start
}

/// Evenly spread points of an envelope, at most `most`.
pub fn thin(points: &[Point], most: usize) -> Vec<(f64, f64)> {
    let step = points.len().div_ceil(most).max(1);
    // Counted from the end, so that the newest point is always there.
    let mut thinned: Vec<(f64, f64)> = points.iter().rev().step_by(step).map(|p| (p.t_s, p.floor)).collect();
    thinned.reverse();
    thinned
}

/// Rise of the envelope over the later half, without its provisional last tenth.
pub fn late_rise(points: &[Point]) -> f64 {
    let at = |share: usize| points.get(points.len() * share / 100).map_or(0.0, |p| p.floor);
    at(90) - at(50)
}

/// The longest time between two rises of the envelope before `until_s`.
pub fn longest_pause(points: &[Point], until_s: f64, ask: Ask) -> f64 {
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
pub struct WarmUp {
    /// Rise after start-up, 0 where there was only a start-up or a single step.
    pub rise: f64,
    /// How long that rise took, seconds.
    pub rise_s: f64,
    /// When it began and ended.
    pub from_to: (f64, f64),
    /// Its longest pause, seconds.
    pub pause_s: f64,
}

impl WarmUp {
    /// `points` end where the last uniform stretch begins.
    pub fn of(points: &[Point], ask: Ask) -> Self {
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
        let shortest_s = if starts_up { START_UP_S } else { 2.0 };
        if rise < 2.0 * ask.least || rise_s < shortest_s || in_one_step || still_starting {
            return Self { pause_s, ..none };
        }
        Self { rise, rise_s, from_to: (grown[0].t_s, last.t_s), pause_s }
    }
}

/// Growth after start-up takes longer than this times the start-up, and is slower than [`START_UP_SLOWER`] times its
/// rate; else it belongs to the start-up (imports and the first batches of a starved machine come in waves).
const START_UP_AGAIN: f64 = 1.2;

const START_UP_SLOWER: f64 = 0.5;
/// And longer than this, seconds: importing torch and building a data set have phases of their own.
const START_UP_S: f64 = 3.0;
