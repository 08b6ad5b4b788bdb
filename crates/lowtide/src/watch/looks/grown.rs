//! What grew between two looks, in the words of a recording: who holds it, what it is, which sort of memory.

use std::collections::{BTreeMap, HashMap, HashSet};

use lowtide_lint::feeds::{Bound, Statement};
use lowtide_model::{
    Grown, HolderGrown, MALLOC_HOLES, MOST_HOLDERS, MOST_OBJECTS, MOST_SITES, ObjectGrown, PartGrown, Role, Site, Sort,
};
use lowtide_pyheap::memory::Memory;
use lowtide_pyheap::torch::groups::Kind;
use lowtide_pyheap::torch::{self, Storage, Tensor, Torch, dtype};
use lowtide_pyheap::types::Kind as TypeKind;
use lowtide_pyheap::visit::Ndarray;
use lowtide_pyheap::{
    Also, Beyond, Budget, Census, Growth, HolderGrowth, Lengths, ObjectId, Ownership, Parent, Part, Place, Root, Summary,
};

use super::named::name;
use crate::culprit::{self, Culprit, Facts, Modules, Seen, Sources, Standing, culprits, words};

/// Objects that are less than this share of what a holder has more are not worth a line.
const WORTH: f64 = 0.05;
/// A kind of objects comes with each element where at least so many of these have one: some may lie below another holder.
const MOST_OF_THEM: f64 = 0.5;
/// Tensors that show less than one part in so many of their storages are small views.
const SMALL_PART: u64 = 4;
/// A shape is told where so many of a kind have it.
const SHAPED: f64 = 0.9;
/// One who has so much of what several have together is named alone.
const NEARLY: f64 = 0.9;

/// Causes by what has most of its memory outside of Python's objects: figures, images.
const NATIVE: [&str; 2] = ["LT309", "LT311"];

/// What is kept of a look to compare later ones with.
#[derive(Debug)]
pub struct Before {
    kept: Kept,
    parts: BTreeMap<Part, u64>,
    total: u64,
    program: u64,
}

/// What is known of its objects.
#[derive(Debug)]
enum Kept {
    /// What each holds, what their tensors have counted to them.
    All(Summary),
    /// How long containers were.
    Lengths(Lengths),
}

impl Before {
    /// Of a look that had time for all: what tensors have was counted to the objects that hold them.
    pub fn of(census: &Census, budget: Option<&Budget>) -> Self {
        let (parts, total) = budget.map_or_else(Default::default, |budget| (budget.ram.clone(), budget.total));
        Self { kept: Kept::All(census.summary()), parts, total, program: census.python().program() }
    }

    /// Of one that was taken while the process went on, or had no time for tensors.
    pub fn lengths_of(census: &Census) -> Self {
        let kept = Kept::Lengths(census.lengths());
        Self { kept, parts: BTreeMap::new(), total: 0, program: census.python().program() }
    }

    /// Whether no more is known than how long containers were.
    pub fn is_lengths(&self) -> bool {
        matches!(self.kept, Kept::Lengths(_))
    }

    /// Whether the process still runs the program that it ran then.
    pub fn is_of(&self, census: &Census) -> bool {
        self.program == census.python().program()
    }
}

/// A look, with what is known of the process.
#[derive(Clone, Copy)]
pub struct Now<'a> {
    pub sources: &'a Sources,
    pub census: &'a Census,
    pub memory: Option<&'a Memory>,
    /// Bytes of objects that are not in the process's own memory.
    pub elsewhere: &'a HashMap<ObjectId, u64>,
    pub budget: Option<&'a Budget>,
    /// What it is in the run.
    pub role: Option<Role>,
}

