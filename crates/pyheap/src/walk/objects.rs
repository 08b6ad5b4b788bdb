//! The objects of a census, in the order in which they were found: first what roots name, then what that refers to.
//!
//! Columns instead of records: 16 bytes per object, since there may be tens of millions.

use super::worker::Output;
use crate::types::TypeId;
use std::collections::HashMap;
use std::ops::Range;

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

/// An object that was found, before it has a number. 16 bytes: a level may have half of all objects.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// Its address, and in the upper 16 bits its type.
    place: u64,
    parent: u32,
    size: u32,
}

impl Found {
    /// By another object; `size` is 0 where it is to be told when the object is visited.
    #[inline]
    pub fn by_object(address: u64, kind: TypeId, parent: u32, size: u32) -> Self {
        Self { place: address | u64::from(kind.0) << 48, parent, size }
    }

    pub fn address(&self) -> u64 {
        self.place & ((1 << 48) - 1)
    }

    pub fn kind(&self) -> TypeId {
        TypeId((self.place >> 48) as u32)
    }

    /// 0: not known yet.
    pub fn size(&self) -> u32 {
        self.size
    }

    pub fn by_root(address: u64, kind: TypeId, root: u32) -> Self {
        Self::by_object(address, kind, root | ROOT, 0)
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
    /// 0: not known yet.
    sizes: Vec<u32>,
    /// How many have been visited: all of these have their size.
    visited: usize,
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

    /// The sizes of all, by number; `u32::MAX` stands for those of 4 GiB and more, which are in the map.
    pub(crate) fn sizes(&self) -> (&[u32], &HashMap<u32, u64>) {
        (&self.sizes, &self.large)
    }

    /// Adds objects as they were found, to be visited.
    pub(super) fn put_in(&self, into: &mut Vec<Found>, range: Range<u32>) {
        into.extend((range.start as usize..range.end as usize).map(|id| {
            let place = u64::from(self.places[id]) | u64::from(self.regions[id]) << 32 | u64::from(self.kinds[id]) << 48;
            Found { place, parent: self.parents[id], size: self.sizes[id] }
        }));
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

    /// The objects to which this one led first, in their order. They lie side by side, as objects are visited in the order of their
    /// numbers; only some to which roots led may lie between them.
    pub fn children(&self, id: ObjectId) -> impl Iterator<Item = ObjectId> + '_ {
        let mut any = usize::MAX;
        let from = self.first_below(id.0, id.0 as usize + 1, &mut any).unwrap_or(self.parents.len());
        let rest = (from..self.parents.len()).map(|at| ObjectId(at as u32));
        let rest = rest.filter(|at| self.parents[at.0 as usize] & ROOT == 0);
        rest.take_while(move |at| self.parents[at.0 as usize] == id.0)
    }

    /// The first object from a place on to which one with this number or a later one led. `None` where it takes more than what is `left`
    /// of looks at objects.
    fn first_below(&self, least: u32, from: usize, left: &mut usize) -> Option<usize> {
        let (mut from, mut to) = (from, self.parents.len().max(from));
        while from < to {
            let middle = from.midpoint(to);
            // One to which a root led says nothing of its neighbours' parents: the next one after it does.
            let after = self.parents[middle..to].iter().position(|parent| parent & ROOT == 0);
            *left = left.checked_sub(1 + after.unwrap_or(to - middle))?;
            match after.map(|after| middle + after) {
                Some(at) if self.parents[at] < least => from = at + 1,
                _ => to = middle,
            }
        }
        Some(from)
    }

    /// How many objects were found through this one, itself included. Those of one level lie side by side as their parents do, and no
    /// root is followed before all that was found has been. `None` where it takes more than what is `left` of looks at objects: below a
    /// linked list, or beside a million roots.
    #[must_use]
    pub(crate) fn count_below(&self, id: ObjectId, left: &mut usize) -> Option<u64> {
        let (mut level, mut count) = (id.0..id.0 + 1, 0);
        while !level.is_empty() {
            count += level.len() as u64;
            let mut from = self.first_below(level.start, level.end as usize, left)?;
            let to = self.first_below(level.end, from, left)?;
            // Roots may have led to those just before.
            let roots = self.parents[from..to].iter().take_while(|parent| **parent & ROOT != 0).count();
            *left = left.checked_sub(roots)?;
            from += roots;
            level = from as u32..to as u32;
        }
        Some(count)
    }

    /// Adds what a stretch gave: the sizes of those of its objects that had none, and the objects that it found.
    pub(super) fn append(&mut self, output: &Output) {
        let end = (self.visited + output.visited).min(self.sizes.len());
        let mut sizes = output.sizes.iter();
        for id in self.visited..end {
            if self.sizes[id] == 0 {
                let size = sizes.next().copied().unwrap_or(0);
                self.sizes[id] = u32::try_from(size).unwrap_or(u32::MAX);
                if size >= u64::from(u32::MAX) {
                    self.large.insert(id as u32, size);
                }
            }
        }
        self.visited = end;
        let room = LIMIT.saturating_sub(self.places.len());
        let found = &output.found[..output.found.len().min(room)];
        self.places.extend(found.iter().map(|found| found.place as u32));
        self.regions.extend(found.iter().map(|found| (found.place >> 32) as u16));
        self.kinds.extend(found.iter().map(|found| (found.place >> 48) as u16));
        self.sizes.extend(found.iter().map(|found| found.size));
        self.parents.extend(found.iter().map(|found| found.parent));
    }

    /// Numbers an object; nothing happens where there is no number left.
    pub(crate) fn push(&mut self, found: Found) {
        if self.places.len() < LIMIT {
            self.places.push(found.place as u32);
            self.regions.push((found.place >> 32) as u16);
            self.kinds.push((found.place >> 48) as u16);
            self.sizes.push(found.size);
            self.parents.push(found.parent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_found_wherever_roots_led_to_others_between_them() {
        let mut objects = Objects::default();
        for parent in [None, None, Some(0), Some(0), None, Some(1), Some(3), None, None, Some(3), Some(3), Some(9), None] {
            let address = 16 * (objects.len() as u64 + 1);
            objects.push(match parent {
                Some(parent) => Found::by_object(address, TypeId(0), parent, 8),
                None => Found::by_root(address, TypeId(0), 0),
            });
        }
        for id in objects.ids() {
            let expected: Vec<ObjectId> = objects.ids().filter(|child| objects.parent(*child) == Parent::Object(id)).collect();
            assert_eq!(objects.children(id).collect::<Vec<_>>(), expected, "{id:?}");
        }
    }
}
