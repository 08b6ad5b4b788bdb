//! Reads single objects out of another process's memory: strings, ints, dicts, sequences.
//!
//! Nothing is believed: a size must fit its mapping, a count is bounded, and what does not fit is `None`.

mod dict;
mod scalar;

pub use dict::{Entry, Keys};

use crate::offsets::Layout;
use crate::offsets::fixed;
use lowtide_remote::Image;

/// Names of attributes, types, files and functions are cut at so many characters.
pub const NAME_LIMIT: usize = 512;

/// Memory, and where an interpreter keeps what in it.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    /// The memory.
    pub image: &'a Image,
    /// The interpreter's layout.
    pub layout: &'a Layout,
}

impl<'a> Reader<'a> {
    /// A pointer that is not null, and not beyond all addresses: what lies some bytes behind it has an address, too.
    #[inline]
    #[must_use]
    pub fn pointer(&self, address: u64) -> Option<u64> {
        self.image.u64(address).filter(|value| *value != 0 && *value < END)
    }

    /// `type(object)`, unchecked.
    #[inline]
    #[must_use]
    pub fn type_of(&self, object: u64) -> Option<u64> {
        self.image.u64(object.checked_add(fixed::TYPE)?)
    }

    /// The same for what may be an object or anything else. Objects count their references, so that they are in memory that can be
    /// written: code and constants, to which many words of objects lead, are not read for it.
    #[inline]
    #[must_use]
    pub fn type_of_any(&self, address: u64) -> Option<u64> {
        self.image.u64_if_writable(address.checked_add(fixed::TYPE)?)
    }

    /// `ob_size` of what has a variable size: `None` where it is negative or absurd.
    #[inline]
    #[must_use]
    pub fn len(&self, object: u64) -> Option<u64> {
        self.image.u64(object.checked_add(fixed::SIZE)?).filter(|len| *len < 1 << 48)
    }

    /// Calls `each(index, word)` for `count` words from `address` on. The whole stretch must be mapped; it ends early where
    /// a page cannot be read.
    #[inline]
    pub fn words(&self, address: u64, count: u64, mut each: impl FnMut(u64, u64)) {
        let Some(len) = count.checked_mul(8) else { return };
        if count > 64 && !self.image.is_mapped(address, len) {
            return;
        }
        let mut index = 0;
        let mut at = address;
        while index < count {
            let room = CLUSTER - at % CLUSTER;
            let here = (room / 8).min(count - index);
            if here == 0 {
                // A word across the border of two clusters.
                let Some(word) = self.image.u64(at) else { return };
                each(index, word);
                index += 1;
                at += 8;
                continue;
            }
            let Some(bytes) = self.image.bytes(at, (here * 8) as usize) else { return };
            for (n, word) in bytes.chunks_exact(8).enumerate() {
                if let Ok(word) = word.try_into() {
                    each(index + n as u64, u64::from_le_bytes(word));
                }
            }
            index += here;
            at += here * 8;
        }
    }

    /// Calls `each` for every item of a tuple, at most `limit`.
    pub fn tuple(&self, tuple: u64, limit: u64, each: impl FnMut(u64, u64)) {
        let Some(len) = self.len(tuple) else { return };
        self.words(tuple.saturating_add(self.layout.tuple_items), len.min(limit), each);
    }

    /// One item of a tuple.
    #[must_use]
    pub fn tuple_item(&self, tuple: u64, index: u64) -> Option<u64> {
        (index < self.len(tuple)?).then_some(())?;
        self.pointer(tuple.checked_add(self.layout.tuple_items)?.checked_add(index.checked_mul(8)?)?)
    }
}

/// No process has addresses from here on (57 bits, with five levels of page tables).
const END: u64 = 1 << 57;
/// What the image reads at once; only speed depends on it.
const CLUSTER: u64 = 1 << 16;
