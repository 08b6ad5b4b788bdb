//! Reads Python source: the statements that add to something that grows, and what patterns that leak are made of.
//!
//! Nothing here runs, imports or asks Python. Files come through a reader that takes a filesystem root, so that those of a
//! process in a container are read through `/proc/PID/root`.

pub mod ask;
pub mod autograd;
pub mod check;
pub mod feeds;
pub mod fix;
pub mod flow;
mod inside;
pub mod model;
pub mod program;
pub mod source;
pub mod table;
pub mod tree;
