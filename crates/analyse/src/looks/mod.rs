//! What looks into a process say of its growth: who holds what was added.
//!
//! A look never makes a leak and never rules one out: it names somebody only for growth that was found without it, and only
//! where what grew between two looks is of the size of that growth. What may have an end is in `held_back.rs`.

mod held_back;

use std::collections::{BTreeMap, VecDeque};

use lowtide_model::{
    AllocatedGrown, Beside, BudgetAt, BudgetReport, Bytes, Class, Finding, Grown, Holder, HolderGrown, Kind, LineGrown, Look,
    MALLOC_HOLES, ObjectGrown, OnDevice, ProcId, Role, Seconds, Sort, UntouchedData,
};

use crate::analyser::Analyser;
use crate::growth::Series;

pub use held_back::{FILLS, UNREACHABLE, hold_back, may_end, who_may_end};

/// The most processes whose looks are kept.
const MOST: usize = 256;
/// Budgets that are kept for comparisons: a watch of weeks takes more looks than anyone asks for.
const MOMENTS: usize = 512;
/// The least share of the measured growth that a holder has to explain. Pages were seen to grow up to 3.5 times as fast as
/// the objects on them, at default settings of malloc.
const MATERIAL: f64 = 0.25;
/// What grew faster than this many times the process itself comes and goes.
const PLAUSIBLE: f64 = 3.0;
/// The share of what grew from which on one sort of memory is all there is to say about it.
const MOSTLY: f64 = 0.6;
/// The least share of the measured growth that must have become free inside malloc's heaps to be its reason.
const HOLES: f64 = 0.5;
/// The least share of threads, files or processes that the elements of a holder have to make up: each may hold several.
const FEW: f64 = 0.05;
/// Holders beside the first that are worth a word, as a share of the growth.
const BESIDE: f64 = 0.1;

/// The looks of all processes.
#[derive(Debug, Default)]
pub struct Looks {
    by_process: BTreeMap<ProcId, Grown>,
    /// When each of these was taken, seconds.
    grown_s: BTreeMap<ProcId, f64>,
    /// When each process was looked into last without anything to compare with, seconds.
    first_s: BTreeMap<ProcId, f64>,
    /// What PyTorch's allocator gave out more by its history, by process and device, and how long telling it held the process up,
    /// microseconds.
    allocated: BTreeMap<(ProcId, u32), (AllocatedGrown, u64)>,
    /// What lay on devices of each process, by phase: by the newest look at a low tide, else by the one that found most.
    devices: BTreeMap<ProcId, BTreeMap<String, Vec<OnDevice>>>,
    /// What memory was for, by process and phase: the newest of low tides, else that with the most.
    budgets: BTreeMap<(ProcId, String), (f64, BudgetAt)>,
    /// The newest of all of them, in the order of time: at most [`MOMENTS`].
    moments: VecDeque<(ProcId, f64, BudgetAt)>,
    /// How many there were.
    count: u64,
    /// How long they held processes up, all together, microseconds.
    held_us: u64,
    stops_ms: Vec<f64>,
}

impl Looks {
    /// Takes a look.
    pub fn push(&mut self, look: &Look) {
        if self.count >= MOST as u64 {
            return;
        }
        for grown in look.allocated.iter().filter(|grown| grown.seconds.is_finite() && grown.seconds > 0.0) {
            self.allocated.insert((look.id, grown.device), (grown.clone(), look.pause_us));
        }
        self.held_us = self.held_us.saturating_add(look.pause_us);
        if !look.allocated.is_empty() {
            return;
        }
        self.count += 1;
        // One in passing holds nobody up.
        if !look.copied && look.pause_us > 0 {
            self.stops_ms.push(look.pause_us as f64 / 1e3);
        }
        if !look.devices.is_empty() {
            let phase = look.budget.as_ref().map_or("", |budget| budget.phase.as_str());
            let phases = self.devices.entry(look.id).or_default();
            let total = |parts: &[OnDevice]| parts.iter().map(|part| part.bytes).fold(0, u64::saturating_add);
            if phase.is_empty() || phases.get(phase).is_none_or(|known| total(known) < total(&look.devices)) {
                phases.insert(phase.to_owned(), look.devices.clone());
            }
        }
        if let Some(budget) = &look.budget {
            if self.moments.len() == MOMENTS {
                self.moments.pop_front();
            }
            self.moments.push_back((look.id, look.t_s, budget.clone()));
            let known = self.budgets.get(&(look.id, budget.phase.clone()));
            if budget.phase.is_empty() || known.is_none_or(|(_, known)| known.total < budget.total) {
                self.budgets.insert((look.id, budget.phase.clone()), (look.t_s, budget.clone()));
            }
        }
        if let Some(grown) = look.grown.as_ref().filter(|grown| grown.seconds.is_finite() && grown.seconds > 0.0) {
            // The newest has been over the longest time.
            self.by_process.insert(look.id, grown.clone());
            self.grown_s.insert(look.id, look.t_s);
        } else if look.objects > 0 {
            self.first_s.insert(look.id, look.t_s);
        }
    }

