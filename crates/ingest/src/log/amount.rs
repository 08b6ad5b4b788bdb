//! Numbers with and without units, out of a text whose blanks were taken out.

use std::ops::Range;

use super::stream::{GAP, LINE, RECORD, Text};

/// A pattern's part that matches an amount: a number and its unit, to be read by [`bytes`].
pub(super) const AMOUNT: &str = r"\d(?:[\d.,]*\d)?(?:bytes?|[kmgtp]i?b|[kmgt]|b)";

/// Why an amount is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refused {
    #[error("it has no unit")]
    NoUnit,
    #[error("it is cut or mixed with another line")]
    Torn,
    #[error("its comma may mean thousands or decimals")]
    Comma,
    #[error("it is no number")]
    NoNumber,
    #[error("it is too large")]
    TooLarge,
}

/// The largest amount of memory that is believed: 1 EiB.
const MOST: f64 = (1_u64 << 60) as f64;

/// The amount in a range that [`AMOUNT`] matched.
pub(super) fn bytes(text: &Text, range: Range<usize>) -> Result<f64, Refused> {
    let chars = &text.chars[range.clone()];
    let digits = chars.iter().rposition(u8::is_ascii_digit).ok_or(Refused::NoNumber)? + 1;
    let unit = range.start + digits..range.end;
    if unit.is_empty() {
        return Err(Refused::NoUnit);
    }
    let number = whole_number(text, range.start..unit.start)?;
    // A number goes on in the next line only where nothing but the line's end is between.
    let between = text.flags_at(unit.start);
    if between & RECORD != 0 || text.flags_within(unit.clone()) & !LINE != 0 {
        return Err(Refused::Torn);
    }
    // The unit is a word of its own: `12.5 Models` are no megabytes.
    let ended = text.flags_at(unit.end) != 0 || !text.chars.get(unit.end).is_some_and(u8::is_ascii_alphanumeric);
    let one_letter = unit.len() == 1 && chars[digits] != b'b' && chars[digits] != b'B';
    if !ended || (one_letter && between & LINE != 0) {
        return Err(Refused::NoUnit);
    }
    let value = decimal(&number)?;
    let factor = factor(&text.chars[unit]).ok_or(Refused::NoUnit)?;
    let bytes = (value * factor).round();
    if bytes > MOST { Err(Refused::TooLarge) } else { Ok(bytes) }
}

/// The digits of a range, cut at what cannot belong to one number.
fn whole_number(text: &Text, range: Range<usize>) -> Result<String, Refused> {
    let mut start = range.start;
    for at in range.start + 1..range.end {
        let flags = text.flags[at];
        // What stands before a blank is another number; in the number itself only a bare line end may be.
        if flags & (GAP | RECORD) != 0 {
            start = at;
        }
    }
    let number = String::from_utf8_lossy(&text.chars[start..range.end]).into_owned();
    if number.starts_with(|c: char| c.is_ascii_digit()) { Ok(number) } else { Err(Refused::Torn) }
}

/// `1006.00`, `26,184,840`, `1,006.00`, `12,50`. A single comma before three digits may mean either.
pub(super) fn decimal(number: &str) -> Result<f64, Refused> {
    let commas = number.matches(',').count();
    let points = number.matches('.').count();
    let grouped = |text: &str| {
        let mut groups = text.split(',');
        let first = groups.next().unwrap_or("");
        (1..=3).contains(&first.len()) && groups.all(|group| group.len() == 3)
    };
    let plain = match (commas, points) {
        (0, 0 | 1) => number.to_owned(),
        (1, 0) => {
            let (whole, part) = number.split_once(',').ok_or(Refused::NoNumber)?;
            if part.len() == 3 {
                return Err(Refused::Comma);
            }
            format!("{whole}.{part}")
        }
        (_, 0) if grouped(number) => number.replace(',', ""),
        (_, 1) => {
            let (whole, part) = number.split_once('.').ok_or(Refused::NoNumber)?;
            if part.contains(',') || !grouped(whole) {
                return Err(Refused::NoNumber);
            }
            number.replace(',', "")
        }
        _ => return Err(Refused::NoNumber),
    };
    plain.parse::<f64>().ok().filter(|value| value.is_finite()).ok_or(Refused::NoNumber)
}

