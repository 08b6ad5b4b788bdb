//! EXPLAIN: the catalogue of causes. Why memory is kept, how it shows in a run, how to fix it, when it is harmless.
//!
//! One file per cause holds its page and its live signature, by which a finding of a run gets its cause. The same pages are what
//! `lowtide causes` shows and what `docs/causes` is generated from (`cargo run -p lowtide-causes --example pages`).
//!
//! Ids say what sort of thing is kept: LT1xx graphs, LT2xx tensors and batches, LT3xx containers, caches, hooks and
//! loggers, LT4xx data loading and workers, LT5xx what lies on the GPU, LT6xx the collector and the allocator, LT7xx habits
//! of training loops. An id never changes its meaning.

mod audit;
mod cause;
mod collector;
mod containers;
mod fixes;
mod gpu;
mod graphs;
mod habits;
mod kept;
mod keys;
mod let_go;
mod live;
mod loading;
mod render;
mod rules;
mod tensors;
mod words;

pub use audit::{Audited, Does, datasets};
pub use cause::{Cause, Fix, Language, Severity};
pub use fixes::{Fixed, fix_part};
pub use live::{Class, Container, Live, Match, Memory, Role, RootKind, matching};
pub use render::{index, json, json_list, list, markdown, text};
pub use rules::{Checked, Finding, check, check_parts, check_scripts};

/// All causes, by id.
pub fn all() -> impl Iterator<Item = &'static Cause> {
    [graphs::ALL, tensors::ALL, containers::ALL, loading::ALL, gpu::ALL, collector::ALL, habits::ALL]
        .into_iter()
        .flatten()
        .copied()
}

/// A cause by its id or its name, in whatever case.
#[must_use]
pub fn by_id(id: &str) -> Option<&'static Cause> {
    all().find(|cause| cause.id.eq_ignore_ascii_case(id) || cause.name.eq_ignore_ascii_case(id))
}
