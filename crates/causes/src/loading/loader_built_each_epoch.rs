//! LT403: A DataLoader with persistent workers is built anew each epoch.

use crate::{Cause, Fix, Language, Live, Memory, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT403",
    name: "loader-built-each-epoch",
    title: "A DataLoader with persistent workers is built anew each epoch",
    severity: Severity::Leak,
    happens: "`DataLoader(..., persistent_workers=True)` stands inside the epoch loop, or its iterator is kept.",
    keeps: "Persistent workers live as long as their loader's iterator. Anything that keeps the old one (a list, a \
                traceback, a cycle) keeps its processes.",
    shows: "The number of processes rises by the number of workers each epoch.",
    fix: Fix {
        text: "Build it once, before the loop.",
        language: Language::Python,
        before: r#"for epoch in range(epochs):
    for batch in DataLoader(data, num_workers=4, persistent_workers=True):
        step(batch)"#,
        after: r#"loader = DataLoader(data, num_workers=4, persistent_workers=True)
for epoch in range(epochs):
    for batch in loader:
        step(batch)"#,
    },
    harmless: "Without persistent workers each epoch's workers end with it: churn, and time, but no growth.",
    sources: &["https://docs.pytorch.org/docs/stable/data.html", "zoo/40_zombie_workers.py", "zoo/43_worker_respawn.py"],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.kind == Memory::Processes).then_some(85)
}
