//! What stands in a heap once, found again by its content.

use hashbrown::HashTable;

/// Numbers of things, by a hash of the things.
#[derive(Default)]
pub struct Table {
    /// A part of the hash goes with each, so that growing has no need of the things.
    entries: HashTable<(u32, u32)>,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} entries", self.entries.len())
    }
}

/// Half of the hash in both halves: the table looks at both ends of it.
fn spread(part: u32) -> u64 {
    u64::from(part) << 32 | u64::from(part)
}

impl Table {
    /// The number of what has this hash and `is` it.
    pub fn find(&self, hash: u64, is: impl Fn(u32) -> bool) -> Option<u32> {
        let part = (hash >> 32) as u32;
        self.entries.find(spread(part), |(other, number)| *other == part && is(*number)).map(|(_, number)| *number)
    }

    /// Takes note of something that was not found.
    pub fn add(&mut self, hash: u64, number: u32) {
        let part = (hash >> 32) as u32;
        self.entries.insert_unique(spread(part), (part, number), |(part, _)| spread(*part));
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        9 * self.entries.capacity()
    }
}
