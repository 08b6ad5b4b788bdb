//! Spans of time as people write them: `30m`, `10s`, `1h30m`.

use std::fmt;
use std::time::Duration;

/// Why a text is not a span of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DurationError {
    text: String,
    problem: &'static str,
}

impl fmt::Display for DurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text: String = self.text.chars().take(40).flat_map(char::escape_debug).collect();
        write!(f, "`{text}` is not a span of time: {}; write it as `30s`, `10m`, `1h30m` or `2d`", self.problem)
    }
}

impl std::error::Error for DurationError {}

/// Units, the longest first, with their seconds.
const UNITS: [(&str, f64); 6] = [("d", 86_400.0), ("h", 3600.0), ("min", 60.0), ("m", 60.0), ("s", 1.0), ("ms", 0.001)];

/// Longer than any run: ten years.
const LONGEST_S: f64 = 3652.0 * 86_400.0;

/// Reads `30m`, `1.5h`, `1h30m`, `500ms`; a number alone is seconds. Each unit at most once, the longest first.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let error = |problem| DurationError { text: text.to_owned(), problem };
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(error("it is empty"));
    }
    if let Ok(seconds) = rest.parse::<f64>()
        && !rest.contains(|c: char| c.is_ascii_alphabetic())
    {
        return span(seconds).ok_or_else(|| error("it is negative or too long"));
    }
    let mut total = 0.0;
    let mut smallest = f64::INFINITY;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).ok_or_else(|| error("a unit is missing"))?;
        let number: f64 = rest[..digits].parse().map_err(|_| error("a number is missing"))?;
        rest = rest[digits..].trim_start();
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let (_, unit) = UNITS.iter().find(|(name, _)| *name == &rest[..letters]).ok_or_else(|| error("its unit is not known"))?;
        if *unit >= smallest {
            return Err(error("its units do not go from long to short"));
        }
        smallest = *unit;
        total += number * unit;
        rest = rest[letters..].trim_start();
    }
    span(total).ok_or_else(|| error("it is too long"))
}

fn span(seconds: f64) -> Option<Duration> {
    (0.0..=LONGEST_S).contains(&seconds).then(|| Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_what_people_write() {
        for (text, seconds) in [
            ("30m", 1800.0),
            ("10s", 10.0),
            ("2h", 7200.0),
            ("1h30m", 5400.0),
            ("1h 30min", 5400.0),
            ("1.5h", 5400.0),
            ("500ms", 0.5),
            ("2d", 172_800.0),
            ("0.2", 0.2),
            ("90", 90.0),
            ("1d2h3m4s", 93_784.0),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_secs_f64(seconds)), "{text}");
        }
    }

    #[test]
    fn says_what_is_wrong() {
        for (text, problem) in [
            ("", "it is empty"),
            ("h", "a number is missing"),
            ("10 parsecs", "its unit is not known"),
            ("1h30", "a unit is missing"),
            ("30m1h", "its units do not go from long to short"),
            ("1m1min", "its units do not go from long to short"),
            ("-5", "it is negative or too long"),
            ("-5s", "a number is missing"),
            ("99999d", "it is too long"),
            ("nan", "a number is missing"),
            ("1.2.3s", "a number is missing"),
        ] {
            let error = parse_duration(text).expect_err(text);
            assert_eq!(error.problem, problem, "{text}");
            assert!(error.to_string().contains("write it as"));
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,20}|[0-9.hmsd ]{0,12}") {
            if let Err(error) = parse_duration(&text) {
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}
