//! The table of types, shared by the threads of a walk, and the cache in front of it.

use super::Type;
use crate::read::Reader;
use crate::spread;
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::sync::{OnceLock, PoisonError, RwLock};

/// A type's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u32);

/// Types per block of the table; the blocks stay where they are, so that what is lent stays valid while others are added.
const BLOCK: usize = 1024;
/// 65,536 types: more than any program has (a training with torch has some 10,000); instances of others are not counted.
const BLOCKS: usize = 64;
/// Words that turned out to be no type are remembered up to this many, so that a hostile heap cannot fill our memory.
const WRONG_LIMIT: usize = 1 << 16;

type Block = Box<[OnceLock<Type>]>;

/// All types seen so far.
#[derive(Debug)]
pub struct Types {
    blocks: Box<[OnceLock<Block>]>,
    known: RwLock<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// `None`: not a type.
    by_address: HashMap<u64, Option<TypeId>, RandomState>,
    count: u32,
    wrong: usize,
}

impl Default for Types {
    fn default() -> Self {
        Self { blocks: (0..BLOCKS).map(|_| OnceLock::new()).collect(), known: RwLock::default() }
    }
}

impl Types {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.known.read().unwrap_or_else(PoisonError::into_inner).count as usize
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A type by its number.
    #[must_use]
    pub fn get(&self, id: TypeId) -> Option<&Type> {
        self.blocks.get(id.0 as usize / BLOCK)?.get()?.get(id.0 as usize % BLOCK)?.get()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (TypeId, &Type)> {
        (0..).map(TypeId).map_while(|id| Some((id, self.get(id)?)))
    }

    /// The number of the type at an address, if it was seen.
    #[must_use]
    pub fn find(&self, address: u64) -> Option<TypeId> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).by_address.get(&address).copied().flatten()
    }

    /// The type at an address, read if it is new; `None` where there is no type.
    pub fn look(&self, read: Reader<'_>, address: u64) -> Option<TypeId> {
        if let Some(known) = self.known.read().unwrap_or_else(PoisonError::into_inner).by_address.get(&address) {
            return *known;
        }
        // Beside a method's name lies its code, which looks like the type of an object then.
        let new = if read.image.is_writable(address) { Type::read(read, address) } else { None };
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.by_address.get(&address) {
            return *known;
        }
        let id = new.and_then(|new| {
            let id = TypeId(known.count);
            let block = self.blocks.get(id.0 as usize / BLOCK)?;
            let block = block.get_or_init(|| (0..BLOCK).map(|_| OnceLock::new()).collect());
            block.get(id.0 as usize % BLOCK)?.set(new).ok()?;
            known.count += 1;
            Some(id)
        });
        if id.is_none() {
            if known.wrong >= WRONG_LIMIT {
                return None;
            }
            known.wrong += 1;
        }
        known.by_address.insert(address, id);
        id
    }
}

/// An address that was looked up, and what it was.
type Slot = Option<(u64, Option<TypeId>)>;

/// A cache of types for one thread: direct-mapped by address.
#[derive(Debug)]
pub struct Cache<'a> {
    types: &'a Types,
    read: Reader<'a>,
    slots: Box<[Slot]>,
}

/// Slots of the cache; a power of two.
const SLOTS: usize = 1 << 12;

impl<'a> Cache<'a> {
    /// An empty one.
    #[must_use]
    pub fn new(types: &'a Types, read: Reader<'a>) -> Self {
        Self { types, read, slots: vec![None; SLOTS].into() }
    }

    /// The type at an address.
    #[inline]
    pub fn look(&mut self, address: u64) -> Option<TypeId> {
        let slot = spread::slot(address, SLOTS);
        match self.slots[slot] {
            Some((known, id)) if known == address => id,
            _ => {
                let id = self.types.look(self.read, address);
                self.slots[slot] = Some((address, id));
                id
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offsets::TABLES;
    use lowtide_remote::{Fake, Map, Perms};

    #[test]
    fn code_beside_a_methods_name_is_not_read_as_a_type() {
        let code = Map { start: 0x10_0000, perms: Perms { read: true, exec: true, ..Perms::default() }, ..Map::default() };
        let image = Fake::new().map(code, vec![0x90; 0x1_0000]).segment(0x20_0000, vec![0; 0x1_0000]).image();
        let (read, types) = (Reader { image: &image, layout: TABLES[0] }, Types::default());
        assert_eq!(types.look(read, 0x10_0000), None);
        assert_eq!(image.bytes_read(), 0);
        assert_eq!(types.look(read, 0x20_0000), None);
        assert!(image.bytes_read() > 0, "it can be written, and is only no type");
    }
}
