//! By how much a value differs from one time to the next.

/// Differences that must be known before anything is said.
const FEWEST: u64 = 3;

/// Takes a value at each time and tells the standard deviation of a single one by the differences of neighbours (von Neumann
/// 1941): growth from the first time to the last adds next to nothing to it, as long as it is spread over many times.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scatter {
    last: Option<f64>,
    squares: f64,
    count: u64,
}

impl Scatter {
    pub fn push(&mut self, value: f64) {
        if let Some(last) = self.last.replace(value) {
            self.squares += (value - last).powi(2);
            self.count += 1;
        }
    }

    /// `None` where it was too few times.
    pub fn deviation(&self) -> Option<f64> {
        (self.count >= FEWEST).then(|| (self.squares / (2.0 * self.count as f64)).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = f64>) -> Option<f64> {
        let mut scatter = Scatter::default();
        values.into_iter().for_each(|value| scatter.push(value));
        scatter.deviation()
    }

    #[test]
    fn noise_is_told_from_growth() {
        // +-1 in turns has a standard deviation of 1, and of sqrt 2 by neighbours.
        let noise = |n: u32| if n.is_multiple_of(2) { 1.0 } else { -1.0 };
        let level = of((0..40).map(noise)).expect("enough");
        assert!((level - 2.0_f64.sqrt()).abs() < 0.01, "{level}");
        let growing = of((0..40).map(|n| noise(n) + 0.2 * f64::from(n))).expect("enough");
        assert!((growing / level - 1.0).abs() < 0.02, "{growing}");
    }

    #[test]
    fn few_times_say_nothing() {
        assert_eq!(of([1.0, 2.0, 3.0]), None);
        assert_eq!(of([1.0, 1.0, 1.0, 1.0]), Some(0.0));
    }
}
