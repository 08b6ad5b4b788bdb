//! Who is named for what grew in a process's own memory or of the operating system's, or what is said where nobody can be.

use lowtide_model::{Bytes, Class, Finding, Grown, HolderGrown, Kind, MALLOC_HOLES, ObjectGrown, Seconds, Sort};

use super::blame::{apart_from_one_another, beside_it, blame, own};
use super::{BESIDE, MATERIAL, MOSTLY, PLAUSIBLE, mostly, of_sort};
use crate::analyser::Analyser;
use crate::growth::Series;

/// The least share of the measured growth that must have become free inside malloc's heaps to be its reason.
const HOLES: f64 = 0.5;
/// The least share of threads, files or processes that the elements of a holder have to make up: each may hold several.
const FEW: f64 = 0.05;
/// What elements of a holder hold that are maps.
const MAPS: &str = "maps of files";

/// Names who keeps what holds something of the operating system's: threads, files, processes.
pub fn name_opener(series: &Series, grown: &Grown, finding: &mut Finding) {
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
    // A library has them in books of its own, too (`threading._active`): no line of the program leads there.
    fitting.sort_by_key(|holder| (!holder.has_opened(opened), holder.site.is_none()));
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
pub fn name_holder(run: &Analyser, series: &Series, grown: &Grown, finding: &mut Finding) {
    let expected = of_one(series, grown);
    if expected <= 0.0 {
        return;
    }
    let apart = Seconds(grown.seconds);
    let candidates = apart_from_one_another(&grown.holders);
    // What is outside of Python's objects is somebody's whose elements have such memory.
    let native = of_sort(grown, Sort::Native).max(0);
    let all = |holder: &HolderGrown| own(holder).saturating_add(if holder.native { native } else { 0 });
    let share = |holder: &HolderGrown| all(holder) as f64 / expected;
    let mut fitting = candidates.iter().filter(|holder| (MATERIAL..=PLAUSIBLE).contains(&share(holder)) && !holder.bounded);
    let by_holes = || between_holes(run, series, grown, &candidates).filter(|holder| !holder.bounded);
    let first = fitting.next().copied().or_else(by_holes);
    let Some(first) = first else {
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
    let beside: Vec<&HolderGrown> = candidates
        .iter()
        .copied()
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
    if share(first) < MATERIAL {
        finding.evidence.push(format!(
            "{} of what became more is free inside allocators: holes between what is kept and what comes and goes",
            Bytes(holes(grown).unsigned_abs())
        ));
    }
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

/// Whether most of the growth, and of what grew between two looks, is free inside malloc's heaps: what is resident there goes back when
/// it is trimmed. What is free in Python's own arenas does not.
fn is_malloc_hole(grown: &Grown, expected: f64) -> bool {
    let of_malloc = grown.parts.iter().filter(|part| part.name == MALLOC_HOLES).map(|part| part.bytes).sum::<i64>() as f64;
    grown.total > 0 && of_malloc >= MOSTLY * grown.total as f64 && (HOLES..=PLAUSIBLE).contains(&(of_malloc / expected))
}

/// Whether looks show that what grew is free in malloc's heaps, and name nobody who would hold it.
pub fn are_holes_alone(run: &Analyser, series: &Series) -> bool {
    let Some((_, grown)) = series.process.and_then(|id| run.looks().grown(id)) else { return false };
    let expected = of_one(series, grown);
    let held = || {
        let candidates = apart_from_one_another(&grown.holders);
        let mut share = candidates.iter().map(|holder| own(holder) as f64 / expected);
        share.any(|share| (MATERIAL..=PLAUSIBLE).contains(&share))
    };
    series.kind == Kind::Anonymous && !series.copied && is_malloc_hole(grown, expected) && !lives(run, series) && !held()
}

/// What one process of a series is expected to have grown by between two looks, bytes.
fn of_one(series: &Series, grown: &Grown) -> f64 {
    series.judged.rate / f64::from(series.members.max(1)) * grown.seconds
}

/// What became free inside allocators, bytes.
pub fn holes(grown: &Grown) -> i64 {
    of_sort(grown, Sort::Holes).max(0)
}

/// Who holds most of what is no hole, where holes are most of the growth and what lives rises as well: what is kept between things that
/// come and go leaves holes.
pub fn between_holes<'a>(
    run: &Analyser,
    series: &Series,
    grown: &Grown,
    candidates: &[&'a HolderGrown],
) -> Option<&'a HolderGrown> {
    let expected = of_one(series, grown);
    let solid = expected - holes(grown) as f64;
    let fits = |holder: &&&HolderGrown| own(holder) as f64 >= (MOSTLY * solid).max(BESIDE * expected);
    candidates.iter().find(fits).copied().filter(|_| solid > 0.0 && lives(run, series))
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
