//! Collect: who belongs to a run, what each process is, what memory it has and under which limits it lives.
//!
//! Everything is read from outside, from /proc, the cgroup file systems and GPU drivers; nothing enters or stops a process.
//! [`Collector::tick`] turns one look into [`lowtide_model::Event`]s. A source that cannot be read becomes a note, never
//! an error; what it costs is kept within a budget (see `rollup.rs`).
//!
//! Readers take a filesystem root, so that a fake one tests them; parsers take bytes and never panic.

mod asked;
mod cgroup;
mod collector;
mod counts;
mod doctor;
mod error;
mod facts;
mod find;
pub mod gpu;
mod handle;
mod identify;
mod inner;
mod link;
mod members;
mod outside;
mod pagemap;
mod parse;
mod roles;
mod rollup;
mod room;
mod root;
mod sample;
mod scan;
mod secrets;
mod suspects;
mod sys;
mod system;

pub use asked::{command_line, host};
pub use collector::{Collector, Options};
pub use doctor::{Check, CheckState, doctor};
pub use error::CollectError;
pub use find::{Candidate, find_candidates};
pub use gpu::GpuSource;
pub use inner::inner_pid;
pub use members::COMMAND_MARK;
pub use room::{anonymous, be_killed_first, room};
pub use secrets::mask_secrets;
pub use sys::free_bytes;
