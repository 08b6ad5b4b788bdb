//! Two censuses, one difference: what grew, and who holds it.

mod diff;
mod held;
mod summary;

pub use diff::{Growth, HolderGrowth, TypeGrowth};
pub use summary::{Node, Summary};
