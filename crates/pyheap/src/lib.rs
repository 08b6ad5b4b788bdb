//! Looks into a running Python from outside.
//!
//! * [`Python`] is found in a process; its layout is chosen by version and checked ([`offsets`]);
//! * [`Census`] counts every live object once: a walk ([`Root`]s first) over what each object refers to ([`visit`]);
//! * [`native`] is the memory below the objects, [`torch`] the tensors among them.

pub mod budget;
mod census;
mod error;
mod growth;
mod limits;
pub mod memory;
pub mod native;
pub mod offsets;
mod ownership;
mod paths;
mod program;
mod python;
pub mod read;
mod resources;
mod size;
mod spread;
pub mod torch;
pub mod types;
mod untouched;
pub mod visit;
mod walk;

pub use budget::{Budget, Part};
pub use census::{Census, Total};
pub use error::{Error, Version};
pub use growth::{Growth, HolderGrowth, Keyed, Lengths, Node, Summary, TypeGrowth};
pub use ownership::{Also, Beyond, Ownership};
pub use paths::{Function, Path, Place, Step, StepName};
pub use program::Module;
pub use python::{Interpreter, Python, Thread};
pub use untouched::Untouched;
pub use walk::{ObjectId, Objects, Parent, Root};
