//! What an interpreter says of its own layout: `_Py_DebugOffsets` at the start of `_PyRuntime`, from 3.13 on
//! (Include/internal/pycore_debug_offsets.h).

use super::layout::{Frames, Layout};
use crate::error::Version;
use lowtide_remote::Image;

/// The first version that has it.
pub const FIRST_MINOR: u8 = 13;

const COOKIE: [u8; 8] = *b"xdebugpy";

/// Words of 3.13's struct that we use, by their index behind the cookie.
mod index {
    pub const VERSION: usize = 0;
    pub const FREE_THREADED: usize = 1;
    pub const INTERPRETERS_HEAD: usize = 4;
    pub const INTERP_SIZE: usize = 5;
    pub const INTERP_ID: usize = 6;
    pub const INTERP_NEXT: usize = 7;
    pub const INTERP_THREADS: usize = 8;
    pub const INTERP_GC: usize = 9;
    pub const INTERP_MODULES: usize = 10;
    pub const THREAD_SIZE: usize = 18;
    pub const THREAD_NEXT: usize = 20;
    pub const THREAD_FRAME: usize = 22;
    pub const THREAD_IDENT: usize = 23;
    pub const THREAD_NATIVE: usize = 24;
    pub const FRAME_PREVIOUS: usize = 28;
    pub const FRAME_EXECUTABLE: usize = 29;
    pub const FRAME_LOCALSPLUS: usize = 31;
    pub const FRAME_OWNER: usize = 32;
    pub const COUNT: usize = 33;
}

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
    /// Puts them into a table. Only those whose place in the struct is the same in every version that has it.
    pub fn apply(&self, layout: &mut Layout) {
        let word = |index: usize| self.words[index];
        layout.interpreters_head = word(index::INTERPRETERS_HEAD);
        layout.interp_size = word(index::INTERP_SIZE);
        layout.interp_id = word(index::INTERP_ID);
        layout.interp_next = word(index::INTERP_NEXT);
        layout.interp_threads = word(index::INTERP_THREADS);
        if self.version.minor != 13 {
            return;
        }
        layout.interp_gc = word(index::INTERP_GC);
        layout.interp_modules = word(index::INTERP_MODULES);
        layout.thread_size = word(index::THREAD_SIZE);
        layout.thread_next = word(index::THREAD_NEXT);
        layout.thread_frame = word(index::THREAD_FRAME);
        layout.thread_ident = word(index::THREAD_IDENT);
        layout.thread_native = Some(word(index::THREAD_NATIVE));
        if let Frames::Interpreter { code, previous, localsplus, owner, .. } = &mut layout.frame {
            *previous = word(index::FRAME_PREVIOUS);
            *code = word(index::FRAME_EXECUTABLE);
            *localsplus = word(index::FRAME_LOCALSPLUS);
            *owner = word(index::FRAME_OWNER);
        }
    }
}
