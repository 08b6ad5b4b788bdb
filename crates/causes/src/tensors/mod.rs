//! Tensors and batches that are kept.

mod episodes_held_at_once;
mod evaluation_with_gradients;
mod exception_kept;
mod metric_never_reset;
mod outer_name_overwritten;
mod state_dict_history;
mod tensors_kept_for_logs;
mod validation_outputs_collected;
mod view_keeps_storage;
mod without_gradients;

use crate::Cause;

/// Their pages, by id.
pub(crate) const ALL: &[&Cause] = &[
    &validation_outputs_collected::CAUSE,
    &tensors_kept_for_logs::CAUSE,
    &state_dict_history::CAUSE,
    &view_keeps_storage::CAUSE,
    &metric_never_reset::CAUSE,
    &evaluation_with_gradients::CAUSE,
    &exception_kept::CAUSE,
    &episodes_held_at_once::CAUSE,
    &outer_name_overwritten::CAUSE,
];
