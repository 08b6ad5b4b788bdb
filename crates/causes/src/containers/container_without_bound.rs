//! LT301: A container grows without bound.

use crate::{Cause, Fix, Language, Live, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT301",
    name: "container-without-bound",
    title: "A container grows without bound",
    severity: Severity::Leak,
    happens: "Something is appended, added or filed at every step, and nothing is ever taken out.",
    keeps: "The container holds every element, and each element all that it refers to.",
    shows: "A straight line per step or per epoch; the container's number of elements is that of the steps.",
    fix: Fix {
        text: "Decide how much of it is needed: a number, the last N (`deque(maxlen=N)`), or a file.",
        language: Language::Python,
        before: r#"self.trace.append(record)"#,
        after: r#"self.trace = collections.deque(maxlen=1000)
self.trace.append(record)"#,
    },
    harmless: "A container with a ceiling: of data-set size, of classes, of layers.",
    sources: &["https://docs.python.org/3/library/collections.html", "zoo/32_step_dict.py"],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.adds_to_container()).then_some(40)
}
