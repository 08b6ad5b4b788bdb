//! LT505: An auxiliary batch is far larger than the main one.

use crate::{Cause, Class, Fix, Language, Live, Severity};
use lowtide_lint::feeds::Phase;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT505",
    name: "auxiliary-batch-too-large",
    title: "An auxiliary batch is far larger than the main one",
    severity: Severity::Spike,
    happens: "A second loss has a loader of its own: 64 triplets are 192 images beside a main batch of 8.",
    keeps: "Activations are those of the larger one. It decides the peak, whatever the main batch size is.",
    shows: "Spikes at the steps that have it; halving the main batch changes nothing.",
    fix: Fix {
        text: "Count images, not entries; split it into pieces with their own `backward`.",
        language: Language::Python,
        before: r#"triplets = next(triplet_loader)
loss = main_loss + triplet_loss(model(triplets))"#,
        after: r#"for part in next(triplet_loader).split(8):
    triplet_loss(model(part)).backward()"#,
    },
    harmless: "If the peak fits.",
    sources: &["zoo/12_triplet_spike.py"],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.class == Some(Class::Spikes) && live.phase == Some(Phase::Training)).then_some(55)
}
