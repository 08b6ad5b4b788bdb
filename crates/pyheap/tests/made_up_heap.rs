//! The walk of the native heap on made-up memory: every version of the table, and memory that lies.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "common/heap.rs"]
mod heap;

use heap::{Is, process};
use lowtide_pyheap::native::area::Areas;
use lowtide_pyheap::native::glibc::layout::Version;
use lowtide_pyheap::native::glibc::{Error, Survey, Tally, survey};
use lowtide_pyheap::native::window::Window;
use proptest::prelude::*;

const CHUNKS: [(u64, Is); 9] = [
    (0x30, Is::Used),
    (0x40, Is::Fast),
    (0x500, Is::Free),
    (0x100, Is::Used),
    (0x40, Is::Fast),
    (0x90, Is::Cached),
    (0x90, Is::Cached),
    (0x800, Is::Free),
    (0x20, Is::Used),
];

/// As many chunks of a version, without what it does not know: fast bins up to 2.42, large chunks in caches since.
fn chunks(minor: u16) -> Vec<(u64, Is)> {
    let mut chunks = CHUNKS.to_vec();
    match minor {
        42 => chunks.push((0x1230, Is::Cached)),
        43.. => chunks.iter_mut().filter(|(_, is)| *is == Is::Fast).for_each(|(_, is)| *is = Is::Used),
        _ => {}
    }
    chunks
}

fn look(memory: &heap::Pieces) -> Result<Survey, Error> {
    let image = heap::image(memory);
    survey(&mut Window::new(&image), Areas::new(image.maps()), &mut |_, _| {})
}

#[test]
fn every_version_is_read_by_its_layout() {
    for minor in 17..=43 {
        let version = Version(2, minor);
        let memory = process(version, &chunks(minor));
        let survey = look(&memory).unwrap_or_else(|e| panic!("{version}: {e}"));
        let arena = &survey.arenas[0];
        assert_eq!(survey.version, version);
        assert_eq!(arena.free, Tally { count: 2, bytes: 0xd00 }, "{version}");
        let fast = if minor < 43 { Tally { count: 2, bytes: 0x80 } } else { Tally::default() };
        assert_eq!(arena.fast, fast, "{version}");
        let cached = match minor {
            ..26 => Tally::default(),
            42 => Tally { count: 3, bytes: 0x120 + 0x1230 },
            _ => Tally { count: 2, bytes: 0x120 },
        };
        assert_eq!(arena.cached, cached, "{version}");
        assert_eq!((arena.top, arena.lost), (0x1000, 0), "{version}");
        let cache = match minor {
            ..26 => 0x120,
            26..30 => 0x250,
            30..42 => 0x290,
            _ => 0x300,
        };
        assert_eq!(arena.used.bytes, 0x150 + cache + (0x80 - fast.bytes), "{version}");
        assert_eq!(arena.used.bytes + arena.holes(), arena.system, "{version}");
        let parameters = survey.parameters.unwrap();
        assert_eq!((parameters.mapped, parameters.mapped_bytes), (3, 0x5000), "{version}");
    }
}

#[test]
fn what_is_not_known_is_refused_in_words() {
    let mut memory = process(Version(2, 36), &CHUNKS);
    memory.0[0].1[..50].copy_from_slice(b"GNU C Library (X) stable release version 2.99.\0\0\0\0");
    let error = look(&memory).unwrap_err();
    assert_eq!(error, Error::UnknownVersion(Version(2, 99)));
    assert!(error.to_string().contains("glibc 2.99 is not known (2.17 to 2.43 are)"), "{error}");
    memory.0[0].1[..50].fill(0);
    assert_eq!(look(&memory).unwrap_err(), Error::NoGlibc);
    let mut memory = process(Version(2, 36), &CHUNKS);
    memory.0[1].1.fill(0);
    assert_eq!(look(&memory).unwrap_err(), Error::NoArena(Version(2, 36)));
}

#[test]
fn a_layout_of_another_version_does_not_fit() {
    // Books as 2.26 keeps them, under a banner that says 2.36.
    let mut memory = process(Version(2, 26), &CHUNKS);
    let at = memory.0[0].1.windows(4).position(|w| w == b"2.26").unwrap();
    memory.0[0].1[at..at + 4].copy_from_slice(b"2.36");
    assert_eq!(look(&memory).unwrap_err(), Error::NoArena(Version(2, 36)));
}

#[test]
fn a_cache_whose_counts_do_not_fit_its_lists_is_none() {
    for (at, word) in [
        // An empty list with room for two less than the others, and one with none.
        (0, 0x0010_000e_0010_0010),
        (0x20, 0x0010_0010_0000_0010),
        // A list of 0x90 that claims room for all although two are in it.
        (0x08, 0x0010_0010_0010_0010),
    ] {
        let mut memory = process(Version(2, 43), &chunks(43));
        assert_eq!(look(&memory).unwrap().arenas[0].cached.count, 2);
        memory.put(heap::HEAP + 16 + at, word);
        assert_eq!(look(&memory).unwrap().arenas[0].cached.count, 0, "{at:#x}");
    }
}

#[test]
fn foreign_memory_inside_the_break_is_stepped_over() {
    let mut chunks = CHUNKS.to_vec();
    chunks.insert(4, (0x400, Is::Used));
    let mut memory = process(Version(2, 36), &chunks);
    // The chunk of 0x400 becomes two marks of malloc's, then memory that somebody else took from the break.
    let at = heap::HEAP + 0x290 + 0x30 + 0x40 + 0x500 + 0x100;
    memory.put(at + 8, 0x11);
    memory.put(at + 0x18, 0x11);
    (at + 0x20..at + 0x400).step_by(8).for_each(|a| memory.put(a, a.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 7));
    let survey = look(&memory).unwrap();
    let arena = &survey.arenas[0];
    assert_eq!((arena.fences, arena.lost), (0x20, 0x3e0));
    assert_eq!((arena.free.bytes, arena.fast.bytes, arena.cached.count, arena.top), (0xd00, 0x80, 2, 0x1000));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 400 }))]

    /// Whatever memory says, the walk ends, and tells no more bytes than there are.
    #[test]
    fn memory_that_lies_harms_nobody(
        minor in 17u16..=43,
        lies in proptest::collection::vec((0usize..3, 0u64..0x8000, prop_oneof![any::<u64>(), 0u64..0x2000, heap::HEAP..heap::HEAP + 0x4000]), 1..20),
    ) {
        let mut memory = process(Version(2, minor), &chunks(minor));
        for (piece, at, word) in lies {
            let (start, len) = (memory.0[piece].0, memory.0[piece].1.len() as u64);
            memory.put(start + at % (len / 8) * 8, word);
        }
        if let Ok(survey) = look(&memory) {
            let told: u64 = survey.arenas.iter().map(|a| a.used.bytes + a.free.bytes + a.fast.bytes + a.top + a.fences).sum();
            prop_assert!(told <= 0x40000 * survey.arenas.len() as u64);
        }
    }
}
