//! Who really owns memory: what would go if a holder let go, and who else keeps what would not.
//!
//! The walk counts each object below the holder that it met first. That says how to get there, and not what would go: where two
//! hold the same objects, letting go of one frees nothing. Here the pages that the walk has read are read once more, the process
//! being long on its way, and each holder that is asked about gets what it alone keeps ([`solve`]), who else keeps the rest
//! ([`others`]), and the proof by the same solver that both together would free it.

mod heap;
mod index;
mod others;
mod solve;

pub use heap::Beyond;

use crate::census::{Census, Total};
use crate::paths::{Path, Place};
use crate::walk::ObjectId;
use heap::Heap;
use others::{Foreign, OTHERS, Other, Source};
use solve::{GROUPS, Graph, Hold, Member};
use std::collections::{HashMap, HashSet};

/// Less than so many bytes, or this part of what is held, is not worth the question who else has it.
const WORTH: u64 = 1024;
const PART: u64 = 100;
/// The same as a part of all that there is.
const PART_OF_ALL: u64 = 1000;
/// Holders at most for which it is proven who must let go as well, those with the most that is shared.
const PROVEN: usize = 4;
/// Groups for each holder whose rest others keep: itself, itself with each of them, with all of them, with what has no name as well.
const EACH: usize = OTHERS + 3;
/// Other ways to a holder that are told at most.
const WAYS: usize = 3;
/// Those that are looked at for it.
const WAYS_SEEN: usize = 16;

/// What a holder owns.
#[derive(Clone, Debug)]
pub struct Ownership {
    /// The holder.
    pub id: ObjectId,
    /// What was found through it first, itself included.
    pub held: Total,
    /// What can be reached through it alone, itself included: that goes when it is emptied.
    pub alone: Total,
    /// Who else keeps the rest, most first.
    pub also: Vec<Also>,
    /// What goes when it and all of these let go, beyond what goes with it alone.
    pub together: Total,
    /// Objects below it that have more references than any object or frame accounts for: C or C++ code has them, or a
    /// reference was never given back.
    pub unseen: u64,
    /// What goes beyond that only when those are given back as well.
    pub with_unseen: Total,
    /// Other ways to the holder itself: it goes only when all have let go of it, however empty it is.
    pub itself: Vec<Path>,
    /// References to the holder itself that nothing accounts for.
    pub itself_unseen: u64,
}

/// Another one that holds what a holder holds.
#[derive(Clone, Debug)]
pub struct Also {
    /// The way to it.
    pub path: Path,
    /// What goes when both let go, beyond what goes with the holder alone: proven, not guessed.
    pub both: Total,
}

impl Ownership {
    /// What others keep as well.
    #[must_use]
    pub fn shared(&self) -> Total {
        Total { count: self.held.count.saturating_sub(self.alone.count), bytes: self.held.bytes.saturating_sub(self.alone.bytes) }
    }
}

impl Census {
    /// What each of these holders owns. `beyond`: what objects keep that is none; `counts`: whether an object counts for the holder
    /// at a position.
    #[must_use]
    pub fn ownership(&self, asked: &[ObjectId], beyond: &Beyond, counts: &dyn Fn(usize, ObjectId) -> bool) -> Vec<Ownership> {
        let mut heap = Heap::new(self, beyond);
        let mut answers = Vec::new();
        for (chunk, first) in asked.chunks(GROUPS).zip((0..).step_by(GROUPS)) {
            let counts = |position: usize, id: ObjectId| counts(first + position, id);
            let (mut told, others) = alone(self, &mut heap, chunk, &counts);
            let is_open = |at: &usize| !others[*at].is_empty() || told[*at].unseen > 0 && told[*at].shared().bytes >= WORTH;
            let mut with_others: Vec<usize> = (0..told.len()).filter(is_open).collect();
            with_others.sort_by_key(|at| std::cmp::Reverse(told[*at].shared().bytes));
            with_others.truncate(PROVEN);
            for part in with_others.chunks(GROUPS / EACH) {
                together(self, &mut heap, part, &mut told, &others, &counts);
            }
            answers.append(&mut told);
        }
        answers
    }
}

/// Calls `each` for every object with its bytes, and for what lies beyond with the object that it was met from.
fn each(census: &Census, heap: &Heap<'_>, mut each: impl FnMut(u64, ObjectId, u64, u64)) {
    let objects = census.objects();
    objects.ids().for_each(|id| each(objects.address(id), id, 1, heap.size(id)));
    heap.behind().for_each(|(address, bytes, id)| each(address, id, 0, bytes));
}

