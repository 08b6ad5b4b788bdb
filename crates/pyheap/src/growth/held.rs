//! How much each object holds: itself, and all that the walk found through it first.
//!
//! The walk goes the shortest ways, so this is a tree: each object is counted below one holder, the nearest to a root.

use crate::census::{Census, Total};
use crate::types::Kind;
use crate::walk::{ObjectId, Parent, Root};

impl Census {
    /// What each object holds, itself included, by the object's number.
    #[must_use]
    pub fn held(&self) -> Vec<Total> {
        let objects = self.objects();
        let mut held: Vec<Total> = objects.ids().map(|id| Total { count: 1, bytes: objects.size(id) }).collect();
        // A parent's number is smaller than its children's.
        for id in objects.ids().rev() {
            if let Parent::Object(parent) = objects.parent(id) {
                let own = held[id.0 as usize];
                let above = &mut held[parent.0 as usize];
                above.count += own.count;
                above.bytes = above.bytes.saturating_add(own.bytes);
            }
        }
        held
    }

    /// What is held by nothing but itself, in all, and the object through which most of it was found.
    pub(super) fn garbage(&self, held: &[Total]) -> (Total, Option<ObjectId>) {
        let is_garbage = |root: u32| self.roots().get(root as usize) == Some(&Root::Garbage);
        let objects = self.objects();
        let cycles = objects.ids().filter(|id| matches!(objects.parent(*id), Parent::Root(root) if is_garbage(root)));
        let (mut all, mut largest) = (Total::default(), None);
        for id in cycles {
            let own = held[id.0 as usize];
            all.count += own.count;
            all.bytes = all.bytes.saturating_add(own.bytes);
            if largest.is_none_or(|largest: ObjectId| held[largest.0 as usize].bytes < own.bytes) {
                largest = Some(id);
            }
        }
        (all, largest)
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
