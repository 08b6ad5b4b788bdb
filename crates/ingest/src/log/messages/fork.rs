//! A process could not be made, or memory not be had from the system: errno 12, on Windows error 1455.

use super::{At, Family, Message};

/// Windows: `OSError: [WinError 1455] The paging file is too small for this operation to complete.`
pub(super) fn paging_file(at: &At) -> Option<Message> {
    let mut message = Message::new(Family::Fork, &at.text, at.line());
    message.set("winerror", 1455.0);
    message.end = at.end;
    Some(message)
}

/// `OSError: [Errno 12] Cannot allocate memory`, `bash: fork: Cannot allocate memory`.
pub(super) fn read(at: &At) -> Option<Message> {
    let text = &at.text;
    let errno = text.chars[at.start..at.end].eq_ignore_ascii_case(b"[errno12]");
    let before = at.before(90);
    let lower = before.to_ascii_lowercase();
    let has = |word: &[u8]| lower.windows(word.len()).any(|window| window == word);
    let forked = has(b"fork") || has(b"popen") || has(b"posix_spawn");
    // PyTorch's own message has a family of its own, and so has shared memory.
    if !errno && (!forked || has(b"errorcode") || has(b"[errno12]")) {
        return None;
    }
    let mut message = Message::new(Family::Fork, text, at.line());
    message.set("errno", 12.0);
    message.end = at.end + if errno { "cannotallocatememory".len() } else { 0 };
    Some(message)
}
