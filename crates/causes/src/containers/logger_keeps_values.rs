//! LT302: An experiment logger keeps what it was given.

use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::feeds::Kind;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT302",
    name: "logger-keeps-values",
    title: "An experiment logger keeps what it was given",
    severity: Severity::Leak,
    happens: "Tensors, images or figures are handed to a logger that keeps them until it flushes, or for the run's \
                  summary.",
    keeps: "The logger's history holds the objects themselves; tensors bring their graph along.",
    shows: "Growth per logged step, held by the logger's object.",
    fix: Fix {
        text: "Hand over numbers; images as small arrays; flush or finish where the logger has that.",
        language: Language::Python,
        before: r#"run.log({"loss": loss, "features": features})"#,
        after: r#"run.log({"loss": loss.item(), "features_norm": features.norm().item()})"#,
    },
    harmless: "Loggers that render at once to text or a file hold nothing afterwards.",
    sources: &["https://docs.wandb.ai/guides/track/log/", "zoo/11_logger_history.py"],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.statement == Some(Kind::Call) || live.owner_contains("log") && live.adds_to_container()).then_some(72)
}
