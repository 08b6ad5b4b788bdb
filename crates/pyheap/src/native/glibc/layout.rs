//! Where the fields of glibc's malloc lie, by version (x86-64 and aarch64: both have 8-byte words and 16-byte alignment).
//!
//! Source: `struct malloc_state`, `struct malloc_par`, `heap_info` and `tcache_perthread_struct` in `malloc/malloc.c` and
//! `malloc/arena.c` of each release. What changed: 2.23 counts threads in the arena, 2.24 drops a field of `mp_`, 2.26 brings
//! the tcache, 2.27 a flag before the fast bins, 2.30 wide tcache counts, 2.32 hidden list pointers, 2.35 a longer
//! `heap_info`, 2.42 a tcache that counts what still fits and has lists of large chunks; 2.43 has no fast bins, and another
//! head of chunks with a map of their own. No version is trusted by its number alone: [`super::find`] checks the rings of all bins.

/// `major.minor` of the C library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u16, pub u16);

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// Oldest and newest version whose layout is known.
pub const KNOWN: (Version, Version) = (Version(2, 17), Version(2, 43));

/// Bins of an arena, the first of which is the list of unsorted chunks.
pub const BINS: u64 = 127;
/// Fast bins of an arena.
pub const FAST_BINS: u64 = 10;
/// Lists of a tcache whose chunks have one size: list `i` holds those of `32 + 16 * i` bytes.
pub const TCACHE_LISTS: u64 = 64;
/// Lists behind them from 2.42 on, each with all sizes from one power of two to the next; the first begins at 1 KiB.
pub const TCACHE_LARGE_LISTS: u64 = 12;
/// The heaps of arenas other than the main one start at multiples of this.
pub const HEAP_ALIGN: u64 = 64 << 20;

/// Offsets for one range of versions, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// First fast bin in the arena, up to 2.42.
    pub fast: Option<u64>,
    /// Pointer to the top chunk.
    pub top: u64,
    /// First pair of bin pointers.
    pub bins: u64,
    /// Next arena of the ring.
    pub next: u64,
    /// Bytes taken from the system.
    pub system: u64,
    /// Size of the arena.
    pub size: u64,
    /// Size of the head of a heap.
    pub heap_info: u64,
    /// From `mp_.sbrk_base` back to `mp_.n_mmaps` and to `mp_.mmapped_mem`.
    pub mapped_count: u64,
    /// See `mapped_count`.
    pub mapped_bytes: u64,
    /// Bytes behind a chunk with a map of its own that its size does not count and its map has.
    pub mapped_tail: u64,
    /// The tcache, from 2.26 on.
    pub tcache: Option<Tcache>,
    /// List pointers of fast bins and tcache are hidden by their own address (2.32 and newer).
    pub hidden: bool,
}

/// A thread's cache of free chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tcache {
    /// Bytes of one count.
    pub count: u64,
    /// Size of the chunk that the structure lies in.
    pub chunk: u64,
    /// Number of lists, and of counts.
    pub lists: u64,
    /// A count is what the list has room for, not what is in it.
    pub room: bool,
}

impl Tcache {
    /// First list head behind the counts.
    pub fn entries(&self) -> u64 {
        self.count * self.lists
    }

    /// Whether chunks of this size belong to a list.
    pub fn belongs(&self, list: u64, size: u64) -> bool {
        if list < TCACHE_LISTS {
            size == 32 + 16 * list
        } else {
            size.checked_ilog2().map(u64::from) == Some(list - TCACHE_LISTS + 10)
        }
    }
}

