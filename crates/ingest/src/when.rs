//! Times as tools write them, as seconds: numbers, times of day, spans, and ISO 8601.

/// What sort of time stands in a cell. A column keeps to one sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// A number: seconds since some start, or since 1970.
    Number,
    /// A time of day or a span: `13:05:59.2`, `2-03:04:05`. Goes back to zero at midnight.
    Clock,
    /// A date with its offset from UTC: the moment is known.
    Zoned,
    /// A date without one: only differences are known.
    Local,
    /// A date without a time of day; the time stands in a column of its own.
    DayOnly,
}

/// Seconds and the sort of time.
pub(crate) fn parse(text: &str, comma_decimal: bool) -> Option<(f64, Sort)> {
    let text = text.trim();
    const LONGEST: usize = 64;
    if text.is_empty() || text.len() > LONGEST || !text.is_ascii() {
        return None;
    }
    if let crate::number::Cell::Number(value, None) = crate::number::cell(text, comma_decimal) {
        return Some((value, Sort::Number));
    }
    clock(text).map(|seconds| (seconds, Sort::Clock)).or_else(|| calendar(text))
}

/// Seconds in one unit of a column of numbers, told by the size of a value: a count since 1970 has its own range
/// in each unit (from 1996 on), everything else counts seconds.
pub(crate) fn scale_of(value: f64) -> f64 {
    match value.abs() {
        8.2e11..8.2e13 => 1e-3,
        8.2e14..8.2e16 => 1e-6,
        8.2e17..8.2e19 => 1e-9,
        _ => 1.0,
    }
}

/// Whether this many seconds are a moment since 1970 (1996 to 2200).
pub(crate) fn is_epoch(seconds: f64) -> bool {
    (8.2e8..7.3e9).contains(&seconds)
}

/// `13:05`, `13:05:59`, `13:05:59.25`, `1:05:59 PM`, `2-03:04:05`, `0 days 00:00:05`.
fn clock(text: &str) -> Option<f64> {
    let (text, half_day) = match text.rsplit_once(' ') {
        Some((time, "AM" | "am")) => (time, Some(0.0)),
        Some((time, "PM" | "pm")) => (time, Some(43_200.0)),
        _ => (text, None),
    };
    let (days, text) =
        match text.split_once(" days ").or_else(|| text.split_once(" day, ")).or_else(|| text.split_once(" days, ")) {
            Some((days, time)) => (days.trim().parse::<u32>().ok()?, time),
            None => match text.split_once('-') {
                Some((days, time)) => (days.parse::<u32>().ok()?, time),
                None => (0, text),
            },
        };
    let mut parts = text.trim().split(':');
    let (first, second, third, none) = (parts.next()?, parts.next()?, parts.next(), parts.next());
    if none.is_some() {
        return None;
    }
    let whole = |part: &str, most: u32| part.parse::<u32>().ok().filter(|value| *value <= most).map(f64::from);
    let seconds = |part: &str| {
        let value: f64 = part.replace(',', ".").parse().ok()?;
        (part.starts_with(|c: char| c.is_ascii_digit()) && (0.0..61.0).contains(&value)).then_some(value)
    };
    let sum = match third {
        Some(third) => whole(first, 1_000_000)? * 3600.0 + whole(second, 59)? * 60.0 + seconds(third)?,
        // 13:05 is minutes and seconds where a stopwatch wrote it, hours and minutes where a clock did; only
        // differences count, and rows of a run are rarely a minute apart.
        None => whole(first, 1_000_000)? * 60.0 + seconds(second)?,
    };
    let sum = match half_day {
        // 12:30 AM is half past midnight.
        Some(half_day) => sum % 43_200.0 + half_day,
        None => sum,
    };
    Some(f64::from(days) * 86_400.0 + sum)
}

