//! Whether a dict or a set that grows can grow for ever: not where all of its keys are objects of another container that does not grow.
//! A memo of a data set's texts has an entry for each of them, and is full when each has come once.
//!
//! Keys are the same as what the other container has by identity, not by value, so that this says nothing of keys that are made anew;
//! nor of those of which the whole program has one object, as of small numbers, that are elsewhere by chance.

use super::held::Held;
use super::summary::Summary;
use crate::budget::Declared;
use crate::census::Census;
use crate::paths::Path;
use crate::types::{Kind, Type};
use crate::visit::{self, Label, Sink};
use crate::walk::{ObjectId, Parent};
use foldhash::fast::RandomState;
use std::collections::HashSet;

/// Fewer keys may be elsewhere by chance: texts of the program's source are one object wherever they stand.
const FEWEST: usize = 4;
/// Ints up to this may be one object for the whole program: 256 up to CPython 3.14, 1,024 after it (Objects/longobject.c).
const SMALL: i64 = 1024;
/// A dict with more is not looked into.
const MOST_KEYS: usize = 1 << 20;
/// References that are followed to find who has them, in the smallest containers that have room for them first.
const REFERENCES: usize = 1 << 21;
/// References between what it has and a key: a tuple, an instance's dict.
const WITHIN: usize = 2;
/// Keys that each element may have in it: the two texts of a pair.
const IN_EACH: u64 = 4;
/// Where a weak reference has what it refers to (Include/cpython/weakrefobject.h, `wr_object`).
const REFERENT: u64 = 16;

/// What has all the keys of a dict.
#[derive(Clone, Debug)]
pub enum Keyed {
    /// A container that has not grown.
    Among {
        /// The way to it.
        path: Path,
        /// Its elements, as many as at the look before, where these are the keys; else each may have several.
        len: Option<u64>,
    },
    /// Modules of torch: the keys are their parameters, as an optimizer's `state` has them.
    Modules,
}

type Keys = HashSet<u64, RandomState>;

impl Census {
    /// Who has all keys of a dict, or all elements of a set, that [has keys](Self::has_keys) and grew by so many bytes with its `more` new
    /// ones: a container that has not grown since `before`, itself or in the tuples and instances that it has, or else modules.
    pub(super) fn keyed(&self, before: &Summary, id: ObjectId, (more, bytes): (u64, i64), held: &Held) -> Option<Keyed> {
        let least = self.len_of(id)?;
        let (kind, address) = self.met(id)?;
        let mut sink = KeySink::default();
        visit::visit(self.reader(), kind, address, &mut sink);
        let KeySink { keys, values } = sink;
        if !self.is_by_new_keys(id, (more, bytes), values, held) {
            return None;
        }
        // Of weak references what they refer to, and without those that are elsewhere by chance.
        let keys: Keys = keys.into_iter().map(|key| self.referent(key)).filter(|key| !self.is_one_for_all(*key)).collect();
        if keys.len() < FEWEST || (keys.len() as u64) < least {
            return None;
        }
        let has_room = |other: &ObjectId| {
            // Each element takes a word: the sizes, which lie side by side, spare a look at nearly all of the objects themselves.
            *other != id && self.objects().size(*other) >= 8 * least / IN_EACH
        };
        let mut candidates: Vec<(u64, ObjectId)> = (self.objects().ids().filter(has_room))
            .filter_map(|other| Some((self.len_if_unchanged(before, other)?, other)))
            .filter(|(len, _)| len.saturating_mul(IN_EACH) >= least && *len <= REFERENCES as u64)
            .collect();
        candidates.sort_unstable();
        // Who has not this one has not all.
        let one: Keys = keys.iter().copied().take(1).collect();
        let mut left = REFERENCES;
        let mut depth = |other, len| {
            self.has_all(other, &one, &mut left)?;
            self.has_all(other, &keys, &mut left).filter(|_| self.is_full(other, len))
        };
        let found = candidates.into_iter().find_map(|(len, other)| Some((len, other, depth(other, len)?)));
        let among = |(len, other, depth)| Keyed::Among { path: self.path(other), len: (depth == 0).then_some(len) };
        found.map(among).or_else(|| self.is_of_modules(&keys))
    }

    fn is_of_modules(&self, keys: &Keys) -> Option<Keyed> {
        let is_tensor = |key: &u64| self.class_if_read(*key).is_some_and(|kind| kind.kind == Kind::Other);
        let may_be = keys.iter().all(is_tensor);
        let parameters = if may_be { Declared::of_modules(self) } else { return None };
        keys.iter().all(|key| parameters.contains(key)).then_some(Keyed::Modules)
    }

    /// Whether it is a dict or a set of the program's, of which there are not too many keys.
    pub(super) fn has_keys(&self, id: ObjectId) -> bool {
        let kind = self.kind(id).map(|kind| kind.kind);
        matches!(kind, Some(Kind::Dict | Kind::OrderedDict | Kind::Set))
            && !self.is_attributes(id)
            && self.len_of(id).is_some_and(|len| len <= MOST_KEYS as u64)
    }

