//! What grew between a census and a later one of the same process.
//!
//! An object is the same where its address and type are. A container that has more in it than before has grown, whatever its
//! size. Anything else that holds more than before, and no single thing below it explains that, has been given something
//! new: then the new thing is named, by the way that leads to it.

use super::Summary;
use super::held::Held;
use super::keyed::Keyed;
use super::summary::Local;
use crate::census::{Census, Total};
use crate::paths::{Path, Place, StepName};
use crate::walk::{ObjectId, Parent, Root};
use std::collections::HashMap;

/// Objects that something grew below are looked for so many references up.
const UP: usize = 256;
/// Growth that is worth a line where no container grew: a page.
const WORTH: i64 = 4096;
/// The part of a holder's growth that something new below it has at least to be named.
const PART: i64 = 32;
/// Objects between a container and one of many that grow below it.
const WITHIN: usize = 8;
/// Things that grew below one container that are looked at.
const ALIKE: usize = 2000;
/// New things below one object that are told one by one; more are told as one.
const APART: usize = 3;
/// Candidates whose paths are worked out.
const CANDIDATES: usize = 200;
/// Dicts and sets, those that grew most, of which it is asked who else has their keys.
const KEYED: usize = 8;

/// What grew.
#[derive(Clone, Debug, Default)]
pub struct Growth {
    /// By type, most bytes first; types that shrank last.
    pub types: Vec<TypeGrowth>,
    /// By holder, most bytes first.
    pub holders: Vec<HolderGrowth>,
}

/// How a type's objects grew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeGrowth {
    /// The type.
    pub name: String,
    /// More objects than before.
    pub count: i64,
    /// More bytes than before.
    pub bytes: i64,
}

/// A holder that grew.
#[derive(Clone, Debug)]
pub struct HolderGrowth {
    /// The object.
    pub id: ObjectId,
    /// Its type.
    pub kind: String,
    /// The way to it.
    pub path: Path,
    /// `len()` before and now, for a container that was there before.
    pub len: Option<(u64, u64)>,
    /// More objects held than before; unknown for something that is new.
    pub count: Option<i64>,
    /// More bytes held than before, by all that grew alike.
    pub bytes: i64,
    /// How many grew alike below one container, of which this is an example; 1 for what grew by itself.
    pub alike: usize,
    /// What has all of its keys and does not grow, for a dict or a set: it can have no more than that.
    pub keyed: Option<Keyed>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Grown {
    len: Option<(u64, u64)>,
    count: i64,
    bytes: i64,
    /// Bytes that each element takes at least in the object itself.
    slot: i64,
    /// What grew and holds it.
    above: Option<ObjectId>,
    /// Growth of what lies below it.
    below: i64,
    largest_below: i64,
}

impl Grown {
    fn more(&self) -> u64 {
        self.len.map_or(0, |(before, now)| now.saturating_sub(before))
    }

    /// Whether it is here that something was added, rather than further down.
    fn is_holder(&self) -> bool {
        let unexplained = self.bytes - self.below;
        self.more() > 0 || unexplained >= WORTH.max(self.bytes / 2)
    }

    /// Whether what grew below it leaves enough unexplained for something new: an object has many attributes.
    fn has_something_new(&self) -> bool {
        self.bytes - self.below >= WORTH.max(self.bytes / PART)
    }

    /// Many that grow a little each (a dict of lists) are told as the one that holds them.
    fn is_spread(&self) -> bool {
        self.below > 0 && self.largest_below * 3 < self.below && self.bytes >= WORTH
    }

    /// Whether most of it did not come below what it had before.
    fn is_by_new_ones(&self) -> bool {
        self.more() > 0 && self.below <= self.bytes / 2
    }

    /// A list whose items others hold first has grown by its own slots at least.
    fn weight(&self) -> i64 {
        self.bytes.max(i64::try_from(self.more()).unwrap_or(i64::MAX).saturating_mul(self.slot))
    }
}

impl Census {
    /// What has grown since `before`, which must be of the same process.
    #[must_use]
    pub fn growth_since(&self, before: &Summary) -> Growth {
        self.growth_from(before, &self.held())
    }

    /// The same, where what each object holds is known.
    pub(super) fn growth_from(&self, before: &Summary, held: &Held) -> Growth {
        let now = self.summary_of(held);
        let grown = self.grown(before, &now);
        let mut holders = self.holders(before, &grown, held);
        let may_be_keyed =
            |holder: &&mut HolderGrowth| grown.get(&holder.id).is_some_and(Grown::is_by_new_ones) && self.has_keys(holder.id);
        for holder in holders.iter_mut().filter(may_be_keyed).take(KEYED) {
            let this = grown.get(&holder.id);
            holder.keyed = this.and_then(|this| self.keyed(before, holder.id, (this.more(), this.bytes), held));
        }
        Growth { types: types(before, &now), holders }
    }

