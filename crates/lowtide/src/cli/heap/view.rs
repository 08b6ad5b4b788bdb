//! What is shown of a look: by type, by holder, what grew.

use lowtide_pyheap::torch::Filter;
use lowtide_pyheap::types::TypeId;
use lowtide_pyheap::{Beyond, Census, Growth, ObjectId, Ownership, Parent, Path, StepName, Summary, Total};
use std::cmp::Reverse;
use std::collections::HashMap;

use super::look::Look;
use super::memory::{self, MemoryView};
use crate::threads::joined;

/// Lines of a list that are shown unless all are asked for.
const TOP: usize = 12;
/// Paths that are worked out at most.
const PATHS: usize = 2000;
/// Items that a container has at least to be listed.
const ITEMS: u64 = 100;
/// Holders that are asked at most what they own: 14 take one more walk over what was read.
const OWNERS: usize = 112;

/// What was asked for.
pub struct Wanted {
    pub kind: Option<String>,
    pub holder: Option<String>,
    /// What the containers own, too; those that grew are always asked.
    pub owners: bool,
    pub tensor: Filter,
    pub all: bool,
}

/// What is shown.
pub struct View {
    /// Bytes of all objects, whatever was asked for.
    pub bytes: u64,
    pub types: Vec<(String, Total)>,
    pub types_left: usize,
    pub holders: Vec<Holder>,
    pub holders_left: usize,
    /// Who holds objects of the types asked for: the way, with positions left out, and how many.
    pub of_type: Vec<(Path, Total)>,
    pub growth: Option<Growth>,
    /// What those that grew own, and the containers; of very many, the first.
    pub grown_own: Vec<Ownership>,
    pub holders_own: Vec<Ownership>,
    /// Whether holders were asked for by name.
    pub by_name: bool,
    /// What memory is for; `None` where it could not be read.
    pub memory: Option<MemoryView>,
}

/// A container.
pub struct Holder {
    pub id: ObjectId,
    pub kind: String,
    pub path: Path,
    pub len: u64,
    /// Objects and bytes that it holds, itself included.
    pub held: Total,
}

/// Works out what is shown. `then` is asked about the containers as soon as they are known, with the bytes of all objects and what
/// `meanwhile` has said; what it says comes with the view.
pub fn view<M: Send, T>(
    look: &mut Look,
    before: Option<&Summary>,
    wanted: &Wanted,
    meanwhile: impl FnOnce(&Census) -> M + Send,
    then: impl FnOnce(&Census, u64, M, &[Holder]) -> T,
) -> (View, T) {
    let top = if wanted.all { usize::MAX } else { TOP };
    let census = &look.census;
    let ((bytes, (types, types_left), of_type), (holders, holders_left), said, memory) = std::thread::scope(|scope| {
        // The two ask the same objects different questions: millions of them, so that it pays to ask at the same time.
        let memory = look.memory.as_mut().map(|found| {
            scope.spawn(move || {
                found.find_fakes(census);
                let budget = lowtide_pyheap::budget::budget(found, Some(census));
                memory::view(found, budget, census, &wanted.tensor, top)
            })
        });
        let by_type = scope.spawn(|| {
            let by_type = census.by_type();
            let bytes = by_type.iter().map(|(_, total)| total.bytes).sum();
            let of_type = wanted.kind.as_ref().map_or_else(Vec::new, |name| of_type(census, name, top));
            ((bytes, types(census, by_type, wanted, top), of_type), meanwhile(census))
        });
        let holders = holders(census, wanted, top);
        let (by_type, known) = joined(by_type);
        let said = then(census, by_type.0, known, &holders.0);
        (by_type, holders, said, memory.map(joined))
    });
    let growth = before.map(|before| {
        let mut growth = look.census.growth_since(before);
        let fits = |text: &str| wanted.holder.as_ref().is_none_or(|wanted| text.contains(wanted.as_str()));
        growth.holders.retain(|holder| fits(&holder.path.to_string()));
        growth.types.retain(|kind| wanted.kind.as_ref().is_none_or(|wanted| kind.name.contains(wanted.as_str())));
        growth.holders.truncate(top);
        growth.types.retain(|kind| kind.bytes > 0);
        growth.types.truncate(top);
        growth
    });
    let grown = growth.as_ref().map_or(&[][..], |growth| &growth.holders);
    let containers = holders.iter().filter(|_| wanted.owners).map(|holder| holder.id);
    let asked: Vec<ObjectId> = grown.iter().map(|holder| holder.id).chain(containers).collect();
    let (grown_own, holders_own) = owned(look, &asked, grown.len());
    let by_name = wanted.holder.is_some();
    let view = View { bytes, memory, types, types_left, holders, holders_left, of_type, growth, grown_own, holders_own, by_name };
    (view, said)
}

