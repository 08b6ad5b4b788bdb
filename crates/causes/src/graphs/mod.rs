//! Autograd graphs that are kept.

mod cached_embedding_with_graph;
mod graph_retained;
mod hidden_state_carried_over;
mod loss_summed_with_graph;
mod output_kept_with_graph;
mod precomputed_embedding_not_detached;
mod replay_buffer_with_graph;
mod running_average_with_graph;

pub(crate) use cached_embedding_with_graph::is_cached;

use crate::Cause;

/// Their pages, by id.
pub(crate) const ALL: &[&Cause] = &[
    &loss_summed_with_graph::CAUSE,
    &running_average_with_graph::CAUSE,
    &output_kept_with_graph::CAUSE,
    &cached_embedding_with_graph::CAUSE,
    &hidden_state_carried_over::CAUSE,
    &graph_retained::CAUSE,
    &precomputed_embedding_not_detached::CAUSE,
    &replay_buffer_with_graph::CAUSE,
];
