//! str, bytes and int.

use super::{NAME_LIMIT, Reader};
use crate::offsets::Digits;

/// How a str keeps its characters (Include/cpython/unicodeobject.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Str {
    /// Characters.
    pub len: u64,
    /// Bytes per character: 1, 2 or 4.
    pub kind: u64,
    /// Characters follow the head.
    pub compact: bool,
    /// All are ASCII.
    pub ascii: bool,
}

impl Reader<'_> {
    /// A str's head.
    #[must_use]
    pub fn str_head(&self, object: u64) -> Option<Str> {
        let len = self.len(object)?;
        let state = u64::from(self.image.u32(object.checked_add(32)?)?) >> self.layout.str_state_shift;
        let (kind, compact, ascii) = (state & 7, state & 8 != 0, state & 16 != 0);
        matches!(kind, 1 | 2 | 4).then_some(Str { len, kind, compact, ascii })
    }

    /// A str, cut at [`NAME_LIMIT`] characters.
    #[must_use]
    pub fn text(&self, object: u64) -> Option<String> {
        let head = self.str_head(object)?;
        let data = match (head.compact, head.ascii) {
            (true, true) => object + self.layout.ascii_size,
            (true, false) => object + self.layout.compact_size,
            // PyUnicodeObject ends with the pointer to its characters.
            (false, _) => self.pointer(object + self.layout.unicode_size - 8)?,
        };
        let len = head.len.min(NAME_LIMIT as u64);
        let bytes = self.image.bytes(data, usize::try_from(len * head.kind).ok()?)?;
        let character = |unit: u32| char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER);
        Some(match head.kind {
            1 => bytes.iter().map(|byte| char::from(*byte)).collect(),
            2 => bytes.chunks_exact(2).map(|unit| character(u32::from(u16::from_le_bytes([unit[0], unit[1]])))).collect(),
            _ => bytes.chunks_exact(4).map(|unit| character(u32::from_le_bytes([unit[0], unit[1], unit[2], unit[3]]))).collect(),
        })
    }

    /// Whether a str is exactly this ASCII text; cheaper than reading it.
    #[must_use]
    pub fn is_text(&self, object: u64, text: &str) -> bool {
        self.str_head(object).is_some_and(|head| {
            head.ascii
                && head.compact
                && head.len == text.len() as u64
                && self.image.bytes(object + self.layout.ascii_size, text.len()).is_some_and(|bytes| *bytes == *text.as_bytes())
        })
    }

    /// How many digits of 30 bits an int has, and whether it is negative.
    #[must_use]
    pub fn digits(&self, object: u64) -> Option<(u64, bool)> {
        let word = self.image.u64(object.checked_add(16)?)?;
        let (count, negative) = match self.layout.digits {
            Digits::Sign => ((word as i64).unsigned_abs(), (word as i64) < 0),
            Digits::Tag => (word >> 3, word & 3 == 2),
        };
        (count < 1 << 40).then_some((count, negative))
    }

    /// An int that fits 64 bits.
    #[must_use]
    pub fn int(&self, object: u64) -> Option<i64> {
        let (count, negative) = self.digits(object)?;
        if count > 2 {
            return None;
        }
        let mut value = 0_i64;
        for index in (0..count).rev() {
            value = (value << 30) | i64::from(self.image.u32(object.checked_add(24 + 4 * index)?)? & 0x3fff_ffff);
        }
        Some(if negative { -value } else { value })
    }

    /// The content of a bytes object, cut at `limit`.
    #[must_use]
    pub fn byte_string(&self, object: u64, limit: usize) -> Option<Vec<u8>> {
        let len = usize::try_from(self.len(object)?).ok()?.min(limit);
        self.image.bytes(object.checked_add(32)?, len).map(std::borrow::Cow::into_owned)
    }
}
