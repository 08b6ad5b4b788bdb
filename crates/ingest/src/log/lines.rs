//! Bytes to lines: any length, any end of line, escape sequences of terminals taken out.

use std::io::{BufReader, Read};

/// A line longer than this comes in pieces of this size.
const PIECE: usize = 64 << 10;

/// A line, or a piece of a long one, without escape sequences and control characters.
pub(super) struct Piece<'a> {
    /// What stands there; what is no UTF-8 is kept as it is.
    pub bytes: &'a [u8],
    /// The line's number, counted from 1. What a carriage return overwrites has the number of its line.
    pub line: u64,
    /// Begins behind a carriage return: a progress bar wrote over what stood there.
    pub overwrites: bool,
    /// Goes on with the line of the piece before.
    pub continues: bool,
}

/// Reads lines with a bounded buffer.
pub(super) struct Lines<R> {
    input: BufReader<Transcoded<R>>,
    piece: Vec<u8>,
    line: u64,
    state: Escape,
    /// How the next piece begins.
    overwrites: bool,
    continues: bool,
    /// A carriage return was read; whether a line feed follows decides what it means.
    returned: bool,
}

/// Where in an escape sequence (ECMA-48) the reader is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Escape {
    Outside,
    /// Behind the escape character.
    Begun,
    /// In a control sequence, which ends with `@` to `~`.
    Control,
    /// In a command of the operating system (a window's title), which ends with BEL or ESC `\`.
    Command,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input: BufReader::with_capacity(PIECE, Transcoded::new(input)),
            piece: Vec::new(),
            line: 1,
            state: Escape::Outside,
            overwrites: false,
            continues: false,
            returned: false,
        }
    }

    /// The next piece, or none at the end.
    pub(super) fn next(&mut self) -> std::io::Result<Option<Piece<'_>>> {
        self.piece.clear();
        let (line, continues) = (self.line, self.continues);
        let overwrites = self.overwrites;
        loop {
            let buffer = std::io::BufRead::fill_buf(&mut self.input)?;
            if buffer.is_empty() {
                let some = !self.piece.is_empty();
                (self.overwrites, self.continues, self.returned) = (false, false, false);
                return Ok(some.then_some(Piece { bytes: &self.piece, line, overwrites, continues }));
            }
            let mut used = 0;
            let mut ended = false;
            for &byte in buffer {
                if self.returned && byte != b'\n' {
                    // A progress bar starts over.
                    self.returned = false;
                    (self.overwrites, self.continues) = (true, false);
                    ended = true;
                    break;
                }
                used += 1;
                match byte {
                    b'\n' => {
                        self.returned = false;
                        self.line += 1;
                        (self.overwrites, self.continues, self.state) = (false, false, Escape::Outside);
                        ended = true;
                        break;
                    }
                    b'\r' => self.returned = true,
                    _ => {
                        self.state = step(self.state, byte, &mut self.piece);
                        if self.piece.len() >= PIECE {
                            (self.overwrites, self.continues) = (false, true);
                            ended = true;
                            break;
                        }
                    }
                }
            }
            std::io::BufRead::consume(&mut self.input, used);
            if ended {
                return Ok(Some(Piece { bytes: &self.piece, line, overwrites, continues }));
            }
        }
    }
}

fn step(state: Escape, byte: u8, piece: &mut Vec<u8>) -> Escape {
    match (state, byte) {
        (_, 0x1B) => Escape::Begun,
        (Escape::Outside, b'\t') => {
            piece.push(b' ');
            Escape::Outside
        }
        (Escape::Outside, 0..=0x1F | 0x7F) => Escape::Outside,
        (Escape::Outside, _) => {
            piece.push(byte);
            Escape::Outside
        }
        (Escape::Begun, b'[') => Escape::Control,
        (Escape::Begun, b']') => Escape::Command,
        (Escape::Begun, _) => Escape::Outside,
        (Escape::Control, 0x40..=0x7E) | (Escape::Command, 0x07) => Escape::Outside,
        (state, _) => state,
    }
}

/// UTF-16 with its mark (PowerShell's `>`) as UTF-8; everything else as it is.
struct Transcoded<R> {
    input: R,
    kind: Option<Kind>,
    /// What is ready to be handed out.
    ready: Vec<u8>,
    at: usize,
    /// Bytes of a unit or pair that is not complete.
    rest: Vec<u8>,
}

#[derive(Clone, Copy)]
enum Kind {
    Bytes,
    Little,
    Big,
}

