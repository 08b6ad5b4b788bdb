//! LT603: The allocator keeps what was freed.

use crate::{Cause, Fix, Language, Live, Memory, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT603",
    name: "allocator-holes",
    title: "The allocator keeps what was freed",
    severity: Severity::Bounded,
    happens: "Many blocks are made and freed, and a few small ones among them survive.",
    keeps: "glibc gives memory back by itself only from the end of its heap: one small survivor pins all below \
                it. `MALLOC_TRIM_THRESHOLD_` is about that end alone, and does not help. Live memory is small, RSS is not.",
    shows: "RSS rises while live objects do not; `malloc_trim(0)` brings it down. No rule of \
                `lowtide check` finds it: which small blocks outlive their neighbours is decided while a program runs.",
    fix: Fix {
        text: "`MALLOC_MMAP_THRESHOLD_=32768` in the environment: blocks of that size and more get maps of their own, which go \
                   back when they are freed, at the price of system calls. Or `malloc_trim(0)` after each epoch \
                   (`ctypes.CDLL(None).malloc_trim(0)`), or another allocator (jemalloc, mimalloc) by LD_PRELOAD. Where many \
                   threads allocate, `MALLOC_ARENA_MAX=2` as well.",
        language: Language::Shell,
        before: r#"python train.py"#,
        after: r#"MALLOC_MMAP_THRESHOLD_=32768 python train.py"#,
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
