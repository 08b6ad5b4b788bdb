//! Slurm.

use super::{At, Family, Message, patterns};

patterns! {
    DETECTED = r"detected(?P<count>\d{1,9})$";
    STEP = r"(?:\(s\)|s)?in(?:stepid=|step|job)(?P<job>\d{1,12})(?:\.(?P<step>\d{1,9}|batch|extern|interactive))?";
    TASK = r"(?:srun|slurmstepd):error:(?P<host>[a-z0-9._\[\],-]{1,80}):tasks?(?P<task>\d{1,9})(?:[-,][\d,-]{0,60})?$";
    EXCEEDED = r"exceeded(?:job)?memorylimit(?:\(?(?P<used>\d{1,18})>(?P<limit>\d{1,18})\)?)?";
    WHO = r"(?P<kind>job|step)(?P<job>\d{1,12})(?:\.(?P<step>\d{1,9}))?$";
    SEFF = r"memoryutilized:(?P<used>AMOUNT)(?:\([^)]{1,40}\))?memoryefficiency:\d{1,3}(?:\.\d{1,3})?%of(?P<limit>AMOUNT)";
    CODE = r"(?P<exit>\d{1,3}):(?P<signal>\d{1,3})";
}

/// `Detected 1 oom-kill event(s) in StepId=191.batch cgroup.`, `Detected 1 oom_kill event in StepId=11300781.0.`
pub(super) fn detected(at: &At) -> Option<Message> {
    let text = &at.text;
    let before = DETECTED.captures_at(&text.chars[..at.start], at.start.saturating_sub(24))?;
    let begin = before.get(0)?.start();
    let mut message = Message::new(Family::Slurm, text, begin..at.end);
    message.count(text, &before, "count", "oom_kill_events");
    match at.behind(&STEP) {
        Some(caps) => {
            step(&mut message, at, &caps);
            message.end = caps.get(0)?.end();
        }
        None => message.refused.push(format!("line {}: the step of Slurm's message is cut or cannot be read", message.line)),
    }
    message.excerpt = super::excerpt(text, begin..message.end);
    Some(message)
}

fn step(message: &mut Message, at: &At, caps: &regex::bytes::Captures) {
    let text = &at.text;
    message.last_count(text, caps, "job", "job_id");
    let name = |group: &str| caps.name(group).map(|found| text.original(found.range()));
    let (Some(job), step) = (name("job"), name("step")) else { return };
    if step.as_ref().is_some_and(|step| step.starts_with(|c: char| c.is_ascii_digit())) {
        message.last_count(text, caps, "step", "step_id");
    }
    message.word("step", step.map_or(job.clone(), |step| format!("{job}.{step}")));
}

/// `srun: error: sdumont6156: task 0: Out Of Memory`, `...: task 289: Bus error`
pub(super) fn task(at: &At) -> Option<Message> {
    let text = &at.text;
    let caps = TASK.captures_at(&text.chars[..at.start], at.line().start)?;
    let mut message = Message::new(Family::Slurm, text, caps.get(0)?.start()..at.end);
    message.count(text, &caps, "task", "task");
    let host = text.original(caps.name("host")?.range());
    message.source.host.clone_from(&host);
    message.word("host", host);
    message.word("said", text.original(at.start + 1..at.end));
    Some(message)
}

/// `Job 62 exceeded memory limit (1050100 > 1048576), being killed`: in KiB.
pub(super) fn limit(at: &At) -> Option<Message> {
    let text = &at.text;
    let caps = at.here(&EXCEEDED)?;
    let who = WHO.captures_at(&text.chars[..at.start], at.line().start);
    let begin = who.as_ref().and_then(|who| who.get(0)).map_or(at.start, |all| all.start());
    let slurm = text.chars[at.line().start..at.start].windows(5).any(|window| window.eq_ignore_ascii_case(b"slurm"));
    if who.is_none() && !slurm {
        return None;
    }
    let mut message = Message::new(Family::Slurm, text, begin..caps.get(0)?.end());
    message.kib(text, &caps, "used", "used");
    message.kib(text, &caps, "limit", "limit");
    if let Some(who) = &who {
        step(&mut message, at, who);
    }
    Some(message)
}

/// `OUT_OF_MEMORY` as sacct and scontrol have it, with `0:125` behind it.
pub(super) fn state(at: &At) -> Option<Message> {
    let text = &at.text;
    // CUDA's names have it in them, and a function of the kernel has it in small letters.
    let word = |next: Option<&u8>| next.is_none_or(|next| !next.is_ascii_alphanumeric() && !matches!(next, b'_' | b'+'));
    let begins = text.flags_at(at.start) != 0 || word(at.start.checked_sub(1).and_then(|before| text.chars.get(before)));
    let ends = text.flags_at(at.end) != 0 || at.text.chars[at.end - 1] == b'+' || word(text.chars.get(at.end));
    // sacct's columns are as wide as they are.
    let cut = &text.chars[at.start..at.end] == b"OUT_OF_ME+";
    if !(cut || &text.chars[at.start..at.end] == b"OUT_OF_MEMORY") || !begins || !ends {
        return None;
    }
    let mut message = Message::new(Family::Slurm, text, at.line());
    message.word("said", "OUT_OF_MEMORY");
    message.end = at.end;
    if let Some(caps) = at.behind(&CODE).or_else(|| at.near(&CODE, 60)) {
        message.count(text, &caps, "exit", "exit_code");
        message.last_count(text, &caps, "signal", "signal");
        message.end = caps.get(0)?.end();
    }
    // As seff has it.
    if let Some(caps) = at.near(&SEFF, 300) {
        message.amount(text, &caps, "used", "used");
        message.amount(text, &caps, "limit", "limit");
    }
    Some(message)
}
