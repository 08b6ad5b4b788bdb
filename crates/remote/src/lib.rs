//! Another process's memory, read from outside.
//!
//! A look into a process has three parts, each behind a type of its own:
//!
//! * **what is where**: [`Maps`] (from `/proc/PID/maps`, a core file, or made up) and [`elf::Module`] (symbols, build id);
//! * **the bytes**: a [`Source`] (a live process, a stopped one, a core file, a made-up one) and over it an [`Image`], which
//!   reads 64 KiB at a time, when asked, keeps what it read, and never reads outside the maps;
//! * **holding still**: [`Stopped`], which stops every thread of a process for an announced time, and no longer.
//!
//! What is read is foreign: every length is checked against the maps, and nothing here panics on what it finds.
//!
//! ```no_run
//! # use std::{path::Path, time::Duration};
//! let process = lowtide_remote::Process::open(Path::new("/"), 4242)?;
//! let stopped = process.stop(Duration::from_millis(500))?;
//! let image = stopped.image()?;
//! let first = image.maps().iter().next().and_then(|map| image.u64(map.start));
//! let pause = stopped.release();
//! # Ok::<(), lowtide_remote::Error>(())
//! ```

mod copied;
mod core;
mod denied;
pub mod elf;
mod error;
mod fake;
mod image;
mod maps;
mod pages;
mod process;
mod scan;
mod source;
mod stop;

pub use crate::core::Core;
pub use copied::{Copied, How, Meeting, copying, fits, go_first, held, shorter};
pub use error::Error;
pub use fake::Fake;
pub use image::{Image, Trouble, prefetch};
pub use maps::{Map, Maps, Perms};
pub use pages::Stretch;
pub use process::{Process, Root};
pub use source::Source;
pub use stop::{Hurry, Stopped, hurried};
