//! LT405: Tensors in shared memory are held.

use crate::{Cause, Fix, Language, Live, Memory, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT405",
    name: "shared-memory-held",
    title: "Tensors in shared memory are held",
    severity: Severity::Leak,
    happens: "Batches from workers, or tensors shared between processes, are kept.",
    keeps: "Each lies in a file of `/dev/shm` (or behind a file descriptor) until the last process lets go.",
    shows: "Shared memory and file descriptors grow, anonymous memory does not. In a container `/dev/shm` has 64 \
                MiB by default, and its end is \"bus error\".",
    fix: Fix {
        text: "Copy what is kept (`.clone()`), and let the shared one go.",
        language: Language::Python,
        before: r#"board.append(batch)"#,
        after: r#"board.append(batch.clone())"#,
    },
    harmless: "Batches that go with their step.",
    sources: &["https://docs.pytorch.org/docs/stable/multiprocessing.html", "zoo/26_shm_held.py"],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.kind == Memory::Shared).then_some(90)
}
