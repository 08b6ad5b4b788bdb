//! The low-water envelope: what a series comes back down to.

use crate::pyramid::Window;

/// A point of the envelope.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Seconds.
    pub t_s: f64,
    /// The least value from here to the end of the series: what was never given back.
    pub floor: f64,
}

/// The low-water envelope, `floor(t) = min over u >= t of x(u)`. It never falls; a spike of any height and
/// period leaves it alone; a leak raises it by the leak's rate. Its last stretch is provisional: a spike that
/// has not come down yet still looks like a rise there.
#[must_use]
pub fn envelope(windows: &[Window]) -> Vec<Point> {
    let mut low = f64::INFINITY;
    let mut points: Vec<Point> = windows
        .iter()
        .rev()
        .map(|window| {
            low = low.min(window.low);
            Point { t_s: window.low_at_s, floor: low }
        })
        .collect();
    points.reverse();
    points
}

/// How much of a process's tail is taken for its end: a quarter of its life.
const TEARDOWN_SHARE: f64 = 0.25;

/// Cuts off the tear-down: memory that a process gives back while it ends is no low tide. Returns the number of
/// windows to keep. Only the final, unbroken decline is cut, never a flat stretch before it.
#[must_use]
pub fn without_teardown(windows: &[Window], tolerance: f64) -> usize {
    let Some(last) = windows.last() else { return 0 };
    let earliest = windows.len() - (windows.len() as f64 * TEARDOWN_SHARE) as usize;
    let mut begin = windows.len() - 1;
    while begin > earliest && windows[begin - 1].low >= windows[begin].low - tolerance {
        begin -= 1;
    }
    let top = windows[begin..].iter().fold(0.0_f64, |top, window| top.max(window.low));
    if top - last.low <= tolerance {
        return windows.len();
    }
    let end_of_top = windows[begin..].iter().rposition(|window| window.low >= top - tolerance).unwrap_or(0);
    begin + end_of_top + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pyramid::Pyramid;

    fn windows(values: &[f64]) -> Vec<Window> {
        let mut pyramid = Pyramid::default();
        for (i, value) in values.iter().enumerate() {
            pyramid.push(i as f64, *value);
        }
        pyramid.windows().to_vec()
    }

    #[test]
    fn spikes_leave_the_envelope_alone() {
        let floors: Vec<f64> = envelope(&windows(&[1.0, 9.0, 1.0, 2.0, 9.0, 3.0])).iter().map(|p| p.floor).collect();
        assert_eq!(floors, [1.0, 1.0, 1.0, 2.0, 3.0, 3.0]);
    }

    #[test]
    fn teardown_is_cut_and_a_flat_end_is_not() {
        let mut rising: Vec<f64> = (0..20).map(f64::from).collect();
        assert_eq!(without_teardown(&windows(&rising), 0.1), 20);
        rising.extend([19.0, 19.0, 12.0, 3.0]);
        assert_eq!(without_teardown(&windows(&rising), 0.1), 22);
        assert_eq!(without_teardown(&[], 0.1), 0);
    }
}
