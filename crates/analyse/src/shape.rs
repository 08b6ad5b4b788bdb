//! A line, or growth that stops? Bounded growth is the classic false alarm of leak detectors (all three of
//! BLeak's, PLDI 2018): caches fill up, buffers reach their length. This compares the line with its rivals.

/// How growth that stopped compares with growth that goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hinge {
    /// Squared residuals of the line over those of the best "line, then level". About 1 for a leak; large when it stopped.
    pub ratio: f64,
    /// When the level part begins, seconds.
    pub at_s: f64,
    /// Growth per second before that.
    pub slope: f64,
    /// The level's value.
    pub level: f64,
    /// The share of the time that the level part takes.
    pub level_share: f64,
}

impl Hinge {
    /// The gain of the bend as an F statistic, for `n` points that are about independent.
    #[must_use]
    pub fn f(&self, n: usize) -> f64 {
        (self.ratio - 1.0) * (n as f64 - 3.0)
    }
}

/// Compares a line with every "rises until `at_s`, level from there" in least squares. `quantum` is the
/// resolution of the values: residuals below it mean nothing. `None` below eight points.
#[must_use]
pub fn hinge(points: &[(f64, f64)], quantum: f64) -> Option<Hinge> {
    let n = points.len();
    if n < 8 {
        return None;
    }
    let span = points[n - 1].0 - points[0].0;
    if span <= 0.0 {
        return None;
    }
    let allowance = quantum * quantum / 12.0 * n as f64;
    let line = regress(points.iter().copied());
    let at_s = points[best_bend(points)?].0;
    // The hinge basis min(t, at): everything after `at` is level.
    let fit = regress(points.iter().map(|p| (p.0.min(at_s), p.1)));
    Some(Hinge {
        ratio: (line.squares + allowance) / (fit.squares + allowance),
        at_s,
        slope: fit.slope,
        level: fit.intercept + fit.slope * at_s,
        level_share: (points[n - 1].0 - at_s) / span,
    })
}

/// The point after which "level from there on" leaves the smallest squared residuals. One pass with sums so far: this is
/// asked of every series at every look.
fn best_bend(points: &[(f64, f64)]) -> Option<usize> {
    let n = points.len() as f64;
    // Centred, so that the sums' differences keep their digits.
    let mean_t = points.iter().map(|p| p.0).sum::<f64>() / n;
    let mean_y = points.iter().map(|p| p.1).sum::<f64>() / n;
    let (mut t_sum, mut tt_sum, mut y_sum, mut ty_sum) = (0.0, 0.0, 0.0, 0.0);
    let mut best: Option<(usize, f64)> = None;
    for (i, point) in points.iter().enumerate().take(points.len() - 1) {
        let (at, y) = (point.0 - mean_t, point.1 - mean_y);
        t_sum += at;
        tt_sum += at * at;
        y_sum += y;
        ty_sum += at * y;
        let level = n - 1.0 - i as f64;
        let (x, xx) = (t_sum + level * at, tt_sum + level * at * at);
        // The centred values sum up to zero: those on the level to the opposite of those before.
        let (spread, xy) = (xx - x * x / n, ty_sum - at * y_sum);
        let explained = if spread > 0.0 { xy * xy / spread } else { 0.0 };
        if i >= 3 && best.is_none_or(|(_, most)| explained > most) {
            best = Some((i, explained));
        }
    }
    best.map(|(i, _)| i)
}

/// Had growth stopped in the last quarter, would it show?
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    /// How much worse "rises for three quarters, then level" is than a line, as an F statistic.
    pub f: f64,
    /// Root of the squared residuals that growth of one per second would leave in it.
    unit: f64,
    /// Standard deviation of the points about the line.
    scatter: f64,
}

impl Stop {
    /// Compares the two on points (seconds, value).
    #[must_use]
    pub fn of(points: &[(f64, f64)], quantum: f64) -> Self {
        let (Some(first), Some(last)) = (points.first(), points.last()) else {
            return Self { f: 0.0, unit: 0.0, scatter: 0.0 };
        };
        let at = first.0 + 0.75 * (last.0 - first.0);
        let allowance = quantum * quantum / 12.0 * points.len() as f64;
        let line = regress(points.iter().copied()).squares + allowance;
        let stopped = regress(points.iter().map(|p| (p.0.min(at), p.1))).squares + allowance;
        let unit = regress(points.iter().map(|p| (p.0.min(at), p.0))).squares.sqrt();
        let freedom = points.len() as f64 - 2.0;
        Self { f: (stopped - line) / line * freedom, unit, scatter: (line / freedom.max(1.0)).sqrt() }
    }

