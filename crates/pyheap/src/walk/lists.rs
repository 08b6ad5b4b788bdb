//! The collector's lists: every object that may be part of a cycle is in one of them.

use super::objects;
use crate::error::Error;
use crate::offsets::fixed;
use crate::python::Python;
use lowtide_remote::Image;

/// What the lists hold.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tracked {
    /// How many objects.
    pub count: usize,
    /// Those of them that are new, in the order of the lists.
    pub new: Vec<u64>,
}

/// The objects in the lists of all interpreters. Fails where a list does not hold together: then the target was not still.
pub fn tracked(python: &Python, image: &Image, is_new: impl Fn(u64) -> bool) -> Result<Tracked, Error> {
    let mut collectors: Vec<u64> = python.interpreters.iter().map(|interpreter| interpreter.collector).collect();
    collectors.dedup();
    let mut tracked = Tracked::default();
    for collector in collectors {
        for offset in python.layout.generations {
            list(image, collector.wrapping_add(*offset), &is_new, &mut tracked)?;
        }
    }
    Ok(tracked)
}

/// One list, from both of its ends at once until they meet: each node says only where its neighbours are, so that most of the time is
/// waiting for memory, and two such waits take as long as one.
fn list(image: &Image, head: u64, is_new: &impl Fn(u64) -> bool, tracked: &mut Tracked) -> Result<(), Error> {
    let torn = |at: u64, what: &'static str| Error::Torn { at, what };
    // The two lowest bits are flags of the collector's.
    let next = |node: u64| image.u64(node).map(|next| next & !3);
    let back = |node: u64| image.u64(node.checked_add(8)?).map(|back| back & !3);
    let object = |node: u64| node.checked_add(fixed::GC_HEAD).ok_or(torn(node, "a link leads nowhere"));
    // The last nodes that were visited from each end, and where they lead.
    let (mut first, mut last) = (head, head);
    let mut ahead = next(head).ok_or(torn(head, "it is outside memory"))?;
    let mut behind = back(head).ok_or(torn(head, "it is outside memory"))?;
    let mut from_behind = Vec::new();
    while ahead != last {
        if back(ahead) != Some(first) {
            return Err(torn(ahead, "a link does not lead back"));
        }
        tracked.count += 1;
        tracked.new.extend(Some(object(ahead)?).filter(|object| is_new(*object)));
        first = ahead;
        ahead = next(ahead).ok_or(torn(ahead, "a link leads outside memory"))?;
        if behind == first {
            break;
        }
        if next(behind) != Some(last) {
            return Err(torn(behind, "a link does not lead back"));
        }
        tracked.count += 1;
        from_behind.extend(Some(object(behind)?).filter(|object| is_new(*object)));
        last = behind;
        behind = back(behind).ok_or(torn(behind, "a link leads outside memory"))?;
        if tracked.count >= objects::LIMIT {
            break;
        }
    }
    if tracked.count < objects::LIMIT && (ahead != last || behind != first) {
        return Err(torn(first, "its two directions do not meet"));
    }
    tracked.new.extend(from_behind.into_iter().rev());
    Ok(())
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
        let mut tracked = Tracked::default();
        list(&image, AT, &|object| object != place(2) + fixed::GC_HEAD, &mut tracked)?;
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