    /// What lay on devices of a process near the peak of a phase, or at a low tide, where `phase` is empty; `None` where it was not
    /// looked into there.
    pub fn on_devices(&self, process: ProcId, phase: &str) -> Option<&[OnDevice]> {
        Some(self.devices.get(&process)?.get(phase)?.as_slice())
    }

    /// What memory was for when it was looked into, a row for each moment; those at low tides before peaks of phases.
    pub fn budgets(&self, who: &dyn Fn(ProcId) -> (u32, Option<u32>)) -> Vec<BudgetReport> {
        let row = |((id, phase), (t_s, budget)): (&(ProcId, String), &(f64, BudgetAt))| {
            let (pid, rank) = who(*id);
            let phase = Some(phase.clone()).filter(|phase| !phase.is_empty());
            let most_bytes = Some(budget.most).filter(|most| *most > 0);
            let parts = budget.parts.clone();
            BudgetReport { id: *id, pid, rank, phase, t_s: *t_s, bytes: budget.total, most_bytes, parts }
        };
        self.budgets.iter().map(row).collect()
    }

    /// What memory was for the last times that it was looked into, in the order of time: the process, seconds, the parts.
    pub fn moments(&self) -> impl Iterator<Item = &(ProcId, f64, BudgetAt)> {
        self.moments.iter()
    }

    /// The array or tensor of a process that had most of its memory untouched when it was looked into at rest, and when that was, seconds.
    pub(crate) fn untouched(&self, process: ProcId) -> Option<(f64, &UntouchedData)> {
        let (t_s, budget) = self.budgets.get(&(process, String::new()))?;
        Some((*t_s, budget.untouched.first()?))
    }

    /// What grew in a process between the two looks that are furthest apart, and when the second of them was, seconds.
    pub(crate) fn grown(&self, process: ProcId) -> Option<(f64, &Grown)> {
        Some((*self.grown_s.get(&process)?, self.by_process.get(&process)?))
    }

    /// How many looks there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How long they held processes up, all together, seconds.
    pub fn held_s(&self) -> f64 {
        self.held_us as f64 * 1e-6
    }

    /// How long each stop was, milliseconds. A copy is told by the mark that answered for it.
    pub fn stops_ms(&self) -> &[f64] {
        &self.stops_ms
    }
}

/// Names who holds the growth that a finding is about, or says what sort of memory it is that nobody holds, or why neither is known.
pub fn complete(run: &Analyser, group: &[&Series], finding: &mut Finding) {
    let Some((series, id, grown)) = group.iter().find_map(|series| looked(run, series)) else {
        finding.evidence.extend(unlooked(run, group));
        return;
    };
    match series.kind {
        Kind::Processes | Kind::Fds | Kind::Threads => name_opener(series, grown, finding),
        Kind::Anonymous | Kind::Shmem if !series.copied => {
            if series.process.is_none() && series.role.is_some() {
                let pid = run.store().tracks.get(&id).map_or(0, |track| track.process.pid);
                finding.evidence.push(format!("each grows a little; one of them was looked into, pid {pid}"));
            }
            name_holder(run, series, grown, finding);
        }
        _ => {}
    }
}

