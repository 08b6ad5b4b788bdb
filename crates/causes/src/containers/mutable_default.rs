//! LT308: A default argument is changed.

use crate::{Cause, Fix, Language, Live, RootKind, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT308",
    name: "mutable-default",
    title: "A default argument is changed",
    severity: Severity::Leak,
    happens: "`def f(x, seen=[])` appends to `seen`. The list is made once, with the function.",
    keeps: "The function keeps its defaults for as long as it lives, and every call adds to the same list.",
    shows: "Growth per call of something that looks local.",
    fix: Fix {
        text: "Use `None`, and make the list inside.",
        language: Language::Python,
        before: r#"def collect(x, into=[]):
    into.append(x)"#,
        after: r#"def collect(x, into=None):
    into = [] if into is None else into
    into.append(x)"#,
    },
    harmless: "A default that is only read.",
    sources: &["https://docs.python.org/3/faq/programming.html"],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.root == Some(RootKind::Default)).then_some(96)
}
