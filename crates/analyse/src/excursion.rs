//! Excursions: stretches above the low-water envelope that came back. Spikes and sawteeth are made of them.

use crate::floor::Point;
use crate::pyramid::Window;
use crate::trend::median;

/// All excursions of a series, summed up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Excursions {
    /// How many there were.
    pub count: usize,
    /// The longest time between two touches of the envelope, seconds.
    pub longest_s: f64,
    /// The highest rise above the envelope.
    pub height: f64,
    /// The largest rise from one window to the next: a spike has most of its height at once, a sawtooth has not.
    pub steepest: f64,
    /// The share of the time spent above the envelope.
    pub share: f64,
    /// Median seconds from the start of one to the start of the next; 0 below three.
    pub period_s: f64,
}

/// How far above the envelope still counts as on it: `least`, or eight times the lower quartile of the changes from
/// one window to the next, so that jitter is no excursion (in white noise that is 3.6 standard deviations) and spikes
/// do not raise the bar for themselves.
#[must_use]
pub fn tolerance(windows: &[Window], least: f64) -> f64 {
    least.max(8.0 * swing(windows))
}

/// The usual change from one window to the next: the lower quartile, so that spikes do not count.
#[must_use]
pub fn swing(windows: &[Window]) -> f64 {
    let mut changes: Vec<f64> = windows.windows(2).map(|pair| (pair[1].low - pair[0].low).abs()).collect();
    let quarter = changes.len() / 4;
    if changes.is_empty() { 0.0 } else { *changes.select_nth_unstable_by(quarter, f64::total_cmp).1 }
}

/// Finds the excursions of `windows` above their `envelope` (same length).
#[must_use]
pub fn find(windows: &[Window], envelope: &[Point], tolerance: f64) -> Excursions {
    let (Some(first), Some(last)) = (windows.first(), windows.last()) else { return Excursions::default() };
    let mut found = Excursions::default();
    let mut starts = Vec::new();
    let (mut above_s, mut touched_s, mut inside) = (0.0, first.start_s, false);
    for (i, (window, point)) in windows.iter().zip(envelope).enumerate() {
        // Against the envelope after this window: a steep rise that stays is none, however wide the window.
        let after = envelope.get(i + 1).map_or(window.high, |next| next.floor);
        found.height = found.height.max(window.high - after);
        if let Some(before) = i.checked_sub(1).filter(|_| window.high > after + tolerance).map(|before| &windows[before]) {
            found.steepest = found.steepest.max(window.high - before.high.max(after));
        }
        if window.high > after + tolerance && !inside {
            inside = true;
            starts.push(window.start_s);
        }
        if window.low <= point.floor + tolerance {
            if inside {
                found.longest_s = found.longest_s.max(window.low_at_s - touched_s);
                above_s += (window.low_at_s - touched_s).max(0.0);
                inside = window.high > after + tolerance && window.last > point.floor + tolerance;
            }
            touched_s = window.low_at_s;
        }
    }
    found.count = starts.len();
    found.share = above_s / (last.end_s - first.start_s).max(f64::MIN_POSITIVE);
    if starts.len() >= 3 {
        let mut gaps: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        found.period_s = median(&mut gaps);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::floor::envelope;
    use crate::pyramid::Pyramid;

    #[test]
    fn spikes_are_counted_and_measured() {
        let mut pyramid = Pyramid::default();
        for i in 0..200 {
            let spike = i % 40 >= 30;
            pyramid.push(f64::from(i), if spike { 500.0 } else { 100.0 } + 0.1 * f64::from(i));
        }
        // The last one has not come back: it is not an excursion yet.
        let windows = &pyramid.windows()[..195.min(pyramid.windows().len())];
        let found = find(windows, &envelope(windows), tolerance(windows, 1.0));
        assert_eq!(found.count, 4);
        assert!((10.0..13.0).contains(&found.longest_s), "{found:?}");
        assert!((395.0..405.0).contains(&found.height), "{found:?}");
        assert!((39.0..41.0).contains(&found.period_s), "{found:?}");
        assert!((0.15..0.3).contains(&found.share), "{found:?}");
        assert!((399.0..405.0).contains(&found.steepest), "{found:?}");
    }
}
