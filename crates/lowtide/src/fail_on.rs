//! `--fail-on`: what makes the exit code 1.

use std::fmt;
use std::str::FromStr;

use lowtide_model::{Class, ExpectationState, Report, Verdict};

/// A forecast beyond this many seconds (30 days) is a number, not a danger: few runs last as long, and none
/// stays the same for so long.
const FORESEEABLE_S: f64 = 30.0 * 86_400.0;

/// One thing that can be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The verdict is `leak`.
    Leak,
    /// The verdict is `leak` or `likely_leak`.
    Likely,
    /// The run was killed or refused memory, or the forecast says that it will be within 30 days.
    Oom,
    /// An expectation is broken. One that could not be checked is not.
    Expectation,
    /// The source has a leak pattern (`check`).
    Source,
    /// The later run is worse than the earlier one (`compare`); a report of one run is never.
    Worse,
}

const NAMES: [(&str, Condition); 6] = [
    ("leak", Condition::Leak),
    ("likely", Condition::Likely),
    ("oom", Condition::Oom),
    ("expectation", Condition::Expectation),
    ("source", Condition::Source),
    ("worse", Condition::Worse),
];

impl Condition {
    /// Whether the report holds it.
    pub fn holds(self, report: &Report) -> bool {
        match self {
            Self::Leak => report.verdict == Verdict::Leak,
            Self::Likely => matches!(report.verdict, Verdict::Leak | Verdict::LikelyLeak),
            Self::Oom => out_of_memory(report),
            Self::Expectation => report.expectations.iter().any(|one| one.state == ExpectationState::Broken),
            Self::Source => report.findings.iter().any(|finding| finding.class == Class::Source),
            Self::Worse => false,
        }
    }
}

/// Whether the run was killed or refused memory, or will be as far as can be foreseen.
pub fn out_of_memory(report: &Report) -> bool {
    let killed = report.findings.iter().any(lowtide_model::Finding::ran_out);
    let forecast = report.forecast().and_then(|oom| oom.seconds);
    killed || forecast.is_some_and(|[_, middle, _]| middle <= FORESEEABLE_S)
}

/// The value of `--fail-on`: some conditions, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailOn(Vec<Condition>);

impl FailOn {
    /// What holds where nothing was asked for: a broken expectation fails where one is given, else nothing does.
    pub fn default_for(expectations_given: bool) -> Self {
        Self(if expectations_given { vec![Condition::Expectation] } else { Vec::new() })
    }

    /// What holds for `check`.
    pub fn source() -> Self {
        Self(vec![Condition::Source])
    }

    /// Whether this is one of the conditions.
    pub fn asks_for(&self, condition: Condition) -> bool {
        self.0.contains(&condition)
    }

    /// Whether the report holds any of the conditions.
    pub fn found_in(&self, report: &Report) -> bool {
        self.0.iter().any(|condition| condition.holds(report))
    }
}

/// A name that `--fail-on` does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailOnError(String);

impl fmt::Display for FailOnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name: String = self.0.chars().take(40).flat_map(char::escape_debug).collect();
        let known = NAMES.map(|(name, _)| name).join(", ");
        write!(f, "`{name}` cannot be failed on; name one or more of {known} with commas between, or none")
    }
}

impl std::error::Error for FailOnError {}

impl FromStr for FailOn {
    type Err = FailOnError;

    /// `leak`, `likely,oom`, `none`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim() == "none" {
            return Ok(Self::default());
        }
        let mut conditions = Vec::new();
        for name in text.split(',').map(str::trim) {
            let (_, condition) = NAMES.iter().find(|(known, _)| *known == name).ok_or_else(|| FailOnError(name.to_owned()))?;
            if !conditions.contains(condition) {
                conditions.push(*condition);
            }
        }
        Ok(Self(conditions))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use lowtide_model::{ExpectationReport, Finding, OomForecast};

    use super::*;

    /// A report with nothing in it.
    pub(crate) fn report(verdict: Verdict) -> Report {
        Report { duration_s: 3600.0, ..Report::empty(verdict) }
    }

    /// A finding that memory ends after so many seconds; with `kills`, that it did.
    pub(crate) fn oom(class: Class, limit: &str, middle_s: Option<f64>, kills: f64) -> Finding {
        let mut finding = Finding::new(class, "ram", "");
        finding.oom = Some(OomForecast {
            limit: limit.into(),
            limit_bytes: 1 << 30,
            seconds: middle_s.map(|middle| [middle * 0.9, middle, middle * 1.1]),
            steps: None,
            epoch: None,
            round: None,
            numbers: [("oom_kills".to_owned(), kills)].into(),
        });
        finding
    }

    fn fails(value: &str, report: &Report) -> bool {
        value.parse::<FailOn>().expect(value).found_in(report)
    }

    #[test]
    fn likely_includes_leak_and_not_the_reverse() {
        for (verdict, leak, likely) in [
            (Verdict::Leak, true, true),
            (Verdict::LikelyLeak, false, true),
            (Verdict::NoLeak, false, false),
            (Verdict::Undecided, false, false),
        ] {
            let report = report(verdict);
            assert_eq!((fails("leak", &report), fails("likely", &report)), (leak, likely), "{verdict:?}");
            assert!(!fails("none", &report));
        }
    }

    #[test]
    fn oom_is_a_kill_or_a_forecast_that_matters() {
        for (class, limit, middle_s, kills, expected) in [
            (Class::Oom, "cgroup", None, 1.0, true),
            (Class::Oom, "cgroup", None, 0.0, false),
            (Class::Leak, "cgroup", Some(7800.0), 0.0, true),
            (Class::Leak, "system", Some(1e9), 0.0, false),
            (Class::Leak, "expectation", Some(7800.0), 0.0, false),
            (Class::Leak, "system", Some(f64::INFINITY), 0.0, false),
        ] {
            let mut report = report(Verdict::NoLeak);
            report.findings = vec![oom(class, limit, middle_s, kills)];
            assert_eq!(fails("source,oom", &report), expected, "{class:?} {limit} {middle_s:?} {kills}");
        }
    }

    #[test]
    fn only_a_broken_expectation_fails() {
        let mut report = report(Verdict::NoLeak);
        for (state, expected) in
            [(ExpectationState::Kept, false), (ExpectationState::Unknown, false), (ExpectationState::Broken, true)]
        {
            report.expectations = vec![ExpectationReport { text: String::new(), state, reason: String::new() }];
            assert_eq!(FailOn::default_for(true).found_in(&report), expected);
            assert!(!FailOn::default_for(false).found_in(&report));
        }
    }

    #[test]
    fn unknown_names_are_told_with_the_known_ones() {
        for text in ["", "leaks", "leak,none", "leak,,oom"] {
            let error = text.parse::<FailOn>().expect_err(text).to_string();
            assert!(error.contains("leak, likely, oom, expectation, source, worse"), "{error}");
        }
        assert_eq!("leak, leak".parse::<FailOn>(), Ok(FailOn(vec![Condition::Leak])));
    }
}