    /// Whether it grew by so many bytes with its `more` new keys, rather than since old ones have larger values now: of a dict the new
    /// ones are the last.
    fn is_by_new_keys(&self, id: ObjectId, (more, bytes): (u64, i64), mut values: Vec<u64>, held: &Held) -> bool {
        let old = values.len().saturating_sub(usize::try_from(more).unwrap_or(usize::MAX));
        let new = self.ids_of(values.drain(old..));
        let is_its_own = |value: &&ObjectId| self.objects().parent(**value) == Parent::Object(id);
        let by_new: u64 = new.values().filter(is_its_own).map(|value| held.bytes(*value)).sum();
        by_new.saturating_add(self.objects().size(id)) >= bytes.unsigned_abs() / 2
    }

    /// Whether the whole program may have one object of this value: a small number, `None`, a text of one character.
    fn is_one_for_all(&self, key: u64) -> bool {
        let Some(kind) = self.class_if_read(key) else { return false };
        match kind.kind {
            Kind::Int => self.reader().int(key).is_some_and(|value| value.abs() <= SMALL),
            Kind::Str | Kind::Bytes => self.reader().len(key).is_some_and(|len| len <= 1),
            Kind::Leaf => true,
            _ => false,
        }
    }

    fn referent(&self, key: u64) -> u64 {
        let is_weak = self.class_if_read(key).is_some_and(|kind| kind.kind == Kind::Weakref);
        let referent = || self.reader().pointer(key.checked_add(REFERENT)?);
        if is_weak { referent().unwrap_or(key) } else { key }
    }

    /// The class of an object that the walk has come to. The target may have gone on since: what was not read then is not read now.
    fn class_if_read(&self, address: u64) -> Option<&Type> {
        Some(address).filter(|address| self.image().has_read(*address)).and_then(|address| self.class_at(address))
    }

    /// `len()` of a container or a tuple that was there at the look before and had as many elements.
    fn len_if_unchanged(&self, before: &Summary, id: ObjectId) -> Option<u64> {
        let (kind, address) = self.met(id)?;
        let len = self.len_of(id)?;
        let old = before.same(address, &kind.name, self.parent_address(id))?;
        (old.len == Some(len)).then_some(len)
    }

    /// Whether a container has another object at each place: one that is made whole, and filled by and by, has `None` in many.
    fn is_full(&self, container: ObjectId, len: u64) -> bool {
        let Some((kind, address)) = self.met(container) else { return false };
        let mut found = Found { missing: Keys::default(), met: Vec::new(), room: REFERENCES };
        visit::visit(self.reader(), kind, address, &mut found);
        found.met.into_iter().map(|(address, _)| address).collect::<Keys>().len() as u64 >= len
    }

    /// Where a container has all of these: 0 for itself, more for the tuples and instances that it has, of which each has few. `left` is
    /// how many references may be followed yet.
    fn has_all(&self, container: ObjectId, keys: &Keys, left: &mut usize) -> Option<usize> {
        let first = self.met(container).filter(|_| *left > 0)?;
        let mut found = Found { missing: keys.clone(), met: Vec::new(), room: *left };
        let mut next = vec![first];
        for depth in 0..=WITHIN {
            for (kind, address) in next {
                visit::visit(self.reader(), kind, address, &mut found);
                if found.missing.is_empty() {
                    return Some(depth);
                }
                if found.met.len() == found.room {
                    *left = 0;
                    return None;
                }
            }
            found.room -= found.met.len();
            *left = found.room;
            let of_few = |(address, label)| {
                let kind = self.class_if_read(address)?;
                (label == Label::Named("__dict__") || has_few(kind)).then_some((kind, address))
            };
            next = std::mem::take(&mut found.met).into_iter().filter_map(of_few).collect();
        }
        None
    }
}

/// Tuples, and instances of classes of Python code.
fn has_few(kind: &Type) -> bool {
    kind.kind == Kind::Tuple || kind.has_attributes_alone()
}

/// Takes note of keys and their values.
#[derive(Default)]
struct KeySink {
    keys: Vec<u64>,
    values: Vec<u64>,
}

impl Sink for KeySink {
    fn edge(&mut self, target: u64, label: Label) {
        // A torn dict may have more than it says.
        if matches!(label, Label::Key | Label::Item) && self.keys.len() < MOST_KEYS {
            self.keys.push(target);
        }
        if matches!(label, Label::Value(_)) && self.values.len() < MOST_KEYS {
            self.values.push(target);
        }
    }

    fn guess(&mut self, _: u64, _: Label) {}
}

/// Strikes out the keys that it meets.
struct Found {
    missing: Keys,
    met: Vec<(u64, Label)>,
    /// How many may be met.
    room: usize,
}

impl Sink for Found {
    fn edge(&mut self, target: u64, label: Label) {
        self.missing.remove(&target);
        if self.met.len() < self.room {
            self.met.push((target, label));
        }
    }

    fn guess(&mut self, _: u64, _: Label) {}
}
