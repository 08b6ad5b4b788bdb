//! Containers, caches, hooks, loggers.

mod bounded_window;
mod cache_without_bound;
mod callback_keeps_batch;
mod container_without_bound;
mod figures_never_closed;
mod hooks_registered_again;
mod images_kept_open;
pub(crate) mod logger_keeps_values;
mod lru_cache_on_method;
mod made_with_model;
mod mutable_default;
mod progress_bar_postfix;

use crate::Cause;

/// Their pages, by id.
pub(crate) const ALL: &[&Cause] = &[
    &container_without_bound::CAUSE,
    &logger_keeps_values::CAUSE,
    &progress_bar_postfix::CAUSE,
    &hooks_registered_again::CAUSE,
    &callback_keeps_batch::CAUSE,
    &lru_cache_on_method::CAUSE,
    &cache_without_bound::CAUSE,
    &mutable_default::CAUSE,
    &figures_never_closed::CAUSE,
    &bounded_window::CAUSE,
    &images_kept_open::CAUSE,
];
