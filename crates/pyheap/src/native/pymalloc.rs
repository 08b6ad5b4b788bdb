//! Python's own allocator for objects of up to 512 bytes: arenas, cut into pools, cut into blocks of one size.
//!
//! Source: `struct pool_header` in CPython's `Objects/obmalloc.c` (3.8 to 3.11) and `Include/internal/pycore_obmalloc.h`
//! (3.12 and newer); the header has been the same all along. Pools have 4 KiB in arenas of 256 KiB up to 3.9, and 16 KiB in
//! arenas of 1 MiB from 3.10 on. No symbol is needed: a header repeats the size of its blocks in three ways.

/// Bytes of a pool's header.
pub const HEADER: usize = 48;
/// Sizes of blocks: multiples of 16 up to 512.
pub const CLASSES: usize = 32;
/// Pool and arena of each form, in bytes.
const FORMS: [(u64, u64); 2] = [(4 << 10, 256 << 10), (16 << 10, 1 << 20)];
/// Arenas of a process, at most: what a header may claim.
const ARENAS: u32 = 1 << 24;

/// A pool, from its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pool {
    /// Bytes of the pool.
    pub size: u64,
    /// Bytes of the arena that it lies in.
    pub arena_size: u64,
    /// Number of that arena.
    pub arena: u32,
    /// Bytes of one block.
    pub block: u64,
    /// Blocks in use.
    pub used: u64,
}

/// The pool at `address`, if `header` is one's.
pub fn pool(address: u64, header: &[u8; HEADER]) -> Option<Pool> {
    let word = |at: usize| header.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes);
    let long = |at: usize| header.get(at..at + 8).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes);
    let (used, free, arena, class) = (word(0)?, long(8)?, word(32)?, word(36)?);
    let (next, last) = (word(40)?, word(44)?);
    if class as usize >= CLASSES || arena >= ARENAS {
        return None;
    }
    let block = 16 * (u64::from(class) + 1);
    let (size, arena_size) = FORMS.into_iter().find(|(size, _)| u64::from(last) == size - block)?;
    let head = HEADER as u64;
    let used = u64::from(used);
    // The next block that was never used: at a whole number of blocks, at most one behind the last.
    let next = u64::from(next).checked_sub(head)?;
    let free_fits = free == 0 || free.checked_sub(address + head).is_some_and(|at| at.is_multiple_of(block) && at < size - head);
    let whole = next.is_multiple_of(block) && next > 0 && next <= size - head && used <= (size - head) / block;
    (whole && free_fits && address.is_multiple_of(size)).then_some(Pool { size, arena_size, arena, block, used })
}

/// One arena, as far as its pools tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arena {
    /// Its first pool.
    pub start: u64,
    /// First byte behind.
    pub end: u64,
    /// Bytes of blocks in use.
    pub used: u64,
}

/// All pools of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// In order of address.
    pub arenas: Vec<Arena>,
    /// Pools that have been in use.
    pub pools: u64,
    /// Pools that have been, and are empty.
    pub empty_pools: u64,
    /// Bytes of blocks in use.
    pub used: u64,
    /// Bytes of all pools that have been in use.
    pub touched: u64,
    /// Blocks in use, by class of size: class `i` holds blocks of `16 * (i + 1)` bytes.
    pub used_blocks: [u64; CLASSES],
    number: Option<u32>,
}

impl Survey {
    /// Takes the next pool, in order of address. `end` is the end of the map that it lies in.
    pub fn add(&mut self, address: u64, pool: Pool, end: u64) {
        let inside = self.arenas.last().is_some_and(|arena| address < arena.end);
        if self.number != Some(pool.arena) || !inside {
            self.cut(address);
            self.number = Some(pool.arena);
            self.arenas.push(Arena { start: address, end: end.min(address.saturating_add(pool.arena_size)), used: 0 });
        }
        let bytes = pool.used * pool.block;
        if let Some(arena) = self.arenas.last_mut() {
            arena.used += bytes;
        }
        self.pools += 1;
        self.empty_pools += u64::from(pool.used == 0);
        self.used += bytes;
        self.touched += pool.size;
        self.used_blocks[((pool.block / 16 - 1) as usize).min(CLASSES - 1)] += pool.used;
    }

