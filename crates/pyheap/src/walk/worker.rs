//! One thread of a walk: visits a stretch of objects, and gathers what they refer to.

use super::claims::Claims;
use super::objects::Found;
use super::seen::Seen;
use crate::offsets::fixed;
use crate::read::Reader;
use crate::size;
use crate::spread;
use crate::types::{Cache, TypeId, Types, flags};
use crate::visit::{self, Label, Sink};

/// The count of references that immortal objects have (3.12); no other has as many.
const MOST_REFERENCES: u64 = 1 << 32;
/// A reference is looked at so many references after it was found, and an object visited so many objects after that was
/// announced: most of a walk's time is waiting for memory, so it is told early what will be wanted (measured: a quarter less).
const AHEAD: usize = 16;
pub const VISITS: usize = 8;
/// Bytes that the processor fetches at once.
const LINE: u64 = 64;
/// Targets of the last references that are remembered, by address: half of all references lead to what one of the last few hundred led
/// to (None, a name, a type), and need not be looked at. So many lie within the nearest cache. The one that is remembered came first in
/// the walk's order, too: a thread visits what it is given in that order, and what it noted is looked at before the stretch is over.
const RECENT: usize = 256;
/// Outputs whose memory is kept to be used again.
pub const SPARE: usize = 256;
/// Objects that an output has room for at most, to be kept.
const KEPT: usize = 64 * 1024;
/// References of a stretch that may wait to be claimed: there may be lists of millions among a few objects.
const WAITING: usize = 4 << 20;
/// Memory is claimed by so many bytes at a time.
const CLAIM: u64 = 1 << 20;

/// What the threads share.
#[derive(Clone, Copy)]
pub struct Shared<'a> {
    pub read: Reader<'a>,
    pub types: &'a Types,
    pub seen: &'a Seen,
    pub claims: &'a Claims,
}

/// When what several threads find is given to one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claiming {
    /// To the first that comes.
    AtOnce,
    /// To the first in order, when all have looked: see [`Worker::claim_left`].
    InOrder,
}

/// How a level is given out.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// Objects of a stretch.
    pub len: u32,
    /// When what they lead to is given to one of the threads.
    pub claiming: Claiming,
}

/// What one stretch gave.
#[derive(Default)]
pub struct Output {
    /// Objects that were visited.
    pub visited: usize,
    pub found: Vec<Found>,
    /// How many of them, from the first on, others may have found too.
    pub unclaimed: usize,
    /// Sizes of those visited that had none.
    pub sizes: Vec<u64>,
}

impl Output {
    /// One of so many objects, with room for twice as many in what they lead to: most need not be moved about while they grow.
    fn of(objects: usize) -> Self {
        Self { found: Vec::with_capacity(2 * objects), sizes: Vec::with_capacity(objects), ..Self::default() }
    }
}

/// One thread.
pub struct Worker<'a> {
    shared: Shared<'a>,
    cache: Cache<'a>,
    parent: u32,
    claiming: Claiming,
    ahead: Ahead,
    recent: [u64; RECENT],
    output: Output,
    /// Emptied ones, whose memory is taken again: fresh memory costs more than what is written to it.
    spare: Vec<Output>,
    /// Bytes of objects that were not claimed yet.
    unclaimed: u64,
    /// Whether nothing is believed any more.
    lied_to: bool,
}

impl<'a> Worker<'a> {
    pub fn new(shared: Shared<'a>) -> Self {
        Self {
            shared,
            cache: Cache::new(shared.types, shared.read),
            parent: 0,
            claiming: Claiming::AtOnce,
            ahead: Ahead::default(),
            recent: [0; RECENT],
            output: Output::default(),
            spare: Vec::new(),
            unclaimed: 0,
            lied_to: false,
        }
    }

    /// Visits a stretch of objects, whose numbers begin with `first`.
    pub fn expand(&mut self, stretch: &[Found], first: u32, claiming: Claiming) -> Output {
        let Shared { read, types, .. } = self.shared;
        self.claiming = claiming;
        self.output = self.spare.pop().unwrap_or_else(|| Output::of(stretch.len()));
        self.output.visited = stretch.len();
        for (at, object) in stretch.iter().enumerate() {
            if let Some(soon) = stretch.get(at + VISITS).filter(|soon| soon.size() == 0) {
                read.image.prefetch(soon.address());
                read.image.prefetch(soon.address() + LINE);
            }
            // Nothing remains to be learned of one whose size is known.
            if object.size() != 0 {
                continue;
            }
            let address = object.address();
            let Some(kind) = types.get(object.kind()).filter(|_| !self.lied_to) else {
                self.output.sizes.push(0);
                continue;
            };
            let size = size::size(read, kind, address);
            self.output.sizes.push(size);
            self.claim(size, address);
            self.parent = first + at as u32;
            visit::visit(read, kind, address, self);
        }
        for _ in 0..AHEAD {
            self.refer(0, Sort::Edge);
        }
        std::mem::take(&mut self.output)
    }