/// The layout of a version; `None` where it is not known.
pub fn of(version: Version) -> Option<Layout> {
    if version < KNOWN.0 || version > KNOWN.1 {
        return None;
    }
    let since = |minor| version >= Version(2, minor);
    let fast = (!since(43)).then_some(if since(27) { 16 } else { 8 });
    let top = fast.map_or(8, |fast| fast + 8 * FAST_BINS);
    let bins = top + 16;
    let binmap = bins + 16 * BINS;
    let next = binmap + 16;
    let system = next + if since(23) { 24 } else { 16 };
    let older_par = if since(24) { 0 } else { 8 };
    let tcache = since(26).then(|| {
        let lists = TCACHE_LISTS + if since(42) { TCACHE_LARGE_LISTS } else { 0 };
        let count = if since(30) { 2 } else { 1 };
        // What the program gets of a chunk is 8 bytes shorter than the chunk.
        Tcache { count, chunk: ((count + 8) * lists + 8).next_multiple_of(16), lists, room: since(42) }
    });
    Some(Layout {
        fast,
        top,
        bins,
        next,
        system,
        size: system + 16,
        heap_info: if since(35) { 48 } else { 32 },
        // 2.35 puts an odd number of 4-byte fields before it.
        mapped_count: older_par + if since(35) { 36 } else { 32 },
        mapped_bytes: 16 + older_par,
        mapped_tail: if since(43) { 16 } else { 0 },
        tcache,
        hidden: since(32),
    })
}

/// The version in the banner that every C library carries (`GNU C Library (...) stable release version 2.36.`).
pub fn version_in(bytes: &[u8]) -> Option<Version> {
    let from = find(bytes, b"GNU C Library")?;
    let rest = bytes.get(from..bytes.len().min(from + 200))?;
    let rest = &rest[find(rest, b"version ")? + b"version ".len()..];
    let line = rest.split(|&b| b == b'\n' || b == 0).next()?;
    let mut parts = line.split(|b| !b.is_ascii_digit());
    Some(Version(number(parts.next()?)?, number(parts.next()?)?))
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    let first = *what.first()?;
    let mut from = 0;
    while let Some(at) = bytes.get(from..)?.iter().position(|&b| b == first) {
        if bytes[from + at..].starts_with(what) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}

fn number(digits: &[u8]) -> Option<u16> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn sizes_are_those_of_the_releases() {
        // sizeof(struct malloc_state) of each release, and where the first chunk of a thread's heap starts.
        for (minor, size) in
            [(17, 2184), (22, 2184), (23, 2192), (26, 2192), (27, 2200), (31, 2200), (36, 2200), (42, 2200), (43, 2112)]
        {
            assert_eq!(of(Version(2, minor)).unwrap().size, size, "2.{minor}");
        }
        assert_eq!(of(Version(2, 36)).unwrap().top, 96);
        assert_eq!(of(Version(2, 26)).unwrap().top, 88);
        assert_eq!(of(Version(2, 43)).unwrap().top, 8);
        let cache = |minor| of(Version(2, minor)).unwrap().tcache.map(|form| form.chunk);
        assert_eq!(
            (cache(25), cache(26), cache(30), cache(41), cache(42)),
            (None, Some(0x250), Some(0x290), Some(0x290), Some(0x300))
        );
    }

    #[test]
    fn lists_of_large_chunks_hold_all_sizes_of_one_power_of_two() {
        let form = of(Version(2, 42)).unwrap().tcache.unwrap();
        assert!(form.belongs(0, 32) && form.belongs(63, 1040) && !form.belongs(63, 1056));
        assert!(form.belongs(64, 1056) && form.belongs(64, 2032) && !form.belongs(64, 2048) && form.belongs(65, 2048));
        assert!(form.belongs(75, 2 << 20) && !form.belongs(75, 4 << 20) && !form.belongs(75, 0));
    }

    #[test]
    fn unknown_versions_are_refused() {
        for version in [Version(2, 16), Version(2, 44), Version(3, 0), Version(1, 30)] {
            assert_eq!(of(version), None);
        }
    }

    #[test]
    fn the_banner_tells_the_version() {
        let text = b"\0\0GNU C Library (Debian GLIBC 2.36-9+deb12u14) stable release version 2.36.\nCopyright";
        assert_eq!(version_in(text), Some(Version(2, 36)));
        let text = b"GNU GNU C Library (Ubuntu EGLIBC 2.19) stable release version 2.19, by Roland";
        assert_eq!(version_in(text), Some(Version(2, 19)));
        let text = b"GNU C Library (GNU libc) development release version 2.41.9000.\n";
        assert_eq!(version_in(text), Some(Version(2, 41)));
        assert_eq!(version_in(b"GNU C Library (x) version "), None);
        assert_eq!(version_in(b"nothing"), None);
    }
}