    fn grown(&self, before: &Summary, now: &Summary) -> HashMap<ObjectId, Grown> {
        let ids = self.ids_of(now.nodes.iter().map(|node| node.address));
        let mut grown = HashMap::new();
        for node in &now.nodes {
            let kind = now.kinds.get(node.kind as usize).map_or("", String::as_str);
            let Some(old) = before.same(node.address, kind, node.parent) else { continue };
            let difference = |now: u64, old: u64| i64::try_from(now).unwrap_or(i64::MAX) - i64::try_from(old).unwrap_or(i64::MAX);
            let this = Grown {
                len: old.len.zip(node.len),
                count: difference(node.count, old.count),
                bytes: difference(node.bytes, old.bytes),
                // A reference each, but for what has bytes.
                slot: if kind == "bytearray" { 1 } else { 8 },
                ..Grown::default()
            };
            if (this.more() > 0 || this.bytes > 0)
                && let Some(id) = ids.get(&node.address)
            {
                grown.insert(*id, this);
            }
        }
        self.explain(&mut grown);
        grown
    }

    /// Tells each what lies below it that grew.
    fn explain(&self, grown: &mut HashMap<ObjectId, Grown>) {
        let all: Vec<(ObjectId, i64)> = grown.iter().map(|(id, grown)| (*id, grown.bytes)).collect();
        for (id, bytes) in all.into_iter().filter(|(_, bytes)| *bytes > 0) {
            let mut at = id;
            for _ in 0..UP {
                let Parent::Object(parent) = self.objects().parent(at) else { break };
                if let Some(above) = grown.get_mut(&parent) {
                    above.below += bytes;
                    above.largest_below = above.largest_below.max(bytes);
                    if let Some(below) = grown.get_mut(&id) {
                        below.above = Some(parent);
                    }
                    break;
                }
                at = parent;
            }
        }
    }

    fn holders(&self, before: &Summary, grown: &HashMap<ObjectId, Grown>, held: &Held) -> Vec<HolderGrowth> {
        let is_told_as_one = |id: ObjectId, this: &Grown| this.is_spread() && this.len.is_some() && !self.is_attributes(id);
        let is_one_of_many = |this: &Grown| {
            let above = |this: &Grown| this.above.and_then(|above| Some((above, *grown.get(&above)?)));
            let chain = std::iter::successors(above(this), |(_, this)| above(this));
            chain.take(WITHIN).any(|(id, this)| is_told_as_one(id, &this))
        };
        let mut candidates: Vec<(ObjectId, Grown)> = grown
            .iter()
            .filter(|(id, this)| {
                let has_names = || this.len.is_none() || self.is_attributes(**id);
                let may_hold = this.is_holder() || this.is_spread() || this.has_something_new() && has_names();
                may_hold && !is_one_of_many(this)
            })
            .map(|(id, this)| (*id, *this))
            .collect();
        candidates.sort_by_key(|(id, grown)| (std::cmp::Reverse(grown.weight()), *id));
        candidates.truncate(CANDIDATES);
        let news = self.new_below(before, &candidates);
        let mut inside: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
        for (id, this) in grown {
            if let Some(above) = this.above {
                inside.entry(above).or_default().push(*id);
            }
        }
        let mut holders = Vec::new();
        for (id, this) in candidates {
            if this.more() == 0 && is_told_as_one(id, &this) {
                let many = self.alike(id, grown, &inside);
                if !many.is_empty() {
                    holders.extend(many);
                    continue;
                }
            }
            match news.get(&id) {
                // What grew below it is told by itself.
                None if !this.is_holder() && (this.len.is_none() || self.is_attributes(id)) => {}
                None => holders.extend(self.holder(id, this.len, Some(this.count), this.weight(), 1)),
                Some(new) if new.len() <= APART => {
                    holders.extend(new.iter().filter_map(|(id, bytes)| self.holder(*id, None, None, *bytes, 1)));
                }
                Some(new) => {
                    let bytes = new.iter().map(|(_, bytes)| bytes).sum::<i64>().min(this.bytes);
                    let largest = new.iter().max_by_key(|(id, bytes)| (*bytes, std::cmp::Reverse(*id)));
                    holders.extend(largest.and_then(|(id, _)| self.holder(*id, None, None, bytes, new.len())));
                }
            }
        }
        self.with_threads(before, held, &mut holders);
        holders.extend(self.grown_locals(before, held));
        holders.extend(self.grown_garbage(before, held));
        holders.extend(self.grown_unnamed(before, held));
        holders.sort_by_key(|holder| (std::cmp::Reverse(holder.bytes), holder.id));
        holders
    }

