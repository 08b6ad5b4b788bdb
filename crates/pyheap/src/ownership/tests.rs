//! The solver against the definition: without what a group lets go, can an object still be reached?
#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;
use std::collections::{HashSet, VecDeque};

/// How a reference of a made-up heap looks, and whether it is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Certain,
    /// A word that is a reference.
    Likely,
    /// A word that only looks like one.
    Stale,
}

#[derive(Clone, Debug)]
struct Heap {
    /// By object.
    edges: Vec<Vec<(usize, Kind)>>,
    /// References of roots; a stale word may be among them.
    roots: Vec<(usize, Kind)>,
    /// References that nobody sees.
    hidden: Vec<u8>,
}

/// The same as the walk leaves it: numbered, with parents.
struct Walked {
    heap: Heap,
    order: Vec<usize>,
    parents: Vec<Option<u32>>,
    /// The first that only a cycle holds.
    garbage: usize,
    references: Vec<u64>,
}

fn address(object: usize) -> u64 {
    0x5500_0000_0000 + object as u64 * 0x1238
}

fn object(address: u64) -> usize {
    ((address - 0x5500_0000_0000) / 0x1238) as usize
}

impl Walked {
    fn new(heap: Heap) -> Self {
        let len = heap.edges.len();
        let mut references: Vec<u64> = heap.hidden.iter().map(|count| u64::from(*count)).collect();
        for (to, kind) in heap.edges.iter().flatten().chain(&heap.roots) {
            references[*to] += u64::from(*kind != Kind::Stale);
        }
        let mut walked = Self { heap, order: Vec::new(), parents: Vec::new(), garbage: len, references };
        let mut seen = vec![false; len];
        let firsts: Vec<usize> = walked.heap.roots.iter().map(|(to, _)| *to).collect();
        walked.from(&firsts, &mut seen);
        let hidden: Vec<usize> = (0..len).filter(|object| walked.heap.hidden[*object] > 0).collect();
        walked.from(&hidden, &mut seen);
        walked.garbage = walked.order.len();
        for object in 0..len {
            walked.from(&[object], &mut seen);
        }
        walked
    }

    fn from(&mut self, firsts: &[usize], seen: &mut [bool]) {
        let mut queue: VecDeque<(usize, Option<u32>)> = firsts.iter().map(|first| (*first, None)).collect();
        while let Some((object, parent)) = queue.pop_front() {
            if !std::mem::replace(&mut seen[object], true) {
                let number = self.order.len() as u32;
                self.order.push(object);
                self.parents.push(parent);
                queue.extend(self.heap.edges[object].iter().map(|(to, _)| (*to, Some(number))));
            }
        }
    }

    fn number(&self, object: usize) -> usize {
        self.order.iter().position(|other| *other == object).unwrap()
    }

    /// What can be reached if these let go.
    fn reached(&self, without: &[Member]) -> HashSet<usize> {
        let lets_go = |member: Member| without.contains(&member);
        // Of a word nobody can say whether it is one of several references.
        let mut likely = vec![0; self.order.len()];
        let mut stale = vec![0; self.order.len()];
        for (to, kind) in self.heap.edges.iter().flatten().chain(&self.heap.roots) {
            likely[*to] += u64::from(*kind == Kind::Likely);
            stale[*to] += u8::from(*kind == Kind::Stale);
        }
        let holds = |to: usize, kind: Kind| kind == Kind::Certain || likely[to] + u64::from(self.heap.hidden[to]) > 0;
        let roots = self.heap.roots.iter().zip(0..);
        let mut next: Vec<usize> = roots
            .filter(|((to, kind), root)| {
                holds(*to, if *kind == Kind::Certain { Kind::Likely } else { *kind })
                    && !lets_go(Member::Root(*root, address(*to)))
            })
            .map(|((to, _), _)| *to)
            .collect();
        // A stale word passes for the reference that nobody sees.
        let is_held = |object: usize| self.heap.hidden[object] > stale[object] || self.parents[self.number(object)].is_none();
        next.extend((0..self.order.len()).filter(|object| self.heap.hidden[*object] > 0 && is_held(*object)));
        let mut reached = HashSet::new();
        while let Some(object) = next.pop() {
            if reached.insert(object) && !lets_go(Member::Object(address(object))) {
                let edges = self.heap.edges[object].iter();
                next.extend(
                    edges
                        .filter(|(to, kind)| holds(*to, *kind) && !lets_go(Member::Edge(address(object), address(*to))))
                        .map(|(to, _)| *to),
                );
            }
        }
        reached
    }
}

impl Graph for Walked {
    fn len(&self) -> u32 {
        self.order.len() as u32
    }

    fn address(&self, number: u32) -> u64 {
        address(self.order[number as usize])
    }

    fn parent(&self, number: u32) -> Option<u32> {
        self.parents[number as usize]
    }

    fn is_garbage(&self, number: u32) -> bool {
        number as usize >= self.garbage
    }

    fn references(&self, at: u64) -> Option<u64> {
        Some(self.references[object(at)])
    }

    fn edges(&mut self, at: u64, each: &mut impl FnMut(u64, Hold)) {
        let hold = |kind: Kind| if kind == Kind::Certain { Hold::Certain } else { Hold::Likely };
        self.heap.edges[object(at)].iter().for_each(|(to, kind)| each(address(*to), hold(*kind)));
    }

    fn roots(&mut self, each: &mut impl FnMut(u64, u32, Hold)) {
        self.heap.roots.iter().zip(0..).for_each(|((to, _), root)| each(address(*to), root, Hold::Likely));
    }
}