    /// Something else begins at `address`: the arena before it, whose first page may not be known, ends there.
    pub fn cut(&mut self, address: u64) {
        if let Some(last) = self.arenas.last_mut() {
            last.end = last.end.min(address.max(last.start));
        }
    }

    /// Bytes in pools that hold no object: free blocks, headers, what is too short for a block, empty pools.
    pub fn free(&self) -> u64 {
        self.touched.saturating_sub(self.used)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn header(used: u32, free: u64, arena: u32, class: u32, next: u32, last: u32) -> [u8; HEADER] {
        let mut out = [0; HEADER];
        out[0..4].copy_from_slice(&used.to_le_bytes());
        out[8..16].copy_from_slice(&free.to_le_bytes());
        for (at, word) in [(32, arena), (36, class), (40, next), (44, last)] {
            out[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        out
    }

    #[test]
    fn both_forms_are_known() {
        // Blocks of 64 bytes, three handed out, two in use.
        let new = pool(0x40_0000, &header(2, 0x40_0030 + 64, 3, 3, 48 + 192, 16384 - 64)).unwrap();
        assert_eq!(new, Pool { size: 16384, arena_size: 1 << 20, arena: 3, block: 64, used: 2 });
        let old = pool(0x40_1000, &header(2, 0, 0, 3, 48 + 192, 4096 - 64)).unwrap();
        assert_eq!((old.size, old.arena_size), (4096, 256 << 10));
    }

    #[test]
    fn what_does_not_fit_is_no_pool() {
        let at = 0x40_0000;
        let good = |used, free, class, next, last| pool(at, &header(used, free, 0, class, next, last)).is_some();
        assert!(good(255, 0, 3, 16384, 16384 - 64) || good(255, 0, 3, 48 + 255 * 64, 16384 - 64));
        assert!(!good(256, 0, 3, 48 + 64, 16384 - 64), "more blocks than fit");
        assert!(!good(1, at + 49, 3, 48 + 64, 16384 - 64), "a free block that is none");
        assert!(!good(1, at - 16, 3, 48 + 64, 16384 - 64), "a free block before the pool");
        assert!(!good(1, 0, 3, 48 + 65, 16384 - 64), "a next block that is none");
        assert!(!good(1, 0, 3, 48 + 64, 16384 - 48), "sizes that differ");
        assert!(!good(1, 0, 32, 48 + 528, 16384 - 528), "a class that is none");
        assert!(pool(at + 4096, &header(1, 0, 0, 3, 48 + 64, 16384 - 64)).is_none(), "not at a pool's place");
        assert!(pool(at, &[0; HEADER]).is_none());
        assert!(pool(at, &[255; HEADER]).is_none());
    }

    #[test]
    fn arenas_end_where_the_next_begins() {
        let mut survey = Survey::default();
        let one = Pool { size: 16384, arena_size: 1 << 20, arena: 1, block: 32, used: 10 };
        survey.add(0x10_4000, one, u64::MAX);
        survey.add(0x10_8000, Pool { used: 0, ..one }, u64::MAX);
        survey.add(0x20_0000, Pool { arena: 2, ..one }, 0x28_0000);
        assert_eq!(survey.arenas[0], Arena { start: 0x10_4000, end: 0x20_0000, used: 320 });
        assert_eq!(survey.arenas[1].end, 0x28_0000);
        assert_eq!((survey.pools, survey.empty_pools, survey.used, survey.free()), (3, 1, 640, 3 * 16384 - 640));
        assert_eq!(survey.used_blocks[1], 20);
    }
}
