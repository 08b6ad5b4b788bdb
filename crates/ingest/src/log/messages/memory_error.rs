//! Python's `MemoryError`.

use super::{At, Family, Message, patterns};
use crate::log::stream::{GAP, LINE};

patterns! {
    MALLOC = r"mallocofsize(?P<bytes>\d{1,19})failed";
}

/// `MemoryError` at the beginning of a line, as a traceback ends; with a text behind it or none.
pub(super) fn read(at: &At) -> Option<Message> {
    let text = &at.text;
    let line = at.line();
    // `numpy.core._exceptions._ArrayMemoryError`, `numpy.core._exceptions.MemoryError`, `MemoryError`.
    let before = &text.chars[line.start..at.start];
    let one_word = text.flags_within(line.start..at.start + 1) & GAP == 0;
    let dotted = before.iter().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'_'));
    let ended = matches!(text.chars.get(at.end), None | Some(b':' | b'(')) || text.flags_at(at.end) & LINE != 0;
    if !at.line_is_whole() || !one_word || !dotted || !ended || before.ends_with(b"OutOf") {
        return None;
    }
    let mut message = Message::new(Family::MemoryError, text, line.clone());
    message.end = at.end;
    if let Some(caps) = at.near(&MALLOC, 40) {
        message.count(text, &caps, "bytes", "tried_to_allocate");
    }
    let said: String = text.original(at.end..line.end).trim_start_matches([':', ' ']).to_owned();
    if !said.is_empty() {
        message.word("said", said);
    }
    Some(message)
}