/// What these own: of the first `grown` of them, and of the rest.
fn owned(look: &Look, asked: &[ObjectId], grown: usize) -> (Vec<Ownership>, Vec<Ownership>) {
    if asked.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let mut ids: Vec<ObjectId> = asked.iter().copied().take(OWNERS).collect();
    ids.sort();
    ids.dedup();
    // What tensors have is told apart only where it was counted to them.
    let beyond =
        look.memory.as_ref().filter(|_| look.tensors).map_or_else(Beyond::default, |memory| memory.beyond(&look.census, true));
    let owned: HashMap<ObjectId, Ownership> =
        look.census.ownership(&ids, &beyond, &|_, _| true).into_iter().map(|own| (own.id, own)).collect();
    let of = |asked: &[ObjectId]| asked.iter().map_while(|id| owned.get(id).cloned()).collect();
    let (first, rest) = asked.split_at(grown.min(asked.len()));
    (of(first), of(rest))
}

fn types(census: &Census, by_type: Vec<(TypeId, Total)>, wanted: &Wanted, top: usize) -> (Vec<(String, Total)>, usize) {
    let mut by_name: HashMap<&str, Total> = HashMap::new();
    for (id, total) in by_type {
        if let Some(kind) = census.types().get(id)
            && wanted.kind.as_ref().is_none_or(|wanted| kind.name.contains(wanted.as_str()))
        {
            let sum = by_name.entry(&kind.name).or_default();
            sum.count += total.count;
            sum.bytes += total.bytes;
        }
    }
    let mut types: Vec<(String, Total)> = by_name.into_iter().map(|(name, total)| (name.to_owned(), total)).collect();
    types.sort_by(|(a, x), (b, y)| y.bytes.cmp(&x.bytes).then_with(|| a.cmp(b)));
    let left = types.len().saturating_sub(top);
    types.truncate(top);
    (types, left)
}

/// Containers with many items, those that hold most first.
fn holders(census: &Census, wanted: &Wanted, top: usize) -> (Vec<Holder>, usize) {
    let (held, mut large) = std::thread::scope(|scope| {
        let held = scope.spawn(|| census.held_bytes());
        let large: Vec<ObjectId> = census.objects().ids().filter(|id| census.has_items(*id, ITEMS)).collect();
        (joined(held), large)
    });
    large.sort_by_key(|id| (Reverse(held.get(*id)), *id));
    let count = large.len();
    // What a module defines is not what a program gathers.
    let is_module = |path: &Path| path.steps.last().is_some_and(|step| step.name == StepName::Inner("__dict__".to_owned()));
    let fits = |holder: &Holder| {
        (wanted.all || !is_module(&holder.path))
            && wanted.holder.as_ref().is_none_or(|wanted| holder.path.to_string().contains(wanted.as_str()))
    };
    let holder = |id: ObjectId| Holder {
        id,
        kind: census.kind(id).map_or_else(String::new, |kind| kind.name.clone()),
        path: census.path(id),
        len: census.len_of(id).unwrap_or(0),
        held: Total { count: 0, bytes: held.get(id) },
    };
    let mut shown: Vec<Holder> = large.into_iter().take(PATHS).map(holder).filter(fits).take(top).collect();
    // One after the other: of tens of millions of objects the two take as much memory as a tenth of what was read.
    drop(held);
    let counts = census.held_counts(&shown.iter().map(|holder| holder.id).collect::<Vec<_>>());
    shown.iter_mut().zip(counts).for_each(|(holder, count)| holder.held.count = count);
    let left = if wanted.holder.is_some() { 0 } else { count.saturating_sub(shown.len()) };
    (shown, left)
}

/// Who holds objects of a type: ways that differ in positions only are one.
fn of_type(census: &Census, name: &str, top: usize) -> Vec<(Path, Total)> {
    let mut ways: HashMap<ObjectId, (ObjectId, Total)> = HashMap::new();
    // Objects of the type that hold one another (a linked list) are one way, that of the first.
    let mut first: HashMap<ObjectId, ObjectId> = HashMap::new();
    for id in census.objects().ids() {
        if census.kind(id).is_some_and(|kind| kind.name.contains(name)) {
            let parent = match census.objects().parent(id) {
                Parent::Object(parent) => parent,
                Parent::Root(_) => id,
            };
            let holder = first.get(&parent).copied().unwrap_or(parent);
            first.insert(id, holder);
            ways.entry(holder).or_insert((id, Total::default())).1.add(census.objects().size(id));
        }
    }
    let mut ways: Vec<(ObjectId, (ObjectId, Total))> = ways.into_iter().collect();
    ways.sort_by_key(|(parent, (_, total))| (Reverse(total.bytes), *parent));
    ways.into_iter().take(top.min(PATHS)).map(|(_, (id, total))| (census.path(id), total)).collect()
}
