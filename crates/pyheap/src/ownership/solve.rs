//! Who an object can be reached through: the solver, which knows nothing of Python.
//!
//! Every object has a set of bits, one for each group of holders that is asked about: through which of them *every* way from a
//! root to it leads that has been looked at. It begins with the way by which the walk found it, since a holder that is not on
//! that way cannot be on all. Then along each reference the holders that are on the way of the object that refers (and that
//! object, if it is a holder itself) are all that may stay. Bits only go, so this comes to an end, and what is left is true: a
//! holder dominates exactly the objects that keep its bit. An object whose bits shrink after its references were followed is
//! followed again, at most as often as it has bits.
//!
//! Two things are known of a reference: certain, or a word that looks like one. The object's own count of references decides:
//! if the certain ones account for all, the others are none. If even all together do not, then something refers to it that cannot be
//! seen, and nobody owns it.

use std::collections::{HashMap, HashSet};

use super::index::Index;
use crate::spread;

/// Groups of holders that can be asked about at once: a word for each object has their bits twice, as they are and as they were
/// on the way by which it was found.
pub const GROUPS: usize = 14;

const IS_HOLDER: u32 = 1 << 31;
const VISITED: u32 = 1 << 30;
const QUEUED: u32 = 1 << 29;
/// It has more references than the certain ones.
const MORE: u32 = 1 << 28;
const BITS: u32 = (1 << GROUPS) - 1;
/// References are counted up to here; of what has more nothing is concluded from them.
const MANY: u8 = u8::MAX;

/// What the solver asks of a heap.
pub trait Graph {
    /// How many objects there are. A parent's number is smaller than its children's.
    fn len(&self) -> u32;

    /// Where an object is.
    fn address(&self, number: u32) -> u64;

    /// Through which object it was found; `None` where a root led to it.
    fn parent(&self, number: u32) -> Option<u32>;

    /// Whether nothing but itself holds it: an end that the collector will make comes to it, whoever lets go of it.
    fn is_garbage(&self, number: u32) -> bool;

    /// How many references there are to an object; `None` where nobody counts (it is immortal).
    fn references(&self, object: u64) -> Option<u64>;

    /// Calls `each` for every reference of an object.
    fn edges(&mut self, object: u64, each: &mut impl FnMut(u64, Hold));

    /// Calls `each` for everything that may be referred to by a root, with the root's number.
    fn roots(&mut self, each: &mut impl FnMut(u64, u32, Hold));
}

/// What is known of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// It is one.
    Certain,
    /// A word that may be one.
    Likely,
    /// A word of a root that nobody may use any more: it is one where nothing better is.
    Doubtful,
    /// It may be one, and is given up before long: it counts, and holds nobody up.
    Passing,
}

/// What lets go, if a holder of a group is to let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Member {
    /// An object: of all that it refers to.
    Object(u64),
    /// One reference, by who refers to whom.
    Edge(u64, u64),
    /// A reference of a root, by the root's number.
    Root(u32, u64),
    /// Whatever cannot be seen.
    Unseen,
}

/// What has been found.
pub struct Solved {
    index: Index,
    bits: Vec<u32>,
    own: Own,
    /// Objects with more references than were seen, and how many more.
    pub unseen: Vec<(u64, u64)>,
    /// Objects that doubtful words may refer to.
    doubtful: HashSet<u64>,
}

impl Solved {
    /// Through which groups alone an object can be reached.
    pub fn of(&self, object: u64) -> u32 {
        self.index.get(object).map_or(0, |at| self.bits[at] & BITS)
    }

    /// The same for what it refers to: itself, too, if it is of a group.
    pub fn through(&self, object: u64) -> u32 {
        self.of(object) | self.own.get(object)
    }

