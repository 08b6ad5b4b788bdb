//! LT404: A cache in the data set exists once per worker.

use crate::{Cause, Fix, Language, Live, Role, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT404",
    name: "cache-in-worker",
    title: "A cache in the data set exists once per worker",
    severity: Severity::Bounded,
    happens: "`__getitem__` stores decoded samples on the data set, to be faster in the next epoch.",
    keeps: "Each worker has its own copy of the data set and fills its own cache; without persistent workers it is \
                thrown away each epoch, and without a bound it grows to the whole data set, per worker.",
    shows: "Workers grow, the trainer does not.",
    fix: Fix {
        text: "Cache on disk or in shared memory, or bound it.",
        language: Language::Python,
        before: r#"def __getitem__(self, i):
    if i not in self.cache:
        self.cache[i] = decode(i)
    return self.cache[i]"#,
        after: r#"def __getitem__(self, i):
    return self.decoded[i]  # one memory-mapped array, filled once"#,
    },
    harmless: "Its ceiling is data set x workers: harmless where that fits.",
    sources: &["https://docs.pytorch.org/docs/stable/data.html", "zoo/25_worker_leak.py", "zoo/45_one_of_four.py"],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.role == Some(Role::Worker) && live.adds_to_container()).then_some(82)
}
