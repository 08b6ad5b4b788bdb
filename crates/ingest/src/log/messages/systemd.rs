//! systemd-oomd, and what systemd says of units that the kernel killed in.

use super::{At, Family, Message, patterns};

patterns! {
    SWAP = r"systemd-oomd(?:\[\d{1,9}\])?:killed(?P<path>\S{1,240}?)duetomemoryused\((?P<used>\d{1,19})\)/total\((?P<total>\d{1,19})\)andswapused\((?P<swap>\d{1,19})\)/total\((?P<swap_total>\d{1,19})\)beingmorethan(?P<percent>\d{1,3}(?:\.\d{1,3})?)%";
    PRESSURE = r"systemd-oomd(?:\[\d{1,9}\])?:killed(?P<path>\S{1,240}?)duetomemorypressurefor(?P<of>\S{1,240}?)being(?P<pressure>\d{1,3}(?:\.\d{1,3})?)%>(?P<percent>\d{1,3}(?:\.\d{1,3})?)%for>(?P<seconds>\d{1,6})(?P<unit>s|min)";
    COUNT = r"systemd-oomdkilled(?P<count>\d{1,6})process";
    UNIT = r"(?P<unit>[a-z0-9_.@\\-]{1,120}\.(?:service|scope|slice|mount)):";
}

/// `systemd-oomd[1]: Killed /user.slice/... due to memory pressure for ... being 65.43% > 50.00% for > 20s with reclaim activity`
pub(super) fn oomd(at: &At) -> Option<Message> {
    let text = &at.text;
    let caps = at.here(&SWAP).or_else(|| at.here(&PRESSURE)).or_else(|| at.here(&COUNT))?;
    let mut message = Message::new(Family::Systemd, text, caps.get(0)?.range());
    message.word("said", "systemd-oomd");
    let pattern_has = |group: &str| caps.name(group).is_some();
    if pattern_has("path") {
        message.word("path", text.original(caps.name("path")?.range()));
    }
    for (group, name) in
        [("used", "used"), ("total", "total"), ("swap", "swap_used"), ("swap_total", "swap_total"), ("count", "processes_killed")]
    {
        message.count(text, &caps, group, name);
    }
    for (group, name) in [("percent", "threshold_percent"), ("pressure", "pressure_percent")] {
        if let Some(value) = caps.name(group).and_then(|found| String::from_utf8_lossy(found.as_bytes()).parse::<f64>().ok()) {
            message.set(name, value);
        }
    }
    if let Some(seconds) = caps.name("seconds").and_then(|found| String::from_utf8_lossy(found.as_bytes()).parse::<f64>().ok()) {
        let minutes = caps.name("unit").is_some_and(|unit| unit.as_bytes().eq_ignore_ascii_case(b"min"));
        message.set("pressure_seconds", if minutes { 60.0 * seconds } else { seconds });
    }
    Some(message)
}

/// `foo.service: A process of this unit has been killed by the OOM killer.`, `Failed with result 'oom-kill'.`
pub(super) fn unit(at: &At) -> Option<Message> {
    let text = &at.text;
    let line = at.line();
    let mut message = Message::new(Family::Systemd, text, line.clone());
    message.word("said", "systemd");
    if let Some(caps) = UNIT.captures(&text.chars[line.start..at.start]) {
        let unit = caps.name("unit")?;
        message.word("path", text.original(line.start + unit.start()..line.start + unit.end()));
    }
    message.end = at.end;
    Some(message)
}
