//! All private memory of a process, each resident page put down to somebody; what nobody claims is said as a number.
//!
//! Pages are counted as the kernel counts them for RssAnon (private, present). A heap that was asked for and never touched
//! costs nothing and counts nothing.

use super::area::{Areas, is_anonymous, is_file, is_named};
use super::glibc::{self, State, Told};
use super::owners::{Owner, Owners};
use super::resident::Resident;
use super::stacks;
use super::sweep::{Sweep, sweep};
use super::window::Window;
use lowtide_remote::Map;
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

/// All of them, in their order.
const PARTS: [What; 9] = [
    What::PythonObjects,
    What::PythonHoles,
    What::Tensors,
    What::Arrays,
    What::Native,
    What::Holes,
    What::Stacks,
    What::Libraries,
    What::Anonymous,
];

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
    /// Bytes of tensor storage and arrays that lie in no resident private memory: shared, of a file, never touched.
    pub owned_elsewhere: u64,
    /// What each stretch was put down to, where all of it is of one kind; sorted.
    claims: Vec<(u64, u64, What)>,
}

impl Account {
    /// Resident bytes of one part.
    pub fn part(&self, what: What) -> u64 {
        self.parts.get(&what).copied().unwrap_or(0)
    }

    /// Takes what tensors and arrays own out of the parts that it was put down to: the storage of a tensor is a piece of
    /// malloc's heap until it is known whose.
    pub fn own(&mut self, owners: &Owners, resident: &Resident) {
        for (start, end, owner) in owners.iter() {
            let mut left = resident.within(start, end);
            self.owned_elsewhere += (end - start) - left;
            let from = self.claim(start);
            if let Some(map) = self.unclaimed.iter_mut().find(|map| from == What::Anonymous && map.holds(start)) {
                map.resident = map.resident.saturating_sub(left);
            }
            let part = self.parts.entry(from).or_default();
            left = left.min(*part);
            *part -= left;
            *self.parts.entry(owner.into()).or_default() += left;
        }
        self.unclaimed.retain(|map| map.resident > 0);
        self.unclaimed.sort_unstable_by_key(|map| std::cmp::Reverse(map.resident));
        self.unclaimed.truncate(LISTED);
    }

    fn claim(&self, address: u64) -> What {
        let at = self.claims.partition_point(|claim| claim.0 <= address);
        let claim = at.checked_sub(1).and_then(|i| self.claims.get(i)).filter(|claim| address < claim.1);
        claim.map_or(What::Anonymous, |claim| claim.2)
    }
}

impl From<Owner> for What {
    fn from(owner: Owner) -> Self {
        match owner {
            Owner::Tensor => What::Tensors,
            Owner::Array => What::Arrays,
        }
    }
}

impl Unclaimed {
    fn holds(&self, address: u64) -> bool {
        (self.start..self.start + self.size).contains(&address)
    }
}

/// Maps listed by address.
const LISTED: usize = 64;
/// Maps kept until it is known which of them tensors own.
const KEPT: usize = 1 << 16;

/// Accounts for all private memory. `threads` are the stack pointers of all threads, as far as known; `tell` hears every
/// chunk of malloc's heap and its large chunks.
pub fn account(
    window: &mut Window<'_>,
    areas: Areas<'_>,
    resident: &Resident,
    threads: &[u64],
    tell: &mut dyn FnMut(&mut Window<'_>, Told),
) -> Account {
    let mut book = Book { resident, parts: [0; PARTS.len()], run: (0, 0), claims: Vec::new() };

    let survey = glibc::survey(window, areas, &mut |window, told| {
        book.told(told);
        tell(window, told);
    });
    for span in survey.iter().flat_map(|survey| &survey.arenas).flat_map(|arena| &arena.spans) {
        // The head of the heap, the arena's books, and what lies between the break's start and the first chunk.
        book.put(What::Native, span.reserved.0, span.start);
        book.put(What::Holes, span.end, span.reserved.1);
        book.claims.push((span.reserved.0, span.reserved.1, What::Native));
    }
    let lost: u64 = survey.iter().flat_map(|survey| &survey.arenas).map(|arena| arena.lost).sum();
    *book.part(What::Native) += lost;

    let stacks = stacks::find(window, areas, threads);
    let main = areas.iter().filter(|area| is_named(area, b"[stack]")).map(|area| (area.start, area.end));
    for (start, end) in stacks.iter().copied().chain(main) {
        book.claim(What::Stacks, start, end);
    }
    for area in libraries(areas).chain(inside_files(areas)) {
        book.claim(What::Libraries, area.start, area.end);
    }

    let tail = survey.as_ref().map_or(0, |survey| survey.mapped_tail);
    let sweep = sweep(window, areas, resident, &tidy(&book.claims), tail);
    for arena in &sweep.pymalloc.arenas {
        let inside = resident.within(arena.start, arena.end);
        *book.part(What::PythonObjects) += arena.used.min(inside);
        *book.part(What::PythonHoles) += inside.saturating_sub(arena.used);
        book.claims.push((arena.start, arena.end, What::PythonObjects));
    }
    for mapped in &sweep.mapped {
        book.claim(What::Native, mapped.start, mapped.start + mapped.size);
        tell(window, Told::Mapped(*mapped));
    }
    let unclaimed = rest(&mut book, areas);

    let Book { parts, mut claims, .. } = book;
    let parts = PARTS.into_iter().zip(parts).filter(|(_, bytes)| *bytes > 0).collect();
    claims.sort_unstable();
    Account {
        total: resident.total(),
        swapped: resident.swapped(),
        unclaimed,
        glibc: Some(survey),
        sweep,
        stacks: (stacks.len(), threads.len()),
        owned_elsewhere: 0,
        parts,
        claims,
    }
}

/// Private pages of files, and the kernel's own pages.
fn libraries<'a>(areas: Areas<'a>) -> impl Iterator<Item = &'a Map> + use<'a> {
    let other = |map: &&Map| is_anonymous(map) || is_named(map, b"[heap]") || is_named(map, b"[stack]");
    areas.iter().filter(move |map| !map.perms.shared && !other(map))
}

