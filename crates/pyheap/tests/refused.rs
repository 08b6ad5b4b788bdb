//! Interpreters that cannot be read are refused by what they say of themselves, each with what to do.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "common/heap.rs"]
mod heap;

use heap::{DATA, process};
use lowtide_pyheap::Python;
use lowtide_pyheap::native::glibc::layout::Version;

/// What is said of an interpreter whose `_PyRuntime` begins with these words behind the cookie (`_Py_DebugOffsets`).
fn refusal(words: &[u64]) -> String {
    let mut memory = process(Version(2, 36), &[]);
    memory.put(DATA, u64::from_le_bytes(*b"xdebugpy"));
    for (index, word) in (1..).zip(words) {
        memory.put(DATA + 8 * index, *word);
    }
    Python::at(&heap::image(&memory), DATA).unwrap_err().to_string()
}

#[test]
fn a_build_without_the_interpreter_lock_is_refused() {
    for hex in [0x030d_00f0, 0x030e_0af0] {
        let said = refusal(&[hex, 1]);
        assert!(said.contains("free-threaded CPython 3.1") && said.contains("run the program with the ordinary build"), "{said}");
    }
}

#[test]
fn a_version_that_is_not_known_is_refused() {
    let said = refusal(&[0x030f_00f0, 0]);
    assert!(said.contains("CPython 3.15.0") && said.contains("known: 3.8 to 3.14"), "{said}");
}

#[test]
fn a_known_version_whose_structures_do_not_fit_is_refused() {
    // Its interpreter would be where nothing is.
    let said = refusal(&[0x030e_0af0, 0, 8, 0, 0x3f00, 225_864, 7280, 7272, 7344]);
    assert!(said.contains("fit none of the known layouts") && said.contains("3.14: no interpreter"), "{said}");
}