/// What grew since then, so many seconds ago.
pub fn grown(now: Now, before: &Before, seconds: f64) -> Grown {
    let Now { sources, census, memory, elsewhere, budget, role } = now;
    let mut growth: Growth = match &before.kept {
        Kept::All(summary) => census.growth_since(summary),
        Kept::Lengths(lengths) => census.growth_since_lengths(lengths),
    };
    growth.holders.truncate(MOST_HOLDERS);
    let below = below(census, &growth.holders);
    let added = added(census, memory, elsewhere, &growth.holders, &below);
    let beyond = memory.map_or_else(Beyond::default, |memory| memory.beyond(census, true));
    let owned = owned(census, &growth.holders, &below, &beyond);
    let (modules, graphs) = (Modules::of(sources, census), culprit::graphs(memory));
    let facts = Facts { sources, census, modules: &modules, graphs: &graphs };
    let culprits = culprits(facts, &growth.holders, &[], 0);
    let holders = culprits.iter().zip(added).zip(owned);
    let holders = holders.map(|((culprit, added), (also, unaccounted))| HolderGrown {
        also,
        unaccounted,
        ..holder(culprit, added, sources, role)
    });
    let holders = holders.collect();
    let (mut total, mut parts) = (0, Vec::new());
    if let Some(budget) = budget.filter(|_| before.total > 0) {
        let unknown = memory.is_some_and(|memory| matches!(memory.torch, Err(torch::Error::Layout { .. })));
        total = more(budget.total, before.total);
        parts = self::parts(budget, before, unknown);
    }
    Grown { seconds, total, parts, holders }
}

fn more(now: u64, before: u64) -> i64 {
    i64::try_from(i128::from(now) - i128::from(before)).unwrap_or(0)
}

/// By what it is for. Where torch's layout is unknown, storages of tensors cannot be told from the rest of the native heap.
fn parts(budget: &Budget, before: &Before, unknown_tensors: bool) -> Vec<PartGrown> {
    let all: HashSet<Part> = budget.ram.keys().chain(before.parts.keys()).copied().collect();
    let of = |parts: &BTreeMap<Part, u64>, part| parts.get(&part).copied().unwrap_or(0);
    let grown = all.into_iter().map(|part| PartGrown {
        // The analysis knows it by this one.
        name: if part == Part::Holes { MALLOC_HOLES } else { part.name() }.to_owned(),
        sort: if unknown_tensors && sort(part) == Sort::Native { Sort::Other } else { sort(part) },
        bytes: more(of(&budget.ram, part), of(&before.parts, part)),
    });
    let mut grown: Vec<PartGrown> = grown.filter(|part| part.bytes != 0).collect();
    grown.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
    grown
}

fn sort(part: Part) -> Sort {
    match part {
        Part::Native | Part::NativeTensors => Sort::Native,
        Part::Holes | Part::PythonHoles => Sort::Holes,
        Part::Libraries | Part::Stacks | Part::Rest => Sort::Other,
        _ => Sort::Held,
    }
}

fn holder(culprit: &Culprit, added: Added, sources: &Sources, role: Option<Role>) -> HolderGrown {
    let Added { objects, elsewhere, each, views } = added;
    let growth = &culprit.holder;
    let (file, line) = match &growth.path.root {
        Place::Module { file, .. } => (file.clone().unwrap_or_default(), None),
        Place::Frame { file, line, .. } => (file.clone(), *line),
        _ => (String::new(), None),
    };
    let root = std::iter::once(growth.path.root.to_string());
    let seen = Seen { objects: &objects, each: &each, views, role };
    let cause = culprit::cause(culprit, &seen).map_or_else(String::new, |cause| cause.id.to_owned());
    let site = culprit.site.as_ref().and_then(|statement| site(statement, sources));
    HolderGrown {
        path: root.chain(growth.path.steps.iter().map(ToString::to_string)).collect(),
        name: if is_unnamed(growth) { unnamed(growth) } else { name(&growth.path) },
        file,
        line,
        kind: growth.kind.clone(),
        len: culprit.length(),
        bytes: growth.bytes,
        elsewhere,
        objects,
        sites: others(culprit, site.as_ref(), sources),
        site,
        opens: culprit.opened().unwrap_or_default(),
        native: NATIVE.contains(&cause.as_str()),
        bounded: culprit.standing == Standing::Bounded,
        making: culprit.standing == Standing::Bounded && is_making(culprit),
        unreachable: matches!(growth.path.root, Place::Garbage | Place::Native),
        limit: culprit.limit,
        why: words::why(culprit, sources),
        cause,
        ..HolderGrown::default()
    }
}