/// Names who holds the tensors of a GPU that became more, by `rate` bytes per second.
pub fn complete_on_gpu(run: &Analyser, process: ProcId, rate: f64, finding: &mut Finding) {
    let Some(grown) = run.looks().by_process.get(&process) else { return };
    let share = |holder: &HolderGrown| holder.elsewhere as f64 / (rate * grown.seconds);
    let fits = |holder: &&HolderGrown| !holder.bounded && (MATERIAL..=PLAUSIBLE).contains(&share(holder));
    // Of those that hold one another, the one nearest to the tensors.
    let nearest = grown.holders.iter().filter(fits).max_by_key(|holder| (holder.elsewhere, holder.path.len()));
    let Some(holder) = nearest else { return };
    finding.evidence.push(format!(
        "two looks {} apart: {} grew by {} on the GPU, {:.0} % of what became more there in that time",
        Seconds(grown.seconds),
        holder.name,
        Bytes(holder.elsewhere.unsigned_abs()),
        100.0 * share(holder)
    ));
    blame(holder, grown, share(holder), finding);
    if let Some(held) = &mut finding.holder {
        held.bytes_delta = holder.elsewhere;
    }
}

/// Names the line that asked for what became more on a device, by `rate` bytes per second, where the allocator has history of it.
pub fn complete_by_history(run: &Analyser, process: ProcId, device: u32, rate: f64, finding: &mut Finding) {
    let Some((grown, held_us)) = run.looks().allocated.get(&(process, device)) else { return };
    let share = |bytes: i64| bytes as f64 / (rate * grown.seconds);
    let kept = if grown.files.is_empty() { String::new() } else { format!(" ({})", grown.files.join(", ")) };
    let mut said = vec![format!(
        "two snapshots of PyTorch's allocator {} apart, which held it up for {:.1} ms in all: {} more, {:.0} % of what became more in that \
         time{kept}",
        Seconds(grown.seconds),
        *held_us as f64 * 1e-3,
        Bytes(grown.bytes.unsigned_abs()),
        100.0 * share(grown.bytes)
    )];
    let worth = |line: &&LineGrown| share(line.bytes) >= BESIDE;
    for line in grown.lines.iter().filter(worth) {
        let by = match &line.site {
            Some(site) => format!("{}:{} in {}()", site.file.rsplit('/').next().unwrap_or(&site.file), site.line, line.function),
            None => "a place that nothing was recorded of".to_owned(),
        };
        let blocks = if line.blocks == 1 { "1 block".to_owned() } else { format!("{} blocks", line.blocks) };
        said.push(format!("{} of it in {blocks} were asked for by {by}", Bytes(line.bytes.unsigned_abs())));
    }
    // Behind how sure the growth is, and before all else.
    let at = finding.evidence.len().min(1);
    finding.evidence.splice(at..at, said);
    let Some(first) = grown.lines.iter().find(|line| line.site.is_some()) else { return };
    if finding.site.is_some() || !(MATERIAL..=PLAUSIBLE).contains(&share(first.bytes)) {
        return;
    }
    finding.site.clone_from(&first.site);
    finding.why = Some("it asks for the memory that stays in use; who keeps it may be another line".to_owned());
    finding.objects = vec![ObjectGrown {
        kind: "block of the CUDA caching allocator".to_owned(),
        device: format!("cuda:{device}"),
        count_delta: first.blocks,
        bytes_delta: first.bytes,
        ..ObjectGrown::default()
    }];
}

/// The comparison that tells of a series: of its own process, of one of its role, or of a process that starts others.
fn looked<'a>(run: &'a Analyser, series: &'a Series) -> Option<(&'a Series, ProcId, &'a Grown)> {
    let by_process = &run.looks().by_process;
    let of_role = |id: &ProcId| run.store().tracks.get(id).is_some_and(|track| Some(track.process.role) == series.role);
    let (id, grown) = match (series.process, series.role, series.kind) {
        (Some(id), _, _) => (id, by_process.get(&id)?),
        (None, Some(_), _) => by_process.iter().find(|(id, _)| of_role(id)).map(|(id, grown)| (*id, grown))?,
        (None, None, Kind::Processes) => by_process.iter().next().map(|(id, grown)| (*id, grown))?,
        (None, None, _) => return None,
    };
    Some((series, id, grown))
}

/// Whether looks show that most of the growth is something new: somebody holds it whom nothing limits, or native code has it.
pub fn is_held(run: &Analyser, series: &Series) -> bool {
    let Some((_, grown)) = series.process.and_then(|id| run.looks().grown(id)) else { return false };
    let expected = series.judged.rate * grown.seconds;
    let share = |holder: &HolderGrown| own(holder) as f64 / expected;
    let free = apart_from_one_another(&grown.holders).into_iter().filter(|holder| !holder.bounded);
    let held: f64 = free.map(share).filter(|share| (BESIDE..=PLAUSIBLE).contains(share)).sum();
    held >= MOSTLY || mostly(grown, Sort::Native)
}

