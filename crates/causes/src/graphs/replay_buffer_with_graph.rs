//! LT108: A replay buffer keeps graphs.

use crate::{Cause, Container, Fix, Language, Live, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT108",
    name: "replay-buffer-with-graph",
    title: "A replay buffer keeps graphs",
    severity: Severity::Leak,
    happens: "States, log-probabilities or values are pushed into a buffer as the policy gives them.",
    keeps: "Every entry holds its step's graph. A buffer of 100,000 entries is bounded in length, not in memory.",
    shows: "Growth until the buffer is full, far above the size of its tensors, mostly beyond what the machine has.",
    fix: Fix {
        text: "Store detached tensors or numpy arrays; compute log-probabilities anew when they are needed.",
        language: Language::Python,
        before: r#"buffer.append((state, action, log_prob))"#,
        after: r#"buffer.append((state.detach(), action, log_prob.item()))"#,
    },
    harmless: "On-policy methods that need the graph of one rollout and clear it after the update.",
    sources: &["https://docs.pytorch.org/docs/stable/notes/autograd.html", "zoo/22_warmup_plateau.py"],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.has_graph() && live.container == Some(Container::Deque)).then_some(93)
}
