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

fn look(memory: &heap::Pieces) -> Result<Survey, Error> {
    let image = heap::image(memory);
    survey(&mut Window::new(&image), Areas::new(image.maps()), &mut |_, _| {})
}

#[test]
fn every_version_is_read_by_its_layout() {
    for minor in 17..=41 {
        let version = Version(2, minor);
        let memory = process(version, &CHUNKS);
        let survey = look(&memory).unwrap_or_else(|e| panic!("{version}: {e}"));
        let arena = &survey.arenas[0];
        assert_eq!(survey.version, version);
        assert_eq!(arena.free, Tally { count: 2, bytes: 0xd00 }, "{version}");
        assert_eq!(arena.fast, Tally { count: 2, bytes: 0x80 }, "{version}");
        let cached = if minor >= 26 { 2 } else { 0 };
        assert_eq!(arena.cached, Tally { count: cached, bytes: 0x90 * cached }, "{version}");
        assert_eq!((arena.top, arena.lost), (0x1000, 0), "{version}");
        let cache = if minor >= 30 {
            0x290
        } else if minor >= 26 {
            0x250
        } else {
            0x120
        };
        assert_eq!(arena.used.bytes, 0x150 + cache, "{version}");
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
    assert!(error.to_string().contains("glibc 2.99 is not known (2.17 to 2.41 are)"), "{error}");
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
        minor in 17u16..=41,
        lies in proptest::collection::vec((0usize..3, 0u64..0x8000, prop_oneof![any::<u64>(), 0u64..0x2000, heap::HEAP..heap::HEAP + 0x4000]), 1..20),
    ) {
        let mut memory = process(Version(2, minor), &CHUNKS);
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
