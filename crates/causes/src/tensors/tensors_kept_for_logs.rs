//! LT202: Tensors are kept where numbers would do.

use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::feeds::Phase;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT202",
    name: "tensors-kept-for-logs",
    title: "Tensors are kept where numbers would do",
    severity: Severity::Leak,
    happens: "Losses, norms or samples of every step are stored as tensors, often cloned, for a plot or a log at \
                  the end.",
    keeps: "Each element is a Python object, a C++ tensor and a storage of at least 64 bytes; on the GPU at least \
                512. A clone of a batch keeps the batch's size.",
    shows: "A list whose number of elements is the number of steps; growth per step, small or of a batch's size.",
    fix: Fix {
        text: "Store `.item()` or a small numpy array; of images keep a few.",
        language: Language::Python,
        before: r#"history.append(loss.detach().clone())"#,
        after: r#"history.append(loss.item())"#,
    },
    harmless: "A few values per epoch; a window with a limit (LT310).",
    sources: &["https://docs.pytorch.org/docs/stable/notes/faq.html", "zoo/21_slow_under_spikes.py"],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.holds_tensors() && !live.has_graph() && live.adds_to_container() && live.phase != Some(Phase::Validation)).then_some(70)
}
