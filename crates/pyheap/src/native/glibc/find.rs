//! Where malloc keeps its books: the main arena, the ring of all arenas, the heaps of each.
//!
//! `main_arena` is a private symbol and most C libraries are stripped, so it is found by what it must look like: 127 lists,
//! each of which leads back to its own head. Nothing else in the library's data does.

use super::layout::{self, BINS, HEAP_ALIGN, Layout, Version};
use crate::native::area::{Areas, is_anonymous};
use crate::native::window::Window;
use lowtide_remote::Map;

/// Arenas followed at most; glibc makes 8 per core.
const ARENAS: usize = 1 << 14;
/// Heaps of one arena followed at most (64 MiB each: 1 TiB).
const HEAPS: usize = 1 << 14;
/// Lists of an arena that may be in the middle of a change when its thread is stopped.
const TORN: u64 = 3;
/// Data looked through in one library, at most.
const DATA: u64 = 64 << 20;
/// Read-only data looked through for the version, at most.
const TEXT: u64 = 64 << 20;

/// Why the native heap cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No C library of the GNU project is mapped.
    #[error("no glibc in the process (musl or another C library): its native heap cannot be told apart")]
    NoGlibc,
    /// Its version has no entry in the table.
    #[error("glibc {0} is not known (2.17 to 2.43 are): its heap is counted as one anonymous piece")]
    UnknownVersion(Version),
    /// Nothing in its data looks like an arena.
    #[error("glibc {0} is there, but no arena of the known form: malloc was replaced or never used")]
    NoArena(Version),
}

/// malloc's books.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Books {
    /// Of the C library.
    pub version: Version,
    /// Its offsets.
    pub layout: Layout,
    /// Addresses of all arenas, the main one first.
    pub arenas: Vec<u64>,
    /// `mp_`, where it was found.
    pub parameters: Option<Parameters>,
}

/// What malloc counts by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Where the main heap begins.
    pub base: u64,
    /// Chunks that have a map of their own.
    pub mapped: u64,
    /// Their bytes.
    pub mapped_bytes: u64,
}

/// Finds malloc's books in the process.
///
/// # Errors
/// See [`Error`].
pub fn books(window: &mut Window<'_>, areas: Areas<'_>) -> Result<Books, Error> {
    let (library, version) = library(window, areas).ok_or(Error::NoGlibc)?;
    let layout = layout::of(version).ok_or(Error::UnknownVersion(version))?;
    let data: Vec<&Map> = areas.data_of(library).collect();
    let main = data.iter().find_map(|area| main_arena(window, areas, &layout, area)).ok_or(Error::NoArena(version))?;
    let arenas = ring(window, areas, &layout, main);
    let heap = areas.heap();
    let parameters = data.iter().find_map(|area| parameters(window, &layout, area, heap?));
    Ok(Books { version, layout, arenas, parameters })
}

/// The file that is the C library, and its version. A statically linked program is its own.
fn library<'a>(window: &mut Window<'_>, areas: Areas<'a>) -> Option<(&'a [u8], Version)> {
    let named = areas.files().filter(|path| is_libc(path));
    let any = areas.files().filter(|path| !is_libc(path)).take(1);
    named.chain(any).find_map(|path| version_of(window, areas, path).map(|version| (path, version)))
}

fn is_libc(path: &[u8]) -> bool {
    let name = path.rsplit(|&b| b == b'/').next().unwrap_or_default();
    name.starts_with(b"libc.so") || (name.starts_with(b"libc-2.") && name.ends_with(b".so"))
}

fn version_of<'a>(window: &mut Window<'_>, areas: Areas<'a>, path: &'a [u8]) -> Option<Version> {
    /// Banners are short, and one may lie across two pieces.
    const OVERLAP: u64 = 256;
    const PIECE: u64 = 256 << 10;
    let mut left = TEXT;
    for area in areas.of(path).filter(|area| area.perms.read && !area.perms.write) {
        let mut at = area.start;
        while at < area.end && left > 0 {
            let bytes = window.bytes(at, PIECE.min(area.end - at) as usize);
            if let Some(version) = layout::version_in(&bytes) {
                return Some(version);
            }
            left = left.saturating_sub(PIECE);
            at += PIECE - OVERLAP;
        }
    }
    None
}

fn main_arena(window: &mut Window<'_>, areas: Areas<'_>, layout: &Layout, area: &Map) -> Option<u64> {
    let end = area.end.min(area.start.saturating_add(DATA)).saturating_sub(layout.size);
    let mut at = area.start;
    while at <= end {
        // The last list holds the largest chunks and is nearly always empty: one look rules out nearly every place.
        let last = at + layout.bins + 16 * (BINS - 1) - 16;
        let plausible = window.u64(last + 16).is_some_and(|fd| fd == last || (fd % 16 == 0 && areas.writable(fd)));
        if plausible && is_arena(window, areas, layout, at) {
            // Its ring leads to itself or to another: where the layout is off by a word, it leads beside.
            let next = window.u64(at + layout.next)?;
            if next == at || is_arena(window, areas, layout, next) {
                return Some(at);
            }
        }
        at += 8;
    }
    None
}