/// Whether it is filled while it is made.
fn is_making(culprit: &Culprit) -> bool {
    culprit.site.as_ref().is_some_and(|site| site.bound == Some(Bound::Making))
}

/// For each holder, who else has most of what was added, and must let go of it before it goes; and bytes of it that references keep
/// which nothing accounts for.
fn owned(census: &Census, holders: &[HolderGrowth], below: &[Option<u8>], beyond: &Beyond) -> Vec<(Vec<String>, u64)> {
    // Each is asked once: two that grew may be the same.
    let mut ids: Vec<ObjectId> = holders.iter().map(|holder| holder.id).collect();
    ids.sort();
    ids.dedup();
    let positions: Vec<Option<u8>> =
        ids.iter().map(|id| holders.iter().zip(0..).filter(|(holder, _)| holder.id == *id).map(|(_, at)| at).last()).collect();
    let counts = |at: usize, id: ObjectId| {
        let of = below.get(id.0 as usize).copied().flatten();
        of.is_some() && of == positions.get(at).copied().flatten()
    };
    let owned: HashMap<ObjectId, Ownership> =
        census.ownership(&ids, beyond, &counts).into_iter().map(|own| (own.id, own)).collect();
    holders.iter().map(|holder| owned.get(&holder.id).map_or_else(Default::default, others_of)).collect()
}

/// Those of one holder. Named are only those of whom it is proven that what was added goes when they let go.
fn others_of(own: &Ownership) -> (Vec<String>, u64) {
    let together = own.together.bytes;
    if together.saturating_mul(2) < own.held.bytes || together == 0 {
        return (Vec::new(), own.with_unseen.bytes);
    }
    let is_enough = |other: &&Also| other.both.bytes as f64 >= NEARLY * together as f64;
    let named = match own.also.first().filter(is_enough) {
        Some(first) => std::slice::from_ref(first),
        None => &own.also[..],
    };
    (named.iter().map(|other| name(&other.path)).collect(), own.with_unseen.bytes)
}

/// The program's own line: of what a library adds, the one that leads there.
fn site(statement: &Statement, sources: &Sources) -> Option<Site> {
    let site = if statement.library { statement.via.first()? } else { &statement.site };
    Some(Site {
        file: sources.shown(&site.file),
        line: u32::try_from(site.line).unwrap_or(0),
        column: None,
        text: site.text.clone(),
    })
}

/// Other lines that make it grow: each by itself would be told, and none of them is the first one again.
fn others(culprit: &Culprit, first: Option<&Site>, sources: &Sources) -> Vec<Site> {
    let mut told: Vec<Site> = Vec::new();
    for other in culprit.others.iter().filter(|other| culprit::adds_again(other)).filter_map(|other| site(other, sources)) {
        let is_same = |known: &Site| known.file == other.file && known.line == other.line;
        if !first.is_some_and(is_same) && !told.iter().any(is_same) {
            told.push(other);
        }
    }
    told.truncate(MOST_SITES);
    told
}

/// Whether it is one of several of a type that only native code refers to.
fn is_unnamed(growth: &HolderGrowth) -> bool {
    growth.path.root == Place::Native && growth.path.steps.len() == 1 && growth.len.is_none()
}

fn unnamed(growth: &HolderGrowth) -> String {
    format!("{} objects that only native code refers to", growth.kind.rsplit('.').next().unwrap_or(&growth.kind))
}

/// What was added to a holder, and how many bytes of it are not in the process's own memory.
struct Added {
    objects: Vec<ObjectGrown>,
    elsewhere: i64,
    /// Types of which each element has one and more: what holds the rest of it may be small itself.
    each: Vec<String>,
    /// Its tensors are small parts of storages that nobody else shows the rest of.
    views: bool,
}

/// Objects of one sort: how many, their bytes, how many of each shape.
type Kinds = HashMap<ObjectGrown, (i64, i64, HashMap<Vec<i64>, i64>)>;

