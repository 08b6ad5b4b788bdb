//! PBS and Torque.

use super::{At, Family, Message, patterns};

patterns! {
    KILLED = r"pbs:jobkilled:(?P<what>p?v?mem|cgroupmem)(?P<used>AMOUNT)exceededlimit(?P<limit>AMOUNT)";
}

/// `=>> PBS: job killed: mem 12345678kb exceeded limit 10485760kb`
pub(super) fn read(at: &At) -> Option<Message> {
    let text = &at.text;
    let caps = at.here(&KILLED)?;
    let mut message = Message::new(Family::Pbs, text, caps.get(0)?.range());
    message.amount(text, &caps, "used", "used");
    message.amount(text, &caps, "limit", "limit");
    message.word("said", text.original(caps.name("what")?.range()));
    Some(message)
}
