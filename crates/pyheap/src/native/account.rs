//! All private memory of a process, each resident page put down to somebody; what nobody claims is said as a number.
//!
//! Pages are counted as the kernel counts them for RssAnon (private, present). A heap that was asked for and never touched
//! costs nothing and counts nothing.

use super::area::{Area, Areas};
use super::glibc::{self, State, Told};
use super::owners::{Owner, Owners};
use super::resident::Resident;
use super::stacks;
use super::sweep::{Sweep, sweep};
use super::window::Window;
use std::collections::BTreeMap;

/// What a piece of memory is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    /// Python's small objects.
    PythonObjects,
    /// Free blocks and pools inside Python's arenas.
    PythonHoles,
    /// Storage of tensors on the CPU.
    Tensors,
    /// Data of numpy arrays.
    Arrays,
    /// What else the program has from malloc: large Python objects, C++ libraries.
    Native,
    /// Free inside malloc's heaps, still held from the system.
    Holes,
    /// Stacks of all threads.
    Stacks,
    /// The interpreter's and the libraries' own data.
    Libraries,
    /// Anonymous maps that no allocator known here made.
    Anonymous,
}

/// An anonymous map, or a part of one, that nobody claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unclaimed {
    /// First byte.
    pub start: u64,
    /// Bytes.
    pub size: u64,
    /// Of which in memory.
    pub resident: u64,
}

/// The account.
#[derive(Debug, Clone, Default)]
pub struct Account {
    /// Resident bytes by what they are for. Their sum is `total`.
    pub parts: BTreeMap<What, u64>,
    /// Resident private bytes of the process.
    pub total: u64,
    /// Private bytes in swap, which are in no part.
    pub swapped: u64,
    /// The largest maps that nobody claims, largest first.
    pub unclaimed: Vec<Unclaimed>,
    /// malloc's heaps, or why they could not be read: then they are anonymous memory.
    pub glibc: Option<Result<glibc::Survey, glibc::Error>>,
    /// What the pages of anonymous maps turned out to be.
    pub sweep: Sweep,
    /// Stacks found, of threads asked for.
    pub stacks: (usize, usize),
    /// Bytes of tensor storage and arrays that lie in no private memory: shared, of a file, or gone meanwhile.
    pub owned_elsewhere: u64,
}

impl Account {
    /// Resident bytes of one part.
    pub fn part(&self, what: What) -> u64 {
        self.parts.get(&what).copied().unwrap_or(0)
    }
}

/// Maps listed by name.
const LISTED: usize = 64;

/// Accounts for all private memory. `threads` are the stack pointers of all threads, as far as known.
pub fn account(window: &mut Window<'_>, areas: &Areas, resident: &Resident, owners: &Owners, threads: &[u64]) -> Account {
    let mut book = Book { resident, owners, parts: BTreeMap::new(), run: (0, 0) };
    let mut claimed = Vec::new();

    let survey = glibc::survey(window, areas, &mut |told| book.told(told));
    for span in survey.iter().flat_map(|survey| &survey.arenas).flat_map(|arena| &arena.spans) {
        // The head of the heap, the arena's books, and what lies between the break's start and the first chunk.
        book.put(What::Native, span.reserved.0, span.start);
        book.put(What::Holes, span.end, span.reserved.1);
        claimed.push(span.reserved);
    }
    let lost: u64 = survey.iter().flat_map(|survey| &survey.arenas).map(|arena| arena.lost).sum();
    *book.part(What::Native) += lost;

    let stacks = stacks::find(window, areas, threads);
    let main = areas.iter().filter(|area| area.path == b"[stack]").map(|area| (area.start, area.end));
    for (start, end) in stacks.iter().copied().chain(main) {
        book.put(What::Stacks, start, end);
        claimed.push((start, end));
    }
    for area in libraries(areas) {
        book.put(What::Libraries, area.start, area.end);
        claimed.push((area.start, area.end));
    }
    let claimed = tidy(claimed);

    let sweep = sweep(window, areas, resident, &claimed);
    for arena in &sweep.pymalloc.arenas {
        let inside = resident.within(arena.start, arena.end);
        *book.part(What::PythonObjects) += arena.used.min(inside);
        *book.part(What::PythonHoles) += inside.saturating_sub(arena.used);
    }
    for mapped in &sweep.mapped {
        book.used(mapped.start, mapped.start + mapped.size);
    }
    let unclaimed = rest(&mut book, areas, &sweep, &claimed);

    let parts = book.parts;
    let owned = parts.get(&What::Tensors).unwrap_or(&0) + parts.get(&What::Arrays).unwrap_or(&0);
    Account {
        total: resident.total(),
        swapped: resident.swapped(),
        unclaimed,
        glibc: Some(survey),
        sweep,
        stacks: (stacks.len(), threads.len()),
        owned_elsewhere: owners.bytes().saturating_sub(owned),
        parts,
    }
}

