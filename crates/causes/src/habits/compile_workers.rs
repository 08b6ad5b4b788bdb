//! LT703: Compile workers cost memory, and always the same.

use crate::{Cause, Fix, Language, Live, Role, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT703",
    name: "compile-workers",
    title: "Compile workers cost memory, and always the same",
    severity: Severity::Harmless,
    happens: "`torch.compile` starts a pool of processes that compile kernels, one per core up to 32.",
    keeps: "Each has imported torch: some hundred MB, partly shared. They stay, in case more is to be compiled.",
    shows: "Processes that appear at the first compiled step and hold a constant amount. No rule of `lowtide check` is about \
                them: every `torch.compile` starts them, and none is a fault.",
    fix: Fix {
        text: "Nothing to fix. Fewer of them: `TORCHINDUCTOR_COMPILE_THREADS=4`.",
        language: Language::Shell,
        before: r#"python train.py"#,
        after: r#"TORCHINDUCTOR_COMPILE_THREADS=4 python train.py"#,
    },
    harmless: "Always, as long as their number and size are level. Growth of the trainer by recompilation is LT704.",
    sources: &[
        "https://docs.pytorch.org/docs/stable/user_guide/torch_compiler/torch.compiler_troubleshooting.html",
        "zoo/17_compile_pool.py",
    ],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.role == Some(Role::CompileWorker)).then_some(90)
}
