//! Record: a run on disk.
//!
//! One file per run: an append-only log of checksummed frames (`format.rs` has the layout). [`Writer`] makes it
//! while the run goes on, [`read()`] and [`stream`] turn it back into [`lowtide_model::Event`]s, [`Follower`] does so while it is still
//! written, [`export`] hands it to other tools, [`place`] says where recordings live.
//!
//! Design constraints:
//! - The collector never waits for a disk. Events go into a bounded queue; a thread of its own writes them. What the
//!   disk does not take is counted and shows up as a gap, it never ends the run.
//! - A reader takes no lock and maps no memory: it reads plain bytes, also over a network, also while the file grows.
//! - A recording is hostile when read. Every length and count is bounded, a damaged frame costs itself and the ticks
//!   until the next key tick, a torn tail is cut.
//! - Old ticks are thinned, never averaged: every number in a recording was measured at the time it carries.

mod background;
#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod common;
mod compact;
mod decode;
mod disk;
#[cfg(test)]
mod disk_tests;
mod encode;
mod error;
pub mod export;
mod follow;
pub mod format;
mod frame;
#[cfg(test)]
mod kill_tests;
pub mod place;
mod queue;
mod read;
mod rows;
mod table;
mod tick;
mod varint;
mod writer;

pub use decode::Damage;
pub use error::RecordError;
pub use follow::Follower;
pub use read::{BrokeOff, Events, Recording, is_recording, read, stream};
pub use writer::{Health, Writer};
