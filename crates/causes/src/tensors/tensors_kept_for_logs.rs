//! LT202: Tensors are kept where numbers would do.

use crate::kept::{Sort, in_evaluation, sort};
use crate::keys::is_added;
use crate::words::{code, function};
use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::check::{Check, Hit};
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
    sources: &["https://docs.pytorch.org/docs/stable/notes/faq.html", "zoo/18_wrapper_child.py", "zoo/21_slow_under_spikes.py"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.holds_tensors() && !live.has_graph() && live.adds_to_container() && live.phase != Some(Phase::Validation)).then_some(70)
}

/// Tensors without a graph are put somewhere for good, anywhere but in an evaluation (LT201).
fn rule(check: &Check) -> Vec<Hit> {
    let puts = check.kept_for_good().iter().filter(|put| {
        matches!(sort(check, put), Sort::Data | Sort::Batch)
            && is_added(check, put)
            && !in_evaluation(check, put)
            // With its graph it is LT302's.
            && !crate::containers::logger_keeps_values::keeps(check, put)
    });
    puts.map(|put| {
        Hit::new(put.file, put.offset).saying(format!(
            "{} keeps {} each time that {} runs, and nothing ever takes one out",
            code(check, put.file, put.container),
            code(check, put.file, put.value),
            function(check, put.file, put.scope)
        ))
    })
    .collect()
}
