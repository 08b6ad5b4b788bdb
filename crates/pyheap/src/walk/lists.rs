//! The collector's lists: every object that may be part of a cycle is in one of them.

use super::objects;
use crate::error::Error;
use crate::offsets::fixed;
use crate::python::Python;
use crate::spread;
use lowtide_remote::Image;

/// What the lists hold.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tracked {
    /// How many objects.
    pub count: usize,
    /// Those of them that are new, in the order of the lists.
    pub new: Vec<u64>,
}

/// Places of the lists that are gone on from at once: of each list its head, and objects in its midst.
///
/// A node says only where its neighbours are, so that a list gone through from one end is one wait for memory after the other. From many
/// places at once, each until it comes to where another began, they wait together. The more there are, the shorter is the longest piece.
const PLACES: usize = 96;
/// Slots in which places are found again, for each of them.
const SLOTS: usize = 8;

/// The objects in the lists of all interpreters. Fails where a list does not hold together: then the target was not still. `amid` are
/// objects that may be in them; `soon` hears of each some time before `is_new` is asked about it, by any of so many threads.
pub fn tracked(
    python: &Python,
    image: &Image,
    threads: usize,
    amid: impl Iterator<Item = u64>,
    soon: impl Fn(u64) + Sync,
    is_new: impl Fn(u64) -> bool + Sync,
) -> Result<Tracked, Error> {
    // Interpreters may share one collector.
    let mut heads: Vec<u64> = Vec::new();
    for (interpreter, offset) in
        python.interpreters.iter().flat_map(|one| python.layout.generations.iter().map(move |at| (one, at)))
    {
        let head = interpreter.collector.wrapping_add(*offset);
        if !heads.contains(&head) {
            heads.push(head);
        }
    }
    let amid = amid.filter_map(|object| object.checked_sub(fixed::GC_HEAD));
    lists(image, &heads, threads, amid, soon, is_new)
}

/// The lists with these heads.
fn lists(
    image: &Image,
    heads: &[u64],
    threads: usize,
    amid: impl Iterator<Item = u64>,
    soon: impl Fn(u64) + Sync,
    is_new: impl Fn(u64) -> bool + Sync,
) -> Result<Tracked, Error> {
    let is_linked = |node: &u64| next(image, *node).is_some_and(|next| next != 0 && back(image, next) == Some(*node));
    let mut places = Places::for_many(heads.len() + PLACES);
    let mut pieces: Vec<Piece> = Vec::new();
    for head in heads {
        if places.add(*head) {
            pieces.push(Piece::from(image, *head, &soon));
        }
    }
    for node in amid.filter(is_linked).take(PLACES) {
        if places.add(node) {
            let mut piece = Piece::from(image, node, &soon);
            piece.take(node, &is_new)?;
            pieces.push(piece);
        }
    }
    let most = objects::LIMIT / threads.max(1);
    let follow = |pieces: &mut [Piece]| {
        let mut under_way: Vec<usize> = (0..pieces.len()).collect();
        let mut count = 0;
        while !under_way.is_empty() && count < most {
            count += under_way.len();
            under_way.retain(|piece| pieces[*piece].step(image, &places, &soon, &is_new));
        }
    };
    let half = if threads > 1 { pieces.len() / 2 } else { 0 };
    let (first, second) = pieces.split_at_mut(half);
    std::thread::scope(|scope| {
        if !first.is_empty() {
            scope.spawn(|| follow(first));
        }
        follow(second);
    });
    put_together(heads, pieces)
}

/// The pieces of all lists, in the order of the lists. What belongs to none of them is left out: an object may be in a list of none of
/// these heads.
fn put_together(heads: &[u64], mut pieces: Vec<Piece>) -> Result<Tracked, Error> {
    let mut tracked = Tracked::default();
    for head in heads {
        let mut from = *head;
        loop {
            let Some(at) = pieces.iter().position(|piece| piece.from == from) else {
                return Err(torn(from, "it leads into another list"));
            };
            let piece = pieces.swap_remove(at);
            tracked.count += piece.count;
            tracked.new.extend(piece.new);
            from = match piece.end {
                Some(end) => end?,
                // There are more than can be numbered.
                None => return Ok(tracked),
            };
            if from == *head {
                break;
            }
        }
    }
    Ok(tracked)
}

