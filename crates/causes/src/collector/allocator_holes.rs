//! LT603: The allocator keeps what was freed.

use crate::{Cause, Fix, Language, Live, Memory, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT603",
    name: "allocator-holes",
    title: "The allocator keeps what was freed",
    severity: Severity::Bounded,
    happens: "Many blocks are made and freed, and a few small ones among them survive.",
    keeps: "glibc gives memory back only from the end of its heap: one small survivor pins all below it. Live \
                memory is small, RSS is not.",
    shows: "RSS rises while live objects do not; `malloc_trim(0)` or fewer arenas bring it down. No rule of \
                `lowtide check` finds it: which small blocks outlive their neighbours is decided while a program runs.",
    fix: Fix {
        text: "`MALLOC_ARENA_MAX=2`, `MALLOC_TRIM_THRESHOLD_=131072`, or another allocator (jemalloc, mimalloc) by \
                   LD_PRELOAD.",
        language: Language::Shell,
        before: r#"python train.py"#,
        after: r#"MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072 python train.py"#,
    },
    harmless: "It ends at a ceiling, mostly: the highest peak.",
    sources: &["https://man7.org/linux/man-pages/man3/mallopt.3.html"],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.kind == Memory::Holes).then_some(92)
}
