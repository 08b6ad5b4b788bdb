//! The heap of glibc's malloc, from outside: what is in use, what is free, and what kind of free.
//!
//! What is free inside the heap is memory that the process holds but does not use: the *holes*. They stay when a run's
//! peaks have torn the heap apart, and look like a leak to everything that only sees the process's size.

pub mod find;
pub mod layout;
mod lists;
mod mapped;
mod walk;

use super::area::Areas;
use super::window::Window;
pub use find::{Books, Error, Parameters, Span};
pub use layout::Version;
pub use mapped::{Mapped, at as mapped_at};
pub use walk::{Chunk, State};

/// A number of chunks and their bytes, heads included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Chunks.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Tally {
    fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes += bytes;
    }

    fn take(&mut self, bytes: u64) {
        self.count = self.count.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

/// Classes of sizes: class `i` holds chunks of `2^i` to `2^(i+1) - 1` bytes.
pub const CLASSES: usize = 48;

/// One arena, counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arena {
    /// Where its books lie.
    pub address: u64,
    /// Whether it is the main one.
    pub main: bool,
    /// What it says it took from the system, in bytes.
    pub system: u64,
    /// Chunks that the program has.
    pub used: Tally,
    /// Chunks in the arena's lists.
    pub free: Tally,
    /// Chunks in fast bins.
    pub fast: Tally,
    /// Chunks in the caches of threads.
    pub cached: Tally,
    /// What is free at the end, which malloc gives back by itself.
    pub top: u64,
    /// malloc's own marks.
    pub fences: u64,
    /// Bytes that could not be told (see `walk::span`).
    pub lost: u64,
    /// Used, by class of size.
    pub used_by_class: [Tally; CLASSES],
    /// Free in lists, by class of size: many small ones are holes that nothing large fits into.
    pub free_by_class: [Tally; CLASSES],
    /// Where its chunks lie.
    pub spans: Vec<Span>,
}

impl Arena {
    /// Bytes that the program does not have: lists, fast bins, caches, top.
    pub fn holes(&self) -> u64 {
        self.free.bytes + self.fast.bytes + self.cached.bytes + self.top
    }
}

/// All arenas. Chunks with a map of their own are told by [`mapped_at`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// Of the C library.
    pub version: Version,
    /// The main one first.
    pub arenas: Vec<Arena>,
    /// malloc's own count of chunks with a map of their own.
    pub parameters: Option<Parameters>,
    /// What [`mapped_at`] must know of the version.
    pub mapped_tail: u64,
    /// Thread caches found.
    pub caches: u64,
    /// Whether the fast bins held more chunks than are kept in mind: the rest is in `used`.
    pub fast_cut: bool,
}

/// What the walk has found, as it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// A chunk.
    Chunk(Chunk),
    /// A chunk with a map of its own (told by who sweeps the maps, not by the walk).
    Mapped(Mapped),
    /// A chunk that was told as used is in a thread's cache: it is free. Address of its head, bytes.
    Cached(u64, u64),
}

/// Caches looked at most: one per thread.
const CACHES: usize = 1 << 16;

/// Walks all arenas, once, reading every page that holds the head of a chunk. Tells every chunk on the way.
///
/// # Errors
/// Where the library is not glibc, not of a known version, or its malloc is not the one in use.
pub fn survey(window: &mut Window<'_>, areas: Areas<'_>, tell: &mut dyn FnMut(&mut Window<'_>, Told)) -> Result<Survey, Error> {
    let books = find::books(window, areas)?;
    let (fast, fast_cut) = lists::fast(window, &books);
    let cache_size = books.layout.tcache.map_or(0, |form| form.chunk);
    let mut candidates = Vec::new();
    let mut arenas = Vec::with_capacity(books.arenas.len());
    for (i, &address) in books.arenas.iter().enumerate() {
        let spans =
            if i == 0 { find::main_spans(window, areas, &books) } else { find::heap_spans(window, areas, &books, address) };
        let system = window.u64(address + books.layout.system).unwrap_or(0);
        let mut arena = Arena::new(address, i == 0, system);
        for span in &spans {
            arena.lost += walk::span(window, span, &fast, &mut |window, chunk| {
                if chunk.state == State::Used && chunk.size == cache_size && candidates.len() < CACHES {
                    candidates.push(chunk.start);
                }
                arena.count(chunk);
                tell(window, Told::Chunk(chunk));
            });
        }
        arena.spans = spans;
        arenas.push(arena);
    }
    let mut caches = 0;
    for chunk in candidates {
        let Some(found) = books.layout.tcache.and_then(|form| lists::cached(window, &books.layout, form, chunk)) else {
            continue;
        };
        caches += 1;
        for (start, size) in found {
            if let Some(arena) = arenas.iter_mut().find(|arena| arena.holds(start)) {
                arena.is_cached(size);
                tell(window, Told::Cached(start, size));
            }
        }
    }
    Ok(Survey {
        version: books.version,
        arenas,
        parameters: books.parameters,
        mapped_tail: books.layout.mapped_tail,
        caches,
        fast_cut,
    })
}

fn class(size: u64) -> usize {
    (size.max(1).ilog2() as usize).min(CLASSES - 1)
}

impl Arena {
    fn new(address: u64, main: bool, system: u64) -> Self {
        let (none, by_class) = (Tally::default(), [Tally::default(); CLASSES]);
        Arena {
            address,
            main,
            system,
            used: none,
            free: none,
            fast: none,
            cached: none,
            top: 0,
            fences: 0,
            lost: 0,
            used_by_class: by_class,
            free_by_class: by_class,
            spans: Vec::new(),
        }
    }

    fn count(&mut self, chunk: Chunk) {
        match chunk.state {
            State::Used => {
                self.used.add(chunk.size);
                self.used_by_class[class(chunk.size)].add(chunk.size);
            }
            State::Free => {
                self.free.add(chunk.size);
                self.free_by_class[class(chunk.size)].add(chunk.size);
            }
            State::Fast => self.fast.add(chunk.size),
            State::Top => self.top += chunk.size,
            State::Fence => self.fences += chunk.size,
        }
    }

    fn holds(&self, address: u64) -> bool {
        self.spans.iter().any(|span| (span.start..span.end).contains(&address))
    }

    fn is_cached(&mut self, size: u64) {
        self.used.take(size);
        self.used_by_class[class(size)].take(size);
        self.cached.add(size);
    }
}
