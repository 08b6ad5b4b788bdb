//! One thread of a walk: visits a stretch of objects, and gathers what they refer to.

use super::objects::{Found, ObjectId, Objects};
use super::seen::Seen;
use crate::offsets::fixed;
use crate::read::Reader;
use crate::size;
use crate::types::{Cache, TypeId, Types, flags};
use crate::visit::{self, Label, Sink};
use std::ops::Range;

/// The count of references that immortal objects have (3.12); no other has as many.
const MOST_REFERENCES: u64 = 1 << 32;

/// What the threads share.
#[derive(Clone, Copy)]
pub struct Shared<'a> {
    pub read: Reader<'a>,
    pub types: &'a Types,
    pub seen: &'a Seen,
}

/// What one stretch gave.
#[derive(Default)]
pub struct Output {
    pub found: Vec<Found>,
    pub sizes: Vec<u64>,
}

/// One thread.
pub struct Worker<'a> {
    shared: Shared<'a>,
    cache: Cache<'a>,
    parent: u32,
    output: Output,
}

impl<'a> Worker<'a> {
    pub fn new(shared: Shared<'a>) -> Self {
        Self { shared, cache: Cache::new(shared.types, shared.read), parent: 0, output: Output::default() }
    }

    /// Visits a stretch of objects.
    pub fn expand(&mut self, objects: &Objects, stretch: Range<u32>) -> Output {
        let Shared { read, types, .. } = self.shared;
        for id in stretch {
            let (address, kind) = (objects.address(ObjectId(id)), objects.kind(ObjectId(id)));
            let Some(kind) = types.get(kind) else {
                self.output.sizes.push(0);
                continue;
            };
            self.output.sizes.push(size::size(read, kind, address));
            self.parent = id;
            visit::visit(read, kind, address, self);
        }
        std::mem::take(&mut self.output)
    }

    /// The type of an object that nobody has seen, if it is one.
    pub fn new_object(&mut self, address: u64) -> Option<TypeId> {
        if !address.is_multiple_of(8) || address == 0 || self.shared.seen.has(address) {
            return None;
        }
        let kind = self.shared.read.type_of(address)?;
        self.cache.look(kind)
    }

    /// The same for what only looks like one.
    pub fn likely_object(&mut self, address: u64, label: Label) -> Option<TypeId> {
        let kind = self.new_object(address)?;
        let read = self.shared.read;
        // Freed memory has a link of the allocator here, or 0.
        let references = read.image.u64(address)? & read.layout.reference_mask;
        if references == 0 || references > MOST_REFERENCES {
            return None;
        }
        let known = self.shared.types.get(kind)?;
        if !read.image.is_mapped(address, known.basic.max(16)) {
            return None;
        }
        // A stale value on a stack may lead to anything that has been freed and used again.
        if label == Label::Stack && !(known.has(flags::HAVE_GC) && is_tracked(read, address)) {
            return None;
        }
        Some(kind)
    }

    fn add(&mut self, address: u64, kind: TypeId) {
        if self.shared.seen.set(address) {
            self.output.found.push(Found { address, kind, parent: self.parent });
        }
    }
}

impl Sink for Worker<'_> {
    #[inline]
    fn edge(&mut self, target: u64, _: Label) {
        if let Some(kind) = self.new_object(target) {
            self.add(target, kind);
        }
    }

    fn guess(&mut self, word: u64, label: Label) {
        if let Some(kind) = self.likely_object(word, label) {
            self.add(word, kind);
        }
    }
}

/// Whether the collector has an object in one of its lists.
pub fn is_tracked(read: Reader<'_>, address: u64) -> bool {
    let Some(head) = address.checked_sub(fixed::GC_HEAD) else { return false };
    let next = read.image.u64(head).map(|next| next & !3).filter(|next| *next != 0);
    let back = next.and_then(|next| read.image.u64(next.checked_add(8)?));
    back.map(|back| back & !3) == Some(head)
}
