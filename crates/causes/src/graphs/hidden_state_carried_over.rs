//! LT105: A hidden state is carried over with its graph.

use crate::{Cause, Fix, Language, Live, Memory, Severity};
use lowtide_lint::feeds::Kind;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT105",
    name: "hidden-state-carried-over",
    title: "A hidden state is carried over with its graph",
    severity: Severity::Leak,
    happens: "A recurrent model's hidden state, a memory bank or a key-value state of one batch is given to the next.",
    keeps: "The state of every batch hangs on that of the batch before: the graph spans the whole epoch.",
    shows: "Growth and step time rise together, step by step, until the state is reset.",
    fix: Fix {
        text: "Detach the state between batches (truncated back-propagation through time).",
        language: Language::Python,
        before: r#"out, hidden = model(x, hidden)"#,
        after: r#"hidden = hidden.detach()
out, hidden = model(x, hidden)"#,
    },
    harmless: "A state that is carried over a few steps on purpose and then detached.",
    sources: &["https://docs.pytorch.org/docs/stable/notes/faq.html"],
    signature: Some(signature),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.kind == Memory::Graph && live.statement == Some(Kind::Accumulated)).then_some(70)
}
