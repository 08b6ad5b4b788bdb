//! LT502: Preloaded train, validation and test data are moved wholesale.

use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::feeds::Kind;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT502",
    name: "splits-moved-wholesale",
    title: "Preloaded train, validation and test data are moved wholesale",
    severity: Severity::Leak,
    happens: "An object holds all splits of a node or a fold, and is moved to the device when its turn comes.",
    keeps: "All splits go along, though only one is used; and nothing moves them back, so that each node visited \
                stays.",
    shows: "A jump per node or round, of the size of all its splits.",
    fix: Fix {
        text: "Keep the data on the CPU and move each batch; if it must be moved, move it back.",
        language: Language::Python,
        before: r#"node.to("cuda")
train(node)"#,
        after: r#"for x, y in node.loader("train"):
    step(x.to("cuda"), y.to("cuda"))"#,
    },
    harmless: "One node whose data fits.",
    sources: &["zoo/02_node_preload.py"],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.holds_tensors() && live.on_gpu && live.statement == Some(Kind::Item)).then_some(75)
}
