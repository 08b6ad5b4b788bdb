//! Ray: its memory monitor kills tasks. Its GB are powers of 1024.

use super::{At, Family, Message, patterns};

patterns! {
    NODE = r"memoryonthenode\(ip:(?P<ip>[0-9a-f.:]{3,45})(?:,id:[^)]{1,64})?\)wherethe(?:task|actor|lease)?(?P<who>.{0,300}?)wasrunningwas(?P<used>AMOUNT)/(?P<total>AMOUNT)(?:\((?P<share>\d\.\d{1,12})\))?(?:,whichexceedsthememoryusagethresholdof(?P<threshold>\d(?:\.\d{1,6})?))?";
    PID = r"pid=(?P<pid>\d{1,9})";
    NAME = r"name=(?P<name>[^,]{1,100})";
    TASK_USED = r"memoryused=(?P<used>AMOUNT)";
    WORKERS = r"(?P<workers>\d{1,6})workers\(tasks/actors\)$";
    CRASHED = r"\(oom\),(?P<crashed>\d{1,6})workerscrashed";
    NODE_IP = r"ip:(?P<ip>[0-9a-f.:]{3,45})\)";
    OLD = r"rayoutofmemoryerror:morethan(?P<percent>\d{1,3})%ofthememoryonnode(?P<node>\S{1,80}?)isused\((?P<used>\d{1,6}(?:\.\d{1,3})?)/(?P<total>\d{1,6}(?:\.\d{1,3})?gb)\)";
}

/// `Task was killed due to the node running low on memory.`
pub(super) fn killed(at: &At) -> Option<Message> {
    let text = &at.text;
    if !at.before(60).windows(6).any(|window| window.eq_ignore_ascii_case(b"killed")) {
        return None;
    }
    let mut message = Message::new(Family::Ray, text, at.line().start..at.end);
    message.word("said", "a task was killed since the node ran low on memory");
    // What follows is the same message.
    message.end = at.end;
    Some(message)
}

/// `Memory on the node (IP: ..., ID: ...) where the task (...) was running was 59.49GB / 62.58GB (0.950744), ...`
pub(super) fn node(at: &At) -> Option<Message> {
    let text = &at.text;
    let Some(caps) = at.here(&NODE) else {
        let mut message = Message::new(Family::Ray, text, at.start..at.end);
        message.refused.push(format!("line {}: what Ray says of the node's memory is cut or cannot be read", message.line));
        return Some(message);
    };
    let mut message = Message::new(Family::Ray, text, caps.get(0)?.range());
    message.amount(text, &caps, "used", "node_used");
    message.amount(text, &caps, "total", "node_total");
    for (group, name) in [("share", "node_share"), ("threshold", "threshold")] {
        if let Some(found) = caps.name(group)
            && text.flags_within(found.range()) == 0
            && let Ok(value) = String::from_utf8_lossy(found.as_bytes()).parse()
        {
            message.set(name, value);
        }
    }
    message.word("node", text.original(caps.name("ip")?.range()));
    let who = caps.name("who")?.range();
    let inner = &text.chars[..who.end];
    if let Some(found) = PID.captures_at(inner, who.start) {
        message.count(text, &found, "pid", "pid");
    }
    if let Some(found) = NAME.captures_at(inner, who.start) {
        message.word("victim", text.original(found.name("name")?.range()));
    }
    if let Some(found) = TASK_USED.captures_at(inner, who.start) {
        message.amount(text, &found, "used", "task_used");
    }
    Some(message)
}

/// `4 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed ...`
pub(super) fn raylet(at: &At) -> Option<Message> {
    let text = &at.text;
    let from = at.start.saturating_sub(40);
    let caps = WORKERS.captures_at(&text.chars[..at.start], from)?;
    let mut message = Message::new(Family::Ray, text, caps.get(0)?.start()..at.end);
    message.count(text, &caps, "workers", "workers_killed");
    if let Some(crashed) = at.near(&CRASHED, 40) {
        message.count(text, &crashed, "crashed", "workers_crashed");
        message.end = crashed.get(0)?.end();
    }
    if let Some(node) = at.near(&NODE_IP, 250) {
        message.word("node", text.original(node.name("ip")?.range()));
    }
    Some(message)
}

/// `RayOutOfMemoryError: More than 95% of the memory on node eric-ThinkPad is used (11.8 / 12.3 GB).`
pub(super) fn old(at: &At) -> Option<Message> {
    let text = &at.text;
    let mut message = Message::new(Family::Ray, text, at.start..at.end);
    let Some(caps) = at.here(&OLD) else {
        message.refused.push(format!("line {}: what Ray says of the node's memory is cut or cannot be read", message.line));
        return Some(message);
    };
    message = Message::new(Family::Ray, text, caps.get(0)?.range());
    message.count(text, &caps, "percent", "threshold_percent");
    message.amount(text, &caps, "total", "node_total");
    // The unit stands behind the second number only.
    let used = caps.name("used")?;
    if text.flags_within(used.range()) == 0
        && let Ok(value) = String::from_utf8_lossy(used.as_bytes()).parse::<f64>()
    {
        message.set("node_used", (value * f64::from(1 << 30)).round());
    }
    message.word("node", text.original(caps.name("node")?.range()));
    Some(message)
}
