//! Which layout an interpreter has.
//!
//! From 3.13 on it says so itself (`_Py_DebugOffsets`); before, a table per version does. Either way nothing is believed
//! until its structures have been followed: an interpreter, its threads, the collector's lists, `sys.modules`, and the
//! version that `sys` itself names.

mod check;
pub(crate) use check::collector;
mod debug;
mod layout;
mod v3_10;
mod v3_11;
mod v3_12;
mod v3_13;
mod v3_14;
mod v3_8;
mod v3_9;

pub use layout::{Attributes, Digits, Frames, Keys, Layout, Lines, Locals, Top, fixed};

use crate::error::{Error, Version};
use lowtide_remote::Image;

/// All tables, oldest first; of one version those of its newer releases come last.
pub static TABLES: [&Layout; 8] = [
    &v3_8::LAYOUT,
    &v3_9::LAYOUT,
    &v3_10::LAYOUT,
    &v3_11::LAYOUT,
    &v3_12::LAYOUT,
    &v3_13::LAYOUT,
    &v3_13::NARROW,
    &v3_14::LAYOUT,
];

/// Finds the layout that fits the interpreter at `_PyRuntime`, and its version.
///
/// # Errors
/// Where none fits, or the interpreter is of a kind that cannot be read.
pub fn choose(image: &Image, runtime: u64) -> Result<(Layout, Version), Error> {
    if let Some(offsets) = debug::read(image, runtime) {
        let version = offsets.version;
        if offsets.free_threaded {
            return Err(Error::FreeThreaded { version });
        }
        let mut tables = TABLES.iter().filter(|table| table.minor == version.minor && version.major == 3).peekable();
        if tables.peek().is_none() {
            return Err(Error::Unknown { version });
        }
        let mut tried = Vec::new();
        for table in tables {
            let mut layout = (*table).clone();
            offsets.apply(&mut layout);
            match check::fits(image, runtime, &layout) {
                Ok(version) => return Ok((layout, version)),
                Err(what) => tried.push(format!("3.{}: {what}", layout.minor)),
            }
        }
        tried.dedup();
        return Err(Error::NoFit { runtime, tried: tried.join("; ") });
    }
    let mut tried = Vec::new();
    for table in TABLES.iter().filter(|table| table.minor < debug::FIRST_MINOR) {
        match check::fits(image, runtime, table) {
            Ok(version) => return Ok(((*table).clone(), version)),
            Err(what) => tried.push(format!("3.{}: {what}", table.minor)),
        }
    }
    Err(Error::NoFit { runtime, tried: tried.join("; ") })
}