/// The part of a list from one place on.
struct Piece {
    from: u64,
    /// The last node that was visited, and the next, which the processor has been told of.
    at: u64,
    next: Option<u64>,
    count: usize,
    new: Vec<u64>,
    /// The place that it leads to.
    end: Option<Result<u64, Error>>,
}

impl Piece {
    fn from(image: &Image, from: u64, soon: &impl Fn(u64)) -> Self {
        let mut piece = Self { from, at: from, next: None, count: 0, new: Vec::new(), end: None };
        piece.look_ahead(image, soon);
        piece
    }

    fn look_ahead(&mut self, image: &Image, soon: &impl Fn(u64)) {
        self.next = next(image, self.at);
        if let Some(next) = self.next {
            image.prefetch(next);
            soon(next.wrapping_add(fixed::GC_HEAD));
        }
    }

    /// Visits the next node; whether it is to be gone on.
    fn step(&mut self, image: &Image, places: &Places, soon: &impl Fn(u64), is_new: &impl Fn(u64) -> bool) -> bool {
        let step = self.visit(image, places, is_new);
        if step.is_none() {
            self.look_ahead(image, soon);
        }
        self.end = step;
        self.end.is_none()
    }

    fn visit(&mut self, image: &Image, places: &Places, is_new: &impl Fn(u64) -> bool) -> Option<Result<u64, Error>> {
        let Some(node) = self.next else { return Some(Err(torn(self.at, "a link leads outside memory"))) };
        if back(image, node) != Some(self.at) {
            return Some(Err(torn(node, "a link does not lead back")));
        }
        if places.has(node) {
            return Some(Ok(node));
        }
        self.at = node;
        self.take(node, is_new).err().map(Err)
    }

    /// Counts a node.
    fn take(&mut self, node: u64, is_new: &impl Fn(u64) -> bool) -> Result<(), Error> {
        let object = node.checked_add(fixed::GC_HEAD).ok_or(torn(node, "a link leads nowhere"))?;
        self.count += 1;
        self.new.extend(Some(object).filter(|object| is_new(*object)));
        Ok(())
    }
}

/// The places at which pieces begin and end: a table with room, so that most nodes meet an empty slot.
struct Places {
    /// 0: empty.
    slots: Vec<u64>,
}

impl Places {
    fn for_many(count: usize) -> Self {
        Self { slots: vec![0; (count * SLOTS).next_power_of_two()] }
    }

    /// Whether it is new.
    fn add(&mut self, node: u64) -> bool {
        let slot = self.slot(node);
        let is_new = node != 0 && self.slots[slot] == 0;
        if is_new {
            self.slots[slot] = node;
        }
        is_new
    }

    fn has(&self, node: u64) -> bool {
        node != 0 && self.slots[self.slot(node)] == node
    }

    /// Where it is, or would be.
    fn slot(&self, node: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = spread::slot(node, self.slots.len());
        while self.slots[slot] != 0 && self.slots[slot] != node {
            slot = (slot + 1) & mask;
        }
        slot
    }
}

fn torn(at: u64, what: &'static str) -> Error {
    Error::Torn { at, what }
}

/// The two lowest bits of links are flags of the collector's.
fn next(image: &Image, node: u64) -> Option<u64> {
    image.u64(node).map(|next| next & !3)
}

