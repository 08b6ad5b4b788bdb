//! How much each object holds: itself, and all that the walk found through it first.
//!
//! The walk goes the shortest ways, so this is a tree: each object is counted below one holder, the nearest to a root.

use std::collections::{BTreeMap, HashMap};

use crate::census::{Census, Total};
use crate::types::Kind;
use crate::walk::{ObjectId, Objects, Parent, Root};

/// To look at an object for where a level begins takes as long as to add up so many that lie side by side.
const LOOKS: usize = 8;

/// What each object holds, itself included. Two columns of 4 bytes: there may be tens of millions, and few hold 4 GiB.
#[derive(Debug)]
pub struct Held {
    counts: Vec<u32>,
    bytes: HeldBytes,
}

/// The bytes that each object holds, itself included.
#[derive(Debug)]
pub struct HeldBytes {
    bytes: Vec<u32>,
    large: HashMap<ObjectId, u64>,
}

impl HeldBytes {
    fn of(objects: &Objects) -> Self {
        // Begins as a copy, not as zeros: a fresh page that is read before it is written costs two faults instead of one.
        let (sizes, large) = objects.sizes();
        let mut held = Self { bytes: sizes.to_vec(), large: large.iter().map(|(id, bytes)| (ObjectId(*id), *bytes)).collect() };
        // A parent's number is smaller than its children's.
        for id in objects.ids().rev() {
            if let Parent::Object(parent) = objects.parent(id) {
                held.set(parent, held.get(parent).saturating_add(held.get(id)));
            }
        }
        held
    }

    fn set(&mut self, id: ObjectId, bytes: u64) {
        self.bytes[id.0 as usize] = u32::try_from(bytes).unwrap_or(u32::MAX);
        if bytes >= u64::from(u32::MAX) {
            self.large.insert(id, bytes);
        }
    }

    /// Those of one object.
    #[must_use]
    pub fn get(&self, id: ObjectId) -> u64 {
        match self.bytes[id.0 as usize] {
            u32::MAX => self.large.get(&id).copied().unwrap_or(u64::from(u32::MAX)),
            bytes => u64::from(bytes),
        }
    }
}

/// How many objects each holds, itself included.
fn counts(objects: &Objects) -> Vec<u32> {
    let mut counts = vec![1; objects.len()];
    for id in objects.ids().rev() {
        if let Parent::Object(parent) = objects.parent(id) {
            counts[parent.0 as usize] += counts[id.0 as usize];
        }
    }
    counts
}

impl Held {
    /// Bytes that an object holds.
    #[must_use]
    pub fn bytes(&self, id: ObjectId) -> u64 {
        self.bytes.get(id)
    }

    /// Objects and bytes.
    #[must_use]
    pub fn total(&self, id: ObjectId) -> Total {
        Total { count: u64::from(self.counts[id.0 as usize]), bytes: self.bytes(id) }
    }
}

impl Census {
    /// What each object holds.
    #[must_use]
    pub fn held(&self) -> Held {
        Held { counts: counts(self.objects()), bytes: self.held_bytes() }
    }

    /// The bytes that each object holds, without the number of objects: half the memory, where that is asked of few of them.
    #[must_use]
    pub fn held_bytes(&self) -> HeldBytes {
        HeldBytes::of(self.objects())
    }

    /// How many objects each of these holds, itself included; in their order.
    #[must_use]
    pub fn held_counts(&self, ids: &[ObjectId]) -> Vec<u64> {
        // More looks would take longer than to count those of all objects.
        let mut left = self.objects().len() / LOOKS;
        let each: Option<Vec<u64>> = ids.iter().map(|id| self.objects().count_below(*id, &mut left)).collect();
        each.unwrap_or_else(|| {
            let counts = counts(self.objects());
            ids.iter().map(|id| u64::from(counts[id.0 as usize])).collect()
        })
    }

