//! Bytes to text, and text to records: bounded lines, quotes over several lines, any end of line.

use std::borrow::Cow;

use crate::Problem;

/// The longest line that is read, in bytes.
pub(crate) const LINE_BYTES: usize = 1 << 20;

/// A quoted field may hold that many line ends; more means that a quote was never closed.
const QUOTED_LINES: usize = 64;
/// After so many quotes that were never closed, quotes are nothing special in this file.
const UNCLOSED: u32 = 100;

/// The text of a file: UTF-8 with or without its mark, or UTF-16 with it (PowerShell's `>`). Broken sequences are
/// replaced, since names in them do not matter.
pub(crate) fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, Problem> {
    let utf16 = |unit: fn([u8; 2]) -> u16| {
        let units = bytes[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect::<String>()
    };
    let text = match bytes {
        [0xFF, 0xFE, ..] => Cow::Owned(utf16(u16::from_le_bytes)),
        [0xFE, 0xFF, ..] => Cow::Owned(utf16(u16::from_be_bytes)),
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8_lossy(rest),
        _ => String::from_utf8_lossy(bytes),
    };
    match text.find('\0') {
        Some(offset) => Err(Problem::NotText { offset }),
        None => Ok(text),
    }
}

/// A short piece of foreign text for a message: one line, no control characters.
pub(crate) fn cut(text: &str) -> String {
    const MOST: usize = 60;
    let mut short: String = text.chars().take(MOST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(MOST).is_some() {
        short.push_str("...");
    }
    short
}

/// The records of a text with their line numbers, counted from 1. With `quotes`, a quoted field may hold line ends.
pub(crate) struct Records<'a> {
    rest: &'a str,
    line: u64,
    quotes: Option<char>,
    unclosed: u32,
}

impl<'a> Records<'a> {
    /// Records are lines.
    pub(crate) fn lines(text: &'a str) -> Self {
        Self { rest: text, line: 1, quotes: None, unclosed: 0 }
    }

    /// Records of a CSV whose fields this character separates.
    pub(crate) fn quoted(text: &'a str, delimiter: char) -> Self {
        Self { rest: text, line: 1, quotes: Some(delimiter), unclosed: 0 }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<(u64, &'a str), Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let mut end = line_end(self.rest);
        if let Some(delimiter) = self.quotes.filter(|_| self.rest[..end].contains('"')) {
            match self.closing_line(delimiter, end) {
                Some(closing) => end = closing,
                None => self.unclosed += 1,
            }
            if self.unclosed > UNCLOSED {
                self.quotes = None;
            }
        }
        let record = &self.rest[..end];
        let line = self.line;
        self.line += record.matches('\n').count() as u64 + 1;
        self.rest = self.rest.get(end + 1..).unwrap_or("");
        if record.len() > LINE_BYTES {
            self.rest = "";
            return Some(Err(Problem::LineTooLong { line }));
        }
        Some(Ok((line, record.strip_suffix('\r').unwrap_or(record))))
    }
}

impl Records<'_> {
    /// The end of the line at which all quotes are closed, beginning with the line that ends at `end`.
    fn closing_line(&self, delimiter: char, mut end: usize) -> Option<usize> {
        let mut quotes = Quotes { delimiter, open: false, at_start: true };
        quotes.pass(&self.rest[..end]);
        for _ in 0..QUOTED_LINES {
            if !quotes.open {
                return Some(end);
            }
            let next = self.rest.get(end + 1..)?;
            let line = &next[..line_end(next)];
            quotes.pass(line);
            end += 1 + line.len();
            if end > LINE_BYTES {
                return None;
            }
        }
        None
    }
}

fn line_end(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len())
}

/// Whether a quoted field is open. A quote opens only at the start of a field.
struct Quotes {
    delimiter: char,
    open: bool,
    at_start: bool,
}

impl Quotes {
    fn pass(&mut self, text: &str) {
        for c in text.chars() {
            if c == '"' && (self.open || self.at_start) {
                self.open = !self.open;
            }
            // A doubled quote inside a field closes and opens again; the second one must count as at a start.
            self.at_start = c == self.delimiter || c == '"' || (self.at_start && c == ' ');
        }
    }
}

/// The fields of a CSV record, quotes taken off.
pub(crate) fn fields<'a>(record: &'a str, delimiter: char, into: &mut Vec<Cow<'a, str>>) {
    into.clear();
    let mut rest = record;
    loop {
        let body = rest.trim_start_matches(' ');
        if let Some(quoted) = body.strip_prefix('"') {
            let (field, after) = unquote(quoted);
            into.push(field);
            // What stands between the closing quote and the delimiter is dropped.
            match after.find(delimiter) {
                Some(at) => rest = &after[at + delimiter.len_utf8()..],
                None => return,
            }
        } else {
            match rest.find(delimiter) {
                Some(at) => {
                    into.push(Cow::Borrowed(rest[..at].trim()));
                    rest = &rest[at + delimiter.len_utf8()..];
                }
                None => {
                    into.push(Cow::Borrowed(rest.trim()));
                    return;
                }
            }
        }
    }
}

/// A quoted field without its opening quote: its text, and what follows the closing quote.
fn unquote(text: &str) -> (Cow<'_, str>, &str) {
    let mut field = Cow::Borrowed("");
    let mut rest = text;
    while let Some(at) = rest.find('"') {
        if field.is_empty() {
            field = Cow::Borrowed(&rest[..at]);
        } else {
            field.to_mut().push_str(&rest[..at]);
        }
        rest = &rest[at + 1..];
        match rest.strip_prefix('"') {
            Some(more) => {
                field.to_mut().push('"');
                rest = more;
            }
            None => return (field, rest),
        }
    }
    if field.is_empty() { (Cow::Borrowed(rest), "") } else { (field + rest, "") }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn split(record: &str, delimiter: char) -> Vec<String> {
        let mut into = Vec::new();
        fields(record, delimiter, &mut into);
        into.into_iter().map(Cow::into_owned).collect()
    }

    #[test]
    fn takes_quotes_off() {
        assert_eq!(split("1, 2,,", ','), ["1", "2", "", ""]);
        assert_eq!(split(r#"1,"a, ""b""",3"#, ','), ["1", r#"a, "b""#, "3"]);
        assert_eq!(split(r#""a" ;"";x"y"#, ';'), ["a", "", "x\"y"]);
        assert_eq!(split(r#"1,"never closed"#, ','), ["1", "never closed"]);
    }

    #[test]
    fn quoted_line_ends_stay_in_a_record_and_lines_are_counted() {
        let text = "a,b\r\n1,\"x\ny\"\n2,z\n";
        let records: Vec<_> = Records::quoted(text, ',').map(Result::unwrap).collect();
        assert_eq!(records, [(1, "a,b"), (2, "1,\"x\ny\""), (4, "2,z")]);
    }

    #[test]
    fn a_quote_that_never_closes_costs_one_line() {
        let text = "1,\"x\n".to_owned() + &"2,y\n".repeat(200);
        assert_eq!(Records::quoted(&text, ',').count(), 201);
    }

    #[test]
    fn reads_marks_of_utf8_and_utf16() {
        assert_eq!(decode(b"\xEF\xBB\xBFt,m").unwrap(), "t,m");
        assert_eq!(decode(b"\xFF\xFEt\0,\0").unwrap(), "t,");
        assert_eq!(decode(b"ab\0"), Err(Problem::NotText { offset: 2 }));
    }
}
