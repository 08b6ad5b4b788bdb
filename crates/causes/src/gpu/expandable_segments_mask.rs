//! LT504: `expandable_segments` is set to hide a leak.

use crate::{Cause, Fix, Language, Severity};

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
    rule: None,
};
