//! The objects of a census, in the order in which they were found: first what roots name, then what that refers to.
//!
//! Columns instead of records: 16 bytes per object, since there may be tens of millions.

use super::worker::Output;
use crate::types::TypeId;
use std::collections::HashMap;

/// An object's number. A parent's number is smaller than its children's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u32);

/// More objects than can be numbered are left out; the highest bit tells roots from objects.
pub const LIMIT: usize = 1 << 31;

const ROOT: u32 = 1 << 31;

/// Who led to an object first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parent {
    /// Another object.
    Object(ObjectId),
    /// A root, by its number.
    Root(u32),
}

/// An object that was found, before it has a number.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    pub address: u64,
    pub kind: TypeId,
    pub parent: u32,
}

impl Found {
    pub fn by_root(address: u64, kind: TypeId, root: u32) -> Self {
        Self { address, kind, parent: root | ROOT }
    }
}

/// All objects.
#[derive(Debug, Default)]
pub struct Objects {
    /// Addresses are below 2^48: the lower 32 bits of each, and the upper 16.
    places: Vec<u32>,
    regions: Vec<u16>,
    /// Types have numbers below 65,536: others are not counted.
    kinds: Vec<u16>,
    sizes: Vec<u32>,
    parents: Vec<u32>,
    /// Sizes of 4 GiB and more.
    large: HashMap<u32, u64>,
}

impl Objects {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// All numbers, in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = ObjectId> + ExactSizeIterator + use<> {
        (0..self.places.len() as u32).map(ObjectId)
    }

    /// Where an object is.
    #[must_use]
    pub fn address(&self, id: ObjectId) -> u64 {
        let id = id.0 as usize;
        u64::from(self.regions[id]) << 32 | u64::from(self.places[id])
    }

    /// Its type.
    #[must_use]
    pub fn kind(&self, id: ObjectId) -> TypeId {
        TypeId(u32::from(self.kinds[id.0 as usize]))
    }

    /// Its size in bytes, with its head; not what it refers to.
    #[must_use]
    pub fn size(&self, id: ObjectId) -> u64 {
        match self.sizes.get(id.0 as usize) {
            Some(&u32::MAX) => self.large.get(&id.0).copied().unwrap_or(u64::from(u32::MAX)),
            Some(size) => u64::from(*size),
            None => 0,
        }
    }

    /// Adds to an object's size what belongs to it and lies elsewhere.
    pub(crate) fn enlarge(&mut self, id: ObjectId, bytes: u64) {
        let size = self.size(id).saturating_add(bytes);
        if let Some(known) = self.sizes.get_mut(id.0 as usize) {
            *known = u32::try_from(size).unwrap_or(u32::MAX);
            if size >= u64::from(u32::MAX) {
                self.large.insert(id.0, size);
            }
        }
    }

    /// Who led to it first: on the shortest way from the best root.
    #[must_use]
    pub fn parent(&self, id: ObjectId) -> Parent {
        let parent = self.parents[id.0 as usize];
        if parent & ROOT == 0 { Parent::Object(ObjectId(parent)) } else { Parent::Root(parent & !ROOT) }
    }

    /// Adds what a stretch gave: the sizes of its objects, and the objects that it found.
    pub(super) fn append(&mut self, output: &Output) {
        for size in &output.sizes {
            self.push_size(*size);
        }
        let room = LIMIT.saturating_sub(self.places.len());
        let found = &output.found[..output.found.len().min(room)];
        self.places.extend(found.iter().map(|found| found.address as u32));
        self.regions.extend(found.iter().map(|found| (found.address >> 32) as u16));
        self.kinds.extend(found.iter().map(|found| found.kind.0 as u16));
        self.parents.extend(found.iter().map(|found| found.parent));
    }

    /// Numbers an object; nothing happens where there is no number left.
    pub(super) fn push(&mut self, found: Found) {
        if self.places.len() < LIMIT {
            self.places.push(found.address as u32);
            self.regions.push((found.address >> 32) as u16);
            self.kinds.push(found.kind.0 as u16);
            self.parents.push(found.parent);
        }
    }

    /// The size of the next object without one.
    fn push_size(&mut self, size: u64) {
        let id = self.sizes.len() as u32;
        self.sizes.push(u32::try_from(size).unwrap_or(u32::MAX));
        if size >= u64::from(u32::MAX) {
            self.large.insert(id, size);
        }
    }
}