/// Why it is not known who holds it, where that can be told.
fn unlooked(run: &Analyser, group: &[&Series]) -> Option<String> {
    let first = group.first()?;
    let track = run.store().tracks.get(&first.process?)?;
    let pid = track.process.pid;
    if track.process.role == Role::Outside {
        return Some(format!(
            "who holds it is not known: a process that the run did not start is not looked into unasked; `lowtide heap {pid} --diff 30s` \
             tells it"
        ));
    }
    let first_s = run.looks().first_s.get(&first.process?).filter(|_| run.over())?;
    Some(format!("who holds it is not known: it was looked into at {}, and ended before a second look", Seconds(*first_s)))
}

/// Names who keeps what holds something of the operating system's: threads, files, processes.
fn name_opener(series: &Series, grown: &Grown, finding: &mut Finding) {
    let expected = series.judged.rate * grown.seconds;
    let fits = |holder: &&HolderGrown| {
        let more = holder.len.map_or(0, |[before, now]| now.saturating_sub(before)) as f64;
        !holder.bounded && !holder.opens.is_empty() && (FEW..=PLAUSIBLE).contains(&(more / expected))
    };
    let opened = match series.kind {
        Kind::Threads => "threads",
        Kind::Processes => "processes",
        _ => "files",
    };
    let mut fitting: Vec<&HolderGrown> = grown.holders.iter().filter(fits).collect();
    fitting.sort_by_key(|holder| !holder.has_opened(opened));
    let Some(first) = fitting.first().filter(|first| first.has_opened(opened) || series.kind == Kind::Fds) else {
        finding.evidence.push(format!(
            "two looks {} apart: nothing that Python holds has as many more elements that hold {opened} ({expected:.0} more are expected)",
            Seconds(grown.seconds)
        ));
        return;
    };
    let more = first.len.map_or(0, |[before, now]| now.saturating_sub(before));
    finding.evidence.push(format!(
        "two looks {} apart: {} has {more} more elements, which hold {}; {expected:.0} more {} are expected in that time",
        Seconds(grown.seconds),
        first.name,
        first.opens,
        finding.resource
    ));
    blame(first, grown, more as f64 / expected, finding);
}

/// Names who holds memory.
fn name_holder(run: &Analyser, series: &Series, grown: &Grown, finding: &mut Finding) {
    let expected = series.judged.rate / f64::from(series.members.max(1)) * grown.seconds;
    if expected <= 0.0 {
        return;
    }
    let apart = Seconds(grown.seconds);
    let candidates = apart_from_one_another(&grown.holders);
    // What is outside of Python's objects is somebody's whose elements have such memory.
    let native = grown.parts.iter().filter(|part| part.sort == Sort::Native).map(|part| part.bytes).sum::<i64>().max(0);
    let all = |holder: &HolderGrown| own(holder).saturating_add(if holder.native { native } else { 0 });
    let share = |holder: &HolderGrown| all(holder) as f64 / expected;
    let mut fitting = candidates.iter().filter(|holder| (MATERIAL..=PLAUSIBLE).contains(&share(holder)) && !holder.bounded);
    let Some(first) = fitting.next() else {
        if series.kind == Kind::Shmem && name_mapper(grown, expected, finding) {
            return;
        }
        // The parts are those of private memory.
        if series.kind == Kind::Anonymous {
            finding.evidence.extend(sorts(grown, expected));
        }
        finding.evidence.extend(not_named(expected, &candidates));
        if series.kind == Kind::Anonymous && finding.kind == Some(Kind::Anonymous) {
            if mostly(grown, Sort::Native) {
                finding.kind = Some(Kind::NativeHeap);
            } else if is_malloc_hole(grown, expected) && !lives(run, series) {
                (finding.class, finding.kind) = (Class::AllocatorRetention, Some(Kind::AllocatorHoles));
            }
        }
        return;
    };
    let beside: Vec<&&HolderGrown> = candidates
        .iter()
        .filter(|holder| holder.path != first.path && !holder.bounded && (BESIDE..=PLAUSIBLE).contains(&share(holder)))
        .collect();
    let together = (share(first) + beside.iter().map(|holder| share(holder)).sum::<f64>()).min(PLAUSIBLE);
    finding.evidence.push(format!(
        "two looks {apart} apart: {}{} grew by {}, {:.0} % of what the process did in that time",
        first.name,
        if beside.is_empty() { String::new() } else { format!(" and {} more", beside.len()) },
        Bytes(std::iter::once(first).chain(beside.iter().copied()).map(|holder| all(holder).unsigned_abs()).sum()),
        100.0 * together
    ));
    if first.native && native > 0 {
        finding.evidence.push(format!(
            "{} of it is memory outside of Python's objects, which its elements have",
            Bytes(native.unsigned_abs())
        ));
    }
    finding.beside = beside.into_iter().map(|holder| beside_it(holder, grown, share(holder))).collect();
    if finding.kind == Some(Kind::Anonymous)
        && let Some(kind) = first.objects.first().filter(|object| object.bytes_delta.saturating_mul(2) >= first.bytes).map(kind)
    {
        finding.kind = Some(kind);
    }
    blame(first, grown, share(first), finding);
}

