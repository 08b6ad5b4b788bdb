//! The slope of a few points in time, with an error that allows for serial correlation.
//!
//! Memory series are strongly autocorrelated, so the textbook error of a slope (and the plain Mann-Kendall
//! test) is far too small for them. Here the error of least squares is widened by the residuals' first-order
//! autocorrelation, itself corrected for the bias that it has in short series, up to the error that a random walk with
//! the observed increments would have: that one holds for any correlation, and is the better of the two near one.

/// A straight line through points, and how far to trust it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Slope per second: the median of the slopes between all pairs (Theil 1950, Sen 1968), which single steps and
    /// outliers do not move.
    pub slope: f64,
    /// Slope per second by least squares, which `error` belongs to.
    pub least_squares: f64,
    /// The line's value at time zero, by the median of the residuals of `slope`.
    pub intercept: f64,
    /// Standard error of the slope, per second.
    pub error: f64,
    /// Standard deviation of the residuals.
    pub residual: f64,
    /// First-order autocorrelation of the residuals, corrected for bias.
    pub correlation: f64,
    /// Number of points.
    pub n: usize,
}

impl Trend {
    /// How many standard errors the least-squares slope is above zero.
    #[must_use]
    pub fn t(&self) -> f64 {
        if self.error > 0.0 { self.least_squares / self.error } else { 0.0 }
    }
}

/// Fits a line to points (seconds, value) in order of time. `quantum` is the resolution of the values (an
/// allocator grows by chunks, so a flat series is not proof of zero error): the residual is never
/// taken to be less than a uniform distribution of that width has. `None` below four points or without extent in time.
#[must_use]
pub fn fit(points: &[(f64, f64)], quantum: f64) -> Option<Trend> {
    let n = points.len();
    if n < 4 {
        return None;
    }
    let count = n as f64;
    let mean_t = points.iter().map(|p| p.0).sum::<f64>() / count;
    let mean_y = points.iter().map(|p| p.1).sum::<f64>() / count;
    let spread: f64 = points.iter().map(|p| (p.0 - mean_t).powi(2)).sum();
    if spread <= 0.0 {
        return None;
    }
    let least_squares = points.iter().map(|p| (p.0 - mean_t) * (p.1 - mean_y)).sum::<f64>() / spread;
    let residuals: Vec<f64> = points.iter().map(|p| p.1 - mean_y - least_squares * (p.0 - mean_t)).collect();
    let squares: f64 = residuals.iter().map(|r| r * r).sum();
    let variance = (squares / (count - 2.0)).max(quantum * quantum / 12.0);
    let correlation = autocorrelation(&residuals, squares);
    let independent = (variance / spread).sqrt();
    let correlated = independent * ((1.0 + correlation) / (1.0 - correlation)).sqrt();
    let error = if correlation > 0.0 { correlated.min(walk_error(points, least_squares)).max(independent) } else { independent };
    let slope = theil_sen(points);
    let mut offsets: Vec<f64> = points.iter().map(|p| p.1 - slope * p.0).collect();
    let intercept = median(&mut offsets);
    Some(Trend { slope, least_squares, intercept, error, residual: variance.sqrt(), correlation, n })
}

/// First-order autocorrelation of the residuals of a fitted line. Its expectation in white noise is about
/// -2/n there and it shrinks towards zero by about (1 + 4 rho)/n (Kendall 1954 for a mean; one more for the slope).
fn autocorrelation(residuals: &[f64], squares: f64) -> f64 {
    if squares <= 0.0 {
        return 0.0;
    }
    let n = residuals.len() as f64;
    let raw = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / squares;
    (raw + (2.0 + 4.0 * raw.max(0.0)) / n).clamp(0.0, 0.95)
}

/// The error of the mean increment if the points were a random walk with drift.
fn walk_error(points: &[(f64, f64)], slope: f64) -> f64 {
    let n = points.len() as f64;
    let squares: f64 = points.windows(2).map(|pair| (pair[1].1 - pair[0].1 - slope * (pair[1].0 - pair[0].0)).powi(2)).sum();
    let span = points[points.len() - 1].0 - points[0].0;
    (squares / (n - 2.0) * (n - 1.0)).sqrt() / span
}

/// The median slope over all pairs, per second.
#[must_use]
pub fn theil_sen(points: &[(f64, f64)]) -> f64 {
    let mut slopes = Vec::with_capacity(points.len() * (points.len().saturating_sub(1)) / 2);
    for (i, a) in points.iter().enumerate() {
        for b in &points[i + 1..] {
            if b.0 > a.0 {
                slopes.push((b.1 - a.1) / (b.0 - a.0));
            }
        }
    }
    median(&mut slopes)
}

/// The median, the mean of the two middle values for an even number; 0 for none.
pub fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    let upper = *values.select_nth_unstable_by(middle, f64::total_cmp).1;
    if values.len().is_multiple_of(2) {
        let lower = values[..middle].iter().copied().fold(f64::NEG_INFINITY, f64::max);
        return f64::midpoint(lower, upper);
    }
    upper
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_exactly() {
        let points: Vec<(f64, f64)> = (0..12).map(|i| (f64::from(i), 3.0 + 2.0 * f64::from(i))).collect();
        let trend = fit(&points, 0.0).expect("points");
        assert!((trend.slope - 2.0).abs() < 1e-9 && (trend.least_squares - 2.0).abs() < 1e-9);
        assert!((trend.intercept - 3.0).abs() < 1e-9);
    }

    #[test]
    fn one_outlier_does_not_move_the_slope() {
        let mut points: Vec<(f64, f64)> = (0..13).map(|i| (f64::from(i), f64::from(i))).collect();
        points[6].1 = 500.0;
        assert!((theil_sen(&points) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_wandering_series_gets_a_wider_error_than_a_jittering_one() {
        // The same residuals, once in an order that wanders and once alternating.
        let wandering = [0.0, 1.0, 2.0, 3.0, 2.0, 1.0, 0.0, -1.0, -2.0, -3.0, -2.0, -1.0];
        let jittering = [0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 2.0, -2.0, 1.0, -1.0, 0.0];
        let error = |y: &[f64]| {
            let points: Vec<(f64, f64)> = y.iter().enumerate().map(|(i, y)| (i as f64, *y)).collect();
            fit(&points, 0.0).expect("points").error
        };
        assert!(error(&wandering) > 2.0 * error(&jittering));
    }

    #[test]
    fn medians() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(&mut [7.0]), 7.0);
        assert_eq!(median(&mut []), 0.0);
    }
}
