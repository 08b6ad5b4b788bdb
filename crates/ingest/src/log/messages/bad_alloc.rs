//! C++: `std::bad_alloc`.

use super::{At, Family, Message};

/// `terminate called after throwing an instance of 'std::bad_alloc'`
pub(super) fn read(at: &At) -> Option<Message> {
    if !at.before_ends_with("std::") {
        return None;
    }
    let mut message = Message::new(Family::BadAlloc, &at.text, at.line());
    // `what(): std::bad_alloc` follows the first line.
    message.end = at.end;
    Some(message)
}
