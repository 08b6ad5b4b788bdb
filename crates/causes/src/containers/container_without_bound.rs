//! LT301: A container grows without bound.

use crate::kept::{Sort, never_repeats, sort};
use crate::words::{code, function};
use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::check::{Check, Confidence, Hit};
use lowtide_lint::feeds::Kind;

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
    sources: &["https://docs.python.org/3/library/collections.html"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.adds_to_container() || live.statement == Some(Kind::Call) && live.container.is_some()).then_some(40)
}

/// Something is put somewhere for good that no other rule is about. How large it is the source does not tell: a hint.
fn rule(check: &Check) -> Vec<Hit> {
    let other = check
        .kept_for_good()
        .iter()
        .filter(|put| sort(check, put) == Sort::Other && put.key.is_none_or(|key| !never_repeats(check, put, key)));
    other
        .map(|put| {
            Hit::new(put.file, put.offset).with(Confidence::Low).saying(format!(
                "{} gets {} each time that {} runs, and nothing ever takes one out",
                code(check, put.file, put.container),
                code(check, put.file, put.value),
                function(check, put.file, put.scope)
            ))
        })
        .collect()
}
