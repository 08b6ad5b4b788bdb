//! LT507: GPU memory is reserved but not allocated.

use crate::{Cause, Fix, Language, Live, Memory, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT507",
    name: "reserved-not-allocated",
    title: "GPU memory is reserved but not allocated",
    severity: Severity::Bounded,
    happens: "Batches change their shape; the caching allocator keeps blocks of sizes that are not asked for again.",
    keeps: "Freed blocks stay with the allocator, for reuse. Split ones cannot be joined into what the next \
                request needs.",
    shows: "Reserved climbs, allocated does not; the error says that much is \"reserved by PyTorch but unallocated\". \
                No rule of `lowtide check` finds it: which sizes come is in the data, not in the source.",
    fix: Fix {
        text: "Pad to a few shapes; run the largest first; `expandable_segments:True` is made for this.",
        language: Language::Python,
        before: r#"batch = collate(samples)"#,
        after: r#"batch = collate(samples, pad_to_multiple_of=64)"#,
    },
    harmless: "Reserved memory that is level is a cache, not a leak.",
    sources: &["https://docs.pytorch.org/docs/stable/notes/cuda.html"],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.kind == Memory::GpuReserved).then_some(90)
}
