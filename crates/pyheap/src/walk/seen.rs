//! Which addresses have been seen: one bit per 8 bytes, in tables that exist only where something was seen.

use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Addresses of a process are below this.
const END: u64 = 1 << 48;
const ENTRIES: usize = 1 << 16;
/// Words of bits for 64 KiB of memory.
const WORDS: usize = (1 << 16) / 8 / 64;

type Bits = [AtomicU64; WORDS];
type Table = [AtomicPtr<Bits>; ENTRIES];

/// The set of addresses seen. Usable from several threads.
///
/// The tables begin as fresh memory that is all zeros, of which only the pages that are used cost anything: to write each of their
/// entries would take longer than a small walk.
pub struct Seen {
    top: Box<[AtomicPtr<Table>]>,
    /// Addresses whose tables and bits were made: who looks for them in the tables brings each page of these to memory.
    made: Mutex<Made>,
}

#[derive(Default)]
struct Made {
    tables: Vec<u64>,
    bits: Vec<u64>,
}

impl Seen {
    /// An empty set.
    pub fn new() -> Self {
        // SAFETY: a null AtomicPtr is all zeros.
        Self { top: unsafe { Box::new_zeroed_slice(ENTRIES).assume_init() }, made: Mutex::default() }
    }

    /// Where the bits for the 64 KiB around an address are told, if that has been made.
    #[inline]
    fn slot(&self, address: u64) -> Option<&AtomicPtr<Bits>> {
        let table = self.top.get((address >> 32) as usize)?.load(Ordering::Acquire);
        // SAFETY: null, or made by `Box` and published with Release; it lives as long as the set.
        Some(&unsafe { table.as_ref() }?[(address >> 16) as usize % ENTRIES])
    }

    /// The bits for the 64 KiB around an address, if any of them was set.
    #[inline]
    fn bits(&self, address: u64) -> Option<&Bits> {
        // SAFETY: as above.
        unsafe { self.slot(address)?.load(Ordering::Acquire).as_ref() }
    }

    /// Whether an address was seen.
    #[inline]
    pub fn has(&self, address: u64) -> bool {
        let (word, bit) = place(address);
        self.bits(address).is_some_and(|bits| bits[word].load(Ordering::Relaxed) & bit != 0)
    }

    /// Has the processor bring near what tells whether an address was seen.
    #[inline]
    pub fn prefetch(&self, address: u64) {
        if let Some(bits) = self.bits(address) {
            lowtide_remote::prefetch(&raw const bits[place(address).0]);
        }
    }

    /// Notes an address; whether it is new.
    #[inline]
    pub fn set(&self, address: u64) -> bool {
        if address >= END {
            return false;
        }
        let (word, bit) = place(address);
        self.bits(address).unwrap_or_else(|| self.make(address))[word].fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// Makes the bits for the 64 KiB around an address, which is below `END`.
    #[cold]
    fn make(&self, address: u64) -> &Bits {
        // Another thread may have made them meanwhile.
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = &self.top[(address >> 32) as usize];
        if slot.load(Ordering::Acquire).is_null() {
            // SAFETY: a table of null pointers is all zeros.
            slot.store(Box::into_raw(unsafe { Box::<Table>::new_zeroed().assume_init() }), Ordering::Release);
            made.tables.push(address);
        }
        // SAFETY: made by `Box`, and kept as long as the set.
        let slot = unsafe { &(*slot.load(Ordering::Acquire))[(address >> 16) as usize % ENTRIES] };
        if slot.load(Ordering::Acquire).is_null() {
            // SAFETY: bits that are not set are all zeros.
            slot.store(Box::into_raw(unsafe { Box::<Bits>::new_zeroed().assume_init() }), Ordering::Release);
            made.bits.push(address);
        }
        // SAFETY: as above.
        unsafe { &*slot.load(Ordering::Acquire) }
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        let made = std::mem::take(self.made.get_mut().unwrap_or_else(PoisonError::into_inner));
        for address in made.bits {
            if let Some(slot) = self.slot(address) {
                // SAFETY: made by `Box`, listed once, and nobody else has the set any more.
                drop(unsafe { Box::from_raw(slot.load(Ordering::Relaxed)) });
            }
        }
        for address in made.tables {
            let table = *self.top[(address >> 32) as usize].get_mut();
            // SAFETY: as above.
            drop(unsafe { Box::from_raw(table) });
        }
    }
}

#[inline]
fn place(address: u64) -> (usize, u64) {
    let index = (address as usize % (1 << 16)) / 8;
    (index / 64, 1 << (index % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_is_new_once() {
        let seen = Seen::new();
        for address in [0, 8, 0x1_0000, 0x7fff_ffff_fff8, 0x1_0000_0000] {
            assert!(!seen.has(address));
            assert!(seen.set(address));
            assert!(seen.has(address));
            assert!(!seen.set(address));
        }
        assert!(!seen.has(16));
        assert!(!seen.set(END), "no such address");
        assert!(!seen.has(u64::MAX));
    }

    #[test]
    fn of_several_threads_one_is_the_first() {
        let seen = Seen::new();
        let addresses: Vec<u64> = (0..4).flat_map(|table| (0..500).map(move |at| (table << 32) + at * 0x8008)).collect();
        let new = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|_| scope.spawn(|| addresses.iter().filter(|at| seen.set(**at & !7)).count())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or(0)).sum::<usize>()
        });
        assert_eq!(new, addresses.len());
    }
}
