//! LT601: Reference cycles wait for the collector.

use crate::{Cause, Class, Fix, Language, Live, RootKind, Severity};
use lowtide_lint::feeds::Kind;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT601",
    name: "cycles-collected-late",
    title: "Reference cycles wait for the collector",
    severity: Severity::Sawtooth,
    happens: "Objects refer to each other in a circle: a trainer and its callback, a context and its hook.",
    keeps: "Reference counts never reach zero. Only the garbage collector frees them, when enough *objects* were \
                made; a few objects with large tensors do not trigger it.",
    shows: "A sawtooth whose teeth end when the collector runs. With glibc, RSS may stay at the top.",
    fix: Fix {
        text: "Break the circle (a weak reference, `del`), or call `gc.collect()` once per epoch.",
        language: Language::Python,
        before: r#"self.ctx = ctx"#,
        after: r#"self.ctx = weakref.ref(ctx)"#,
    },
    harmless: "Where the peak fits, it is only pressure, no leak.",
    sources: &["https://docs.python.org/3/library/gc.html", "zoo/20_gc_sawtooth.py"],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.root == Some(RootKind::Garbage) && live.statement != Some(Kind::CollectorOff) || live.class == Some(Class::Sawtooth))
        .then_some(75)
}
