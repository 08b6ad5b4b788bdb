//! LT501: A Dataset's `.to(device)` moves every sample.

use crate::{Cause, Class, Fix, Language, Live, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT501",
    name: "dataset-to-device",
    title: "A Dataset's `.to(device)` moves every sample",
    severity: Severity::Floor,
    happens: "The data set has a `to` method that moves all its samples at once, and training calls it.",
    keeps: "The whole data set lies on the GPU for the run, though one batch at a time is needed; with a copy left \
                in RAM it is there twice.",
    shows: "One jump at the start, of the data set's size, and a floor that stays.",
    fix: Fix {
        text: "Move batches, not data sets.",
        language: Language::Python,
        before: r#"dataset.to("cuda")"#,
        after: r#"for x, y in loader:
    x, y = x.to("cuda", non_blocking=True), y.to("cuda", non_blocking=True)"#,
    },
    harmless: "A data set that is small beside the GPU: it saves the copies.",
    sources: &["https://docs.pytorch.org/docs/stable/data.html", "zoo/01_ds_to_device.py"],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.class == Some(Class::Floor) && live.holds_tensors()).then_some(70)
}
