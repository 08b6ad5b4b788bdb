//! LT102: A running average is updated with the graph.

use crate::{Cause, Fix, Language, Live, Memory, Severity};
use lowtide_lint::feeds::Kind;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT102",
    name: "running-average-with-graph",
    title: "A running average is updated with the graph",
    severity: Severity::Leak,
    happens: "An exponential average of losses, features or embeddings is computed from its last value and a \
                  tensor that requires gradients.",
    keeps: "Each value hangs on the one before it. The chain of nodes, with what they saved, reaches back to the \
                first step.",
    shows: "Steady growth per step that no epoch ends, and that goes on through validation where the average is \
                updated there. Later, `backward` through the average gets slower and slower.",
    fix: Fix {
        text: "Detach what goes into the average, or update it in place under `no_grad`.",
        language: Language::Python,
        before: r#"ema = 0.99 * ema + 0.01 * features"#,
        after: r#"ema = 0.99 * ema + 0.01 * features.detach()"#,
    },
    harmless: "An average of plain numbers, or of tensors that were made under `no_grad`.",
    sources: &["https://docs.pytorch.org/docs/stable/notes/faq.html", "zoo/08_text_embed_ema.py"],
    signature: Some(signature),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.kind == Memory::Graph && live.statement == Some(Kind::Accumulated)).then_some(80)
}
