//! LT208: All episodes of a validation are held at once.

use crate::{Cause, Class, Fix, Language, Live, Severity};
use lowtide_lint::feeds::Phase;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT208",
    name: "episodes-held-at-once",
    title: "All episodes of a validation are held at once",
    severity: Severity::Spike,
    happens: "Episodes, queries or videos of a whole validation are loaded or computed before the first is scored.",
    keeps: "The peak has the size of all, though one at a time is needed.",
    shows: "A spike at each validation, of constant height, that comes back entirely.",
    fix: Fix {
        text: "Score each when it is there (a generator), and keep the numbers.",
        language: Language::Python,
        before: r#"episodes = [make(i) for i in range(500)]
scores = [score(e) for e in episodes]"#,
        after: r#"scores = [score(make(i)) for i in range(500)]"#,
    },
    harmless: "If the spike fits the limit, it is only a spike.",
    sources: &["zoo/19_val_spike.py"],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.class == Some(Class::Spikes) && live.phase == Some(Phase::Validation)).then_some(60)
}