/// Bytes in a unit. KB, MB and GB are powers of 1024 in all programs that are read: the kernel, torch, Ray, LSF, PBS.
/// Kubernetes has its own reader.
fn factor(unit: &[u8]) -> Option<f64> {
    const BASE: f64 = 1024.0;
    Some(match unit.first()?.to_ascii_lowercase() {
        b'b' => 1.0,
        b'k' => BASE,
        b'm' => BASE.powi(2),
        b'g' => BASE.powi(3),
        b't' => BASE.powi(4),
        b'p' => BASE.powi(5),
        _ => return None,
    })
}

/// A count, pid or amount in bytes without a unit. With `followed`, a pattern asked for what stands behind it, so that
/// it may go on in the next line; else it ends with its record, and where the next line begins with a digit it is not known whether it does.
pub(super) fn count(text: &Text, range: Range<usize>, followed: bool) -> Option<f64> {
    let mut end = range.end;
    for at in range.start + 1..range.end {
        let flags = text.flags[at];
        if flags & (GAP | RECORD) != 0 {
            end = at;
            break;
        }
        if flags & LINE != 0 && !followed {
            return None;
        }
    }
    let digits: String = std::str::from_utf8(&text.chars[range.start..end]).ok()?.to_owned();
    let plain = if digits.contains(',') {
        let mut groups = digits.trim_start_matches('-').split(',');
        let first = groups.next()?.len();
        if !(1..=3).contains(&first) || !groups.all(|group| group.len() == 3) {
            return None;
        }
        digits.replace(',', "")
    } else {
        digits
    };
    // Beyond 2^63 no counter goes; a longer row of digits is something else.
    plain.parse::<i64>().map(|value| value as f64).ok().or_else(|| plain.parse::<u64>().map(|value| value as f64).ok())
}

#[cfg(test)]
mod tests {
    use super::super::prefix::Source;
    use super::super::stream::Stream;
    use super::*;

    fn read(lines: &[&str]) -> Result<f64, Refused> {
        let mut stream = Stream::default();
        for (at, line) in lines.iter().enumerate() {
            stream.push(line.as_bytes(), at as u64 + 1, &Source::default(), false, false);
        }
        let text = stream.text();
        let regex = regex::bytes::Regex::new(&format!("(?i-u){AMOUNT}")).expect("a pattern");
        let found = regex.find(text.chars).ok_or(Refused::NoUnit)?;
        bytes(&text, found.range())
    }

    #[test]
    fn units_and_separators() {
        const KIB: f64 = 1024.0;
        for (line, expected) in [
            ("12.50 MiB (", Ok(12.5 * KIB * KIB)),
            ("0 bytes free", Ok(0.0)),
            ("17.79G (", Ok((17.79 * KIB * KIB * KIB).round())),
            ("26,184,840kB,", Ok(26_184_840.0 * KIB)),
            ("1,006.00 MiB", Ok(1006.0 * KIB * KIB)),
            ("12,50 GiB", Ok(12.5 * KIB * KIB * KIB)),
            ("1,234 MiB", Err(Refused::Comma)),
            ("12.5 Models", Err(Refused::NoUnit)),
            ("3 1.5 GiB", Ok(1.5 * KIB * KIB * KIB)),
            ("1.2.3 GiB", Err(Refused::NoNumber)),
            ("99999999999 TiB", Err(Refused::TooLarge)),
        ] {
            assert_eq!(read(&[line]), expected, "{line}");
        }
    }

    #[test]
    fn line_ends_inside() {
        assert_eq!(read(&["12.5", "0 MiB"]), Ok(12.5 * 1_048_576.0));
        assert_eq!(read(&["12.50 M", "iB free"]), Ok(12.5 * 1_048_576.0));
        assert_eq!(read(&["12.50", "Models"]), Err(Refused::NoUnit));
        assert_eq!(read(&["12.50 ", "Good"]), Err(Refused::NoUnit));
    }
}
