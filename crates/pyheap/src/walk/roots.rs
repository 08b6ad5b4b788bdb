//! Where paths begin. Ranked: what a program's author has a name for comes first.

use crate::visit::{Frame, Label};

/// Where a path begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// A module, by the str under which `sys.modules` has it.
    Module {
        /// The str.
        name: u64,
    },
    /// A frame of a thread.
    Frame {
        /// The thread, by its position among all threads of all interpreters.
        thread: u32,
        /// The frame.
        frame: Frame,
        /// By which name the frame has it.
        label: Label,
    },
    /// The state of a thread: the exception that it handles, its context.
    Thread {
        /// The thread, by its position among all threads of all interpreters.
        thread: u32,
    },
    /// A type that no module names.
    Type,
    /// The interpreter itself: callbacks, codecs, caches of the import system.
    Interpreter,
    /// Something in C that is not an object: a library's own structs and variables.
    Native,
    /// Nothing at all: a cycle that the collector has not found yet.
    Garbage,
}