fn heap(words: bool) -> impl Strategy<Value = Heap> {
    let kind =
        prop_oneof![8 => Just(Kind::Certain), u32::from(words) => Just(Kind::Likely), u32::from(words) => Just(Kind::Stale)];
    (2..40_usize).prop_flat_map(move |len| {
        let edges = proptest::collection::vec((0..len, 0..len, kind.clone()), len..3 * len);
        let roots = proptest::collection::vec((0..len, kind.clone()), 1..4);
        let hidden = proptest::collection::vec(prop_oneof![30 => Just(0_u8), 1 => Just(1)], len);
        (edges, roots, hidden).prop_map(move |(pairs, roots, hidden)| {
            let mut edges = vec![Vec::new(); len];
            pairs.into_iter().for_each(|(from, to, kind)| edges[from].push((to, kind)));
            // What a root has is told by a word.
            let roots = roots.into_iter().map(|(to, kind)| (to, if kind == Kind::Stale { kind } else { Kind::Likely })).collect();
            Heap { edges, roots, hidden }
        })
    })
}

fn groups(heap: &Heap, picks: &[(u8, Vec<u16>)]) -> Vec<Vec<Member>> {
    let len = heap.edges.len();
    let group = |(sort, picks): &(u8, Vec<u16>)| {
        let mut members: Vec<Member> = picks.iter().map(|pick| Member::Object(address(usize::from(*pick) % len))).collect();
        let source = picks.iter().map(|pick| usize::from(*pick) % len).find(|source| !heap.edges[*source].is_empty());
        match (sort % 3, source) {
            (1, Some(source)) => members.push(Member::Edge(address(source), address(heap.edges[source][0].0))),
            (2, _) => members.push(Member::Root(0, address(heap.roots[0].0))),
            _ => {}
        }
        members
    };
    picks.iter().map(group).collect()
}

/// Compares with the definition: nothing is claimed too much; where no word is stale, nothing too little.
fn check(heap: Heap, picks: &[(u8, Vec<u16>)]) {
    let is_clear = heap.edges.iter().flatten().chain(&heap.roots).all(|(_, kind)| *kind != Kind::Stale);
    let groups = groups(&heap, picks);
    let mut walked = Walked::new(heap);
    let solved = solve(&mut walked, &groups);
    for (group, members) in groups.iter().enumerate() {
        let reached = walked.reached(members);
        for number in 0..walked.garbage {
            let object = walked.order[number];
            let found = solved.of(address(object)) >> group & 1 == 1;
            let truth = !reached.contains(&object);
            assert!(!found || truth, "group {group} does not own object {object}: {members:?} {:?}", walked.heap);
            // What lets go of a single reference is told only for what a holder of the group was met at.
            let is_plain = members.iter().all(|member| matches!(member, Member::Object(_)));
            assert!(
                found || !truth || !is_clear || !is_plain,
                "group {group} owns object {object}: {members:?} {:?}",
                walked.heap
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn it_finds_what_the_definition_says(heap in heap(false), picks in proptest::collection::vec((any::<u8>(), proptest::collection::vec(any::<u16>(), 1..4)), 1..=GROUPS)) {
        check(heap, &picks);
    }

    #[test]
    fn words_make_it_claim_less_and_never_more(heap in heap(true), picks in proptest::collection::vec((any::<u8>(), proptest::collection::vec(any::<u16>(), 1..4)), 1..=GROUPS)) {
        check(heap, &picks);
    }
}

fn plain(edges: &[(usize, usize)], roots: &[usize], len: usize) -> Walked {
    let mut heap = Heap {
        edges: vec![Vec::new(); len],
        roots: roots.iter().map(|root| (*root, Kind::Likely)).collect(),
        hidden: vec![0; len],
    };
    edges.iter().for_each(|(from, to)| heap.edges[*from].push((*to, Kind::Certain)));
    Walked::new(heap)
}

#[test]
fn two_that_hold_the_same_own_it_together() {
    // 0 holds 1 and 2, both of which hold 3; 4 is 1's alone.
    let mut walked = plain(&[(0, 1), (0, 2), (1, 3), (2, 3), (1, 4)], &[0], 5);
    let [one, two] = [Member::Object(address(1)), Member::Object(address(2))];
    let solved = solve(&mut walked, &[vec![one], vec![two], vec![one, two]]);
    assert_eq!([3, 4].map(|object| solved.of(address(object))), [0b100, 0b101]);
}

#[test]
fn a_chain_that_is_met_from_its_end_is_settled_as_a_whole() {
    // A doubly linked list below 1, of which another holds the end: the news goes backwards, one by one.
    let len = 3000;
    let mut edges: Vec<(usize, usize)> = vec![(0, 1), (1, 3), (0, 2), (2, len - 1)];
    edges.extend((3..len - 1).map(|object| (object, object + 1)));
    edges.extend((4..len).map(|object| (object, object - 1)));
    let mut walked = plain(&edges, &[0], len);
    let solved = solve(&mut walked, &[vec![Member::Object(address(1))], vec![Member::Object(address(2))]]);
    assert!((3..len).all(|object| solved.of(address(object)) == 0));
}

#[test]
fn what_more_refers_to_than_can_be_seen_is_nobodys() {
    let mut walked = plain(&[(0, 1), (1, 2), (2, 3), (1, 4)], &[0], 5);
    walked.references[2] += 2;
    let solved = solve(&mut walked, &[vec![Member::Object(address(1))]]);
    assert_eq!([2, 3, 4].map(|object| solved.of(address(object))), [0, 0, 1]);
    assert_eq!(solved.unseen, [(address(2), 2)]);
    let solved = solve(&mut walked, &[vec![Member::Object(address(1)), Member::Unseen]]);
    assert_eq!([2, 3, 4].map(|object| solved.of(address(object))), [1, 1, 1]);
}
