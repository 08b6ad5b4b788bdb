//! LT206: Evaluation runs without `no_grad`.

use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::feeds::Phase;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT206",
    name: "evaluation-with-gradients",
    title: "Evaluation runs without `no_grad`",
    severity: Severity::Spike,
    happens: "The validation calls the model as training does; `model.eval()` changes layers, not the recording of \
                  gradients.",
    keeps: "Each batch records a graph, and so holds all activations until its output goes. With outputs that are \
                kept it is LT103.",
    shows: "Peaks in validation as high as in training, at a batch size that should fit easily.",
    fix: Fix {
        text: "Put it under `torch.no_grad()` or `torch.inference_mode()`.",
        language: Language::Python,
        before: r#"model.eval()
for x in loader:
    score(model(x))"#,
        after: r#"model.eval()
with torch.inference_mode():
    for x in loader:
        score(model(x))"#,
    },
    harmless: "Where gradients are what is evaluated: adversarial examples, saliency maps.",
    sources: &["https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html"],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.phase == Some(Phase::Validation) && live.has_graph()).then_some(88)
}
