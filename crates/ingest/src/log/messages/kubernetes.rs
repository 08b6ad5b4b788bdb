//! Kubernetes: `kubectl describe`, YAML and JSON of a pod, events.

use super::{At, Family, Message, docker, patterns};
use crate::log::stream::GAP;

patterns! {
    DOCKER_FALSE = r#"oomkilled"?[:=]"?false"#;
    STATE = r"laststate:terminatedreason:(?P<reason>[a-z]{2,40}?)(?:message:.{0,200}?)?exitcode:(?P<code>\d{1,3})";
    CODE = r#"exitcode"?:(?P<code>\d{1,4})"#;
    LIMIT = r#"limits"?:\{?(?:[a-z.\-/"]{1,40}:"?[\dmki.g]{1,12}"?,?){0,4}?"?memory"?:"?(?P<limit>\d{1,15}(?:\.\d{1,3})?(?:[kmgtpe]i?|m)?)"#;
    EVICTED = r"(?:\.thresholdquantity:(?P<threshold>\d{1,15}(?:[kmgtpe]i?)?),available:(?P<available>\d{1,15}(?:[kmgtpe]i?)?)\.)?(?:.{0,10}container(?P<container>[a-z0-9.-]{1,63}?)wasusing(?P<used>\d{1,15}(?:[kmgtpe]i?)?),(?:whichexceedsits)?requestis(?P<request>\d{1,15}(?:[kmgtpe]i?)?))?";
    CONTAINER = r"(?P<name>[a-z0-9][a-z0-9.-]{0,62}):containerid:";
    SYSTEM = r"systemoomencountered,victimprocess:(?P<name>[^,]{1,64}),pid:(?P<pid>\d{1,9})";
}

/// A reason `OOMKilled`, or Docker's field of that name.
pub(super) fn oom_killed(at: &At) -> Option<Message> {
    let text = &at.text;
    if text.chars.get(at.end).is_some_and(|next| matches!(next, b'"' | b':' | b'=')) {
        if let Some(message) = docker::read(at) {
            return Some(message);
        }
        if at.here(&DOCKER_FALSE).is_some() {
            return None;
        }
    }
    // Slurm's `the step tasks have been OOM Killed` is two words.
    if text.flags_within(at.start..at.end) & GAP != 0 {
        return None;
    }
    let mut message = Message::new(Family::Kubernetes, text, at.line());
    message.word("reason", "OOMKilled");
    // The code stands behind the reason in `describe`, before it in YAML and JSON.
    let behind = at.near(&CODE, 60);
    let before = CODE.captures_iter(at.before(160)).last().and_then(|caps| {
        let range = caps.name("code")?.range();
        let shift = at.start - at.before(160).len();
        Some(range.start + shift..range.end + shift)
    });
    if let Some(caps) = behind {
        message.last_count(text, &caps, "code", "exit_code");
    } else if let Some(code) = before.and_then(|range| crate::log::amount::count(text, range, false)) {
        message.set("exit_code", code);
    }
    limit(&mut message, at);
    container(&mut message, at);
    message.end = at.end;
    Some(message)
}

/// Which container it is: `describe` has its name above its id.
fn container(message: &mut Message, at: &At) {
    const REACH: usize = 1500;
    let before = at.before(REACH);
    let shift = at.start - before.len();
    let name = CONTAINER.captures_iter(before).filter_map(|caps| caps.name("name")).last();
    if let Some(name) = name {
        let end = shift + name.end();
        let start = at.text.line_start(end - 1).max(shift + name.start());
        message.word("victim", at.text.original(start..end));
    }
}

/// What the container may have, as it stands near the state.
fn limit(message: &mut Message, at: &At) {
    const REACH: usize = 700;
    if let Some(caps) = at.near(&LIMIT, REACH)
        && let Some(found) = caps.name("limit")
        && let Some(value) = quantity(&at.text.original(found.range()))
    {
        message.set("limit", value);
    }
}

/// `Last State: Terminated, Reason: Error, Exit Code: 137`
pub(super) fn last_state(at: &At) -> Option<Message> {
    let text = &at.text;
    let caps = at.here(&STATE)?;
    let reason = text.original(caps.name("reason")?.range());
    let code = text.original(caps.name("code")?.range());
    if reason != "OOMKilled" && code != "137" {
        return None;
    }
    let mut message = Message::new(Family::Kubernetes, text, caps.get(0)?.range());
    message.last_count(text, &caps, "code", "exit_code");
    message.word("reason", reason);
    limit(&mut message, at);
    container(&mut message, at);
    Some(message)
}

/// `The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Ki. Container main was using ...`
pub(super) fn evicted(at: &At) -> Option<Message> {
    let text = &at.text;
    let mut message = Message::new(Family::Kubernetes, text, at.line());
    message.word("reason", "Evicted");
    message.end = at.end;
    if let Some(caps) = at.behind(&EVICTED) {
        for (group, name) in [("threshold", "threshold"), ("available", "available"), ("used", "used"), ("request", "request")] {
            if let Some(value) = caps.name(group).and_then(|found| quantity(&text.original(found.range()))) {
                message.set(name, value);
            }
        }
        if let Some(container) = caps.name("container") {
            message.word("victim", text.original(container.range()));
        }
        message.end = caps.get(0)?.end().max(at.end);
    }
    Some(message)
}

/// `System OOM encountered, victim process: python, pid: 1234`
pub(super) fn system_oom(at: &At) -> Option<Message> {
    let text = &at.text;
    let caps = at.here(&SYSTEM)?;
    let mut message = Message::new(Family::Kubernetes, text, caps.get(0)?.range());
    message.word("reason", "SystemOOM");
    message.word("victim", text.original(caps.name("name")?.range()));
    message.last_count(text, &caps, "pid", "pid");
    Some(message)
}

/// A quantity of Kubernetes: `16Gi` is binary, `16G` decimal, nothing means bytes.
fn quantity(text: &str) -> Option<f64> {
    let text = text.replace([' ', '\n'], "");
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let value: f64 = text[..end].parse().ok()?;
    let factor = match &text[end..] {
        "" => 1.0,
        "m" => 1e-3,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        "Ki" => 1024.0,
        "Mi" => 1_048_576.0,
        "Gi" => 1_073_741_824.0,
        "Ti" => 1_099_511_627_776.0,
        "Pi" => 1_125_899_906_842_624.0,
        _ => return None,
    };
    Some((value * factor).round())
}
