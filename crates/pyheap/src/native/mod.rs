//! The memory below the objects: the C library's heap, Python's own arenas, stacks, maps; and an account of all of it.
//!
//! A process that grows without more live objects grows here. Everything is read from outside, each byte once, without
//! being kept, so that the cost in memory does not follow the size of the target.

pub mod account;
pub mod ahead;
pub mod area;
pub mod classes;
pub mod glibc;
mod mangled;
pub mod owners;
pub mod pymalloc;
pub mod resident;
mod stacks;
pub mod sweep;
pub mod window;