    /// Whether what looks like a reference to an object holds it.
    pub fn holds(&self, hold: Hold, object: u64) -> bool {
        match hold {
            Hold::Certain => true,
            Hold::Likely => self.index.get(object).is_some_and(|at| self.bits[at] & MORE != 0),
            Hold::Doubtful => self.doubtful.contains(&object),
            Hold::Passing => false,
        }
    }

    /// For every object the bytes of what was found below it.
    pub fn weights<G: Graph>(&self, graph: &G, size: impl Fn(u32) -> u64) -> Vec<u32> {
        let mut weights = vec![0_u32; self.bits.len()];
        for number in (0..graph.len()).rev() {
            let Some(at) = self.index.get(graph.address(number)) else { continue };
            weights[at] = weights[at].saturating_add(u32::try_from(size(number)).unwrap_or(u32::MAX));
            if let Some(parent) = graph.parent(number).and_then(|parent| self.index.get(graph.address(parent))) {
                weights[parent] = weights[parent].saturating_add(weights[at]);
            }
        }
        weights
    }

    /// Of such a list the entry of an object.
    pub fn weight(&self, weights: &[u32], object: u64) -> u64 {
        self.index.get(object).and_then(|at| weights.get(at)).map_or(0, |weight| u64::from(*weight))
    }

    /// The groups on the way by which an object was found.
    pub fn way_to(&self, object: u64) -> u32 {
        self.index.get(object).map_or(0, |at| self.bits[at] >> GROUPS & BITS)
    }

    /// The same for what it refers to: itself, too, if it is of a group.
    pub fn way_through(&self, object: u64) -> u32 {
        let Some(at) = self.index.get(object) else { return 0 };
        let own = if self.bits[at] & IS_HOLDER == 0 { 0 } else { self.own.get(object) };
        self.bits[at] >> GROUPS & BITS | own
    }
}

/// What members of groups add, by their addresses.
struct Own {
    bits: HashMap<u64, u32>,
    /// Bits of all addresses: most are told apart by these alone.
    sieve: u64,
}

impl Own {
    fn new(bits: HashMap<u64, u32>) -> Self {
        let sieve = bits.keys().fold(0, |sieve, address| sieve | 1 << Self::place(*address));
        Self { bits, sieve }
    }

    fn place(address: u64) -> usize {
        spread::slot(address, u64::BITS as usize)
    }

    #[inline]
    fn has(&self, address: u64) -> bool {
        self.sieve >> Self::place(address) & 1 == 1 && self.bits.contains_key(&address)
    }

    fn get(&self, address: u64) -> u32 {
        self.bits.get(&address).copied().unwrap_or(0)
    }
}

/// Finds out through which of the groups (at most [`GROUPS`]) alone each object can be reached.
pub fn solve<G: Graph>(graph: &mut G, groups: &[Vec<Member>]) -> Solved {
    let mut own: HashMap<u64, u32> = HashMap::new();
    let mut apart: HashMap<u64, Vec<(u64, u32)>> = HashMap::new();
    let mut roots: HashMap<(u32, u64), u32> = HashMap::new();
    let mut hidden = 0;
    for (group, members) in groups.iter().take(GROUPS).enumerate() {
        for member in members {
            match member {
                Member::Object(object) => *own.entry(*object).or_default() |= 1 << group,
                Member::Edge(source, target) => apart.entry(*source).or_default().push((*target, 1 << group)),
                Member::Root(root, target) => *roots.entry((*root, *target)).or_default() |= 1 << group,
                Member::Unseen => hidden |= 1 << group,
            }
        }
    }
    let own = Own::new(own);
    let index = index(graph, &own);
    let len = index.len();
    let mut solver = Solver {
        graph,
        solved: Solved { index, bits: vec![0; len], own, unseen: Vec::new(), doubtful: HashSet::new() },
        apart,
        roots,
        hidden,
        certain: vec![0; len],
        likely: vec![0; len],
        faint: HashMap::new(),
        more: Vec::new(),
        queue: Vec::new(),
    };
    solver.start();
    solver.all();
    solver.settle();
    solver.unseen();
    solver.solved
}

