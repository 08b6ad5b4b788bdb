//! LT201: A whole validation's predictions are collected, and live on.

use crate::kept::{Sort, in_evaluation, sort};
use crate::keys::is_added;
use crate::words::{code, function};
use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::check::{Check, Hit};
use lowtide_lint::feeds::Phase;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT201",
    name: "validation-outputs-collected",
    title: "A whole validation's predictions are collected, and live on",
    severity: Severity::Leak,
    happens: "Predictions, targets or scores of every batch are collected on an object that outlives the \
                  validation, as `self.outputs` of a LightningModule does.",
    keeps: "The list is filled by each validation and emptied by none; or it is on the GPU, where it competes with \
                the activations.",
    shows: "Growth by steps, one per validation, of the size of its outputs; none in training.",
    fix: Fix {
        text: "Clear it where the metric was computed, or better, accumulate the metric and not the predictions.",
        language: Language::Python,
        before: r#"def on_validation_epoch_end(self):
    self.log("score", torch.cat(self.outputs).mean())"#,
        after: r#"def on_validation_epoch_end(self):
    self.log("score", torch.cat(self.outputs).mean())
    self.outputs.clear()"#,
    },
    harmless: "A local list of the validation's function: it goes when the function returns, and is a spike.",
    sources: &["https://lightning.ai/docs/pytorch/stable/common/lightning_module.html", "zoo/10_val_lists.py"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.phase == Some(Phase::Validation) && live.adds_to_container() && !live.has_graph()).then_some(85)
}

/// Tensors or arrays of an evaluation are put somewhere for good.
fn rule(check: &Check) -> Vec<Hit> {
    let puts = check
        .kept_for_good()
        .iter()
        .filter(|put| matches!(sort(check, put), Sort::Data | Sort::Batch) && is_added(check, put) && in_evaluation(check, put));
    puts.map(|put| {
        Hit::new(put.file, put.offset).saying(format!(
            "{} gets {} of each batch in {}, and nothing ever takes one out",
            code(check, put.file, put.container),
            code(check, put.file, put.value),
            function(check, put.file, put.scope)
        ))
    })
    .collect()
}