fn add(total: &mut Total, count: u64, bytes: u64) {
    total.count += count;
    total.bytes = total.bytes.saturating_add(bytes);
}

/// The positions of the bits that are set.
fn ones(mut bits: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = bits.trailing_zeros() as usize;
        bits &= bits.checked_sub(1)?;
        Some(at)
    })
}

/// What each owns alone, and who else has the rest.
fn alone(
    census: &Census,
    heap: &mut Heap<'_>,
    asked: &[ObjectId],
    counts: &dyn Fn(usize, ObjectId) -> bool,
) -> (Vec<Ownership>, Vec<Vec<Other>>) {
    let objects = census.objects();
    let groups: Vec<Vec<Member>> = asked.iter().map(|id| vec![Member::Object(objects.address(*id))]).collect();
    let solved = solve::solve(heap, &groups);
    let mut told: Vec<Ownership> = asked.iter().map(|id| nothing(*id)).collect();
    each(census, heap, |address, id, count, bytes| {
        let (way, own) = (solved.way_to(address), solved.of(address));
        for group in ones(way).filter(|group| counts(*group, id)) {
            add(&mut told[group].held, count, bytes);
            if own >> group & 1 == 1 {
                add(&mut told[group].alone, count, bytes);
            }
        }
    });
    for (group, answer) in told.iter_mut().enumerate() {
        if counts(group, answer.id) {
            let size = heap.size(answer.id);
            add(&mut answer.held, 1, size);
            add(&mut answer.alone, 1, size);
        }
    }
    let holders: HashMap<u64, usize> = asked.iter().map(|id| objects.address(*id)).zip(0..).collect();
    for (object, more) in &solved.unseen {
        ones(solved.way_to(*object)).for_each(|group| told[group].unseen += 1);
        if let Some(group) = holders.get(object) {
            told[*group].itself_unseen = *more;
        }
    }
    let all = objects.ids().fold(0_u64, |all, id| all.saturating_add(objects.size(id)));
    let least = WORTH.max(all / PART_OF_ALL);
    let is_worth = |answer: &Ownership| answer.shared().bytes >= least.max(answer.held.bytes / PART);
    let wanted =
        told.iter().enumerate().filter(|(_, answer)| is_worth(answer)).fold(0, |bits: u32, (group, _)| bits | 1 << group);

    // What a reference keeps: what was found below the object that it leads to.
    let weights = if wanted == 0 {
        Vec::new()
    } else {
        let behind: Vec<u64> = heap.behind().map(|(_, bytes, _)| bytes).collect();
        solved.weights(heap, |number| match (number as usize).checked_sub(objects.len()) {
            Some(place) => behind.get(place).copied().unwrap_or(0),
            None => heap.size(ObjectId(number)),
        })
    };

    let mut foreign: Vec<Foreign> = asked.iter().map(|_| Foreign::default()).collect();
    let mut itself: Vec<Vec<(Source, u64)>> = vec![Vec::new(); asked.len()];
    let mut meet = |source: Source, through: u32, parent_of: Option<ObjectId>, target: u64, hold: Hold| {
        if !solved.holds(hold, target) {
            return;
        }
        let lost = solved.way_to(target) & !solved.of(target) & wanted & !through;
        ones(lost).for_each(|group| foreign[group].add(source, target, solved.weight(&weights, target)));
        if let Some(group) = holders.get(&target).filter(|group| through >> **group & 1 == 0)
            && parent_of != Some(asked[*group])
            && itself[*group].len() < WAYS_SEEN
        {
            itself[*group].push((source, target));
        }
    };
    let parents: HashMap<ObjectId, ObjectId> = asked.iter().filter_map(|id| Some((ObjectId(heap.parent(id.0)?), *id))).collect();
    let first_met: Vec<ObjectId> = heap.behind().map(|(.., id)| id).collect();
    for number in 0..heap.len() {
        let object = heap.address(number);
        if heap.is_garbage(number) || heap.is_running(object) {
            continue;
        }
        let id = (number as usize).checked_sub(objects.len()).map_or(ObjectId(number), |place| first_met[place]);
        let through = solved.way_through(object);
        let child = parents.get(&id).copied();
        heap.edges(object, &mut |target, hold| meet(Source::Object(id), through, child, target, hold));
    }
    heap.roots(&mut |target, root, hold| meet(Source::Root(root), 0, None, target, hold));
    drop(solved);

    let others: Vec<Vec<Other>> = asked
        .iter()
        .zip(&foreign)
        .map(|(id, foreign)| if foreign.is_empty() { Vec::new() } else { others::others(census, heap, *id, foreign) })
        .collect();
    name(census, heap, &mut told, &others, &itself);
    (told, others)
}

