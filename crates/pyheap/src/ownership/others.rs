//! Who else keeps what a holder would let go: from single references to names.

use super::heap::Heap;
use super::solve::Member;
use crate::census::Census;
use crate::types::Kind;
use crate::walk::{ObjectId, Parent, Root};
use std::collections::{HashMap, HashSet};

/// References of one holder's that are kept to find out who has them; of more, each n-th.
const KEPT: usize = 1 << 14;
/// The way down is followed as long as one has so much of it, in percent.
const MOST: u64 = 90;
/// Others that are told at most.
pub const OTHERS: usize = 3;
/// The least part of what is shared that another must have to be told, in percent.
const PART: u64 = 2;

/// Who refers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    Object(ObjectId),
    /// By its number.
    Root(u32),
}

/// References from outside into what was found below a holder.
#[derive(Debug, Default)]
pub struct Foreign {
    kept: Vec<(Source, u64, u64)>,
    step: usize,
    seen: usize,
}

impl Foreign {
    /// Another one.
    pub fn add(&mut self, source: Source, target: u64, weight: u64) {
        self.step = self.step.max(1);
        if self.seen.is_multiple_of(self.step) {
            if self.kept.len() >= KEPT {
                let mut index = 0;
                self.kept.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.step *= 2;
            }
            self.kept.push((source, target, weight));
        }
        self.seen += 1;
    }

    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }
}

/// Who else holds: who would have to let go, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Other {
    pub member: Member,
    pub source: Source,
    /// What it refers to, where it is a single reference.
    pub target: Option<u64>,
}

/// Those that refer to most, by the names nearest to them that have nearly all of it.
pub fn others(census: &Census, heap: &Heap<'_>, holder: ObjectId, foreign: &Foreign) -> Vec<Other> {
    let objects = census.objects();
    let above: HashSet<ObjectId> = chain(census, holder).collect();
    let mut weights: HashMap<ObjectId, u64> = HashMap::new();
    let mut below: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
    let mut tops: Vec<ObjectId> = Vec::new();
    let mut single: HashMap<(Source, u64), u64> = HashMap::new();
    let mut all = 0_u64;
    for (source, target, weight) in &foreign.kept {
        all = all.saturating_add(*weight);
        let Source::Object(first) = source else {
            *single.entry((*source, *target)).or_default() += weight;
            continue;
        };
        // Who leads to the holder, too, cannot let go as a whole: its one reference can.
        if above.contains(first) {
            *single.entry((*source, *target)).or_default() += weight;
            continue;
        }
        let mut before = None;
        for id in chain(census, *first).take_while(|id| !above.contains(id)) {
            let known = weights.entry(id).or_insert_with(|| {
                if !matches!(objects.parent(id), Parent::Object(parent) if !above.contains(&parent)) {
                    tops.push(id);
                }
                0
            });
            *known = known.saturating_add(*weight);
            if let Some(before) = before
                && *known == *weight
            {
                below.entry(id).or_default().push(before);
            } else if let Some(before) = before
                && !below.get(&id).is_some_and(|list| list.contains(&before))
                && below.get(&id).is_none_or(|list| list.len() < 64)
            {
                below.entry(id).or_default().push(before);
            }
            before = Some(id);
        }
    }
    let weight = |id: ObjectId| weights.get(&id).copied().unwrap_or(0);
    let mut found: Vec<(u64, Other)> = Vec::new();
    for top in tops {
        let mut at = top;
        while let Some(next) = below.get(&at).into_iter().flatten().find(|next| weight(**next) * 100 >= weight(at) * MOST) {
            at = *next;
        }
        let at = named(census, at, top);
        let other = Other { member: Member::Object(objects.address(at)), source: Source::Object(at), target: None };
        found.push((weight(at), other));
    }
    for ((source, target), weight) in single {
        let member = match source {
            Source::Object(id) => Member::Edge(objects.address(id), target),
            Source::Root(root) => Member::Root(root, target),
        };
        found.push((weight, Other { member, source, target: Some(target) }));
    }
    // What a frame has in use without a name is told where nobody else is.
    let is_named = |other: &Other| match other.source {
        Source::Object(_) => true,
        Source::Root(root) => heap.roots.get(root as usize).is_some_and(is_named),
    };
    found.retain(|(weight, _)| weight * 100 >= all * PART);
    found.sort_by_key(|(weight, other)| (std::cmp::Reverse(is_named(other)), std::cmp::Reverse(*weight), order(other)));
    found.truncate(OTHERS);
    found.into_iter().map(|(_, other)| other).collect()
}

/// Whether what a root refers to has a name that a program's author knows.
pub fn is_named(root: &Root) -> bool {
    use crate::visit::Label;
    match root {
        Root::Module { .. } => true,
        Root::Frame { label, .. } => matches!(label, Label::Local(_)),
        _ => false,
    }
}

fn order(other: &Other) -> (u64, u64) {
    match other.member {
        Member::Object(address) => (address, 0),
        Member::Edge(from, to) => (from, to),
        Member::Root(root, to) => (u64::from(root), to),
        Member::Unseen => (0, 0),
    }
}

/// The instance of a dict of attributes; nothing above `top`.
fn named(census: &Census, id: ObjectId, top: ObjectId) -> ObjectId {
    match census.objects().parent(id) {
        Parent::Object(parent)
            if id != top && census.is_attributes(id) && census.kind(parent).is_some_and(|kind| kind.kind != Kind::Type) =>
        {
            parent
        }
        _ => id,
    }
}

/// An object, who led to it, and so on to the root.
fn chain(census: &Census, id: ObjectId) -> impl Iterator<Item = ObjectId> {
    std::iter::successors(Some(id), |id| match census.objects().parent(*id) {
        Parent::Object(parent) => Some(parent),
        Parent::Root(_) => None,
    })
    .take(1 << 16)
}
