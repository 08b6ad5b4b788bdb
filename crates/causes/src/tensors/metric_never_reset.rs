//! LT205: A metric is never reset.

use crate::{Cause, Fix, Language, Live, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT205",
    name: "metric-never-reset",
    title: "A metric is never reset",
    severity: Severity::Leak,
    happens: "A metric object is updated in every batch, and `reset()` is never called.",
    keeps: "Metrics that need all predictions (AUROC, mAP, anything with a `cat` state) keep every batch in a list.",
    shows: "Growth per batch in the phase that the metric is used in. And the values are those of the whole run, \
                not of the epoch.",
    fix: Fix {
        text: "Reset after `compute`. With Lightning, log the metric object itself: it is then reset for you.",
        language: Language::Python,
        before: r#"metric.update(pred, y)
score = metric.compute()"#,
        after: r#"metric.update(pred, y)
score = metric.compute()
metric.reset()"#,
    },
    harmless: "Metrics that sum into a few numbers do not grow, only report the wrong thing.",
    sources: &["https://lightning.ai/docs/torchmetrics/stable/pages/overview.html"],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.owner_contains("metric") && live.adds_to_container()).then_some(80)
}
