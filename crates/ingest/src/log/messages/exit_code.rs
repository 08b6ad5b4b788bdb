//! Exit codes that a SIGKILL leaves: 137 = 128 + 9, -9, 247 = 256 - 9.

use super::{At, Family, Message, patterns};
use crate::log::stream::Text;

patterns! {
    BEHIND = r"(?:was|is|of|status)?[:=]?\(?(?P<code>-?\d{1,4})";
    SIGNAL = r"signals\.sigkill:9>";
}

/// `exited with code 137`, `exit code 247`, `non-zero exit status -9`, `returncode=-9`.
pub(super) fn read(at: &At) -> Option<Message> {
    let text = &at.text;
    let caps = at.behind(&BEHIND)?;
    let code = caps.name("code")?;
    let end = whole(text, code.range());
    let value: i32 = String::from_utf8_lossy(&text.chars[code.start()..end]).parse().ok()?;
    let goes_on = text.flags_at(end) == 0 && text.chars.get(end).is_some_and(|c| c.is_ascii_alphanumeric() || *c == b'_');
    if !matches!(value, 137 | -9 | 247) || goes_on {
        return None;
    }
    let mut message = Message::new(Family::ExitCode, text, at.line());
    message.set("exit_code", f64::from(value));
    message.end = end;
    Some(message)
}

/// The end of the digits that belong to one number.
fn whole(text: &Text, range: std::ops::Range<usize>) -> usize {
    (range.start + 1..range.end).find(|at| text.flags[*at] != 0).unwrap_or(range.end)
}

/// `died with <Signals.SIGKILL: 9>`
pub(super) fn signal(at: &At) -> Option<Message> {
    let caps = at.here(&SIGNAL)?;
    let mut message = Message::new(Family::ExitCode, &at.text, at.line());
    message.set("exit_code", -9.0);
    message.end = caps.get(0)?.end();
    Some(message)
}
