//! Marks: what the processes of a run say of themselves.
//!
//! Each process that has something to say keeps a ring of its last marks in a file that it maps into its memory; here it
//! is read. Nobody waits for anybody: a slow reader loses marks, and is told how many. The other way round a request can be
//! left in a ring, which its process finds at its next mark. The layout stands in `parse.rs`
//! and, for the other side, in the in-process part's `ring.py`. Files are foreign data: they are never trusted.

mod listener;
mod parse;
mod ring;
mod rings;

pub use listener::Listener;
pub use parse::{HEADER_LEN, SLOT_LEN, Slot, header, slot};
pub use rings::{AskError, CAREFULLY, RawMark, Rings};
