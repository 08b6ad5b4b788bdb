//! LT306: `lru_cache` on a method keeps every instance.

use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::feeds::Kind;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT306",
    name: "lru-cache-on-method",
    title: "`lru_cache` on a method keeps every instance",
    severity: Severity::Leak,
    happens: "`@lru_cache` or `@cache` decorates a method. The instance is a part of each key.",
    keeps: "The cache lives as long as the class. It keeps every instance that the method was called on, with \
                arguments and results; with `maxsize=None` without bound.",
    shows: "Instances that nobody uses any more stay alive, held by a cache; growth with each new argument.",
    fix: Fix {
        text: "Cache on the instance (`cached_property`, a dictionary in `__init__`), or give a limit and plain keys.",
        language: Language::Python,
        before: r#"@lru_cache(maxsize=None)
def features(self, x):
    return self.encoder(x)"#,
        after: r#"def __init__(self, encoder):
    self.encoder = encoder
    self.features = lru_cache(maxsize=256)(encoder)"#,
    },
    harmless: "A cache with a limit, of small results, on a class with one instance.",
    sources: &["https://docs.python.org/3/library/functools.html", "https://docs.python.org/3/faq/programming.html"],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.statement == Some(Kind::Cache)).then_some(95)
}
