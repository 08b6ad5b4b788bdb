//! LT705: `torch.compile` is called in a loop.

use crate::{Cause, Fix, Language, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT705",
    name: "compile-in-loop",
    title: "`torch.compile` is called in a loop",
    severity: Severity::Leak,
    happens: "The model, or a small function, is compiled inside the training loop or in a method that it calls.",
    keeps: "Every call makes a new compiled function with a cache of its own.",
    shows: "As LT704, once per iteration.",
    fix: Fix {
        text: "Compile once, outside.",
        language: Language::Python,
        before: r#"for batch in loader:
    step = torch.compile(train_step)
    step(batch)"#,
        after: r#"step = torch.compile(train_step)
for batch in loader:
    step(batch)"#,
    },
    harmless: "Never in a loop that goes on.",
    sources: &["https://docs.pytorch.org/docs/stable/user_guide/torch_compiler/torch.compiler_troubleshooting.html"],
    signature: None,
    rule: None,
};