/// What was seen below one holder.
#[derive(Default)]
struct Below<'a> {
    kinds: Kinds,
    elsewhere: i64,
    /// Bytes that the elements of its tensors take, and the storages that these lie in.
    elements: u64,
    storages: HashMap<u64, &'a Storage>,
}

impl<'a> Below<'a> {
    fn take(&mut self, tensor: &Tensor, torch: &'a Torch) {
        let each = dtype::size(tensor.dtype).unwrap_or(0);
        self.elements = self.elements.saturating_add(tensor.elements.saturating_mul(each));
        if let Some(storage) = torch.storage(tensor) {
            self.storages.insert(storage.address, storage);
        }
    }

    /// Whether most of what the storages have is seen by none of the tensors.
    fn are_views(&self) -> bool {
        let kept = self.storages.values().map(|storage| storage.bytes).fold(0, u64::saturating_add);
        let all: i64 = self.kinds.values().map(|(_, size, _)| *size).fold(0, i64::saturating_add);
        kept > 0 && kept >= self.elements.saturating_mul(SMALL_PART) && kept as f64 >= WORTH * all as f64
    }

    /// Types of which there is one for each of so many elements.
    fn with_each(&self, elements: u64) -> Vec<String> {
        let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
        for (object, (count, ..)) in &self.kinds {
            *counts.entry(&object.kind).or_default() += count;
        }
        let enough = |count: &i64| elements > 0 && *count as f64 >= MOST_OF_THEM * elements as f64;
        counts.into_iter().filter(|(_, count)| enough(count)).map(|(kind, _)| kind.to_owned()).collect()
    }
}

/// For each holder, what was added to it.
fn added(
    census: &Census,
    memory: Option<&Memory>,
    elsewhere: &HashMap<ObjectId, u64>,
    holders: &[HolderGrowth],
    below: &[Option<u8>],
) -> Vec<Added> {
    let torch = memory.and_then(|memory| memory.torch.as_ref().ok());
    let tensors: HashMap<u64, &Tensor> = torch
        .iter()
        .flat_map(|torch| &torch.tensors)
        .filter(|tensor| tensor.held)
        .filter_map(|tensor| Some((tensor.python?, tensor)))
        .collect();
    let mut all: Vec<Below> = holders.iter().map(|_| Below::default()).collect();
    for (id, holder) in census.objects().ids().zip(below).filter_map(|(id, holder)| Some((id, (*holder)?))) {
        let Some(seen) = all.get_mut(usize::from(holder)) else { continue };
        if let Some(bytes) = elsewhere.get(&id) {
            seen.elsewhere = seen.elsewhere.saturating_add(i64::try_from(*bytes).unwrap_or(i64::MAX));
        }
        if let (Some(tensor), Some(torch)) = (tensors.get(&census.objects().address(id)), torch) {
            seen.take(tensor, torch);
        }
        let (object, shape) = described(census, id, &tensors);
        let sum = seen.kinds.entry(object).or_default();
        let size = i64::try_from(census.objects().size(id)).unwrap_or(i64::MAX);
        (sum.0, sum.1) = (sum.0 + 1, sum.1.saturating_add(size));
        *sum.2.entry(shape).or_default() += 1;
    }
    all.into_iter().zip(holders).map(|(seen, holder)| largest(seen, holder)).collect()
}

/// Those that make up most of what a holder has more. Where all that it holds was counted, it is taken in proportion.
fn largest(seen: Below, holder: &HolderGrowth) -> Added {
    let more = holder.len.map_or(0, |(before, now)| now.saturating_sub(before));
    let (each, views) = (seen.with_each(more), seen.are_views());
    let Below { kinds, elsewhere, .. } = seen;
    let all: i64 = kinds.values().map(|(_, size, _)| *size).fold(0, i64::saturating_add);
    let part = if all > 0 { (holder.bytes as f64 / all as f64).clamp(0.0, 1.0) } else { 0.0 };
    let mut objects: Vec<ObjectGrown> = kinds
        .into_iter()
        .filter(|(_, (_, size, _))| *size as f64 >= WORTH * all as f64)
        .map(|(object, (count, size, shapes))| {
            let common = shapes.into_iter().filter(|(_, with)| *with as f64 >= SHAPED * count as f64).map(|(shape, _)| shape);
            let (count_delta, bytes_delta) = ((count as f64 * part).round() as i64, (size as f64 * part).round() as i64);
            ObjectGrown { shape: common.max().unwrap_or_default(), count_delta, bytes_delta, ..object }
        })
        .collect();
    objects.sort_by(|a, b| b.bytes_delta.cmp(&a.bytes_delta).then_with(|| a.kind.cmp(&b.kind)));
    objects.truncate(MOST_OBJECTS);
    Added { objects, elsewhere: (elsewhere as f64 * part).round() as i64, each, views }
}