/// The members of groups, and what was found below them.
fn index<G: Graph>(graph: &G, own: &Own) -> Index {
    let len = graph.len();
    let mut below = vec![0_u64; len as usize / 64 + 1];
    let mut index = Index::new();
    for number in 0..len {
        let address = graph.address(number);
        let is_below = graph.parent(number).is_some_and(|parent| below[parent as usize / 64] >> (parent % 64) & 1 == 1);
        if is_below || own.has(address) {
            below[number as usize / 64] |= 1 << (number % 64);
            index.add(address);
        }
    }
    index.number();
    index
}

struct Solver<'g, G> {
    graph: &'g mut G,
    solved: Solved,
    apart: HashMap<u64, Vec<(u64, u32)>>,
    roots: HashMap<(u32, u64), u32>,
    /// Groups that let go of what cannot be seen.
    hidden: u32,
    certain: Vec<u8>,
    likely: Vec<u8>,
    /// Doubtful words, by what they may refer to.
    faint: HashMap<usize, u64>,
    /// Objects with more references than those that are better than doubtful.
    more: Vec<u32>,
    /// Objects whose references have to be followed again.
    queue: Vec<u64>,
}

/// The bits of what an object refers to, and where it does so as a member of a group.
#[derive(Clone)]
struct Out {
    bits: u32,
    apart: Vec<(u64, u32)>,
}

impl Out {
    #[inline]
    fn to(&self, target: u64) -> u32 {
        if self.apart.is_empty() {
            return self.bits;
        }
        self.apart.iter().filter(|(to, _)| *to == target).fold(self.bits, |bits, (_, more)| bits | more)
    }
}

