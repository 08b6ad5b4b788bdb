//! Values with their errors, and whether two sides of them differ.

use lowtide_model::Measured;

/// A value of one run, and its standard error by the run's own noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    pub value: f64,
    /// Infinite where one run cannot tell.
    pub error: f64,
}

impl Estimate {
    pub(super) fn new(value: f64, error: f64) -> Self {
        Self { value, error }
    }

    /// Of which one run does not tell how much it scatters.
    pub(super) fn alone(value: f64) -> Self {
        Self { value, error: f64::INFINITY }
    }
}

/// How sure a difference must be: a probability as standard errors of a normal distribution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sure {
    /// The one-sided probability.
    p: f64,
    /// The same in standard errors.
    z: f64,
}

/// A 95 % interval.
pub(super) const INTERVAL: Sure = Sure { p: 0.975, z: 1.959_96 };
/// For each of the three quantities that make the sentence, so that by all of them together (Bonferroni) 95 of 100 pairs of
/// runs of one program show no difference.
pub(super) const SENTENCE: Sure = Sure { p: 1.0 - 0.05 / 6.0, z: 2.393_98 };
/// For each other row: 18 rows of which none differs are clean in 95 of 100 pairs.
pub(super) const ROW: Sure = Sure { p: 0.998_65, z: 3.0 };
/// Where neither side's growth was established: as plain as growth that is.
pub(super) const PLAIN: Sure = Sure { p: 0.999_999_7, z: 5.0 };
/// Standard errors between a difference that is significant and one that is seen in 95 of 100 cases.
const POWER: f64 = 1.645;

impl Sure {
    /// The quantile of Student's distribution; infinite degrees of freedom are the normal distribution. Exact for one and
    /// two, else by the expansion of Cornish and Fisher.
    pub(super) fn t(self, freedom: f64) -> f64 {
        let z = self.z;
        let tail = 4.0 * self.p * (1.0 - self.p);
        match freedom {
            f if f < 1.5 => (std::f64::consts::PI * (self.p - 0.5)).tan(),
            f if f < 2.5 => 2.0 * (self.p - 0.5) * (2.0 / tail).sqrt(),
            f => {
                let first = (z.powi(3) + z) / (4.0 * f);
                let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * f * f);
                let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / (384.0 * f.powi(3));
                z + first + second + third
            }
        }
    }
}

/// What one side's runs say together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    pub mean: f64,
    /// Error of the mean by the runs' own noise.
    within: f64,
    /// Sum of the squared distances from the mean.
    squares: f64,
    runs: f64,
}

impl Side {
    /// `None` where a run lacks the value.
    pub(super) fn of(runs: impl IntoIterator<Item = Option<Estimate>>) -> Option<Self> {
        let runs: Vec<Estimate> = runs.into_iter().collect::<Option<_>>()?;
        let n = runs.len() as f64;
        (!runs.is_empty()).then(|| {
            let mean = runs.iter().map(|run| run.value).sum::<f64>() / n;
            Self {
                mean,
                within: runs.iter().map(|run| run.error.powi(2)).sum::<f64>().sqrt() / n,
                squares: runs.iter().map(|run| (run.value - mean).powi(2)).sum(),
                runs: n,
            }
        })
    }

    /// Error of the mean by how much its runs differ from each other; `None` for one run.
    fn between(&self) -> Option<f64> {
        (self.runs > 1.0).then(|| (self.squares / (self.runs - 1.0) / self.runs).sqrt())
    }

    /// The mean, as sure as the noise of the runs and how much they differ allow.
    pub(super) fn as_one(&self) -> Estimate {
        Estimate::new(self.mean, self.between().map_or(self.within, |between| self.within.max(between)))
    }

    pub(super) fn measured(&self) -> Measured {
        let half = match self.between() {
            Some(between) if self.within.is_finite() => (INTERVAL.t(self.runs - 1.0) * between).max(INTERVAL.z * self.within),
            Some(between) => INTERVAL.t(self.runs - 1.0) * between,
            None => INTERVAL.z * self.within,
        };
        Measured { value: self.mean, ci95: half.is_finite().then_some([self.mean - half, self.mean + half]) }
    }
}

/// A difference between two sides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Difference {
    pub value: f64,
    error: f64,
    freedom: f64,
    /// The least that is worth a word.
    least: f64,
}