    /// The growth per second at which a stop shows by one standard deviation.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        if self.unit > 0.0 { self.scatter / self.unit } else { f64::INFINITY }
    }
}

/// The points without their one small step, where a line with a single step of at most `most` describes them far better
/// than a line alone does: an allocator that takes one more chunk at some moment makes the whole series look noisy
/// otherwise. Also by how much the error of the slope is wider with the step fitted beside it. As they are, and 1, where
/// there is no such step.
#[must_use]
pub fn without_step(points: &[(f64, f64)], most: f64, quantum: f64) -> (Vec<(f64, f64)>, f64) {
    let n = points.len();
    let allowance = quantum * quantum / 12.0 * n as f64;
    let line = regress(points.iter().copied()).squares + allowance;
    // A line through both parts with a common slope: each part is centred by itself.
    let split = |at: usize| {
        let (before, after) = (centre(&points[..at]), centre(&points[at..]));
        let slope = (before.ty + after.ty) / (before.tt + after.tt).max(f64::MIN_POSITIVE);
        let squares = before.yy + after.yy - slope * (before.ty + after.ty);
        let height = after.y - before.y - slope * (after.t - before.t);
        (squares.max(0.0) + allowance, at, height, before.tt + after.tt)
    };
    let best = (1..n).map(split).min_by(|a, b| a.0.total_cmp(&b.0));
    let Some((squares, at, height, within)) = best.filter(|_| n >= STEP_FEWEST) else { return (points.to_vec(), 1.0) };
    let f = (line - squares) / squares * (n as f64 - 3.0);
    if f < STEP_F || height.abs() > most {
        return (points.to_vec(), 1.0);
    }
    let level = points.iter().enumerate().map(|(i, p)| (p.0, if i < at { p.1 + height } else { p.1 })).collect();
    (level, (centre(points).tt / within.max(f64::MIN_POSITIVE) * (n as f64 - 2.0) / (n as f64 - 3.0)).sqrt())
}

/// Fewest points for a line and a step.
const STEP_FEWEST: usize = 6;
/// F statistic of a step, the largest over its place: 20 is beyond the 0.1 % point for 16 independent points.
const STEP_F: f64 = 20.0;

/// Means of points, and the sums of squares about them.
struct Centred {
    t: f64,
    y: f64,
    tt: f64,
    ty: f64,
    yy: f64,
}

fn centre(points: &[(f64, f64)]) -> Centred {
    let n = points.len() as f64;
    let (t, y) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let mut sums = Centred { t, y, tt: 0.0, ty: 0.0, yy: 0.0 };
    for point in points {
        sums.tt += (point.0 - t).powi(2);
        sums.ty += (point.0 - t) * (point.1 - y);
        sums.yy += (point.1 - y).powi(2);
    }
    sums
}

/// Whether one step between two levels describes the points at least as well as a line (least squares).
#[must_use]
pub fn one_step(points: &[(f64, f64)], quantum: f64) -> bool {
    let n = points.len();
    if n < 4 {
        return false;
    }
    let allowance = quantum * quantum / 12.0 * n as f64;
    let line = regress(points.iter().copied()).squares;
    let squares = |part: &[(f64, f64)]| {
        let mean = part.iter().map(|p| p.1).sum::<f64>() / part.len() as f64;
        part.iter().map(|p| (p.1 - mean).powi(2)).sum::<f64>()
    };
    let step = (1..n).map(|i| squares(&points[..i]) + squares(&points[i..])).fold(f64::INFINITY, f64::min);
    line > allowance && step <= line
}

/// A line by least squares, and the sum of the squared distances from it.
pub(crate) struct Regression {
    slope: f64,
    intercept: f64,
    pub squares: f64,
}

pub(crate) fn regress(points: impl Iterator<Item = (f64, f64)> + Clone) -> Regression {
    let (mut n, mut sum_x, mut sum_y) = (0.0, 0.0, 0.0);
    for (x, y) in points.clone() {
        n += 1.0;
        sum_x += x;
        sum_y += y;
    }
    let (mean_x, mean_y) = (sum_x / n, sum_y / n);
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in points {
        xx += (x - mean_x).powi(2);
        xy += (x - mean_x) * (y - mean_y);
        yy += (y - mean_y).powi(2);
    }
    let slope = if xx > 0.0 { xy / xx } else { 0.0 };
    Regression { slope, intercept: mean_y - slope * mean_x, squares: (yy - slope * xy).max(0.0) }
}

