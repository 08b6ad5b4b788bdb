//! Which addresses have been seen: one bit per 8 bytes, in tables that exist only where something was seen.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Addresses of a process are below this.
const END: u64 = 1 << 48;
const ENTRIES: usize = 1 << 16;
/// Words of bits for 64 KiB of memory.
const WORDS: usize = (1 << 16) / 8 / 64;

type Bits = Box<[AtomicU64; WORDS]>;
type Table = Box<[OnceLock<Bits>]>;

/// The set of addresses seen. Usable from several threads.
pub struct Seen {
    top: Box<[OnceLock<Table>]>,
}

impl Seen {
    /// An empty set.
    pub fn new() -> Self {
        Self { top: (0..ENTRIES).map(|_| OnceLock::new()).collect() }
    }

    /// Whether an address was seen.
    #[inline]
    pub fn has(&self, address: u64) -> bool {
        let Some(table) = self.top.get((address >> 32) as usize).and_then(OnceLock::get) else { return false };
        let Some(bits) = table[(address >> 16) as usize % ENTRIES].get() else { return false };
        let (word, bit) = place(address);
        bits[word].load(Ordering::Relaxed) & bit != 0
    }

    /// Has the processor bring near what tells whether an address was seen.
    #[inline]
    pub fn prefetch(&self, address: u64) {
        if let Some(table) = self.top.get((address >> 32) as usize).and_then(OnceLock::get)
            && let Some(bits) = table[(address >> 16) as usize % ENTRIES].get()
        {
            lowtide_remote::prefetch(&raw const bits[place(address).0]);
        }
    }

    /// Notes an address; whether it is new.
    #[inline]
    pub fn set(&self, address: u64) -> bool {
        if address >= END {
            return false;
        }
        let table = self.top[(address >> 32) as usize].get_or_init(|| (0..ENTRIES).map(|_| OnceLock::new()).collect());
        let bits = table[(address >> 16) as usize % ENTRIES].get_or_init(|| Box::new([const { AtomicU64::new(0) }; WORDS]));
        let (word, bit) = place(address);
        bits[word].fetch_or(bit, Ordering::Relaxed) & bit == 0
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
