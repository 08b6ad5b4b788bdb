//! MPS: PyTorch on Apple. Its KB, MB and GB are powers of 1024 in every version.

use super::{At, Family, Message, patterns};

patterns! {
    PARTS = r"mpsallocated:(?P<mps>AMOUNT)";
    OTHER = r"otherallocations:(?P<other>AMOUNT)";
    MOST = r"maxallowed:(?P<most>AMOUNT)";
    REQUEST = r"triedtoallocate(?P<request>AMOUNT)";
}

/// `MPS backend out of memory (MPS allocated: ...). Tried to allocate ...`
pub(super) fn read(at: &At) -> Option<Message> {
    if !at.before_ends_with("mpsbackend") {
        return None;
    }
    const LONGEST: usize = 220;
    let text = &at.text;
    let begin = at.start - "mpsbackend".len();
    let mut message = Message::new(Family::Mps, text, begin..at.end);
    for (pattern, group, name) in [
        (&*PARTS, "mps", "mps_allocated"),
        (&OTHER, "other", "other_allocations"),
        (&MOST, "most", "max_allowed"),
        (&REQUEST, "request", "tried_to_allocate"),
    ] {
        if let Some(caps) = at.near(pattern, LONGEST) {
            message.amount(text, &caps, group, name);
            message.end = message.end.max(caps.get(0).map_or(0, |all| all.end()));
        }
    }
    message.excerpt = super::excerpt(text, begin..message.end);
    Some(message)
}
