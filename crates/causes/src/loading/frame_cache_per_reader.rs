//! LT402: Every video reader has a frame cache of its own.

use crate::{Cause, Fix, Language, Live, Role, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT402",
    name: "frame-cache-per-reader",
    title: "Every video reader has a frame cache of its own",
    severity: Severity::Bounded,
    happens: "Each reader keeps its last N decoded frames, and there is a reader per video and per worker.",
    keeps: "Each cache is bounded; their sum is N times videos times workers.",
    shows: "Growth that bends, as more and more videos are opened, up to a ceiling far above one cache.",
    fix: Fix {
        text: "One cache for all readers, with one limit; close readers that are not used.",
        language: Language::Python,
        before: r#"self.readers = {video: Reader(video, cache=64) for video in videos}"#,
        after: r#"self.readers = BoundedReaders(videos, open_at_most=8, cache=64)"#,
    },
    harmless: "If N x videos x workers frames fit, it is only a floor.",
    sources: &["zoo/13_frame_lru.py"],
    signature: Some(signature),
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.role == Some(Role::Worker) && live.bounded).then_some(80)
}
