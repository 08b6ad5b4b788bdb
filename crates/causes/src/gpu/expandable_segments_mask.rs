//! LT504: `expandable_segments` is set to hide a leak.

use crate::{Cause, Fix, Language, Severity};
use lowtide_lint::ask::{given, last_name, says};
use lowtide_lint::check::{Check, Confidence, Hit};
use lowtide_lint::model::{Expr, Ranged};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT504",
    name: "expandable-segments-mask",
    title: "`expandable_segments` is set to hide a leak",
    severity: Severity::Habit,
    happens: "`PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` was added when the run ran out of memory.",
    keeps: "It helps against fragmentation: reserved memory that no request fits into. It does nothing about \
                allocated memory that rises.",
    shows: "The end comes later, at a higher allocated value. Compare allocated, not reserved, at the same point \
                of each epoch.",
    fix: Fix {
        text: "Find what is kept first; then decide about fragmentation by its own numbers.",
        language: Language::Shell,
        before: r#"export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"#,
        after: r#"unset PYTORCH_CUDA_ALLOC_CONF"#,
    },
    harmless: "Where allocated is level and reserved is far above it, with batch shapes that change: that is what \
                   it is for.",
    sources: &["https://docs.pytorch.org/docs/stable/notes/cuda.html"],
    signature: None,
    rule: Some(rule),
};

/// The setting, wherever the program makes it. No source shows whether it hides anything: it is a hint.
fn rule(check: &Check) -> Vec<Hit> {
    let hit = |file: FileId, offset| {
        Hit::new(file, offset)
            .saying("`expandable_segments` helps against fragmentation only: allocated memory that rises goes on rising")
            .with(Confidence::Low)
    };
    let is_on = |value: &Expr| says(value, "expandable_segments:True");
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        let by_key = model.assigns.iter().filter(|assign| {
            is_on(assign.value) && matches!(assign.target, Expr::Subscript(item) if says(&item.slice, "ALLOC_CONF"))
        });
        hits.extend(by_key.map(|assign| hit(file, assign.target.start())));
        let by_call = model.calls.iter().filter(|call| {
            matches!(
                last_name(&call.call.func),
                Some("setdefault" | "putenv" | "_set_allocator_settings" | "_accelerator_setAllocatorSettings" | "setenv")
            ) && given(call.call).any(is_on)
        });
        hits.extend(by_call.map(|call| hit(file, call.call.start())));
        let by_dictionary = model.calls.iter().filter(|call| {
            last_name(&call.call.func) == Some("update")
                && given(call.call).any(|value| match value {
                    Expr::Dict(dict) => dict.items.iter().any(|item| is_on(&item.value)),
                    value => is_on(value),
                })
        });
        hits.extend(by_dictionary.map(|call| hit(file, call.call.start())));
    }
    hits
}
