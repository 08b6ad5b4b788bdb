//! What lies on the GPU, and the GPU allocator.

mod auxiliary_batch_too_large;
pub(crate) mod dataset_to_device;
mod device_in_getitem;
mod device_noted_only;
pub(crate) mod expandable_segments_mask;
mod moved_in_place;
mod reserved_not_allocated;
mod splits_moved_wholesale;

use crate::Cause;

/// Their pages, by id.
pub(crate) const ALL: &[&Cause] = &[
    &dataset_to_device::CAUSE,
    &splits_moved_wholesale::CAUSE,
    &device_in_getitem::CAUSE,
    &expandable_segments_mask::CAUSE,
    &auxiliary_batch_too_large::CAUSE,
    &device_noted_only::CAUSE,
    &reserved_not_allocated::CAUSE,
];
