//! LT106: The graph is retained on purpose, in a loop.

use crate::{Cause, Fix, Language, Live, Memory, Severity};
use lowtide_lint::feeds::Kind;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT106",
    name: "graph-retained",
    title: "The graph is retained on purpose, in a loop",
    severity: Severity::Leak,
    happens: "`backward(retain_graph=True)` or `create_graph=True` runs in every step.",
    keeps: "`backward` then does not free what the graph saved. It stays as long as anything points at the graph: \
                the loss, an output, or with `create_graph` the gradients themselves, in a circle that only the \
                collector breaks.",
    shows: "Activations of the last step live through the next; with a reference kept anywhere, growth by one \
                batch's activations per step.",
    fix: Fix {
        text: "Add the losses and call `backward` once. For second derivatives use `torch.autograd.grad`, and drop \
                   the gradients by `zero_grad(set_to_none=True)`.",
        language: Language::Python,
        before: r#"loss_a.backward(retain_graph=True)
loss_b.backward()"#,
        after: r#"(loss_a + loss_b).backward()"#,
    },
    harmless: "Two backward passes through one graph in the same step, when nothing of it is kept afterwards.",
    sources: &["https://docs.pytorch.org/docs/stable/notes/autograd.html"],
    signature: Some(signature),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.kind == Memory::Graph && live.statement == Some(Kind::Retained)).then_some(95)
}
