//! LT702: The optimizer is built anew in the loop.

use crate::{Cause, Fix, Language, Live, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT702",
    name: "optimizer-rebuilt",
    title: "The optimizer is built anew in the loop",
    severity: Severity::Habit,
    happens: "A new optimizer is made per epoch or round, and the old one is still referred to: by a scheduler, a \
                  list, a closure.",
    keeps: "Adam keeps two tensors per parameter: each old optimizer has twice the model's size.",
    shows: "Jumps of twice the model's size at the moments when it is rebuilt.",
    fix: Fix {
        text: "Build it once; to start over, clear its state.",
        language: Language::Python,
        before: r#"for stage in stages:
    optimizer = torch.optim.Adam(model.parameters())
    optimizers.append(optimizer)"#,
        after: r#"optimizer = torch.optim.Adam(model.parameters())
for stage in stages:
    optimizer.state.clear()"#,
    },
    harmless: "If nothing refers to the old one, it goes.",
    sources: &["https://docs.pytorch.org/docs/stable/optim.html"],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.objects_named(&["Adam", "AdamW", "SGD", "Optimizer"]) && live.adds_to_container()).then_some(85)
}
