//! LT101: A loss is summed up together with its graph.

use crate::{Cause, Fix, Language, Live, Memory, Severity};
use lowtide_lint::feeds::Kind;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT101",
    name: "loss-summed-with-graph",
    title: "A loss is summed up together with its graph",
    severity: Severity::Leak,
    happens: "A running total adds the loss tensor of every step. The sum is a tensor, too, and remembers how it \
                  was computed.",
    keeps: "The total's autograd graph has one addition more after every step, and each holds the whole graph of \
                its step: the activations, until `backward` frees them, and the nodes in any case. Nothing goes before \
                the total does.",
    shows: "Memory climbs by the same amount at every step and falls back where the total is set to zero, mostly \
                at the epoch's end. The nodes are C++ objects: a count of Python objects stays flat.",
    fix: Fix {
        text: "Add the value without its graph: `detach()`, or `item()` where the wait for the GPU does not matter.",
        language: Language::Python,
        before: r#"total = 0
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    total += loss"#,
        after: r#"total = 0.0
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    total += loss.detach()"#,
    },
    harmless: "Losses of one step that are added before `backward` belong together and go with it. Under `no_grad` \
                   there is no graph.",
    sources: &["https://docs.pytorch.org/docs/stable/notes/faq.html"],
    signature: Some(signature),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.kind == Memory::Graph && live.statement == Some(Kind::Accumulated)).then_some(90)
}
