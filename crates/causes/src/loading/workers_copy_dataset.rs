//! LT401: DataLoader workers copy the data set page by page.

use crate::{Cause, Fix, Language, Live, Role, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT401",
    name: "workers-copy-dataset",
    title: "DataLoader workers copy the data set page by page",
    severity: Severity::Bounded,
    happens: "The data set holds many Python objects (a list of paths, of dicts), and workers read it.",
    keeps: "Workers are forked and share the parent's pages at first. Reading a Python object writes its reference \
                count, and the kernel copies the page: every worker ends with a copy of its own.",
    shows: "Private memory of each worker climbs during the first epoch, and stops at the size of the data set per \
                worker. PSS shows it, RSS hides it.",
    fix: Fix {
        text: "Hold the samples in one array: numpy, torch, pyarrow, or a file that is mapped. Fewer workers cost \
                   less.",
        language: Language::Python,
        before: r#"self.samples = [(path, label) for path, label in index]"#,
        after: r#"self.paths = numpy.array([path for path, label in index])
self.labels = numpy.array([label for path, label in index])"#,
    },
    harmless: "It is bounded by data set times workers: no leak if that fits.",
    sources: &[
        "https://github.com/pytorch/pytorch/issues/13246",
        "https://docs.pytorch.org/docs/stable/data.html",
        "zoo/16_worker_cow.py",
    ],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.role == Some(Role::Worker) && live.statement.is_none()).then_some(70)
}