/// Not the way to any object.
fn nowhere() -> Path {
    Path { root: Place::Native, steps: Vec::new(), left_out: 0 }
}

fn nothing(id: ObjectId) -> Ownership {
    let none = Total::default();
    Ownership {
        id,
        held: none,
        alone: none,
        also: Vec::new(),
        together: none,
        unseen: 0,
        with_unseen: none,
        itself: Vec::new(),
        itself_unseen: 0,
    }
}

/// Finds the names of all others.
fn name(census: &Census, heap: &Heap<'_>, told: &mut [Ownership], others: &[Vec<Other>], itself: &[Vec<(Source, u64)>]) {
    let targets: HashSet<u64> = others
        .iter()
        .flatten()
        .filter_map(|other| other.target)
        .chain(itself.iter().flatten().map(|(_, target)| *target))
        .collect();
    let ids = if targets.is_empty() { HashMap::new() } else { census.ids_of(targets) };
    let path = |source: Source, target: Option<u64>| {
        let target = target.and_then(|target| ids.get(&target).copied());
        match (source, target) {
            (Source::Object(id), None) => Some(census.path(id)),
            (Source::Object(id), Some(target)) => Some(census.path_through(id, target)),
            (Source::Root(root), Some(target)) => Some(census.path_from(heap.roots.get(root as usize)?, target)),
            (Source::Root(_), None) => None,
        }
    };
    for ((answer, others), itself) in told.iter_mut().zip(others).zip(itself) {
        answer.also = others
            .iter()
            .map(|other| Also { path: path(other.source, other.target).unwrap_or_else(nowhere), both: Total::default() })
            .collect();
        let own = census.path(answer.id);
        let is_named = |source: &Source| match source {
            Source::Object(_) => true,
            Source::Root(root) => heap.roots.get(*root as usize).is_some_and(others::is_named),
        };
        answer.itself = census.paths_beside(answer.id);
        for (source, target) in itself.iter().filter(|(source, _)| is_named(source)) {
            if let Some(path) = path(*source, Some(*target)).filter(|path| *path != own && !answer.itself.contains(path)) {
                answer.itself.push(path);
            }
        }
        answer.itself.truncate(WAYS);
    }
}

/// What goes when others let go as well.
fn together(
    census: &Census,
    heap: &mut Heap<'_>,
    part: &[usize],
    told: &mut [Ownership],
    others: &[Vec<Other>],
    counts: &dyn Fn(usize, ObjectId) -> bool,
) {
    let objects = census.objects();
    let mut groups: Vec<Vec<Member>> = Vec::new();
    for at in part {
        let holder = Member::Object(objects.address(told[*at].id));
        let others = &others[*at];
        let all: Vec<Member> = std::iter::once(holder).chain(others.iter().map(|other| other.member)).collect();
        groups.push(vec![holder]);
        groups.extend((0..OTHERS).map(|other| others.get(other).map_or_else(Vec::new, |other| vec![holder, other.member])));
        groups.push(all.clone());
        groups.push(all.into_iter().chain([Member::Unseen]).collect());
    }
    let solved = solve::solve(heap, &groups);
    each(census, heap, |address, id, count, bytes| {
        let (way, own) = (solved.way_to(address), solved.of(address));
        for (at, first) in part.iter().zip((0..).step_by(EACH)) {
            if way >> first & 1 == 0 || own >> first & 1 == 1 || !counts(*at, id) {
                continue;
            }
            let owns = |group: usize| own >> (first + group) & 1 == 1;
            let answer = &mut told[*at];
            for (also, _) in answer.also.iter_mut().zip(1..).filter(|(_, group)| owns(*group)) {
                add(&mut also.both, count, bytes);
            }
            if owns(EACH - 2) {
                add(&mut answer.together, count, bytes);
            } else if owns(EACH - 1) {
                add(&mut answer.with_unseen, count, bytes);
            }
        }
    });
    for at in part {
        told[*at].also.sort_by_key(|also| std::cmp::Reverse(also.both.bytes));
    }
}