/// Whether an arena lies at `at`: nearly all of its lists lead back to their heads.
pub fn is_arena(window: &mut Window<'_>, areas: Areas<'_>, layout: &Layout, at: u64) -> bool {
    let mut torn = 0;
    for bin in 0..BINS {
        let head = at.wrapping_add(layout.bins + 16 * bin - 16);
        let mut link = |from: u64| window.u64(from);
        let (Some(forward), Some(back)) = (link(head.wrapping_add(16)), link(head.wrapping_add(24))) else { return false };
        if forward == 0 || back == 0 {
            return false;
        }
        // A chunk's place is a multiple of 16; a head's own is not in 2.43.
        let whole = (forward == head || forward.is_multiple_of(16))
            && link(forward.wrapping_add(24)) == Some(head)
            && link(back.wrapping_add(16)) == Some(head);
        torn += u64::from(!whole);
        if torn > TORN {
            return false;
        }
    }
    let top = window.u64(at.wrapping_add(layout.top));
    let next = window.u64(at.wrapping_add(layout.next));
    top.is_some_and(|top| areas.writable(top)) && next.is_some_and(|next| areas.writable(next))
}

fn ring(window: &mut Window<'_>, areas: Areas<'_>, layout: &Layout, main: u64) -> Vec<u64> {
    let mut arenas = vec![main];
    let mut at = main;
    while arenas.len() < ARENAS {
        match window.u64(at + layout.next) {
            Some(next) if next != main && !arenas.contains(&next) && is_arena(window, areas, layout, next) => {
                arenas.push(next);
                at = next;
            }
            _ => break,
        }
    }
    arenas
}

/// `mp_` by its base of the heap, which lies in the heap's first page, and its fixed neighbours.
fn parameters(window: &mut Window<'_>, layout: &Layout, area: &Map, heap: &Map) -> Option<Parameters> {
    /// `DEFAULT_MMAP_MAX`: the most chunks with a map of their own, which nobody changes.
    const MOST: u64 = 65536;
    let mut at = area.start + layout.mapped_count.next_multiple_of(8);
    while at + 8 <= area.end {
        let base = window.u64(at)?;
        let counts = if (heap.start..heap.start + 4096).contains(&base) { window.u64(at - layout.mapped_count) } else { None };
        if let Some(counts) = counts.filter(|counts| counts >> 32 == MOST && (counts & 0xffff_ffff) <= MOST) {
            let mapped_bytes = window.u64(at - layout.mapped_bytes)?;
            return Some(Parameters { base, mapped: counts & 0xffff_ffff, mapped_bytes });
        }
        at += 8;
    }
    None
}

/// One stretch of memory that holds chunks, back to back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First chunk.
    pub start: u64,
    /// No chunk reaches beyond.
    pub end: u64,
    /// The arena's top chunk, where it lies in this span.
    pub top: Option<u64>,
    /// What the span lies in, for what is to be kept apart from other anonymous memory.
    pub reserved: (u64, u64),
}

/// The spans of the main arena: the program's break, and a piece elsewhere where that could not grow.
pub fn main_spans(window: &mut Window<'_>, areas: Areas<'_>, books: &Books) -> Vec<Span> {
    let arena = books.arenas[0];
    let Some(top) = window.u64(arena + books.layout.top) else { return Vec::new() };
    let top_end = window.u64(top.wrapping_add(8)).map_or(top, |size| top.saturating_add(size & !7));
    let mut spans = Vec::new();
    let heap = areas.heap_end().zip(areas.heap());
    if let Some((end, first)) = heap {
        let start = books.parameters.map_or(first.start, |p| p.base).next_multiple_of(16);
        let inside = (start..end).contains(&top);
        let span_end = if inside { top_end.min(end) } else { end };
        spans.push(Span { start, end: span_end, top: inside.then_some(top), reserved: (first.start, end) });
    }
    let elsewhere = spans.iter().all(|span| span.top.is_none());
    if let Some(area) = areas.find(top).filter(|area| elsewhere && area.perms.write && is_anonymous(area)) {
        spans.push(Span {
            start: area.start,
            end: top_end.min(area.end),
            top: Some(top),
            reserved: (area.start, top_end.min(area.end)),
        });
    }
    spans
}

/// The heaps of an arena that is not the main one: found from its top chunk, each leads to the one before.
pub fn heap_spans(window: &mut Window<'_>, areas: Areas<'_>, books: &Books, arena: u64) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let Some(top) = window.u64(arena + books.layout.top) else { return spans };
    // Heaps are 64 MiB, or four huge pages where a tunable says so.
    let aligns = [HEAP_ALIGN, 8 << 20, 4 << 30];
    let Some(align) = aligns.into_iter().find(|align| window.u64(top & !(align - 1)) == Some(arena)) else { return spans };
    let mut heap = top & !(align - 1);
    while heap != 0 && heap.is_multiple_of(align) && spans.len() < HEAPS && window.u64(heap) == Some(arena) {
        if spans.iter().any(|span| span.reserved.0 == heap) {
            break;
        }
        let Some(size) =
            window.u64(heap + 16).filter(|&size| size <= align && areas.writable(heap) && heap.checked_add(align).is_some())
        else {
            break;
        };
        // The arena itself lies in its first heap, whatever else is there.
        let head = if (heap..heap + 64).contains(&arena) { arena - heap + books.layout.size } else { books.layout.heap_info };
        let start = (heap + head).next_multiple_of(16);
        let inside = (heap..heap + size).contains(&top);
        spans.push(Span { start, end: heap + size, top: inside.then_some(top), reserved: (heap, heap + align) });
        match window.u64(heap + 8) {
            Some(previous) => heap = previous,
            None => break,
        }
    }
    spans
}
