//! Two censuses, one difference: what grew, and who holds it.

mod diff;
mod held;
mod keyed;
mod lengths;
mod summary;

pub use diff::{Growth, HolderGrowth, TypeGrowth};
pub use keyed::Keyed;
pub use lengths::Lengths;
pub use summary::{Node, Summary};
