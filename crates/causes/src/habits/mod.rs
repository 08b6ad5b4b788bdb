//! Habits of training loops.

mod compile_in_loop;
mod compile_workers;
mod gradients_kept_allocated;
mod optimizer_rebuilt;
mod recompilation;
mod resources_made_in_loop;

use crate::Cause;

/// Their pages, by id.
pub(crate) const ALL: &[&Cause] = &[
    &gradients_kept_allocated::CAUSE,
    &optimizer_rebuilt::CAUSE,
    &compile_workers::CAUSE,
    &recompilation::CAUSE,
    &compile_in_loop::CAUSE,
    &resources_made_in_loop::CAUSE,
];
