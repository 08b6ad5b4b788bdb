//! LT503: Samples are moved to the GPU in `__getitem__`.

use crate::{Cause, Fix, Language, Live, Role, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT503",
    name: "device-in-getitem",
    title: "Samples are moved to the GPU in `__getitem__`",
    severity: Severity::Habit,
    happens: "`__getitem__` or the collate function calls `.cuda()` or `.to(device)`.",
    keeps: "With forked workers it fails. With spawned ones each process gets a CUDA context of its own (300 to 500 MB on the card), and samples in the \
                queue lie on the GPU: prefetch x workers of them.",
    shows: "Several processes on the card, each with the same constant size.",
    fix: Fix {
        text: "Return CPU tensors; move the batch in the loop, with `pin_memory=True`.",
        language: Language::Python,
        before: r#"def __getitem__(self, i):
    return self.x[i].cuda()"#,
        after: r#"def __getitem__(self, i):
    return self.x[i]"#,
    },
    harmless: "Without workers it is only slow.",
    sources: &["https://docs.pytorch.org/docs/stable/data.html", "https://docs.pytorch.org/docs/stable/notes/cuda.html"],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.role == Some(Role::Worker) && live.on_gpu).then_some(90)
}
