//! The garbage collector and the allocator.

mod allocator_holes;
mod collector_off;
mod cycles_collected_late;
mod native_memory;
mod output_on_context;

use crate::Cause;

/// Their pages, by id.
pub(crate) const ALL: &[&Cause] = &[
    &cycles_collected_late::CAUSE,
    &collector_off::CAUSE,
    &allocator_holes::CAUSE,
    &native_memory::CAUSE,
    &output_on_context::CAUSE,
];
