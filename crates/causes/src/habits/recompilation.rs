//! LT704: The compile cache grows as shapes change.

use crate::{Cause, Fix, Language, Live, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT704",
    name: "recompilation",
    title: "The compile cache grows as shapes change",
    severity: Severity::Leak,
    happens: "A compiled model sees shapes, flags or modules that it has not seen, and is compiled again.",
    keeps: "Each version stays, with its guards, graph and code. The limit on recompilations (8 per function) does \
                not hold for new functions and new objects.",
    shows: "Growth by megabytes at each recompilation, and pauses of seconds. `TORCH_LOGS=recompiles` names the \
                reason.",
    fix: Fix {
        text: "Mark dimensions dynamic, pad to a few shapes, compile outside of the loop.",
        language: Language::Python,
        before: r#"model = torch.compile(model)"#,
        after: r#"model = torch.compile(model, dynamic=True)"#,
    },
    harmless: "A few compilations at the start.",
    sources: &[
        "https://docs.pytorch.org/docs/stable/user_guide/torch_compiler/torch.compiler_troubleshooting.html",
        "zoo/42_recompile.py",
    ],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.owner_contains("dynamo") || live.owner_contains("inductor")).then_some(85)
}
