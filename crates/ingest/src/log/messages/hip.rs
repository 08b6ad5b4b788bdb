//! HIP: PyTorch on AMD.

use super::{At, Family, Message, caching_allocator};

/// `HIP out of memory. ...` and `HIP error: out of memory`.
pub(super) fn read(at: &At) -> Option<Message> {
    if at.before_ends_with("hiperror:") {
        let mut message = Message::new(Family::Hip, &at.text, at.start - "hiperror:".len()..at.end);
        message.word("said", "HIP error: out of memory");
        return Some(message);
    }
    caching_allocator::read(at, Family::Hip, "hip")
}
