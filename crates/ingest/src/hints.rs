//! `--column`: what the user says about columns.

use lowtide_model::Bytes;

use crate::Problem;
use crate::header::{Field, Measure};

/// One `--column KIND=NAME[:UNIT]`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Hint {
    /// What the column is.
    pub field: Field,
    /// The column's name in the header, or its number counted from 1.
    pub column: String,
    /// Bytes (for time: seconds) in its unit, where one is given.
    pub factor: Option<f64>,
}

/// Read all hints.
pub(crate) fn parse(hints: &[String]) -> Result<Vec<Hint>, Problem> {
    hints.iter().map(|hint| parse_one(hint).ok_or_else(|| Problem::BadHint { hint: hint.clone() })).collect()
}

fn parse_one(hint: &str) -> Option<Hint> {
    let (kind, column) = hint.split_once('=')?;
    let field = kind_of(kind.trim())?;
    let unit = |name: &str| if field == Field::Time { seconds_of(name) } else { Bytes::unit(name) };
    // A name may hold a colon itself: only what is a unit is taken for one.
    let (column, factor) = match column.rsplit_once(':') {
        Some((column, name)) if !name.trim().is_empty() && unit(name).is_some() => (column, unit(name)),
        _ => (column, None),
    };
    let column = column.trim();
    (!column.is_empty()).then(|| Hint { field, column: column.to_owned(), factor })
}

fn kind_of(kind: &str) -> Option<Field> {
    Some(match kind.to_ascii_lowercase().as_str() {
        "time" => Field::Time,
        "pid" => Field::Pid,
        "ppid" => Field::Ppid,
        "command" | "cmd" => Field::Command,
        "name" => Field::Name,
        "role" => Field::Role,
        "rank" => Field::Rank,
        "memory" | "rss" => Field::Measure(Measure::Rss),
        "anon" => Field::Measure(Measure::Anon),
        "file" => Field::Measure(Measure::File),
        "shmem" | "shm" => Field::Measure(Measure::Shmem),
        "swap" => Field::Measure(Measure::Swap),
        "pss" => Field::Measure(Measure::Pss),
        "uss" => Field::Measure(Measure::Uss),
        "threads" => Field::Measure(Measure::Threads),
        "fds" => Field::Measure(Measure::Fds),
        "maps" => Field::Measure(Measure::Maps),
        "total" => Field::Measure(Measure::Total),
        "available" => Field::Measure(Measure::Available),
        "used" => Field::Measure(Measure::Used),
        _ => return None,
    })
}

/// Seconds in a unit of time.
pub(crate) fn seconds_of(name: &str) -> Option<f64> {
    Some(match name.trim().to_ascii_lowercase().as_str() {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" | "msec" | "millis" | "milliseconds" => 1e-3,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3600.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn reads_names_units_and_colons() {
        let hints = parse(&["time=elapsed:ms".into(), "memory=rss_mb:MB".into(), "pss=a:c".into(), "memory=3".into()]).unwrap();
        assert_eq!(hints[0], Hint { field: Field::Time, column: "elapsed".into(), factor: Some(1e-3) });
        assert_eq!(hints[1].factor, Some(1e6));
        assert_eq!((hints[2].column.as_str(), hints[2].factor), ("a:c", None));
        for bad in ["", "memory", "memory=", "colour=x"] {
            assert!(matches!(parse(&[bad.to_owned()]), Err(Problem::BadHint { .. })), "{bad}");
        }
    }
}
