//! earlyoom.

use super::{At, Family, Message, patterns};

patterns! {
    LOW = r"lowmemory!atorbelow(?P<signal>sigterm|sigkill)limits:mem(?P<mem>\d{1,3}(?:\.\d{1,2})?)%,swap(?P<swap>\d{1,3}(?:\.\d{1,2})?)%";
    SENDING = r#"sendingsig(?P<signal>term|kill)toprocess(?P<pid>\d{1,9})(?:uid(?P<uid>\d{1,10}))?(?:"(?P<name>[^"]{1,64})")?:(?:badness|oom_score)(?P<score>\d{1,6}),vmrss(?P<rss>AMOUNT)"#;
}

/// `low memory! at or below SIGTERM limits: mem 10.00%, swap 10.00%`
pub(super) fn low(at: &At) -> Option<Message> {
    let caps = at.here(&LOW)?;
    let mut message = Message::new(Family::EarlyOom, &at.text, caps.get(0)?.range());
    for (group, name) in [("mem", "mem_limit_percent"), ("swap", "swap_limit_percent")] {
        if let Some(value) = caps.name(group).and_then(|found| String::from_utf8_lossy(found.as_bytes()).parse::<f64>().ok()) {
            message.set(name, value);
        }
    }
    Some(message)
}

/// `sending SIGTERM to process 12345 uid 1000 "python": badness 1234, VmRSS 12345 MiB`
pub(super) fn sending(at: &At) -> Option<Message> {
    let text = &at.text;
    let caps = at.here(&SENDING)?;
    let mut message = Message::new(Family::EarlyOom, text, caps.get(0)?.range());
    message.count(text, &caps, "pid", "pid");
    message.count(text, &caps, "uid", "uid");
    message.count(text, &caps, "score", "oom_score");
    message.amount(text, &caps, "rss", "rss");
    if let Some(name) = caps.name("name") {
        message.word("victim", text.original(name.range()));
    }
    message.word("signal", text.original(caps.name("signal")?.range()));
    Some(message)
}
