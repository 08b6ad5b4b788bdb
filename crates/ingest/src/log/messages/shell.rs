//! A shell's `Killed`.

use super::{At, Family, Message, patterns};
use crate::log::stream::{GAP, LINE};

patterns! {
    SCRIPT = r"(?P<script>[^:]{0,200}):line(?P<line>\d{1,7}):(?P<pid>\d{1,9})$";
    SCRIPT_DASH = r"(?P<script>[^:]{1,200}):(?P<line>\d{1,7}):$";
    JOB = r"\[\d{1,4}\][+-]?(?P<pid>\d{1,9})?$";
    ZSH = r"(?:z?sh|ksh|bash|fish):(?:job\d{1,4},'[^']{1,100}'terminatedbysignalsigkill)?$";
}

/// `slurm_script: line 28:  8156 Killed   python3 main.py`, `[1]+  Killed`, `zsh: killed     python`, and `Killed` alone.
pub(super) fn killed(at: &At) -> Option<Message> {
    let text = &at.text;
    let line = at.line();
    let word_ends = text.flags_at(at.end) & (GAP | LINE) != 0;
    if !word_ends || !at.line_is_whole() || (at.start > line.start && text.flags_at(at.start) & (GAP | LINE) == 0) {
        return None;
    }
    let before = &text.chars[line.start..at.start];
    let alone = before.is_empty() && text.flags_at(at.end) & LINE != 0;
    let mut message = Message::new(Family::Shell, text, line.clone());
    message.end = at.end;
    let before_text = &text.chars[..at.start];
    if let Some(caps) = SCRIPT.captures_at(before_text, line.start) {
        message.count(text, &caps, "line", "script_line");
        message.count(text, &caps, "pid", "pid");
        message.word("script", text.original(caps.name("script")?.range()));
        // `line 28: 8156 Killed` is found by the word; the pid has it behind itself.
    } else if let Some(caps) = JOB.captures_at(before_text, line.start) {
        message.count(text, &caps, "pid", "pid");
    } else if let Some(caps) = SCRIPT_DASH.captures_at(before_text, line.start) {
        message.count(text, &caps, "line", "script_line");
    } else if !alone && ZSH.captures_at(before_text, line.start).is_none() {
        return None;
    }
    let command = text.original(at.end..line.end);
    if !command.is_empty() {
        message.word("command", command);
    }
    Some(message)
}
