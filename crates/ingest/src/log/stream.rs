//! One writer's lines as one text without blanks, in which messages are found however they are wrapped.
//!
//! A message that a terminal or an editor wrapped has line ends in the middle of words and numbers. So blanks and line
//! ends are taken out, and where they were is kept beside the text: patterns need not care for them, numbers do.

use std::ops::Range;

use super::prefix::Source;

/// A blank stood before this character.
pub(super) const GAP: u8 = 1;
/// A line end stood before it.
pub(super) const LINE: u8 = 2;
/// A record began with it: it has a prefix of its own, or overwrote what stood there.
pub(super) const RECORD: u8 = 4;

/// So far behind its trigger may a message end.
pub(super) const FORWARD: usize = 6 << 10;
/// So far before its trigger may it begin.
pub(super) const BACK: usize = 512;
/// What is read of one writer before messages are looked for in it.
const BATCH: usize = 64 << 10;

/// Where a line begins.
#[derive(Clone, Debug)]
struct Mark {
    at: usize,
    line: u64,
    source: Source,
}

/// The text of one writer that is not done with.
#[derive(Default)]
pub(super) struct Stream {
    chars: Vec<u8>,
    flags: Vec<u8>,
    marks: Vec<Mark>,
    /// A blank or line end before the next character.
    pending: u8,
    /// Up to here messages were looked for.
    pub scanned: usize,
    /// Up to here each family has had its message.
    pub covered: Vec<usize>,
}

impl Stream {
    /// Adds a line without its prefix.
    pub(super) fn push(&mut self, bytes: &[u8], line: u64, source: &Source, record: bool, continues: bool) {
        if !continues {
            self.pending |= if record { LINE | RECORD } else { LINE };
            let at = self.chars.len();
            // A line without a character needs no mark of its own.
            if self.marks.last().is_some_and(|mark| mark.at == at) {
                self.marks.pop();
            }
            self.marks.push(Mark { at, line, source: source.clone() });
        }
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            if byte == b' ' {
                self.pending |= GAP;
                rest = after;
            } else if byte == 0xE2 && after.first().is_some_and(|second| matches!(second, 0x94 | 0x95)) && after.len() > 1 {
                // Characters that draw boxes (U+2500 to U+257F), as Rich puts around tracebacks.
                self.pending |= GAP;
                rest = &after[2..];
            } else if byte == 0xC2 && after.first() == Some(&0xA0) {
                self.pending |= GAP;
                rest = &after[1..];
            } else {
                self.chars.push(byte);
                self.flags.push(self.pending);
                self.pending = 0;
                rest = after;
            }
        }
    }

    /// Whether it is time to look for messages.
    pub(super) fn is_full(&self) -> bool {
        self.chars.len() >= self.scanned + BATCH || self.marks.len() > BATCH
    }

    /// The text so far.
    pub(super) fn text(&self) -> Text<'_> {
        Text { chars: &self.chars, flags: &self.flags, marks: &self.marks }
    }

    /// Forgets what messages can no longer reach.
    pub(super) fn forget(&mut self) {
        let keep = self.scanned.saturating_sub(BACK + FORWARD);
        if keep == 0 {
            return;
        }
        self.chars.drain(..keep);
        self.flags.drain(..keep);
        let first = self.marks.partition_point(|mark| mark.at <= keep).saturating_sub(1);
        self.marks.drain(..first);
        self.marks.iter_mut().for_each(|mark| mark.at = mark.at.saturating_sub(keep));
        self.scanned -= keep;
        self.covered.iter_mut().for_each(|end| *end = end.saturating_sub(keep));
    }
}

/// A view of a stream.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    /// The characters without blanks and line ends.
    pub chars: &'a [u8],
    /// What stood before each.
    pub flags: &'a [u8],
    marks: &'a [Mark],
}

impl Text<'_> {
    fn mark(&self, at: usize) -> Option<&Mark> {
        self.marks[..self.marks.partition_point(|mark| mark.at <= at)].last()
    }

    /// The line that a character stands in; 0 where there is none.
    pub(super) fn line(&self, at: usize) -> u64 {
        self.mark(at).map_or(0, |mark| mark.line)
    }

    /// Who wrote that line.
    pub(super) fn source(&self, at: usize) -> Source {
        self.mark(at).map(|mark| mark.source.clone()).unwrap_or_default()
    }

    /// What stood before any character of a range but the first.
    pub(super) fn flags_within(&self, range: Range<usize>) -> u8 {
        self.flags.get(range.start + 1..range.end).unwrap_or_default().iter().fold(0, |all, flags| all | flags)
    }

    /// What stood before a character; the end of the text is the end of a line.
    pub(super) fn flags_at(&self, at: usize) -> u8 {
        self.flags.get(at).copied().unwrap_or(LINE | RECORD)
    }

    /// The text as it was, blanks as one each and line ends as they were.
    pub(super) fn original(&self, range: Range<usize>) -> String {
        let range = range.start.min(self.chars.len())..range.end.min(self.chars.len());
        let mut bytes = Vec::with_capacity(range.len() + range.len() / 4);
        for at in range.clone() {
            let flags = self.flags[at];
            if at > range.start && flags & LINE != 0 {
                bytes.push(b'\n');
            } else if at > range.start && flags & GAP != 0 {
                bytes.push(b' ');
            }
            bytes.push(self.chars[at]);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Where the line of a character ends, exclusive.
    pub(super) fn line_end(&self, at: usize) -> usize {
        let next = self.marks[self.marks.partition_point(|mark| mark.at <= at)..].first();
        next.map_or(self.chars.len(), |mark| mark.at)
    }

    /// Where the line of a character begins.
    pub(super) fn line_start(&self, at: usize) -> usize {
        self.mark(at).map_or(0, |mark| mark.at)
    }
}