/// Memory without a file between two maps of one file, touching both: the loader has reserved the whole of a library's place, so that
/// it is its bss, however large. (libcublasLt has 90 MiB of it.)
fn inside_files<'a>(areas: Areas<'a>) -> impl Iterator<Item = &'a Map> + use<'a> {
    let touch = |one: &Map, next: &Map| one.end == next.start;
    let threes = areas.iter().zip(areas.iter().skip(1)).zip(areas.iter().skip(2));
    threes.filter_map(move |((data, area), next)| {
        let inside = is_file(data) && data.path == next.path && touch(data, area) && touch(area, next);
        (inside && data.perms.write && is_anonymous(area)).then_some(area)
    })
}

/// Memory behind a library's data that is larger than this, and that nothing of the library follows, is not taken for its bss: it
/// only happens to touch it.
const BSS: u64 = 64 << 20;

/// What is left of the maps.
fn rest(book: &mut Book<'_>, areas: Areas<'_>) -> Vec<Unclaimed> {
    let known = tidy(&book.claims);
    let mut out: Vec<Unclaimed> = Vec::new();
    let mut before: Option<&Map> = None;
    for area in areas.iter() {
        let data = before.replace(area).filter(|data| is_file(data) && data.perms.write && data.end == area.start);
        let bss = |size| data.is_some() && size <= BSS;
        if area.perms.shared {
            continue;
        }
        let mut at = area.start;
        let first = known.partition_point(|(_, end)| *end <= area.start);
        let inside = known[first..].iter().take_while(|(start, _)| *start < area.end);
        for &(start, end) in inside.chain(&[(area.end, area.end)]) {
            if start > at && at == area.start && bss(start - at) {
                book.claim(What::Libraries, at, start);
            } else if start > at {
                let resident = book.bytes(at, start);
                *book.part(What::Anonymous) += resident;
                if resident > 0 && out.len() < KEPT {
                    out.push(Unclaimed { start: at, size: start - at, resident });
                }
            }
            at = at.max(end);
        }
    }
    out.sort_unstable_by_key(|map| std::cmp::Reverse(map.resident));
    out
}

/// Sorted, and joined where they overlap or touch.
fn tidy(claims: &[(u64, u64, What)]) -> Vec<(u64, u64)> {
    let mut claims = claims.to_vec();
    claims.sort_unstable();
    let mut out: Vec<(u64, u64)> = Vec::with_capacity(claims.len());
    for (start, end, _) in claims {
        match out.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => out.push((start, end)),
        }
    }
    out
}

struct Book<'a> {
    resident: &'a Resident,
    /// By the number of what they are for.
    parts: [u64; PARTS.len()],
    /// The resident run that the last chunk lay in: nearly always the next one lies there too.
    run: (u64, u64),
    claims: Vec<(u64, u64, What)>,
}

impl Book<'_> {
    fn part(&mut self, what: What) -> &mut u64 {
        &mut self.parts[what as usize]
    }

    fn put(&mut self, what: What, start: u64, end: u64) {
        let bytes = self.bytes(start, end);
        *self.part(what) += bytes;
    }

    fn claim(&mut self, what: What, start: u64, end: u64) {
        self.put(what, start, end);
        self.claims.push((start, end, what));
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
            Told::Chunk(chunk) => {
                let what = match chunk.state {
                    State::Used | State::Fence => What::Native,
                    State::Free | State::Fast | State::Top => What::Holes,
                };
                self.put(what, chunk.start, chunk.start + chunk.size);
            }
            Told::Cached(start, size) => {
                let bytes = self.bytes(start, start + size);
                let native = self.part(What::Native);
                let moved = bytes.min(*native);
                *native -= moved;
                *self.part(What::Holes) += moved;
            }
            // Counted where the sweep finds it.
            Told::Mapped(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowtide_remote::{Maps, Perms};

    fn map(start: u64, end: u64, path: &str, write: bool) -> Map {
        let perms = Perms { read: true, write, ..Perms::default() };
        let path = (!path.is_empty()).then(|| path.as_bytes().into());
        Map { start, end, perms, path, ..Map::default() }
    }

    #[test]
    fn memory_between_two_maps_of_a_library_is_the_librarys_however_large() {
        let behind = |next: Map| {
            let maps = Maps::new(vec![map(0x1000, 0x2000, "/lib.so", true), map(0x2000, 0x10_0000_0000, "", true), next]);
            inside_files(Areas::new(&maps)).map(|map| map.start).collect::<Vec<_>>()
        };
        assert_eq!(behind(map(0x10_0000_0000, 0x10_0000_1000, "/lib.so", false)), [0x2000]);
        assert!(behind(map(0x10_0000_0000, 0x10_0000_1000, "/other.so", false)).is_empty());
        assert!(behind(map(0x10_0000_1000, 0x10_0000_2000, "/lib.so", false)).is_empty(), "a gap: no library's place any more");
        assert!(behind(map(0x10_0000_0000, 0x10_0000_1000, "", false)).is_empty());
    }
}