impl<G: Graph> Solver<'_, G> {
    /// The ways by which everything was found.
    fn start(&mut self) {
        for number in 0..self.graph.len() {
            let address = self.graph.address(number);
            let Some(at) = self.solved.index.get(address) else { continue };
            let parent = self.graph.parent(number).map(|parent| self.graph.address(parent));
            let bits = parent.map_or(0, |parent| self.out(parent).to(address));
            let holder = if self.solved.own.has(address) { IS_HOLDER } else { 0 };
            self.solved.bits[at] = bits | bits << GROUPS | holder;
        }
    }

    #[inline]
    fn out(&self, object: u64) -> Out {
        let bits = match self.solved.index.get(object).map(|at| self.solved.bits[at]) {
            Some(bits) if bits & IS_HOLDER != 0 => self.solved.through(object),
            Some(bits) => bits & BITS,
            None => 0,
        };
        let apart = if self.apart.is_empty() { None } else { self.apart.get(&object) };
        Out { bits, apart: apart.cloned().unwrap_or_default() }
    }

    /// Follows all references once, counts them, and then those of which the counts decide.
    fn all(&mut self) {
        let mut doubtful: Vec<(usize, u64, u32)> = Vec::new();
        for number in 0..self.graph.len() {
            let object = self.graph.address(number);
            // The collector will end it, and its references with it.
            let out = if self.graph.is_garbage(number) { Out { bits: BITS, apart: Vec::new() } } else { self.out(object) };
            if let Some(at) = self.solved.index.get(object) {
                self.solved.bits[at] |= VISITED;
            }
            let Self { graph, solved, certain, likely, queue, .. } = self;
            graph.edges(object, &mut |target, hold| {
                let Some(at) = solved.index.get(target) else { return };
                let count = if hold == Hold::Certain { &mut certain[at] } else { &mut likely[at] };
                *count = count.saturating_add(1);
                let to = out.to(target);
                match hold {
                    Hold::Certain => narrow(solved, queue, at, target, to),
                    Hold::Likely if solved.bits[at] & BITS & !to != 0 => doubtful.push((at, target, to)),
                    Hold::Likely | Hold::Doubtful | Hold::Passing => {}
                }
            });
        }
        let mut faint: Vec<(usize, u64, u32)> = Vec::new();
        let Self { graph, solved, likely, roots, faint: counts, .. } = self;
        graph.roots(&mut |target, root, hold| {
            let Some(at) = solved.index.get(target) else { return };
            let to = roots.get(&(root, target)).copied().unwrap_or(0);
            match hold {
                Hold::Doubtful => {
                    *counts.entry(at).or_default() += 1;
                    faint.push((at, target, to));
                }
                Hold::Passing => likely[at] = likely[at].saturating_add(1),
                Hold::Certain | Hold::Likely => {
                    likely[at] = likely[at].saturating_add(1);
                    doubtful.push((at, target, to));
                }
            }
        });
        self.count();
        for (at, target, to) in doubtful {
            if self.solved.bits[at] & MORE != 0 {
                narrow(&mut self.solved, &mut self.queue, at, target, to);
            }
        }
        for (at, target, to) in faint {
            if self.graph.references(target).is_none_or(|references| references > self.seen(at)) {
                self.solved.doubtful.insert(target);
                narrow(&mut self.solved, &mut self.queue, at, target, to);
            }
        }
    }

    /// References to an object that are better than doubtful.
    fn seen(&self, at: usize) -> u64 {
        u64::from(self.certain[at]) + u64::from(self.likely[at])
    }

    /// Notes what has more references than the certain ones. What is immortal is nobody's.
    fn count(&mut self) {
        for number in 0..self.graph.len() {
            let object = self.graph.address(number);
            let Some(at) = self.solved.index.get(object) else { continue };
            let Some(references) = self.graph.references(object) else {
                self.solved.bits[at] |= MORE;
                narrow(&mut self.solved, &mut self.queue, at, object, 0);
                continue;
            };
            if self.certain[at] == MANY || references > u64::from(self.certain[at]) {
                self.solved.bits[at] |= MORE;
                if self.certain[at] != MANY && self.likely[at] != MANY && references > self.seen(at) {
                    self.more.push(number);
                }
            }
        }
    }

    /// Follows again what has changed, until nothing does.
    fn settle(&mut self) {
        while let Some(object) = self.queue.pop() {
            let Some(at) = self.solved.index.get(object) else { continue };
            self.solved.bits[at] &= !QUEUED;
            let out = self.out(object);
            let Self { graph, solved, queue, .. } = self;
            graph.edges(object, &mut |target, hold| {
                let Some(at) = solved.index.get(target) else { return };
                if hold == Hold::Certain || hold == Hold::Likely && solved.bits[at] & MORE != 0 {
                    narrow(solved, queue, at, target, out.to(target));
                }
            });
        }
    }

    /// What has more references than were seen is nobody's.
    fn unseen(&mut self) {
        for number in std::mem::take(&mut self.more) {
            let object = self.graph.address(number);
            let Some(at) = self.solved.index.get(object) else { continue };
            if self.solved.bits[at] & (BITS | IS_HOLDER) == 0 {
                continue;
            }
            let seen = self.seen(at) + self.faint.get(&at).copied().unwrap_or(0);
            let Some(more) = self.graph.references(object).and_then(|references| references.checked_sub(seen)) else { continue };
            if more > 0 {
                self.solved.unseen.push((object, more));
                narrow(&mut self.solved, &mut self.queue, at, object, self.hidden);
            }
        }
        self.settle();
    }
}

/// Takes the bits away that are not in `to`.
#[inline]
fn narrow(solved: &mut Solved, queue: &mut Vec<u64>, at: usize, object: u64, to: u32) {
    let bits = solved.bits[at];
    if bits & BITS & !to == 0 {
        return;
    }
    solved.bits[at] = bits & (to | !BITS);
    if bits & (VISITED | QUEUED) == VISITED {
        solved.bits[at] |= QUEUED;
        queue.push(object);
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