/// Names who keeps more maps than before, of which shared memory is made: how much each of them has is not in its bytes. Where several
/// do, it may be any of them.
fn name_mapper(grown: &Grown, expected: f64, finding: &mut Finding) -> bool {
    let keeps = |holder: &&HolderGrown| {
        !holder.bounded && holder.has_opened(MAPS) && holder.len.is_some_and(|[before, now]| now > before)
    };
    let mut keepers = grown.holders.iter().filter(keeps);
    let (Some(holder), None) = (keepers.next(), keepers.next()) else { return false };
    let more = holder.len.map_or(0, |[before, now]| now - before);
    finding.evidence.push(format!(
        "two looks {} apart: {} has {more} more elements, which hold {MAPS}; the process has {} more shared memory in that time, \
         {} for each",
        Seconds(grown.seconds),
        holder.name,
        Bytes(expected as u64),
        Bytes((expected / more as f64) as u64)
    ));
    blame(holder, grown, 1.0, finding);
    // The bytes of the objects are none of it; and what it is by its sort of memory says more than that something is opened.
    finding.objects.clear();
    finding.cause = None;
    true
}

/// What elements of a holder hold that are maps.
const MAPS: &str = "maps of files";

fn blame(holder: &HolderGrown, grown: &Grown, explains: f64, finding: &mut Finding) {
    finding.objects.clone_from(&holder.objects);
    finding.site.clone_from(&holder.site);
    finding.sites.clone_from(&holder.sites);
    finding.cause = cause(holder);
    finding.why = Some(holder.why.clone()).filter(|why| !why.is_empty());
    finding.holder = Some(held(holder, grown, explains));
    match holder.also.as_slice() {
        [] => {}
        [other] => finding.evidence.push(format!("{other} holds most of it as well: both must let go before it goes")),
        others => {
            finding.evidence.push(format!("{} hold most of it as well: all must let go before it goes", others.join(" and ")));
        }
    }
    if holder.unaccounted.saturating_mul(2) >= own(holder).unsigned_abs() && holder.unaccounted > 0 {
        finding.evidence.push(format!(
            "to {} of it there are references that no Python object accounts for: C or C++ code has them, or they were never given back",
            Bytes(holder.unaccounted)
        ));
    }
}

fn held(holder: &HolderGrown, grown: &Grown, explains: f64) -> Holder {
    Holder {
        path: holder.path.clone(),
        name: holder.name.clone(),
        file: holder.file.clone(),
        line: holder.line,
        kind: holder.kind.clone(),
        length: holder.len,
        bytes_delta: own(holder),
        seconds: grown.seconds,
        explains,
        also: holder.also.clone(),
    }
}

fn cause(holder: &HolderGrown) -> Option<String> {
    Some(holder.cause.clone()).filter(|cause| !cause.is_empty())
}

fn beside_it(holder: &HolderGrown, grown: &Grown, explains: f64) -> Beside {
    Beside { holder: held(holder, grown, explains), site: holder.site.clone(), cause: cause(holder) }
}

