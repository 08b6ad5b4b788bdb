//! LT204: A small view keeps a large storage.

use crate::{Cause, Fix, Language, Live, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT204",
    name: "view-keeps-storage",
    title: "A small view keeps a large storage",
    severity: Severity::Leak,
    happens: "One row, one pixel or one element of a batch is kept as a slice.",
    keeps: "A slice shares the storage of the whole: as long as the one element lives, so does the batch. The same \
                holds for numpy.",
    shows: "The kept tensors are tiny, the memory is not: growth of a batch's size per step.",
    fix: Fix {
        text: "Clone what is kept.",
        language: Language::Python,
        before: r#"examples.append(batch[0])"#,
        after: r#"examples.append(batch[0].clone())"#,
    },
    harmless: "Views that go with their step.",
    sources: &["https://docs.pytorch.org/docs/stable/tensor_view.html"],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.views && live.adds_to_container()).then_some(94)
}
