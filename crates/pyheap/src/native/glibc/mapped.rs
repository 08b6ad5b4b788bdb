//! Large chunks, each of which has a map of its own.
//!
//! The kernel joins neighbouring maps, so that one map of `/proc/PID/maps` may hold many. Each begins at a page with a head
//! that says its whole size.

/// Bytes of the head that are looked at.
pub const HEAD: usize = 16;
const MAPPED: u64 = 2;
const FLAGS: u64 = 7;
const PAGE: u64 = 4096;

/// A chunk with a map of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapped {
    /// Address of its head.
    pub start: u64,
    /// Bytes, whole pages.
    pub size: u64,
}

/// The chunk that begins at the page `page`, whose first bytes are `head`; none reaches beyond `end`.
pub fn at(page: u64, head: &[u8; HEAD], end: u64) -> Option<Mapped> {
    let (before, size) = head.split_at(8);
    let before = u64::from_le_bytes(before.try_into().ok()?);
    let word = u64::from_le_bytes(size.try_into().ok()?);
    let size = word & !FLAGS;
    // No page before it belongs to the chunk, and the flag of mapped chunks is the only one set.
    let whole = word & FLAGS == MAPPED && before == 0 && size.is_multiple_of(PAGE);
    (whole && size > 0 && page.is_multiple_of(PAGE) && size <= end.checked_sub(page)?).then_some(Mapped { start: page, size })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(before: u64, size: u64) -> [u8; HEAD] {
        let mut head = [0; HEAD];
        head[..8].copy_from_slice(&before.to_le_bytes());
        head[8..].copy_from_slice(&size.to_le_bytes());
        head
    }

    #[test]
    fn a_head_must_say_whole_pages_within_the_map() {
        let good = Mapped { start: 0x7000, size: 0x21000 };
        assert_eq!(at(0x7000, &head(0, 0x21002), 0x28000), Some(good));
        assert_eq!(at(0x7000, &head(0, 0x21002), 0x27000), None, "beyond the map");
        assert_eq!(at(0x7000, &head(0, 0x21003), 0x28000), None, "a chunk of an arena");
        assert_eq!(at(0x7000, &head(0, 0x21012), 0x28000), None, "no whole pages");
        assert_eq!(at(0x7000, &head(8, 0x21002), 0x28000), None, "does not begin here");
        assert_eq!(at(0x7000, &head(0, 2), 0x28000), None, "empty");
        assert_eq!(at(0x28000, &head(0, 0x1002), 0x27000), None);
    }
}
