//! LT307: A cache is never cleared.

use crate::kept::{Sort, never_repeats, sort};
use crate::words::{code, function};
use crate::{Cause, Container, Fix, Language, Live, Severity};
use lowtide_lint::check::{Check, Hit};
use lowtide_lint::feeds::Kind;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT307",
    name: "cache-without-bound",
    title: "A cache is never cleared",
    severity: Severity::Leak,
    happens: "A dictionary on the model, on the data set or at module level, or `@cache` on a function, answers \
                  repeated questions, and nothing ever leaves it.",
    keeps: "Every different key stays. With keys that never repeat (a step, a random crop, a tensor's id) it is a \
                list in disguise.",
    shows: "Growth that bends where keys repeat, and stops when all have been seen; a straight line where they do not.",
    fix: Fix {
        text: "Give it a bound, key it by what repeats, or clear it between epochs.",
        language: Language::Python,
        before: r#"self.cache[key] = value"#,
        after: r#"self.cache[key] = value
if len(self.cache) > 1000:
    self.cache.pop(next(iter(self.cache)))"#,
    },
    harmless: "A cache whose keys are few: its ceiling can be computed.",
    sources: &["zoo/32_step_dict.py", "zoo/44_feature_cache.py"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    let of_dict = live.statement == Some(Kind::Item) && live.container == Some(Container::Dict) && !live.has_graph();
    match live.statement {
        // A decorator's cache says so itself.
        Some(Kind::Cache) if !live.in_class => Some(95),
        _ => of_dict.then_some(65),
    }
}

/// A dictionary that is kept for good is filed by what never comes again: the step, a tensor, an address, a time.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for put in check.kept_for_good() {
        let Some(key) = put.key else { continue };
        if never_repeats(check, put, key) && matches!(sort(check, put), Sort::Other | Sort::Cached) {
            hits.push(Hit::new(put.file, put.offset).saying(format!(
                "{} gets an entry each time that {} runs: {} never comes again, and nothing takes one out",
                code(check, put.file, put.container),
                function(check, put.file, put.scope),
                code(check, put.file, key)
            )));
        }
    }
    hits
}
