//! LT303: A progress bar is given tensors (a myth, mostly).

use crate::{Cause, Fix, Language, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT303",
    name: "progress-bar-postfix",
    title: "A progress bar is given tensors (a myth, mostly)",
    severity: Severity::Harmless,
    happens: "`set_postfix(loss=loss)` is often named as a leak.",
    keeps: "tqdm turns the values into text at once and keeps the text: nothing is held. A bar of one's own that \
                keeps the values does leak (LT103).",
    shows: "No growth. Reading the value from the GPU makes each step wait, which is a cost of time.",
    fix: Fix {
        text: "Nothing to fix for the memory. Pass `.item()` every few steps to save time.",
        language: Language::Python,
        before: r#"bar.set_postfix(loss=loss)"#,
        after: r#"if step % 20 == 0:
    bar.set_postfix(loss=loss.item())"#,
    },
    harmless: "Always with tqdm 4; look at what other bars keep.",
    sources: &["https://tqdm.github.io/docs/tqdm/", "zoo/04_tqdm_postfix.py", "zoo/05_progress_history.py"],
    signature: None,
    rule: None,
};