fn back(image: &Image, node: u64) -> Option<u64> {
    image.u64(node.checked_add(8)?).map(|back| back & !3)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use lowtide_remote::Fake;

    /// Nodes of 16 bytes from here on, the first of which is the head.
    const AT: u64 = 0x10000;

    fn place(node: u64) -> u64 {
        AT + 16 * node
    }

    /// A ring of so many nodes beside its head, with some words that are not what they should be.
    fn ring(nodes: u64, wrong: &[(u64, u64)]) -> Result<Vec<u64>, Error> {
        let mut memory = Fake::new().segment(AT, vec![0; 4096]);
        for node in 0..=nodes {
            memory = memory.word(place(node), place((node + 1) % (nodes + 1)) | 1);
            memory = memory.word(place(node) + 8, place((node + nodes) % (nodes + 1)) | 2);
        }
        for (address, word) in wrong {
            memory = memory.word(*address, *word);
        }
        let image = memory.image();
        // From its head alone, and from places in its midst, one of them outside of it, one twice.
        let is_new = |object| object != place(2) + fixed::GC_HEAD;
        let alone = lists(&image, &[AT], 1, std::iter::empty(), |_| (), is_new);
        let many = |threads| lists(&image, &[AT], threads, [3, 5, 3, 7, 20].into_iter().map(place), |_| (), is_new);
        let (tracked, by_two) = (many(1), many(2));
        assert_eq!([alone.is_ok(); 2], [tracked.is_ok(), by_two.is_ok()], "{alone:?} {tracked:?} {by_two:?}");
        let (alone, tracked) = (alone?, tracked?);
        assert_eq!(alone, tracked);
        assert_eq!(alone, by_two?);
        assert_eq!(tracked.count as u64, nodes);
        Ok(tracked.new.into_iter().map(|object| (object - fixed::GC_HEAD - AT) / 16).collect())
    }

    #[test]
    fn each_object_comes_once_and_in_order() {
        for nodes in 0..8 {
            let all: Vec<u64> = (1..=nodes).filter(|node| *node != 2).collect();
            assert_eq!(ring(nodes, &[]).unwrap(), all);
        }
    }

    #[test]
    fn lists_of_several_generations_come_one_after_the_other() {
        // 0 and 10 are heads; 20 to 22 are linked to one another and to none of them.
        let rings: [&[u64]; 3] = [&[0, 1, 2, 3, 4, 5], &[10, 11, 12], &[20, 21, 22]];
        let mut memory = Fake::new().segment(AT, vec![0; 4096]);
        for ring in rings {
            for (at, node) in ring.iter().enumerate() {
                memory = memory.word(place(*node), place(ring[(at + 1) % ring.len()]));
                memory = memory.word(place(*node) + 8, place(ring[(at + ring.len() - 1) % ring.len()]));
            }
        }
        let image = memory.image();
        let amid = || [21, 4, 12, 2].into_iter().map(place);
        let tracked = lists(&image, &[place(10), place(0)], 2, amid(), |_| (), |_| true).unwrap();
        let nodes: Vec<u64> = tracked.new.iter().map(|object| (object - fixed::GC_HEAD - AT) / 16).collect();
        assert_eq!((tracked.count, nodes), (7, vec![11, 12, 1, 2, 3, 4, 5]));
        assert!(lists(&image, &[0], 1, amid(), |_| (), |_| true).is_err());
        assert!(lists(&image, &[place(40)], 2, amid(), |_| (), |_| true).is_err(), "no list");
    }

    #[test]
    fn a_link_that_does_not_lead_back_is_seen_wherever_it_is() {
        for nodes in 1..8 {
            for node in 0..=nodes {
                for wrong in [place(node), place(node) + 8] {
                    for to in [0, 3, place(20), AT + 4096] {
                        assert!(
                            matches!(ring(nodes, &[(wrong, to)]), Err(Error::Torn { .. })),
                            "{nodes} {node} {wrong:x} {to:x}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn rings_that_lead_elsewhere_end() {
        for nodes in 2..8 {
            for (from, to) in (0..=nodes).flat_map(|from| (0..=nodes).map(move |to| (from, to))) {
                if to != (from + 1) % (nodes + 1) {
                    assert!(ring(nodes, &[(place(from), place(to))]).is_err(), "{nodes} {from} {to}");
                }
                if from != (to + 1) % (nodes + 1) {
                    assert!(ring(nodes, &[(place(from) + 8, place(to))]).is_err(), "{nodes} {from} {to}");
                }
            }
        }
    }
}
