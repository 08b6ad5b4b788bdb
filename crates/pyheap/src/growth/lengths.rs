//! Growth since a look that knows no more than how long containers were: one that was taken while the process went on, or that had
//! no time for what tensors have.
//!
//! Who grew is told by the lengths, by how much by what was added: a container keeps its items in the order in which they came, and
//! of those the look that comes later has the sizes. What is no container, and what replaces something, has not grown as far as
//! this can be seen.

use super::diff::Growth;
use super::held::Held;
use super::summary::Summary;
use crate::census::Census;
use crate::walk::{ObjectId, Parent};
use std::collections::HashMap;

/// Containers that are kept at most, the longest.
const MOST: usize = 1_000_000;

/// How long each container was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lengths {
    /// Names of types.
    kinds: Vec<String>,
    /// Each container: where it is, its type by its position, its length; in the order of addresses.
    containers: Vec<(u64, u32, u64)>,
}

impl Lengths {
    /// How long the container at an address was, where there was one of that type.
    fn of(&self, address: u64, kind: &str) -> Option<u64> {
        let at = self.containers.binary_search_by_key(&address, |(address, ..)| *address).ok()?;
        let (_, known, len) = self.containers.get(at)?;
        self.kinds.get(*known as usize).is_some_and(|known| known == kind).then_some(*len)
    }

    /// How many containers are known.
    #[must_use]
    pub fn count(&self) -> usize {
        self.containers.len()
    }
}

/// What became more: objects and bytes.
type More = (u64, u64);

impl Census {
    /// How long each of its containers is.
    #[must_use]
    pub fn lengths(&self) -> Lengths {
        let kinds: Vec<String> = self.types().iter().map(|(_, kind)| kind.name.clone()).collect();
        let container = |id: ObjectId| {
            self.kind(id).filter(|kind| kind.kind.is_container())?;
            Some((self.objects().address(id), self.objects().kind(id).0, self.len_of(id)?))
        };
        let mut containers: Vec<(u64, u32, u64)> = self.objects().ids().filter_map(container).collect();
        if containers.len() > MOST {
            containers.sort_by_key(|(.., len)| std::cmp::Reverse(*len));
            containers.truncate(MOST);
        }
        containers.sort_unstable();
        containers.dedup_by_key(|(address, ..)| *address);
        Lengths { kinds, containers }
    }

    /// What has grown since containers had these lengths, which must be of the same process.
    #[must_use]
    pub fn growth_since_lengths(&self, before: &Lengths) -> Growth {
        let held = self.held();
        self.growth_from(&self.as_of(before, &held), &held)
    }

    /// What a summary would have been like when containers had these lengths: what has not grown is as it is now.
    fn as_of(&self, before: &Lengths, held: &Held) -> Summary {
        let objects = self.objects();
        let was = |id: ObjectId| {
            let kind = self.kind(id).filter(|kind| kind.kind.is_container())?;
            before.of(objects.address(id), &kind.name)
        };
        let grew: HashMap<ObjectId, (u64, u64)> =
            objects.ids().filter_map(|id| Some((id, (was(id)?, self.len_of(id)?)))).filter(|(_, (was, is))| was < is).collect();
        let added = self.added(&grew);
        let mut more: Vec<More> = vec![(0, 0); objects.len()];
        for id in objects.ids().rev() {
            let at = id.0 as usize;
            let own = match grew.get(&id) {
                _ if added[at] => (1, objects.size(id)),
                // Its own table has grown as well.
                Some((was, is)) => (0, part(objects.size(id), is - was, *is)),
                None => (0, 0),
            };
            more[at] = (more[at].0 + own.0, more[at].1.saturating_add(own.1));
            if let Parent::Object(parent) = objects.parent(id) {
                let (count, bytes) = more[at];
                let above = &mut more[parent.0 as usize];
                *above = (above.0 + count, above.1.saturating_add(bytes));
            }
        }
        let ids: HashMap<u64, ObjectId> = objects.ids().map(|id| (objects.address(id), id)).collect();
        let mut summary = self.summary_of(held);
        summary.nodes.retain_mut(|node| {
            let Some(id) = ids.get(&node.address).copied().filter(|id| !added[id.0 as usize]) else { return false };
            if self.kind(id).is_some_and(|kind| kind.kind.is_container()) && node.len.is_some() {
                // One that was not there is new, wherever it is.
                let Some(len) = was(id) else { return false };
                node.len = Some(len);
            }
            let (count, bytes) = more[id.0 as usize];
            (node.count, node.bytes) = (node.count.saturating_sub(count), node.bytes.saturating_sub(bytes));
            true
        });
        summary.locals.clear();
        summary
    }

    /// Which objects lie in what was added to those that grew.
    fn added(&self, grew: &HashMap<ObjectId, (u64, u64)>) -> Vec<bool> {
        let objects = self.objects();
        let mut items: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
        for id in objects.ids() {
            if let Parent::Object(parent) = objects.parent(id)
                && grew.contains_key(&parent)
            {
                items.entry(parent).or_default().push(id);
            }
        }
        let mut added = vec![false; objects.len()];
        for (id, items) in &items {
            let Some((was, is)) = grew.get(id) else { continue };
            // Some may have been found through others: those that are left are taken in proportion, the last ones.
            let last = part(items.len() as u64, is - was, *is).min(items.len() as u64) as usize;
            items[items.len() - last..].iter().for_each(|id| added[id.0 as usize] = true);
        }
        // A parent's number is smaller than its children's.
        for id in objects.ids() {
            if let Parent::Object(parent) = objects.parent(id)
                && added[parent.0 as usize]
            {
                added[id.0 as usize] = true;
            }
        }
        added
    }
}

/// `of` times `some` parts of `all`, to the nearest.
fn part(of: u64, some: u64, all: u64) -> u64 {
    (of as f64 * (some as f64 / all.max(1) as f64)).round() as u64
}