    /// What grew below a container of many that grow: those with the same names on the way from it are one.
    fn alike(
        &self,
        container: ObjectId,
        grown: &HashMap<ObjectId, Grown>,
        inside: &HashMap<ObjectId, Vec<ObjectId>>,
    ) -> Vec<HolderGrowth> {
        let depth = self.path(container).steps.len();
        let mut groups: HashMap<String, (ObjectId, Grown, Grown, usize)> = HashMap::new();
        let mut next: Vec<ObjectId> = inside.get(&container).cloned().unwrap_or_default();
        let mut seen = 0;
        while let Some(id) = next.pop() {
            next.extend(inside.get(&id).into_iter().flatten());
            let Some(this) = grown.get(&id).filter(|this| this.is_holder()) else { continue };
            seen += 1;
            if seen > ALIKE {
                break;
            }
            let names = self.path(id).steps.iter().skip(depth).map(|step| step.name.shape()).collect();
            let group = groups.entry(names).or_insert((id, *this, Grown::default(), 0));
            if (this.bytes, std::cmp::Reverse(id)) > (group.1.bytes, std::cmp::Reverse(group.0)) {
                (group.0, group.1) = (id, *this);
            }
            group.2.bytes += this.weight();
            group.2.count += this.count;
            group.3 += 1;
        }
        let one = |(id, example, all, alike): (ObjectId, Grown, Grown, usize)| {
            self.holder(id, example.len, Some(all.count), all.bytes, alike)
        };
        groups.into_values().filter_map(one).collect()
    }

    /// Local variables that hold something else than before, and more: a sum that keeps the graphs of all that it was made from.
    fn grown_locals(&self, before: &Summary, held: &Held) -> Vec<HolderGrowth> {
        let grown = |(local, id): (Local, ObjectId)| {
            let at = before.locals.binary_search_by_key(&local.key(), Local::key).ok()?;
            let old = before.locals.get(at).filter(|old| old.address != local.address)?;
            let bytes = i64::try_from(local.bytes).unwrap_or(i64::MAX).saturating_sub_unsigned(old.bytes);
            if bytes >= WORTH { self.holder(id, None, None, bytes, 1) } else { None }
        };
        self.locals(held).into_iter().filter_map(grown).collect()
    }

    /// What new threads have in their variables is let go of with the threads: it is counted to what keeps more of them than before.
    fn with_threads(&self, before: &Summary, held: &Held, holders: &mut [HolderGrowth]) {
        if before.threads.is_empty() {
            return;
        }
        let (objects, threads) = (self.objects(), self.threads());
        let is_new =
            |thread: u32| threads.get(thread as usize).is_some_and(|address| before.threads.binary_search(address).is_err());
        let of_new = |id: &ObjectId| match objects.parent(*id) {
            Parent::Root(root) => match self.roots().get(root as usize) {
                Some(Root::Frame { thread, .. } | Root::Thread { thread }) => is_new(*thread),
                _ => false,
            },
            Parent::Object(_) => false,
        };
        let bytes = objects.ids().filter(of_new).map(|id| held.bytes(id)).fold(0, u64::saturating_add);
        if bytes == 0 {
            return;
        }
        let keeps = |holder: &&mut HolderGrowth| {
            holder.len.is_some_and(|(before, now)| now > before) && self.opens(holder.id).contains(&"threads")
        };
        if let Some(holder) = holders.iter_mut().filter(keeps).min_by_key(|holder| holder.path.is_book()) {
            holder.bytes = holder.bytes.saturating_add_unsigned(bytes);
        }
    }

    fn holder(
        &self,
        id: ObjectId,
        len: Option<(u64, u64)>,
        count: Option<i64>,
        bytes: i64,
        alike: usize,
    ) -> Option<HolderGrowth> {
        let path = self.path(id);
        if is_noise(&path, bytes) {
            return None;
        }
        let kind = self.kind(id).map_or_else(|| "?".to_owned(), |kind| kind.name.clone());
        Some(HolderGrowth { id, kind, path, len, count, bytes, alike, keyed: None })
    }

    /// Cycles that wait for the collector, all together: each is new, and none of them holds the next.
    fn grown_garbage(&self, before: &Summary, held: &Held) -> Option<HolderGrowth> {
        let (now, largest) = self.garbage(held);
        let (count, bytes) = (more(now.count, before.garbage.0), more(now.bytes, before.garbage.1));
        let id = largest.filter(|_| bytes >= WORTH)?;
        let kind = self.kind(id).map_or_else(|| "?".to_owned(), |kind| kind.name.clone());
        let path = Path { root: Place::Garbage, steps: Vec::new(), left_out: 0 };
        Some(HolderGrowth { id, kind, path, len: None, count: Some(count), bytes, alike: 1, keyed: None })
    }

