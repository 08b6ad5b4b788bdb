//! Large chunks, each of which has a map of its own.
//!
//! The kernel joins neighbouring maps, so that one map of `/proc/PID/maps` may hold many. Each begins at a page with a head
//! that says its size: all of the map up to glibc 2.42, and all but the last 16 bytes since (`Layout::mapped_tail`), where 1 in
//! the word before means huge pages.

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

/// The chunk that begins at the page `page`, whose first bytes are `head`; none reaches beyond `end`. `tail` is the layout's
/// `mapped_tail`.
pub fn at(page: u64, head: &[u8; HEAD], end: u64, tail: u64) -> Option<Mapped> {
    let (before, size) = head.split_at(8);
    let before = u64::from_le_bytes(before.try_into().ok()?);
    let word = u64::from_le_bytes(size.try_into().ok()?);
    let size = (word & !FLAGS).checked_add(tail)?;
    // No page before it belongs to the chunk, and the flag of mapped chunks is the only one set.
    let whole = word & FLAGS == MAPPED && before <= u64::from(tail > 0) && size.is_multiple_of(PAGE);
    (whole && size > tail && page.is_multiple_of(PAGE) && size <= end.checked_sub(page)?).then_some(Mapped { start: page, size })
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
        assert_eq!(at(0x7000, &head(0, 0x21002), 0x28000, 0), Some(good));
        assert_eq!(at(0x7000, &head(0, 0x21002), 0x27000, 0), None, "beyond the map");
        assert_eq!(at(0x7000, &head(0, 0x21003), 0x28000, 0), None, "a chunk of an arena");
        assert_eq!(at(0x7000, &head(0, 0x21012), 0x28000, 0), None, "no whole pages");
        assert_eq!(at(0x7000, &head(8, 0x21002), 0x28000, 0), None, "does not begin here");
        assert_eq!(at(0x7000, &head(0, 2), 0x28000, 0), None, "empty");
        assert_eq!(at(0x28000, &head(0, 0x1002), 0x27000, 0), None);
    }

    #[test]
    fn newer_heads_leave_out_the_end_of_the_map() {
        let good = Some(Mapped { start: 0x7000, size: 0x21000 });
        assert_eq!(at(0x7000, &head(0, 0x20ff2), 0x28000, 16), good);
        assert_eq!(at(0x7000, &head(1, 0x20ff2), 0x28000, 16), good, "of huge pages");
        assert_eq!(at(0x7000, &head(0, 0x20ff2), 0x27ff0, 16), None, "beyond the map");
        assert_eq!(at(0x7000, &head(0, 0x21002), 0x28000, 16), None, "the older form");
        assert_eq!(at(0x7000, &head(0, 0x20ff2), 0x28000, 0), None, "the newer form in an older library");
        assert_eq!(at(0x7000, &head(64, 0x20ff2), 0x28000, 16), None, "does not begin here");
    }
}