/// What sort of object it is, and its shape.
fn described(census: &Census, id: ObjectId, tensors: &HashMap<u64, &Tensor>) -> (ObjectGrown, Vec<i64>) {
    let kind = census.kind(id);
    let mut object = ObjectGrown { kind: kind.map_or_else(String::new, |kind| kind.name.clone()), ..ObjectGrown::default() };
    let address = census.objects().address(id);
    if let Some(tensor) = tensors.get(&address) {
        let of = Kind::of(tensor);
        (object.dtype, object.device, object.grad_fn) = (of.dtype, of.device, of.grad_fn);
        return (object, of.shape);
    }
    let array = kind.filter(|kind| kind.kind == TypeKind::Ndarray).and_then(|_| Ndarray::read(census.reader(), address));
    let shape = array.map_or_else(Vec::new, |array| array.shape.iter().filter_map(|size| i64::try_from(*size).ok()).collect());
    (object, shape)
}

/// For each object the holder, by its position, below which it was added.
fn below(census: &Census, holders: &[HolderGrowth]) -> Vec<Option<u8>> {
    let objects = census.objects();
    let positions: HashMap<ObjectId, u8> = holders.iter().map(|holder| holder.id).zip(0..).collect();
    let mut children: Vec<Vec<ObjectId>> = vec![Vec::new(); holders.len()];
    for id in objects.ids() {
        if let Parent::Object(parent) = objects.parent(id)
            && let Some(position) = positions.get(&parent)
        {
            children[usize::from(*position)].push(id);
        }
    }
    let mut below: Vec<Option<u8>> = vec![None; objects.len()];
    // Cycles that wait for the collector are one holder, and none of them leads to the next.
    if let Some(position) = holders.iter().zip(0..).find_map(|(holder, at)| (holder.path.root == Place::Garbage).then_some(at)) {
        census.rooted_in(Root::Garbage).for_each(|id| below[id.0 as usize] = Some(position));
    }
    // Those of a type that only native code refers to are one, too.
    for (holder, position) in holders.iter().zip(0..).filter(|(holder, _)| is_unnamed(holder)) {
        let of_type = |id: &ObjectId| census.kind(*id).is_some_and(|kind| kind.name == holder.kind);
        census.rooted_in(Root::Native).filter(of_type).for_each(|id| below[id.0 as usize] = Some(position));
    }
    for ((holder, children), position) in holders.iter().zip(&children).zip(0..) {
        let grown = holder.len.map_or(0, |(before, now)| now.saturating_sub(before));
        // A dict has a key and a value for each item.
        let each = if census.kind(holder.id).is_some_and(|kind| matches!(kind.kind, TypeKind::Dict | TypeKind::OrderedDict)) {
            2
        } else {
            1
        };
        let added = usize::try_from(grown).unwrap_or(usize::MAX).saturating_mul(each);
        // What is new as a whole, and what holds many that grew, is counted as a whole.
        let first = if grown == 0 { 0 } else { children.len().saturating_sub(added) };
        for id in &children[first..] {
            below[id.0 as usize] = Some(position);
        }
        if holder.len.is_none() {
            below[holder.id.0 as usize] = Some(position);
        }
    }
    // A parent's number is smaller than its children's.
    for id in objects.ids() {
        if below[id.0 as usize].is_none()
            && let Parent::Object(parent) = objects.parent(id)
            && !positions.contains_key(&parent)
        {
            below[id.0 as usize] = below[parent.0 as usize];
        }
    }
    below
}