    /// What only native code has references to, those of one type together: each is new, and no name leads to any of them.
    fn grown_unnamed(&self, before: &Summary, held: &Held) -> Vec<HolderGrowth> {
        if before.unnamed.is_empty() {
            return Vec::new();
        }
        let old: HashMap<&str, (u64, u64)> =
            before.unnamed.iter().map(|(kind, count, bytes)| (kind.as_str(), (*count, *bytes))).collect();
        let grown = |(kind, (now, largest)): (&str, (Total, ObjectId))| {
            let (count, bytes) = old.get(kind).copied().unwrap_or_default();
            let (count, bytes) = (more(now.count, count), more(now.bytes, bytes));
            let is_more = count > 1 && bytes >= WORTH;
            let path = self.path(largest);
            is_more.then(|| HolderGrowth {
                id: largest,
                kind: kind.to_owned(),
                path,
                len: None,
                count: Some(count),
                bytes,
                alike: 1,
                keyed: None,
            })
        };
        self.unnamed(held).into_iter().filter_map(grown).collect()
    }

    /// For those that are no containers: what is new right below them, and how much new it holds.
    fn new_below(&self, before: &Summary, candidates: &[(ObjectId, Grown)]) -> HashMap<ObjectId, Vec<(ObjectId, i64)>> {
        let open: HashMap<ObjectId, i64> = candidates
            .iter()
            .filter(|(id, grown)| self.is_attributes(*id) || grown.more() == 0 && !(grown.is_spread() && grown.len.is_some()))
            .map(|(id, grown)| (*id, grown.bytes - grown.below))
            .collect();
        let mut below: HashMap<ObjectId, Vec<(ObjectId, i64)>> = HashMap::new();
        if open.is_empty() {
            return below;
        }
        let objects = self.objects();
        let mut new: Vec<u64> = vec![0; objects.len()];
        for id in objects.ids().rev() {
            let kind = self.kind(id).map_or("", |kind| &kind.name);
            if before.same(objects.address(id), kind, self.parent_address(id)).is_some() {
                continue;
            }
            let bytes = new[id.0 as usize].saturating_add(objects.size(id));
            let Parent::Object(parent) = objects.parent(id) else { continue };
            new[parent.0 as usize] = new[parent.0 as usize].saturating_add(bytes);
            if let Some(growth) = open.get(&parent) {
                // What replaces something old is new as a whole, but only the difference is growth.
                let bytes = i64::try_from(bytes).unwrap_or(i64::MAX).min(*growth);
                if bytes >= WORTH.max(growth / PART) {
                    below.entry(parent).or_default().push((id, bytes));
                }
            }
        }
        below
    }
}

/// Our own marks, and what the interpreter keeps for itself; what classes remember of `isinstance` is that, too, and what an import adds
/// to: the list of modules, and the copies of modules' first contents, which native code alone leads to.
fn is_noise(path: &Path, bytes: i64) -> bool {
    if path.steps.iter().any(|step| step.kind == "_abc._abc_data") {
        return true;
    }
    let is_step = |name: &str| path.steps.last().is_some_and(|step| step.name == StepName::Variable(name.to_owned()));
    match &path.root {
        Place::Module { name, .. } if name == "sys" && path.steps.len() == 1 => is_step("modules") && bytes < WORTH,
        Place::Module { name, .. } => ["_lowtide", "lowtide"].iter().any(|own| name.split('.').next() == Some(own)),
        Place::Native => bytes < WORTH,
        Place::Interpreter | Place::Type => true,
        _ => false,
    }
}

fn types(before: &Summary, now: &Summary) -> Vec<TypeGrowth> {
    let old: HashMap<&str, (u64, u64)> = before.kinds.iter().map(String::as_str).zip(before.totals.iter().copied()).collect();
    let mut types: Vec<TypeGrowth> = now
        .kinds
        .iter()
        .zip(&now.totals)
        .map(|(name, (count, bytes))| {
            let (old_count, old_bytes) = old.get(name.as_str()).copied().unwrap_or_default();
            TypeGrowth { name: name.clone(), count: *count as i64 - old_count as i64, bytes: *bytes as i64 - old_bytes as i64 }
        })
        .filter(|growth| growth.count != 0 || growth.bytes != 0)
        .collect();
    types.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
    types
}

/// By how much there is more now.
fn more(now: u64, old: u64) -> i64 {
    i64::try_from(now).unwrap_or(i64::MAX).saturating_sub_unsigned(old)
}
