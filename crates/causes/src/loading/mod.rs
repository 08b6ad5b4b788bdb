//! Data loading and its workers.

mod cache_in_worker;
mod dataset_parts;
mod frame_cache_per_reader;
mod loader_built_each_epoch;
mod rows_written_into;
mod shared_memory_held;
mod workers_copy_dataset;

use crate::Cause;

/// Their pages, by id.
pub(crate) const ALL: &[&Cause] = &[
    &workers_copy_dataset::CAUSE,
    &frame_cache_per_reader::CAUSE,
    &loader_built_each_epoch::CAUSE,
    &cache_in_worker::CAUSE,
    &shared_memory_held::CAUSE,
];