/// What it has more of in the process's own memory, bytes: what lies on a GPU is no part of the growth of RAM.
fn own(holder: &HolderGrown) -> i64 {
    holder.bytes.saturating_sub(holder.elsewhere)
}

/// Without those that another one holds: their bytes are in its own.
fn apart_from_one_another(holders: &[HolderGrown]) -> Vec<&HolderGrown> {
    let mut apart: Vec<&HolderGrown> = Vec::new();
    for holder in holders.iter().filter(|holder| own(holder) > 0) {
        let within = |outer: &&&HolderGrown| holder.path.starts_with(&outer.path) || outer.path.starts_with(&holder.path);
        if !apart.iter().any(|outer| within(&outer)) {
            apart.push(holder);
        }
    }
    apart
}

/// What sort of memory grew, where nobody who holds it can be named.
fn sorts(grown: &Grown, expected: f64) -> Vec<String> {
    let apart = Seconds(grown.seconds);
    let mut said = Vec::new();
    let mut parts: Vec<_> = grown.parts.iter().filter(|part| part.bytes as f64 >= BESIDE * expected).collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.bytes));
    if !parts.is_empty() {
        let parts: Vec<String> =
            parts.iter().map(|part| format!("{} by {}", part.name, Bytes(part.bytes.unsigned_abs()))).collect();
        said.push(format!("two looks {apart} apart: what grew is {}", parts.join(", ")));
    }
    if mostly(grown, Sort::Native) {
        said.push("no object of Python holds it: memory that a library has allocated and not freed".to_owned());
    } else if mostly(grown, Sort::Holes) {
        said.push("it is free inside the allocator: holes, which nobody holds".to_owned());
    }
    said
}

/// Who grew most, and why it is not named as the reason. What comes and goes looks like growth at some moments: it is told as what it
/// is.
fn not_named(expected: f64, candidates: &[&HolderGrown]) -> Option<String> {
    let holder = *candidates.first()?;
    let share = own(holder) as f64 / expected;
    match () {
        () if holder.bounded && share >= BESIDE / 2.0 => Some(format!(
            "{} grew by {}, but its source keeps it from growing for ever ({}), so that it is not named as the reason",
            holder.name,
            Bytes(own(holder).unsigned_abs()),
            holder.why
        )),
        () if share > PLAUSIBLE => Some(format!(
            "{} held {} more at the second look than at the first, which is more than the process grew by: it comes and goes, and \
             is not named as the reason",
            holder.name,
            Bytes(own(holder).unsigned_abs())
        )),
        () if share >= BESIDE / 2.0 => Some(format!(
            "{} grew most, by {}: only {:.0} % of the growth, and not named as the reason",
            holder.name,
            Bytes(own(holder).unsigned_abs()),
            100.0 * share
        )),
        () => None,
    }
}

fn mostly(grown: &Grown, sort: Sort) -> bool {
    let of = |sort| grown.parts.iter().filter(|part| part.sort == sort).map(|part| part.bytes).sum::<i64>();
    grown.total > 0 && of(sort) as f64 >= MOSTLY * grown.total as f64
}

/// Whether most of the growth, and of what grew between two looks, is free inside malloc's heaps: what is resident there goes back when
/// it is trimmed. What is free in Python's own arenas does not.
fn is_malloc_hole(grown: &Grown, expected: f64) -> bool {
    let of_malloc = grown.parts.iter().filter(|part| part.name == MALLOC_HOLES).map(|part| part.bytes).sum::<i64>() as f64;
    grown.total > 0 && of_malloc >= MOSTLY * grown.total as f64 && (HOLES..=PLAUSIBLE).contains(&(of_malloc / expected))
}

/// Whether the process itself says that what lives in its C heap grows with its pages: then it was only looked into at times of other use.
fn lives(run: &Analyser, series: &Series) -> bool {
    let line = series.process.and_then(|id| run.marks().of(id));
    line.is_some_and(|line| line.grows_alive(series.judged.rate, series.judged.since_s, series.judged.until_s))
}

fn kind(object: &ObjectGrown) -> Kind {
    // Of a tensor on a GPU, its Python object is all that is in RAM.
    match (object.device != "cpu", object.grad_fn) {
        (true, _) => Kind::PythonObjects,
        (false, false) => Kind::Tensor,
        (false, true) => Kind::AutogradGraph,
    }
}
