//! What no root leads to: held from outside, or a cycle that nothing holds?
//!
//! The collector's own reckoning (Modules/gcmodule.c, `update_refs` and `subtract_refs`): an object that has more references
//! than the others of the same set give it is held by something else.

use super::seen::Seen;
use super::worker::{Shared, VISITS};
use crate::size;
use crate::types::Cache;
use crate::visit::{self, Label, Sink};
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Objects that no root leads to.
#[derive(Debug, Default)]
pub struct Split {
    /// Those that something outside holds.
    pub held: Vec<u64>,
    /// All others, in the order of the collector's lists.
    pub cycles: Vec<u64>,
}

/// How many references the objects that no root leads to have from each other.
struct Count {
    references: HashMap<u64, u32, RandomState>,
    /// Which objects these are: most references lead to others than them, and that is told faster here.
    are_inside: Seen,
}

impl Count {
    fn of(objects: &[u64]) -> Self {
        let are_inside = Seen::new();
        for object in objects {
            are_inside.set(*object);
        }
        Self { references: objects.iter().map(|object| (*object, 0)).collect(), are_inside }
    }
}

impl Sink for Count {
    fn edge(&mut self, target: u64, _: Label) {
        if self.are_inside.has(target)
            && let Some(count) = self.references.get_mut(&target)
        {
            *count = count.saturating_add(1);
        }
    }

    fn guess(&mut self, word: u64, label: Label) {
        self.edge(word, label);
    }
}

/// Splits them.
pub fn split(shared: Shared<'_>, unseen: Vec<u64>) -> Split {
    let Shared { read, types, claims, .. } = shared;
    let (mut count, mut cache) = (Count::of(&unseen), Cache::new(types, read));
    for (at, object) in unseen.iter().enumerate() {
        if let Some(soon) = unseen.get(at + VISITS) {
            read.image.prefetch(*soon);
        }
        if let Some(kind) = read.type_of(*object).and_then(|kind| types.get(cache.look(kind)?))
            && claims.claim(size::size(read, kind, *object), *object)
        {
            visit::visit(read, kind, *object, &mut count);
            // An instance holds its class, if that was made at run time.
            count.edge(kind.address, Label::Item);
        }
    }
    let is_held = |object: &u64| {
        let references = read.image.u64(*object).unwrap_or(0) & read.layout.reference_mask;
        references > u64::from(count.references.get(object).copied().unwrap_or(0))
    };
    let (held, cycles) = unseen.iter().partition(|object| is_held(object));
    Split { held, cycles }
}