impl<R: Read> Transcoded<R> {
    fn new(input: R) -> Self {
        Self { input, kind: None, ready: Vec::new(), at: 0, rest: Vec::new() }
    }

    /// Reads the mark, if there is one.
    fn begin(&mut self) -> std::io::Result<Kind> {
        let mut mark = Vec::new();
        (&mut self.input).take(3).read_to_end(&mut mark)?;
        let (kind, skip) = match mark[..] {
            [0xFF, 0xFE, ..] => (Kind::Little, 2),
            [0xFE, 0xFF, ..] => (Kind::Big, 2),
            [0xEF, 0xBB, 0xBF] => (Kind::Bytes, 3),
            _ => (Kind::Bytes, 0),
        };
        match kind {
            Kind::Bytes => self.ready.extend_from_slice(&mark[skip..]),
            _ => self.rest.extend_from_slice(&mark[skip..]),
        }
        self.kind = Some(kind);
        Ok(kind)
    }

    fn transcode(&mut self, unit: fn([u8; 2]) -> u16) {
        let mut units: Vec<u16> = self.rest.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        let whole = units.len() * 2;
        self.rest.drain(..whole);
        // The first half of a pair waits for the second one.
        if let Some(high) = units.last().copied().filter(|unit| (0xD800..0xDC00).contains(unit)) {
            units.pop();
            let bytes = if unit([1, 0]) == 1 { high.to_le_bytes() } else { high.to_be_bytes() };
            self.rest.splice(0..0, bytes);
        }
        for c in char::decode_utf16(units) {
            let mut bytes = [0; 4];
            self.ready.extend_from_slice(c.unwrap_or(char::REPLACEMENT_CHARACTER).encode_utf8(&mut bytes).as_bytes());
        }
    }
}

impl<R: Read> Read for Transcoded<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let kind = match self.kind {
            Some(kind) => kind,
            None => self.begin()?,
        };
        while self.at == self.ready.len() {
            (self.at, self.ready) = (0, Vec::new());
            let unit = match kind {
                Kind::Bytes => return self.input.read(into),
                Kind::Little => u16::from_le_bytes,
                Kind::Big => u16::from_be_bytes,
            };
            let before = self.rest.len();
            self.rest.resize(before + 4096, 0);
            let read = self.input.read(&mut self.rest[before..])?;
            self.rest.truncate(before + read);
            if read == 0 {
                return Ok(0);
            }
            self.transcode(unit);
        }
        let count = into.len().min(self.ready.len() - self.at);
        into[..count].copy_from_slice(&self.ready[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn all(bytes: &[u8]) -> Vec<(String, u64, bool)> {
        let mut lines = Lines::new(bytes);
        let mut found = Vec::new();
        while let Some(piece) = lines.next().unwrap() {
            found.push((String::from_utf8_lossy(piece.bytes).into_owned(), piece.line, piece.overwrites));
        }
        found
    }

    #[test]
    fn ends_of_lines_of_every_sort() {
        let expected = [("a", 1, false), ("b", 2, false), ("1 %", 3, false), ("2 %", 3, true), ("c", 4, false)];
        let expected = expected.map(|(text, line, over)| (text.to_owned(), line, over));
        assert_eq!(all(b"a\nb\r\n1 %\r2 %\r\nc"), expected);
    }

    #[test]
    fn escape_sequences_are_taken_out() {
        assert_eq!(all(b"\x1b[31;1mred\x1b[0m\tx\x1b]0;title\x07y\x00z")[0].0, "red xyz");
    }

    #[test]
    fn utf_16_is_read() {
        let bytes: Vec<u8> = [0xFEFF].into_iter().chain("K\u{1F4A9}illed\nx".encode_utf16()).flat_map(u16::to_le_bytes).collect();
        assert_eq!(all(&bytes)[0].0, "K\u{1F4A9}illed");
        assert_eq!(all(&bytes)[1].1, 2);
    }

    #[test]
    fn a_line_without_end_comes_in_pieces() {
        let long = vec![b'x'; 3 * PIECE + 5];
        let mut lines = Lines::new(&long[..]);
        let mut pieces = Vec::new();
        while let Some(piece) = lines.next().unwrap() {
            pieces.push((piece.bytes.len(), piece.continues));
        }
        assert_eq!(pieces, [(PIECE, false), (PIECE, true), (PIECE, true), (5, true)]);
    }
}