impl Difference {
    /// After less before. `usual`: standard deviation from run to run of one program where it cannot be taken from the runs
    /// themselves, of one value. `least`: the least that is worth a word.
    pub(super) fn of(before: &Side, after: &Side, usual: impl Fn(f64) -> f64, least: f64) -> Self {
        let value = after.mean - before.mean;
        let finite = |error: f64| if error.is_finite() { error.powi(2) } else { 0.0 };
        let within = finite(before.within) + finite(after.within);
        let (between, freedom) = match (before.between(), after.between()) {
            (Some(b), Some(a)) => (b.powi(2) + a.powi(2), welch((b, before.runs), (a, after.runs))),
            (None, None) => {
                let known = before.within.is_finite() && after.within.is_finite();
                let usual = usual(before.mean).powi(2) + usual(after.mean).powi(2);
                (if known { within + usual } else { f64::INFINITY }, f64::INFINITY)
            }
            // One run on one side: it is taken to scatter as the others do.
            _ => {
                let freedom = before.runs + after.runs - 2.0;
                let variance = (before.squares + after.squares) / freedom;
                (variance * (1.0 / before.runs + 1.0 / after.runs), freedom)
            }
        };
        // Runs that happen to be alike are no proof that others would be.
        if between >= within {
            Self { value, error: between.sqrt(), freedom, least }
        } else {
            Self { value, error: within.sqrt(), freedom, least }
        }
    }

    pub(super) fn measured(&self) -> Measured {
        let half = INTERVAL.t(self.freedom) * self.error;
        Measured { value: self.value, ci95: half.is_finite().then_some([self.value - half, self.value + half]) }
    }

    /// Whether there is one; `None` where the noise is not known.
    pub(super) fn differs(&self, sure: Sure) -> Option<bool> {
        let half = sure.t(self.freedom) * self.error;
        half.is_finite().then(|| self.value.abs() > half && self.value.abs() >= self.least)
    }

    /// The smallest difference that would have been seen in 95 of 100 cases.
    pub(super) fn smallest(&self, sure: Sure) -> Option<f64> {
        let smallest = ((sure.t(self.freedom) + POWER) * self.error).max(self.least);
        smallest.is_finite().then_some(smallest)
    }
}

/// Degrees of freedom of a difference of two means, by Welch and Satterthwaite: at least those of the smaller side.
fn welch(before: (f64, f64), after: (f64, f64)) -> f64 {
    let part = |(error, runs): (f64, f64)| error.powi(4) / (runs - 1.0);
    let all = (before.0.powi(2) + after.0.powi(2)).powi(2);
    let least = before.1.min(after.1) - 1.0;
    if all > 0.0 { (all / (part(before) + part(after))).max(least) } else { least }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, expected) in
            [(1.0, 12.706), (2.0, 4.303), (3.0, 3.182), (5.0, 2.571), (10.0, 2.228), (f64::INFINITY, 1.960)]
        {
            let t = INTERVAL.t(freedom);
            assert!((t / expected - 1.0).abs() < 0.01, "{freedom}: {t}");
        }
    }

    fn side(values: &[(f64, f64)]) -> Side {
        Side::of(values.iter().map(|(value, error)| Some(Estimate::new(*value, *error)))).expect("values")
    }

    #[test]
    fn one_run_a_side_has_its_own_noise_and_the_usual_difference() {
        let (before, after) = (side(&[(100.0, 1.0)]), side(&[(90.0, 1.0)]));
        let seen = |usual: f64, least| Difference::of(&before, &after, |_| usual, least).differs(SENTENCE);
        assert_eq!(seen(0.0, 0.0), Some(true));
        assert_eq!(seen(5.0, 0.0), Some(false), "two runs of one program may differ by as much");
        assert_eq!(seen(0.0, 12.0), Some(false), "not worth a word");
        let alone = Side::of([Some(Estimate::alone(90.0))]).expect("a value");
        assert_eq!(Difference::of(&before, &alone, |_| 0.0, 0.0).differs(SENTENCE), None);
    }

    #[test]
    fn several_runs_tell_how_much_runs_differ() {
        let wild = side(&[(100.0, 0.1), (120.0, 0.1), (80.0, 0.1)]);
        let calm = side(&[(100.0, 0.1), (101.0, 0.1), (99.0, 0.1)]);
        let lower = side(&[(70.0, 0.1), (71.0, 0.1), (69.0, 0.1)]);
        let differs = |before: &Side, after: &Side| Difference::of(before, after, |_| 0.0, 0.0).differs(SENTENCE);
        assert_eq!(differs(&calm, &lower), Some(true));
        assert_eq!(differs(&wild, &lower), Some(false));
        // One run against three.
        assert_eq!(differs(&calm, &side(&[(70.0, 0.1)])), Some(true));
        assert_eq!(differs(&wild, &side(&[(70.0, 0.1)])), Some(false));
    }

    #[test]
    fn runs_that_happen_to_be_alike_keep_their_own_noise() {
        let (before, after) = (side(&[(100.0, 20.0), (100.0, 20.0)]), side(&[(90.0, 20.0), (90.0, 20.0)]));
        assert_eq!(Difference::of(&before, &after, |_| 0.0, 0.0).differs(SENTENCE), Some(false));
    }

    #[test]
    fn what_is_missing_in_one_run_is_missing() {
        assert!(Side::of([Some(Estimate::new(1.0, 0.1)), None]).is_none());
        assert!(Side::of([]).is_none());
    }
}
