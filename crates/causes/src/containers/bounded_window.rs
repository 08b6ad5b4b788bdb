//! LT310: A history with a limit.

use crate::{Cause, Fix, Language, Live, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT310",
    name: "bounded-window",
    title: "A history with a limit",
    severity: Severity::Harmless,
    happens: "The last N gradients, losses or frames are kept.",
    keeps: "It grows until it has N elements, and then stays.",
    shows: "Growth that ends at a ceiling which can be computed: N times the size of an element. A short watch \
                cannot tell it from a leak.",
    fix: Fix {
        text: "Nothing to fix. Make N smaller if the ceiling is too high.",
        language: Language::Python,
        before: r#"self.grad_norms = deque(maxlen=100)"#,
        after: r#"self.grad_norms = deque(maxlen=100)"#,
    },
    harmless: "Always, as long as the elements themselves have a bounded size: a window of tensors with graphs has \
                   not (LT108).",
    sources: &["https://docs.python.org/3/library/collections.html", "zoo/22_warmup_plateau.py"],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.bounded && live.adds_to_container()).then_some(97)
}
