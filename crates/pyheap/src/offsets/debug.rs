//! What an interpreter says of its own layout: `_Py_DebugOffsets` at the start of `_PyRuntime`, from 3.13 on
//! (Include/internal/pycore_debug_offsets.h).

use super::layout::{Frames, Layout};
use crate::error::Version;
use lowtide_remote::Image;

/// The first version that has it.
pub const FIRST_MINOR: u8 = 13;

const COOKIE: [u8; 8] = *b"xdebugpy";

/// Words that have the same index behind the cookie in every version.
mod index {
    pub const VERSION: usize = 0;
    pub const FREE_THREADED: usize = 1;
    pub const INTERPRETERS_HEAD: usize = 4;
    pub const INTERP_SIZE: usize = 5;
    pub const INTERP_ID: usize = 6;
    pub const INTERP_NEXT: usize = 7;
    pub const INTERP_THREADS: usize = 8;
    /// As many are read.
    pub const COUNT: usize = 36;
}

/// The indices of those that have not.
struct Indices {
    minor: u8,
    interp_gc: usize,
    interp_modules: usize,
    thread_size: usize,
    thread_next: usize,
    thread_frame: usize,
    thread_ident: usize,
    thread_native: usize,
    frame_previous: usize,
    frame_executable: usize,
    frame_localsplus: usize,
    frame_owner: usize,
}

const INDICES: [Indices; 2] = [
    Indices {
        minor: 13,
        interp_gc: 9,
        interp_modules: 10,
        thread_size: 18,
        thread_next: 20,
        thread_frame: 22,
        thread_ident: 23,
        thread_native: 24,
        frame_previous: 28,
        frame_executable: 29,
        frame_localsplus: 31,
        frame_owner: 32,
    },
    Indices {
        minor: 14,
        interp_gc: 10,
        interp_modules: 11,
        thread_size: 21,
        thread_next: 23,
        thread_frame: 25,
        thread_ident: 26,
        thread_native: 27,
        frame_previous: 31,
        frame_executable: 32,
        frame_localsplus: 34,
        frame_owner: 35,
    },
];

/// What was read.
#[derive(Clone, Debug)]
pub struct DebugOffsets {
    /// The version that it was built as.
    pub version: Version,
    /// Whether it was built without the interpreter lock.
    pub free_threaded: bool,
    words: [u64; index::COUNT],
}

/// Reads them, if they are there.
pub fn read(image: &Image, runtime: u64) -> Option<DebugOffsets> {
    if image.array(runtime)? != COOKIE {
        return None;
    }
    let mut words = [0; index::COUNT];
    for (index, word) in (0..).zip(&mut words) {
        *word = image.u64(runtime.checked_add(8 + 8 * index)?)?;
    }
    let version = Version::from_hex(words[index::VERSION]);
    Some(DebugOffsets { version, free_threaded: words[index::FREE_THREADED] != 0, words })
}

impl DebugOffsets {
    /// Puts them into a table: those whose place in the struct is known.
    pub fn apply(&self, layout: &mut Layout) {
        let word = |index: usize| self.words[index];
        layout.interpreters_head = word(index::INTERPRETERS_HEAD);
        layout.interp_size = word(index::INTERP_SIZE);
        layout.interp_id = word(index::INTERP_ID);
        layout.interp_next = word(index::INTERP_NEXT);
        layout.interp_threads = word(index::INTERP_THREADS);
        let Some(indices) = INDICES.iter().find(|indices| indices.minor == self.version.minor) else { return };
        layout.interp_gc = word(indices.interp_gc);
        layout.interp_modules = word(indices.interp_modules);
        layout.thread_size = word(indices.thread_size);
        layout.thread_next = word(indices.thread_next);
        layout.thread_frame = word(indices.thread_frame);
        layout.thread_ident = word(indices.thread_ident);
        layout.thread_native = Some(word(indices.thread_native));
        if let Frames::Interpreter { code, previous, localsplus, owner, .. } = &mut layout.frame {
            *previous = word(indices.frame_previous);
            *code = word(indices.frame_executable);
            *localsplus = word(indices.frame_localsplus);
            *owner = word(indices.frame_owner);
        }
    }
}
