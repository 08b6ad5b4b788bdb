//! What no root leads to: held from outside, or a cycle that nothing holds?
//!
//! The collector's own reckoning (Modules/gcmodule.c, `update_refs` and `subtract_refs`): an object that has more references
//! than the others of the same set give it is held by something else.

use super::worker::Shared;
use crate::size;
use crate::types::Types;
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

struct Count<'a>(&'a mut HashMap<u64, u32, RandomState>);

impl Sink for Count<'_> {
    fn edge(&mut self, target: u64, _: Label) {
        if let Some(count) = self.0.get_mut(&target) {
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
    let mut inside: HashMap<u64, u32, RandomState> = unseen.iter().map(|object| (*object, 0)).collect();
    for object in &unseen {
        if let Some(kind) = kind(types, read, *object)
            && claims.claim(size::size(read, kind, *object), *object)
        {
            visit::visit(read, kind, *object, &mut Count(&mut inside));
            // An instance holds its class, if that was made at run time.
            Count(&mut inside).edge(kind.address, Label::Item);
        }
    }
    let is_held = |object: &u64| {
        let references = read.image.u64(*object).unwrap_or(0) & read.layout.reference_mask;
        references > u64::from(inside.get(object).copied().unwrap_or(0))
    };
    let (held, cycles) = unseen.iter().partition(|object| is_held(object));
    Split { held, cycles }
}

fn kind<'a>(types: &'a Types, read: crate::read::Reader<'_>, object: u64) -> Option<&'a crate::types::Type> {
    types.get(types.look(read, read.type_of(object)?)?)
}
