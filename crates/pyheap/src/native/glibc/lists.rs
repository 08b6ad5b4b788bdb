//! Chunks that are free but look used: the arenas' fast bins and the threads' caches.

use super::find::Books;
use super::layout::{FAST_BINS, Layout, Tcache};
use crate::native::window::Window;

/// Chunks of fast bins kept in mind at most; more count as used, and are told as such.
const MOST: usize = 4 << 20;
/// A thread's list holds 7 chunks, 16 from 2.43 on; a tunable allows as many as the count can hold.
const LONGEST: u64 = 65535;

/// Addresses of all chunks in fast bins, sorted. The flag says whether there were more than are kept.
pub fn fast(window: &mut Window<'_>, books: &Books) -> (Vec<u64>, bool) {
    let mut found = Vec::new();
    let Some(first_bin) = books.layout.fast else { return (found, false) };
    for &arena in &books.arenas {
        for bin in 0..FAST_BINS {
            let mut chunk = window.u64(arena + first_bin + 8 * bin).unwrap_or(0);
            let size = 32 + 16 * bin;
            let first = found.len();
            // Sizes are checked, so that a list that goes astray ends; one that bites its tail ends by its length.
            while chunk != 0
                && chunk.is_multiple_of(16)
                && window.u64(chunk.wrapping_add(8)).is_some_and(|head| head & !7 == size)
            {
                if found.len() >= MOST || (found.len() > first && found[first] == chunk) {
                    break;
                }
                found.push(chunk);
                let Some(next) = window.u64(chunk + 16) else { break };
                chunk = reveal(&books.layout, chunk + 16, next);
            }
        }
    }
    let full = found.len() >= MOST;
    found.sort_unstable();
    found.dedup();
    (found, full)
}

/// What the list pointer `word`, kept at `at`, points to (2.32 and newer hide it by its own address).
fn reveal(layout: &Layout, at: u64, word: u64) -> u64 {
    if layout.hidden { word ^ (at >> 12) } else { word }
}

/// The chunks of a thread's cache, if `chunk` holds one: address and size of each.
///
/// A cache is told by its counts: each must be the length of its list, and each list must hold chunks of its size.
pub fn cached(window: &mut Window<'_>, layout: &Layout, form: Tcache, chunk: u64) -> Option<Vec<(u64, u64)>> {
    let base = chunk + 16;
    let mut found = Vec::new();
    let lengths = lengths(window, form, base)?;
    for (list, count) in (0..).zip(lengths) {
        let mut entry = head(window, form, base, list)?;
        let mut length = 0;
        while entry != 0 {
            let size = window.u64(entry.checked_sub(8)?)? & !7;
            // One more or less than its count: the thread was stopped between the two.
            if !entry.is_multiple_of(16) || !form.belongs(list, size) || length > count || length >= LONGEST {
                return None;
            }
            found.push((entry.checked_sub(16)?, size));
            length += 1;
            entry = reveal(layout, entry, window.u64(entry)?);
        }
        if count > length + 1 {
            return None;
        }
    }
    Some(found)
}

/// How many chunks each list of a cache says it has.
fn lengths(window: &mut Window<'_>, form: Tcache, base: u64) -> Option<Vec<u64>> {
    let mut counts = Vec::new();
    for list in 0..form.lists {
        counts.push(match form.count {
            1 => u64::from(u8::from_le_bytes(window.array(base + list)?)),
            _ => u64::from(u16::from_le_bytes(window.array(base + 2 * list)?)),
        });
    }
    if !form.room {
        return Some(counts);
    }
    // All lists have room for the same number, which is what an empty one says. A cache has some empty lists: chunks of all
    // sizes up to 4 MiB are not freed within the few that fit.
    let mut capacity = 0;
    for (list, &room) in (0..).zip(&counts) {
        if head(window, form, base, list)? == 0 {
            capacity = capacity.max(room);
        }
    }
    (capacity > 0).then_some(())?;
    counts.into_iter().map(|room| capacity.checked_sub(room)).collect()
}

/// The first chunk of a list; 0 where it is empty.
fn head(window: &mut Window<'_>, form: Tcache, base: u64, list: u64) -> Option<u64> {
    window.u64(base + form.entries() + 8 * list)
}