    /// Takes an output's memory back for a later one; nothing of it waits to be claimed any more.
    pub fn reuse(&mut self, mut output: Output) {
        if output.found.capacity() > KEPT {
            return;
        }
        output.found.clear();
        output.sizes.clear();
        if self.spare.len() < SPARE {
            self.spare.push(output);
        }
    }

    fn claim(&mut self, size: u64, object: u64) {
        self.unclaimed = self.unclaimed.saturating_add(size);
        if self.unclaimed >= CLAIM {
            self.lied_to |= !self.shared.claims.claim(std::mem::take(&mut self.unclaimed), object);
        }
    }

    /// The type of an object that nobody has seen, if it is one.
    pub fn new_object(&mut self, address: u64) -> Option<TypeId> {
        if !address.is_multiple_of(8) || address == 0 || self.shared.seen.has(address) {
            return None;
        }
        let kind = self.shared.read.type_of_any(address)?;
        self.cache.look(kind)
    }

    /// The same for what only looks like one.
    pub fn likely_object(&mut self, address: u64, is_on_stack: bool) -> Option<TypeId> {
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
        if is_on_stack && !(known.has(flags::HAVE_GC) && is_tracked(read, address)) {
            return None;
        }
        Some(kind)
    }

    /// Notes a reference of the object that is visited, and takes up the one that was noted `AHEAD` references ago.
    fn refer(&mut self, target: u64, sort: Sort) {
        let Shared { read, seen, .. } = self.shared;
        if target != 0 {
            seen.prefetch(target);
            read.image.prefetch(target);
            // What tells its size lies in the next line then.
            if target % LINE >= LINE / 2 {
                read.image.prefetch(target.wrapping_add(LINE / 2));
            }
        }
        let new = Reference { target, parent: self.parent, sort };
        let place = self.ahead.next % AHEAD;
        self.ahead.next += 1;
        let old = std::mem::replace(&mut self.ahead.references[place], new);
        let kind = match old.sort {
            Sort::Edge => self.new_object(old.target),
            Sort::Word => self.likely_object(old.target, false),
            Sort::OnStack => self.likely_object(old.target, true),
        };
        let Some(kind) = kind else { return };
        let waits = self.claiming == Claiming::InOrder;
        if waits || seen.set(old.target) {
            let size = self.leaf_size(old.target, kind);
            self.output.found.push(Found::by_object(old.target, kind, old.parent, size));
            if waits {
                self.output.unclaimed += 1;
            } else {
                self.claim(u64::from(size), old.target);
            }
        }
        if self.output.unclaimed >= WAITING {
            self.claiming = Claiming::AtOnce;
            let mut output = std::mem::take(&mut self.output);
            self.claim_left(&mut output);
            self.output = output;
        }
    }

    /// Claims what waits for it in an output, and leaves out what others had before.
    pub fn claim_left(&mut self, output: &mut Output) {
        let mut waiting = std::mem::take(&mut output.unclaimed);
        if waiting == 0 {
            return;
        }
        let seen = self.shared.seen;
        output.found.retain(|found| {
            let waits = waiting > 0;
            waiting -= usize::from(waits);
            let is_ours = !waits || seen.set(found.address());
            if waits && is_ours {
                self.claim(u64::from(found.size()), found.address());
            }
            is_ours
        });
    }

    /// The size of an object that owns no others: it is near now, and need not be fetched again for a visit. 0 of all others, and of
    /// what is as large as 4 GiB.
    #[inline]
    fn leaf_size(&self, address: u64, kind: TypeId) -> u32 {
        let Shared { read, types, .. } = self.shared;
        let Some(kind) = types.get(kind).filter(|kind| visit::is_leaf(kind)) else { return 0 };
        u32::try_from(size::size(read, kind, address)).ok().filter(|size| *size != u32::MAX).unwrap_or(0)
    }
}

/// What says that there is a reference.
#[derive(Clone, Copy, Default)]
enum Sort {
    /// Its place.
    #[default]
    Edge,
    /// That it looks like one.
    Word,
    /// The same, of a frame's stack.
    OnStack,
}

/// A reference that is waiting to be looked at.
#[derive(Clone, Copy, Default)]
struct Reference {
    target: u64,
    parent: u32,
    sort: Sort,
}

/// References that were noted and not yet looked at: meanwhile the processor fetches what they lead to.
#[derive(Default)]
struct Ahead {
    references: [Reference; AHEAD],
    next: usize,
}

impl Sink for Worker<'_> {
    #[inline]
    fn edge(&mut self, target: u64, _: Label) {
        let recent = &mut self.recent[spread::slot(target, RECENT)];
        if *recent != target {
            *recent = target;
            self.refer(target, Sort::Edge);
        }
    }

    fn guess(&mut self, word: u64, label: Label) {
        // What was guessed is not remembered: it may be a reference all the same where its place says so.
        if self.recent[spread::slot(word, RECENT)] != word {
            self.refer(word, if label == Label::Stack { Sort::OnStack } else { Sort::Word });
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
