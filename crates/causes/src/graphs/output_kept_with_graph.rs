//! LT103: Outputs are kept together with their graph.

use crate::{Cause, Fix, Language, Live, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT103",
    name: "output-kept-with-graph",
    title: "Outputs are kept together with their graph",
    severity: Severity::Leak,
    happens: "Outputs or losses are appended to a list or filed in a dictionary as they come from the model.",
    keeps: "Each kept tensor holds the graph that made it: the inputs, the activations, and the parameters' \
                gradient nodes of its step.",
    shows: "Much more memory than the kept tensors themselves have: one batch's activations for every element of \
                the list. Where the list is cleared at the epoch's end, a sawtooth.",
    fix: Fix {
        text: "Detach before keeping; move to the CPU what is only looked at later.",
        language: Language::Python,
        before: r#"self.outputs.append(out)"#,
        after: r#"self.outputs.append(out.detach().cpu())"#,
    },
    harmless: "Outputs that are kept for one loss over several of them, and go with its `backward`.",
    sources: &[
        "https://docs.pytorch.org/docs/stable/notes/faq.html",
        "zoo/03_adapter_graph_epoch.py",
        "zoo/05_progress_history.py",
    ],
    signature: Some(signature),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.has_graph() && live.adds_to_container()).then_some(90)
}