/// Private pages of files, and the kernel's own pages.
fn libraries(areas: &Areas) -> impl Iterator<Item = &Area> {
    areas.iter().filter(|area| !area.shared && !area.anonymous() && area.path != b"[heap]" && area.path != b"[stack]")
}

/// Memory behind a library's data that is larger than this is not taken for its bss: it only happens to touch it.
const BSS: u64 = 64 << 20;

/// What is left of the anonymous maps.
fn rest(book: &mut Book<'_>, areas: &Areas, sweep: &Sweep, claimed: &[(u64, u64)]) -> Vec<Unclaimed> {
    let mut known = claimed.to_vec();
    known.extend(sweep.mapped.iter().map(|m| (m.start, m.start + m.size)));
    known.extend(sweep.pymalloc.arenas.iter().map(|a| (a.start, a.end)));
    let known = tidy(known);
    let mut out = Vec::new();
    let mut data_end = 0;
    for area in areas.iter() {
        let bss = area.start == data_end;
        data_end = if area.file() && area.write { area.end } else { 0 };
        if area.shared {
            continue;
        }
        let mut at = area.start;
        let first = known.partition_point(|(_, end)| *end <= area.start);
        let inside = known[first..].iter().take_while(|(start, _)| *start < area.end);
        for &(start, end) in inside.chain(&[(area.end, area.end)]) {
            if start > at && at == area.start && bss && start - at <= BSS {
                book.owned(at, start, What::Libraries);
            } else if start > at {
                let before = *book.part(What::Anonymous);
                book.owned(at, start, What::Anonymous);
                let resident = *book.part(What::Anonymous) - before;
                if resident > 0 {
                    out.push(Unclaimed { start: at, size: start - at, resident });
                }
            }
            at = at.max(end);
        }
    }
    out.sort_unstable_by_key(|map| std::cmp::Reverse(map.resident));
    out.truncate(LISTED);
    out
}

/// Sorted, and joined where they overlap.
fn tidy(mut ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    ranges.sort_unstable();
    let mut out: Vec<(u64, u64)> = Vec::with_capacity(ranges.len());
    for (start, end) in ranges {
        match out.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => out.push((start, end)),
        }
    }
    out
}

struct Book<'a> {
    resident: &'a Resident,
    owners: &'a Owners,
    parts: BTreeMap<What, u64>,
    /// The resident run that the last chunk lay in: nearly always the next one lies there too.
    run: (u64, u64),
}

impl Book<'_> {
    fn part(&mut self, what: What) -> &mut u64 {
        self.parts.entry(what).or_default()
    }

    fn put(&mut self, what: What, start: u64, end: u64) {
        let bytes = self.bytes(start, end);
        *self.part(what) += bytes;
    }

    fn bytes(&mut self, start: u64, end: u64) -> u64 {
        if start >= end {
            return 0;
        }
        if self.run.0 <= start && end <= self.run.1 {
            return end - start;
        }
        self.run = self.resident.run(start).unwrap_or(self.run);
        self.resident.within(start, end)
    }

    fn told(&mut self, told: Told) {
        match told {
            Told::Chunk(chunk) => match chunk.state {
                State::Used => self.used(chunk.start, chunk.start + chunk.size),
                State::Free | State::Fast | State::Top => self.put(What::Holes, chunk.start, chunk.start + chunk.size),
                State::Fence => self.put(What::Native, chunk.start, chunk.start + chunk.size),
            },
            Told::Cached(start, size) => {
                let bytes = self.bytes(start, start + size);
                let native = self.part(What::Native);
                let moved = bytes.min(*native);
                *native -= moved;
                *self.part(What::Holes) += moved;
            }
        }
    }

    fn used(&mut self, start: u64, end: u64) {
        self.owned(start, end, What::Native);
    }

    fn owned(&mut self, start: u64, end: u64, otherwise: What) {
        let owners = self.owners;
        owners.split(start, end, &mut |from, to, owner| {
            let what = match owner {
                Some(Owner::Tensor) => What::Tensors,
                Some(Owner::Array) => What::Arrays,
                None => otherwise,
            };
            self.put(what, from, to);
        });
    }
}
