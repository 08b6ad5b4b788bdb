//! LT706: Process groups, streams or profilers are made in a loop.

use crate::{Cause, Fix, Language, Live, Memory, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT706",
    name: "resources-made-in-loop",
    title: "Process groups, streams or profilers are made in a loop",
    severity: Severity::Leak,
    happens: "`dist.new_group`, `torch.cuda.Stream`, a profiler or a `SummaryWriter` is made per step or epoch.",
    keeps: "Groups hold communicators and buffers for ever; writers hold a thread and a file; profilers hold all \
                events until they are exported.",
    shows: "Growth of native or GPU memory, of threads or of file descriptors, per iteration.",
    fix: Fix {
        text: "Make them once; close what has a `close`; give a profiler a schedule.",
        language: Language::Python,
        before: r#"for epoch in range(epochs):
    writer = SummaryWriter(log_dir)
    writer.add_scalar("loss", loss, epoch)"#,
        after: r#"writer = SummaryWriter(log_dir)
for epoch in range(epochs):
    writer.add_scalar("loss", loss, epoch)
writer.close()"#,
    },
    harmless: "A fixed number of them, made at the start.",
    sources: &["https://docs.pytorch.org/docs/stable/distributed.html", "zoo/46_fds_threads.py"],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (matches!(live.kind, Memory::Descriptors | Memory::Threads)).then_some(80)
}
