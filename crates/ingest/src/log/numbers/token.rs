//! A line cut into words, numbers and marks.

use super::super::amount;

/// Tokens of a line that are read; a longer one says nothing of memory behind them.
const MOST: usize = 512;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sort {
    /// Letters, digits and underscores that begin with a letter: `max_mem`, `gpu0`.
    Word,
    /// A number.
    Number {
        value: f64,
        /// The value of its last digit: 0.1 for `12.3`.
        last_digit: f64,
        /// Without a point, a sign or an exponent.
        whole: bool,
        /// A sign stands before it.
        signed: bool,
    },
    /// A number that may mean several things (`1,234 GB`), or none (`1.2.3`).
    Broken,
    /// Anything else that is no blank.
    Mark(u8),
}

/// A token of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Token {
    pub sort: Sort,
    pub start: usize,
    pub end: usize,
    /// A blank stands before it.
    pub gap: bool,
}

impl Token {
    pub(super) fn text<'a>(&self, line: &'a str) -> &'a str {
        line.get(self.start..self.end).unwrap_or("")
    }

    pub(super) fn is_mark(&self, marks: &[u8]) -> bool {
        matches!(self.sort, Sort::Mark(mark) if marks.contains(&mark))
    }

    /// A number that counts something: a step, a rank.
    pub(super) fn count(&self) -> Option<f64> {
        match self.sort {
            Sort::Number { value, whole: true, .. } => Some(value),
            _ => None,
        }
    }
}

/// The tokens of a line. Characters beyond ASCII are blanks: they draw bars and boxes.
pub(super) fn cut(line: &str) -> Vec<Token> {
    let bytes = line.as_bytes();
    let mut tokens: Vec<Token> = Vec::new();
    let (mut at, mut gap) = (0, true);
    while at < bytes.len() && tokens.len() < MOST {
        let byte = bytes[at];
        let start = at;
        let sort = match byte {
            b' ' | b'\t' | 0x80.. => {
                gap = true;
                at += 1;
                continue;
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                at += bytes[at..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
                Sort::Word
            }
            b'0'..=b'9' => {
                at += number_length(&bytes[at..]);
                number(&line[start..at], sign_before(bytes, start))
            }
            _ => {
                at += 1;
                Sort::Mark(byte)
            }
        };
        tokens.push(Token { sort, start, end: at, gap });
        gap = false;
    }
    tokens
}

/// `12`, `12.5`, `1,234.5`, `1e-05`, and what goes on like a version.
fn number_length(bytes: &[u8]) -> usize {
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut at = 0;
    while is_digit(at) || (matches!(bytes.get(at), Some(b'.' | b',')) && is_digit(at + 1)) {
        at += 1;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        if is_digit(at + 1 + sign) {
            at += 1 + sign;
            while is_digit(at) {
                at += 1;
            }
        }
    }
    at
}

/// A sign that is none of a range or a date: nothing stands before it, or a blank or a mark.
fn sign_before(bytes: &[u8], start: usize) -> bool {
    let Some(before) = start.checked_sub(1) else { return false };
    let alone = before.checked_sub(1).is_none_or(|at| !bytes[at].is_ascii_alphanumeric());
    matches!(bytes[before], b'+' | b'-') && alone
}

fn number(text: &str, signed: bool) -> Sort {
    let exponent = text.find(['e', 'E']);
    let plain = match exponent {
        Some(_) => text.parse::<f64>().ok(),
        None => amount::decimal(text).ok(),
    };
    let Some(value) = plain.filter(|value| value.is_finite()) else { return Sort::Broken };
    let decimals = match (text.rfind('.'), exponent) {
        (Some(point), None) => text.len() - point - 1,
        // `12,5`: `decimal` takes a comma that groups nothing for the point.
        (None, None) if text.matches(',').count() == 1 && text.len() - text.find(',').unwrap_or(0) != 4 => {
            text.len() - text.find(',').unwrap_or(0) - 1
        }
        _ => 0,
    };
    let last_digit = if exponent.is_some() { value.abs() * 1e-6 } else { 10.0_f64.powi(-(decimals.min(12) as i32)) };
    Sort::Number { value, last_digit, whole: decimals == 0 && exponent.is_none(), signed }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> Vec<String> {
        cut(line).iter().map(|token| token.text(line).to_owned()).collect()
    }

    #[test]
    fn words_numbers_and_marks() {
        assert_eq!(shown("ram=12.3G, gpu0 1e-05"), ["ram", "=", "12.3", "G", ",", "gpu0", "1e-05"]);
        assert_eq!(shown("45%|███ | 45/100 [00:12<"), ["45", "%", "|", "|", "45", "/", "100", "[", "00", ":", "12", "<"]);
    }

    #[test]
    fn numbers_are_what_they_say_or_broken() {
        let first = |line: &str| cut(line)[0].sort;
        assert_eq!(first("12.30"), Sort::Number { value: 12.3, last_digit: 0.01, whole: false, signed: false });
        assert_eq!(first("1,234.5"), Sort::Number { value: 1234.5, last_digit: 0.1, whole: false, signed: false });
        assert_eq!(first("1,234"), Sort::Broken);
        assert_eq!(first("1.2.3"), Sort::Broken);
        assert!(matches!(cut("x -5")[2].sort, Sort::Number { signed: true, .. }));
        assert!(matches!(cut("10-5")[2].sort, Sort::Number { signed: false, .. }));
    }
}
