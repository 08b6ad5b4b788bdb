//! `docker inspect`: the state of a container.

use super::{At, Family, Message, patterns};

patterns! {
    KILLED = r#"oomkilled"?:(?P<is>true|false)"#;
    CODE = r#"exitcode"?:(?P<code>-?\d{1,4})[,}\n]"#;
    MEMORY = r#""memory"?:(?P<memory>\d{1,19})[,}]"#;
    SHM = r#""shmsize"?:(?P<shm>\d{1,19})[,}]"#;
}

/// `"OOMKilled": true`
pub(super) fn read(at: &At) -> Option<Message> {
    let text = &at.text;
    let caps = at.here(&KILLED)?;
    if !caps.name("is")?.as_bytes().eq_ignore_ascii_case(b"true") {
        return None;
    }
    let mut message = Message::new(Family::Docker, text, caps.get(0)?.range());
    if let Some(caps) = at.near(&CODE, 120) {
        message.count(text, &caps, "code", "exit_code");
    }
    // What was set for the container stands below its state.
    for (pattern, group, name) in [(&*MEMORY, "memory", "limit"), (&SHM, "shm", "shm_size")] {
        if let Some(caps) = at.near(pattern, 6000) {
            message.count(text, &caps, group, name);
        }
    }
    // Zero means that there is no limit.
    if message.number("limit") == Some(0.0) {
        message.numbers.remove("limit");
    }
    Some(message)
}
