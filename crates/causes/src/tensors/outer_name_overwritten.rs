//! LT209: A loop variable overwrites an outer name.

use crate::{Cause, Fix, Language, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT209",
    name: "outer-name-overwritten",
    title: "A loop variable overwrites an outer name",
    severity: Severity::Habit,
    happens: "A comprehension's or a loop's variable has the name of something outside that is still used: `node`, \
                  `model`, `x`.",
    keeps: "The name now means the last element. What was meant to be released by `del` or by moving it away is \
                another object, and stays.",
    shows: "Something that should be freed after its turn is not: memory climbs by one per round.",
    fix: Fix {
        text: "Give the inner variable another name.",
        language: Language::Python,
        before: r#"for node in nodes:
    for node in node.neighbours:
        train(node)
    node.to("cpu")"#,
        after: r#"for node in nodes:
    for neighbour in node.neighbours:
        train(neighbour)
    node.to("cpu")"#,
    },
    harmless: "Comprehensions have a scope of their own in Python 3.",
    sources: &["zoo/02_node_preload.py"],
    signature: None,
    rule: None,
};