    /// The objects to which such a root leads by itself, through no other object.
    pub fn rooted_in(&self, wanted: Root) -> impl Iterator<Item = ObjectId> + '_ {
        let objects = self.objects();
        let is_wanted = move |root: u32| self.roots().get(root as usize) == Some(&wanted);
        objects.ids().filter(move |id| matches!(objects.parent(*id), Parent::Root(root) if is_wanted(root)))
    }

    /// What is held by nothing but itself, in all, and the object through which most of it was found.
    pub(super) fn garbage(&self, held: &Held) -> (Total, Option<ObjectId>) {
        let (mut all, mut largest) = (Total::default(), None);
        for id in self.rooted_in(Root::Garbage) {
            let own = held.total(id);
            all.count += own.count;
            all.bytes = all.bytes.saturating_add(own.bytes);
            if largest.is_none_or(|largest: ObjectId| held.bytes(largest) < own.bytes) {
                largest = Some(id);
            }
        }
        (all, largest)
    }

    /// What only native code has references to, by type: in all, and the object that holds most. Of containers it is told by
    /// themselves how much longer they are.
    pub(super) fn unnamed(&self, held: &Held) -> BTreeMap<&str, (Total, ObjectId)> {
        let mut by_type: BTreeMap<&str, (Total, ObjectId)> = BTreeMap::new();
        for id in self.rooted_in(Root::Native) {
            let Some(kind) = self.kind(id).filter(|kind| !kind.kind.is_container()) else { continue };
            let own = held.total(id);
            let (all, largest) = by_type.entry(&kind.name).or_insert((Total::default(), id));
            all.count += 1;
            all.bytes = all.bytes.saturating_add(own.bytes);
            if held.bytes(*largest) < own.bytes {
                *largest = id;
            }
        }
        by_type
    }

    /// Whether it is a container of so many items at least.
    #[must_use]
    pub fn has_items(&self, id: ObjectId, least: u64) -> bool {
        // Each item takes a word and more: the sizes, which lie side by side, spare a look at nearly all of the objects themselves.
        self.objects().size(id) >= least.saturating_mul(8)
            && self.kind(id).is_some_and(|kind| kind.kind.is_container())
            && self.len_of(id).is_some_and(|len| len >= least)
    }

    /// `len()` of a container; `None` for what is none.
    #[must_use]
    pub fn len_of(&self, id: ObjectId) -> Option<u64> {
        let kind = self.kind(id)?;
        let offset = match kind.kind {
            Kind::Set => 24,
            Kind::Dict | Kind::OrderedDict | Kind::List | Kind::Tuple | Kind::Deque | Kind::ByteArray => 16,
            _ => return None,
        };
        self.reader().image.u64(self.objects().address(id).checked_add(offset)?).filter(|len| *len < 1 << 40)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::TypeId;
    use crate::walk::Found;
    use proptest::prelude::*;

    #[test]
    fn each_holds_itself_and_all_below_also_where_that_is_more_than_4_gib() {
        let mut objects = Objects::default();
        objects.push(Found::by_root(0x1000, TypeId(0), 0));
        for (address, parent) in [(0x2000, 0), (0x3000, 0), (0x4000, 1), (0x5000, 1)] {
            objects.push(Found::by_object(address, TypeId(0), parent, 100));
        }
        objects.enlarge(ObjectId(0), 10);
        objects.enlarge(ObjectId(3), 5 << 30);
        objects.enlarge(ObjectId(4), u64::from(u32::MAX) - 100);
        let held = HeldBytes::of(&objects);
        let (large, just) = ((5 << 30) + 100, u64::from(u32::MAX));
        let all: Vec<u64> = objects.ids().map(|id| held.get(id)).collect();
        assert_eq!(all, [10 + 100 + 100 + large + just, 100 + large + just, 100, large, just]);
        assert_eq!(counts(&objects), [5, 3, 1, 1, 1]);
    }

    /// Objects as a walk finds them: each rank of roots is followed to the end, level by level, before the next; `children` says how many
    /// each object leads to.
    fn found(ranks: &[usize], children: &[usize]) -> Objects {
        let (mut objects, mut children) = (Objects::default(), children.iter());
        for roots in ranks {
            let mut at = objects.len();
            for _ in 0..*roots {
                objects.push(Found::by_root(8, TypeId(0), 0));
            }
            while at < objects.len() {
                for _ in 0..children.next().copied().unwrap_or(0) {
                    objects.push(Found::by_object(8, TypeId(0), at as u32, 8));
                }
                at += 1;
            }
        }
        objects
    }

    proptest! {
        #[test]
        fn what_is_below_one_is_counted_as_for_all(
            ranks in prop::collection::vec(0_usize..40, 1..6),
            children in prop::collection::vec(prop_oneof![Just(0_usize), 0_usize..5], 0..300),
        ) {
            let objects = found(&ranks, &children);
            let mut any = usize::MAX;
            let below: Vec<_> = objects.ids().map(|id| objects.count_below(id, &mut any)).collect();
            let all: Vec<_> = counts(&objects).into_iter().map(|count| Some(u64::from(count))).collect();
            prop_assert_eq!(below, all);
        }
    }

    #[test]
    fn what_takes_longer_than_to_count_all_is_not_looked_for() {
        let chain = found(&[1], &vec![1; 10_000]);
        assert_eq!(chain.count_below(ObjectId(9_990), &mut 1000), Some(11));
        assert_eq!(chain.count_below(ObjectId(0), &mut 1000), None);
        let beside = found(&[1, 100_000], &[3, 2, 2]);
        assert_eq!(beside.count_below(ObjectId(0), &mut 1000), None, "the roots behind it are gone through again and again");
        let mut any = usize::MAX;
        assert_eq!(beside.count_below(ObjectId(0), &mut any), Some(8));
    }
}
