//! Addresses spread over the slots of a table.

/// The slot of an address among so many, a power of two from 2 on: Fibonacci hashing (Knuth, The Art of Computer Programming, volume 3,
/// 6.4). Objects lie near each other, at multiples of 8 or 16 and often at the same distance; the highest bits of the product depend on
/// all of theirs.
#[inline]
#[must_use]
pub fn slot(address: u64, slots: usize) -> usize {
    (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - slots.trailing_zeros())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_at_the_same_distance_have_slots_of_their_own() {
        for distance in [8, 16, 48, 4096] {
            let mut slots: Vec<usize> = (0..64).map(|n| slot(0x7f00_0000_0000 + n * distance, 4096)).collect();
            assert!(slots.iter().all(|slot| *slot < 4096));
            slots.sort_unstable();
            slots.dedup();
            assert_eq!(slots.len(), 64, "{distance}");
        }
    }
}
