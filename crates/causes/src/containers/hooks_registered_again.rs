//! LT304: Hooks are registered again and again.

use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::feeds::Kind;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT304",
    name: "hooks-registered-again",
    title: "Hooks are registered again and again",
    severity: Severity::Leak,
    happens: "`register_forward_hook` and the like run in a loop or in a function that is called in one, and the \
                  handle is not removed.",
    keeps: "The module keeps every hook, and each hook what it closes over. Each forward calls all of them, so \
                that time grows, too.",
    shows: "Memory and time per step rise together; the module's hook dictionary gets longer.",
    fix: Fix {
        text: "Register once, or remove the handle when it has done its work.",
        language: Language::Python,
        before: r#"for batch in loader:
    layer.register_forward_hook(save)
    model(batch)"#,
        after: r#"handle = layer.register_forward_hook(save)
for batch in loader:
    model(batch)
handle.remove()"#,
    },
    harmless: "A hook registered once, however long it stays.",
    sources: &["https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html"],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.statement == Some(Kind::Hook)).then_some(95)
}
