//! Which addresses have been seen: one bit per 8 bytes, in tables that exist only where something was seen.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

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
}

impl Seen {
    /// An empty set.
    pub fn new() -> Self {
        // SAFETY: a null AtomicPtr is all zeros.
        Self { top: unsafe { Box::new_zeroed_slice(ENTRIES).assume_init() } }
    }

    /// The bits for the 64 KiB around an address, if any of them was set.
    #[inline]
    fn bits(&self, address: u64) -> Option<&Bits> {
        let table = self.top.get((address >> 32) as usize)?.load(Ordering::Acquire);
        // SAFETY: null, or made by `Box` and published with Release; it lives as long as the set.
        let bits = unsafe { table.as_ref() }?[(address >> 16) as usize % ENTRIES].load(Ordering::Acquire);
        // SAFETY: as above.
        unsafe { bits.as_ref() }
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
        // SAFETY: tables of null pointers and of bits that are not set are all zeros.
        let table = unsafe { first(&self.top[(address >> 32) as usize], || Box::<Table>::new_zeroed().assume_init()) };
        // SAFETY: as above.
        unsafe { first(&table[(address >> 16) as usize % ENTRIES], || Box::<Bits>::new_zeroed().assume_init()) }
    }
}

/// What a slot leads to; made now, unless another thread is first.
///
/// # Safety
/// The slot must be null or lead to what `Box::into_raw` gave, and outlive the result.
unsafe fn first<T>(slot: &AtomicPtr<T>, make: impl FnOnce() -> Box<T>) -> &T {
    let mut there = slot.load(Ordering::Acquire);
    if there.is_null() {
        let fresh = Box::into_raw(make());
        match slot.compare_exchange(ptr::null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => there = fresh,
            Err(theirs) => {
                // SAFETY: nobody else has seen it.
                drop(unsafe { Box::from_raw(fresh) });
                there = theirs;
            }
        }
    }
    // SAFETY: not null, and by the caller's word made by `Box` and kept.
    unsafe { &*there }
}

impl Drop for Seen {
    fn drop(&mut self) {
        for slot in &mut self.top {
            let table = *slot.get_mut();
            if table.is_null() {
                continue;
            }
            // SAFETY: made by `Box`, and nobody else has the set any more.
            let mut table = unsafe { Box::from_raw(table) };
            for bits in table.iter_mut().map(AtomicPtr::get_mut).filter(|bits| !bits.is_null()) {
                // SAFETY: as above.
                drop(unsafe { Box::from_raw(*bits) });
            }
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
}
