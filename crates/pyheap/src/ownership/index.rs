//! From addresses to numbers without gaps: one bit for each 8 bytes, and how many bits come before.
//!
//! Two bytes and a half for a dense object, where a hash table needs eight and more: there may be tens of millions.

/// Addresses of a process are below this.
const END: u64 = 1 << 48;
const ENTRIES: usize = 1 << 16;
/// Words of bits for 64 KiB of memory.
const WORDS: usize = (1 << 16) / 8 / 64;
/// No table, no leaf.
const NONE: u32 = u32::MAX;

/// A set of addresses, each of which has a number.
pub struct Index {
    /// By the upper 16 bits of an address: the table.
    top: Vec<u32>,
    /// By the next 16 bits: the leaf.
    tables: Vec<u32>,
    leaves: Vec<Leaf>,
    len: u32,
}

#[derive(Clone)]
struct Leaf {
    bits: [u64; WORDS],
    /// Bits of this leaf before each word.
    before: [u16; WORDS],
    /// Bits of all leaves before.
    first: u32,
}

impl Index {
    /// An empty set.
    pub fn new() -> Self {
        Self { top: vec![NONE; ENTRIES], tables: Vec::new(), leaves: Vec::new(), len: 0 }
    }

    /// Adds an address. No number is right until [`Index::number`] is called.
    pub fn add(&mut self, address: u64) {
        if address >= END || !address.is_multiple_of(8) {
            return;
        }
        let top = &mut self.top[(address >> 32) as usize];
        if *top == NONE {
            *top = (self.tables.len() / ENTRIES) as u32;
            self.tables.resize(self.tables.len() + ENTRIES, NONE);
        }
        let leaf = &mut self.tables[*top as usize * ENTRIES + (address >> 16) as usize % ENTRIES];
        if *leaf == NONE {
            *leaf = self.leaves.len() as u32;
            self.leaves.push(Leaf { bits: [0; WORDS], before: [0; WORDS], first: 0 });
        }
        let (word, bit) = place(address);
        self.leaves[*leaf as usize].bits[word] |= 1 << bit;
    }

    /// Numbers all addresses.
    pub fn number(&mut self) {
        let mut sum = 0;
        for leaf in &mut self.leaves {
            leaf.first = sum;
            let mut within = 0;
            for (bits, before) in leaf.bits.iter().zip(&mut leaf.before) {
                *before = within;
                within += bits.count_ones() as u16;
            }
            sum += u32::from(within);
        }
        self.len = sum;
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// The number of an address; `None` for one that is not in the set.
    #[inline]
    pub fn get(&self, address: u64) -> Option<usize> {
        let table = *self.top.get((address >> 32) as usize)?;
        if table == NONE || !address.is_multiple_of(8) {
            return None;
        }
        let leaf = self.tables[table as usize * ENTRIES + (address >> 16) as usize % ENTRIES];
        let leaf = self.leaves.get(leaf as usize)?;
        let (word, bit) = place(address);
        let bits = leaf.bits[word];
        if bits >> bit & 1 == 0 {
            return None;
        }
        let below = bits & ((1 << bit) - 1);
        Some((leaf.first + u32::from(leaf.before[word]) + below.count_ones()) as usize)
    }
}

#[inline]
fn place(address: u64) -> (usize, u32) {
    let index = (address as usize % (1 << 16)) / 8;
    (index / 64, (index % 64) as u32)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_address_has_a_number_of_its_own(addresses: std::collections::BTreeSet<u64>, others: Vec<u64>) {
            let addresses: std::collections::BTreeSet<u64> = addresses.into_iter().map(|address| (address % END) & !7).collect();
            let mut index = Index::new();
            addresses.iter().for_each(|address| index.add(*address));
            index.number();
            prop_assert_eq!(index.len(), addresses.len());
            let numbers: std::collections::BTreeSet<usize> = addresses.iter().map(|address| index.get(*address).unwrap()).collect();
            prop_assert_eq!(numbers, (0..addresses.len()).collect());
            for other in others {
                prop_assert_eq!(index.get(other).is_some(), addresses.contains(&other));
            }
        }
    }

    #[test]
    fn neighbours_are_told_apart() {
        let mut index = Index::new();
        for address in (0x7f00_0000_0000_u64..0x7f00_0000_4000).step_by(16) {
            index.add(address);
        }
        index.add(END);
        index.add(0x7f00_0000_0004);
        index.number();
        assert_eq!(index.len(), 0x400);
        assert_eq!((index.get(0x7f00_0000_0000), index.get(0x7f00_0000_3ff0)), (Some(0), Some(0x3ff)));
        assert_eq!((index.get(0x7f00_0000_0008), index.get(0x7f00_0000_0004), index.get(END)), (None, None, None));
    }
}
