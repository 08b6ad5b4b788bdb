//! Numbers as tools write them: `1.5`, `1,5`, `1,234,567`, `12.3MiB / 2GiB`, and the many words for nothing.

use lowtide_model::Bytes;

/// What stands in a cell where a number should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell {
    /// A number, and bytes in its unit where the cell has one.
    Number(f64, Option<f64>),
    /// Nothing, said in one of many ways.
    Missing,
    /// Something else.
    Bad,
}

/// Read a cell. With `comma_decimal` a single comma is the decimal mark.
pub(crate) fn cell(text: &str, comma_decimal: bool) -> Cell {
    let text = text.trim();
    if is_missing(text) {
        return Cell::Missing;
    }
    if let Ok(value) = text.parse::<f64>() {
        return if value.is_finite() { Cell::Number(value, None) } else { Cell::Missing };
    }
    // docker stats: `12.3MiB / 2GiB`, used and limit.
    let text = text.split_once(" / ").map_or(text, |(used, _)| used).trim();
    let split = text.find(|c: char| !matches!(c, '0'..='9' | '.' | ',' | '-' | '+' | '\'')).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let Some(value) = digits_of(digits, comma_decimal) else { return Cell::Bad };
    match unit.trim() {
        "" => Cell::Number(value, None),
        unit => Bytes::unit(unit).map_or(Cell::Bad, |factor| Cell::Number(value, Some(factor))),
    }
}

fn is_missing(text: &str) -> bool {
    const WORDS: [&str; 9] = ["nan", "null", "none", "na", "n/a", "nil", "<nil>", "undefined", "-nan"];
    text.is_empty() || matches!(text, "-" | "--") || WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

fn digits_of(text: &str, comma_decimal: bool) -> Option<f64> {
    const LONGEST: usize = 40;
    if text.is_empty() || text.len() > LONGEST {
        return None;
    }
    let plain = text.replace('\'', "");
    let commas = plain.matches(',').count();
    let fixed = match (commas, plain.contains('.')) {
        (0, _) => plain,
        (1, false) if comma_decimal || !grouped(&plain, ',') => plain.replace(',', "."),
        // 1.234,5: the last mark is the decimal one.
        (1, true) if plain.rfind(',') > plain.rfind('.') => plain.replace('.', "").replace(',', "."),
        _ => plain.replace(',', ""),
    };
    fixed.parse().ok().filter(|value: &f64| value.is_finite())
}

/// Whether this mark cuts the digits into groups of three.
fn grouped(text: &str, mark: char) -> bool {
    text.rsplit(mark).next().is_some_and(|last| last.len() == 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_tools_write() {
        for (text, value) in [("1.5", 1.5), ("1e3", 1000.0), ("1,234,567", 1_234_567.0), ("1,234", 1234.0), ("1,25", 1.25)] {
            assert_eq!(cell(text, false), Cell::Number(value, None), "{text}");
        }
        assert_eq!(cell("1,234", true), Cell::Number(1.234, None));
        assert_eq!(cell("1.234,5", true), Cell::Number(1234.5, None));
        assert_eq!(cell("12.5MiB / 2GiB", false), Cell::Number(12.5, Some(1_048_576.0)));
        assert_eq!(cell("3 kB", false), Cell::Number(3.0, Some(1000.0)));
        for text in ["", "NaN", "N/A", "null", "-", "inf"] {
            assert_eq!(cell(text, false), Cell::Missing, "{text}");
        }
        for text in ["abc", "1.2.3", "5 parsecs", "12:30", "--5"] {
            assert_eq!(cell(text, false), Cell::Bad, "{text}");
        }
    }
}
