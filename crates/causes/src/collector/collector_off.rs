//! LT602: The garbage collector is off.

use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::feeds::Kind;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT602",
    name: "collector-off",
    title: "The garbage collector is off",
    severity: Severity::Leak,
    happens: "`gc.disable()`, `gc.freeze()` or `gc.set_threshold(0)` for speed, and never on again.",
    keeps: "Every cycle that the program or its libraries make stays for ever.",
    shows: "Growth of unreachable objects; `gc.collect()` by hand frees them all.",
    fix: Fix {
        text: "Collect by hand at each epoch's end, or set a threshold instead.",
        language: Language::Python,
        before: r#"gc.disable()"#,
        after: r#"gc.disable()
for epoch in range(epochs):
    train()
    gc.collect()"#,
    },
    harmless: "Where collections are called by hand, as some frameworks do to keep ranks in step.",
    sources: &["https://docs.python.org/3/library/gc.html"],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.statement == Some(Kind::CollectorOff)).then_some(96)
}