/// `2024-01-31T13:05:59.25+01:00` and its looser forms: a blank for the T, slashes, no zone, `UTC`.
fn calendar(text: &str) -> Option<(f64, Sort)> {
    let day = text.get(..10)?;
    let separator = day.as_bytes()[4];
    if !matches!(separator, b'-' | b'/' | b'.') || day.as_bytes()[7] != separator {
        return None;
    }
    let digits = |range: std::ops::Range<usize>| {
        let part = day.get(range)?;
        part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse::<i64>().ok())?
    };
    let (year, month, date) = (digits(0..4)?, digits(5..7)?, digits(8..10)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&date) {
        return None;
    }
    let day_s = days_since_1970(year, month, date) as f64 * 86_400.0;
    let time = text[10..].trim_start_matches(['T', 't', ' ', '_']).trim();
    if time.is_empty() {
        return Some((day_s, Sort::DayOnly));
    }
    let (time, offset_s) = split_zone(time)?;
    let seconds = clock(time).filter(|seconds| *seconds < 90_000.0)?;
    // A bare `13:05` behind a date is of the day, not of a stopwatch.
    let seconds = if time.matches(':').count() == 1 { seconds * 60.0 } else { seconds };
    match offset_s {
        Some(offset_s) => Some((day_s + seconds - offset_s, Sort::Zoned)),
        None => Some((day_s + seconds, Sort::Local)),
    }
}

/// A time of day and its offset from UTC in seconds, where there is one.
fn split_zone(time: &str) -> Option<(&str, Option<f64>)> {
    for zone in ["Z", "z", " UTC", " GMT", "UTC"] {
        if let Some(time) = time.strip_suffix(zone) {
            return Some((time.trim_end(), Some(0.0)));
        }
    }
    let Some(at) = time.rfind(['+', '-']) else { return Some((time, None)) };
    let (time, zone) = time.split_at(at);
    let sign = if zone.starts_with('-') { -1.0 } else { 1.0 };
    let digits: String = zone[1..].chars().filter(|c| *c != ':').collect();
    if !matches!(digits.len(), 2 | 4) || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let hours: f64 = digits[..2].parse().ok()?;
    let minutes: f64 = if digits.len() == 4 { digits[2..].parse().ok()? } else { 0.0 };
    Some((time.trim_end(), Some(sign * (hours * 3600.0 + minutes * 60.0))))
}

/// Days from 1970-01-01 in the Gregorian calendar, counted from years that begin in March, so that the leap day
/// is the last one of its year.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_moments() {
        for (text, seconds, sort) in [
            ("12.5", 12.5, Sort::Number),
            ("01:02:03.5", 3723.5, Sort::Clock),
            ("02:03", 123.0, Sort::Clock),
            ("12:00:01 AM", 1.0, Sort::Clock),
            ("01:00:00 PM", 46_800.0, Sort::Clock),
            ("2-00:00:01", 172_801.0, Sort::Clock),
            ("0 days 00:00:05.25", 5.25, Sort::Clock),
            ("1970-01-02T00:00:01Z", 86_401.0, Sort::Zoned),
            ("2024-02-29 12:00:00+01:00", 1_709_204_400.0, Sort::Zoned),
            ("2024/03/01 00:00:00.5", 1_709_251_200.5, Sort::Local),
            ("2024-03-01 13:05", 1_709_298_300.0, Sort::Local),
            ("2024-03-01", 1_709_251_200.0, Sort::DayOnly),
        ] {
            assert_eq!(parse(text, false), Some((seconds, sort)), "{text}");
        }
    }

    #[test]
    fn refuses_the_rest() {
        for text in ["", "abc", "25:61:00", "1:2:3:4", "2024-13-01", "2024-01-32 00:00:00", "2024-01-01T00:00:00+1", "::", "-"] {
            assert_eq!(parse(text, false), None, "{text}");
        }
    }

    #[test]
    fn tells_units_of_counts_since_1970() {
        for (value, scale) in [(1.7e9, 1.0), (1.7e12, 1e-3), (1.7e15, 1e-6), (1.7e18, 1e-9), (86_400.0, 1.0)] {
            assert!((scale_of(value) - scale).abs() < 1e-12, "{value}");
        }
        assert!(is_epoch(1.7e9) && !is_epoch(1e6));
    }
}
