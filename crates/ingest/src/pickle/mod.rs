//! Pickles, read as data.
//!
//! Python's own unpickler is a small machine that imports and calls whatever the file names. This one knows the opcodes
//! of plain data alone (numbers, text, lists, tuples, dictionaries; protocols 2 to 5): every opcode that would import or
//! call something is refused by its name, and the message says what it would have run. It reads a stream once, from
//! front to back, and holds what was read in a [`Heap`] of about the file's own size: a string stands there once, a
//! list or dictionary that is referred to again is the same one, and dictionaries of the same keys share these.
//!
//! Invariants: nothing is executed, nothing recurses, and what is held is bounded by what was read (`heap::ALLOWED`).

mod error;
mod heap;
mod input;
mod machine;
mod opcode;
mod table;

use std::io::Read;

pub use error::PickleError;
pub use heap::{DictId, Heap, Item, ListId, ShapeId, TextId, Value};

/// What a pickle holds.
#[derive(Debug)]
pub struct Pickle {
    /// All of it.
    pub heap: Heap,
    /// Where it begins.
    pub root: Value,
    /// Bytes read.
    pub bytes: u64,
    /// The file ends before its end was told: this is what could be read.
    pub cut: bool,
}

/// Whether a file that begins like this is a pickle of protocol 2 to 5.
#[must_use]
pub fn looks_like(start: &[u8]) -> bool {
    matches!(start, [0x80, 2..=5, ..])
}

/// Reads a pickle.
///
/// # Errors
/// Says which opcode, at which byte, is not one of plain data, or what is wrong there.
pub fn read(from: impl Read) -> Result<Pickle, PickleError> {
    machine::Machine::new(from).run()
}
