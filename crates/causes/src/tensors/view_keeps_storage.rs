//! LT204: A small view keeps a large storage.

use crate::kept::{Sort, is_added, sort};
use crate::words::code;
use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::check::{Check, Hit};

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
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    // What carries a graph is let go of by detaching it, whatever it is a part of.
    (live.views && live.adds_to_container() && !live.has_graph()).then_some(94)
}

/// A part of a tensor, without a copy, is put somewhere for good.
fn rule(check: &Check) -> Vec<Hit> {
    let puts = check.kept_for_good().iter().filter(|put| is_added(check, put) && sort(check, put) == Sort::View);
    puts.map(|put| {
        Hit::new(put.file, put.offset).saying(format!(
            "{} keeps {}, and with it all of the tensor that this is a part of",
            code(check, put.file, put.container),
            code(check, put.file, put.value)
        ))
    })
    .collect()
}
