//! torchrun (torch.distributed.elastic) tells how a rank ended.

use super::{At, Family, Message, patterns};

patterns! {
    FAILED = r"failed\(exitcode:(?P<code>-?\d{1,4})\)local_rank:(?P<local>\d{1,6})\(pid:(?P<pid>\d{1,9})\)";
    SIGNAL = r"signal9\(sigkill\)receivedbypid(?P<pid>\d{1,9})";
    TABLE = r"(?:rank:(?P<rank>\d{1,6})\(local_rank:(?P<local>\d{1,6})\))?exitcode:(?P<code>-\d{1,3})\(pid:(?P<pid>\d{1,9})\)";
}

/// `failed (exitcode: -9) local_rank: 0 (pid: 1322) of binary: ...`
pub(super) fn failed(at: &At) -> Option<Message> {
    let text = &at.text;
    let caps = at.here(&FAILED)?;
    let mut message = Message::new(Family::Elastic, text, caps.get(0)?.range());
    message.count(text, &caps, "code", "exit_code");
    message.count(text, &caps, "local", "local_rank");
    message.count(text, &caps, "pid", "pid");
    Some(message)
}

/// `traceback : Signal 9 (SIGKILL) received by PID 14750`
pub(super) fn signal(at: &At) -> Option<Message> {
    let text = &at.text;
    let caps = at.here(&SIGNAL)?;
    let mut message = Message::new(Family::Elastic, text, caps.get(0)?.range());
    message.last_count(text, &caps, "pid", "pid");
    message.set("exit_code", -9.0);
    Some(message)
}

/// `rank : 0 (local_rank: 0)`, `exitcode : -9 (pid: 14750)`
pub(super) fn table(at: &At) -> Option<Message> {
    let text = &at.text;
    let caps = at.around(&TABLE, 40)?;
    let mut message = Message::new(Family::Elastic, text, caps.get(0)?.range());
    message.count(text, &caps, "rank", "rank");
    message.count(text, &caps, "local", "local_rank");
    message.count(text, &caps, "code", "exit_code");
    message.count(text, &caps, "pid", "pid");
    if let Some(rank) = message.number("rank") {
        message.source.rank = Some(rank as u32);
    }
    Some(message)
}
