//! Tensors of another process: those that Python has, those that only C++ has, and the graphs that hold them.
//!
//! torch's objects are told by their C++ classes ([`crate::native::classes`]), so that no list of Python's is needed to find
//! them, and what the autograd graph alone keeps alive is found as easily as what a variable holds.

pub mod calibrate;
pub mod dtype;
pub mod fake;
pub mod filter;
pub mod find;
pub mod graph;
pub mod groups;
pub mod layout;
pub mod tensor;

pub use filter::Filter;
pub use find::{Error, Finder, Torch};
pub use layout::Layout;
pub use tensor::{Storage, Tensor};