/// The slope of the last third over the slope of the whole, and the error of that ratio for a line with
/// residuals of standard deviation `residual`. About 1 for a leak, about 0 for growth that stopped.
#[must_use]
pub fn late_share(points: &[(f64, f64)], slope: f64, residual: f64) -> Option<(f64, f64)> {
    let from = points.len() - points.len() / 3;
    let late = &points[from.saturating_sub(1)..];
    if late.len() < 3 || slope <= 0.0 {
        return None;
    }
    let mean = late.iter().map(|p| p.0).sum::<f64>() / late.len() as f64;
    let spread: f64 = late.iter().map(|p| (p.0 - mean).powi(2)).sum();
    if spread <= 0.0 {
        return None;
    }
    let late_slope = regress(late.iter().copied()).slope;
    Some((late_slope / slope, residual / spread.sqrt() / slope))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rising_until(stop: f64) -> Vec<(f64, f64)> {
        (0..64).map(|i| (f64::from(i), f64::from(i).min(stop) * 10.0)).collect()
    }

    #[test]
    fn a_ceiling_is_told_from_a_line() {
        for stop in [20.0, 40.0, 57.0] {
            let found = hinge(&rising_until(stop), 1.0).expect("points");
            assert!(found.ratio > 5.0, "{stop}: {found:?}");
            assert!((found.at_s - stop).abs() < 2.0 && (found.slope - 10.0).abs() < 0.1);
        }
        assert!(hinge(&rising_until(100.0), 1.0).expect("points").ratio < 1.01);
    }

    #[test]
    fn the_best_bend_is_the_one_of_the_smallest_residuals() {
        for seed in 0..200_u32 {
            let noise = |i: u32| f64::from((i * 7919 + seed * 104_729) % 1009);
            let stop = f64::from(seed % 60);
            let points: Vec<(f64, f64)> =
                (0..64).map(|i| (1e5 + f64::from(i) * 3.0, 4e9 + f64::from(i).min(stop) * 1e5 + noise(i) * 1e3)).collect();
            let squares = |i: usize| regress(points.iter().map(|p| (p.0.min(points[i].0), p.1))).squares;
            let least = (3..63).map(squares).fold(f64::INFINITY, f64::min);
            let found = squares(best_bend(&points).expect("a bend"));
            assert!(found <= least * (1.0 + 1e-6), "{seed}: {found} against {least}");
        }
    }

    #[test]
    fn one_small_step_is_taken_out_and_nothing_else_is() {
        let at = |i: u32, step: f64| (f64::from(i), f64::from(i) * 2.0 + if i < 5 { 0.0 } else { step });
        let stepped: Vec<(f64, f64)> = (0..16).map(|i| at(i, 50.0)).collect();
        let (level, wider) = without_step(&stepped, 60.0, 1.0);
        assert!(level.iter().all(|p| (p.1 - 2.0 * p.0 - 50.0).abs() < 1e-6), "{level:?}");
        assert!((1.5..2.5).contains(&wider), "{wider}");
        assert_eq!(without_step(&stepped, 40.0, 1.0), (stepped, 1.0), "too large a step");
        let line: Vec<(f64, f64)> = (0..16).map(|i| at(i, 0.0)).collect();
        assert_eq!(without_step(&line, 60.0, 1.0), (line, 1.0));
    }

    #[test]
    fn one_step_is_told_from_a_line() {
        let step: Vec<(f64, f64)> = (0..16).map(|i| (f64::from(i), if i < 6 { 0.0 } else { 50.0 })).collect();
        assert!(one_step(&step, 1.0));
        let line: Vec<(f64, f64)> = (0..16).map(|i| (f64::from(i), f64::from(i) * 3.0)).collect();
        assert!(!one_step(&line, 1.0));
    }

    #[test]
    fn a_staircase_is_a_line() {
        let stairs: Vec<(f64, f64)> = (0..64).map(|i| (f64::from(i), f64::from(i / 8) * 80.0)).collect();
        assert!(hinge(&stairs, 1.0).expect("points").ratio < 1.5);
        let (share, _) = late_share(&stairs, 10.0, 1.0).expect("points");
        assert!((0.6..1.4).contains(&share), "{share}");
    }
}
