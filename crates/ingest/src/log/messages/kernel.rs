//! The kernel's reports of a kill for memory, 3.x to 6.x: of the whole machine and of a cgroup.
//!
//! A report has many parts, each of which may be missing; they are put together where messages become incidents.

use super::{At, Family, Message, patterns};
use crate::log::stream::LINE;

/// What stands behind the name of a killed process, as far as each kernel has it.
macro_rules! kill_fields {
    () => {
        r"(?:,uid(?P<uid_old>\d{1,10}),)?(?:total-vm:(?P<vm>\d[\d,]*)kb)?(?:,anon-rss:(?P<anon>\d[\d,]*)kb)?(?:,file-rss:(?P<file>\d[\d,]*)kb)?(?:,shmem-rss:(?P<shmem>\d[\d,]*)kb)?(?:,uid:(?P<uid>\d{1,10})pgtables:(?P<tables>\d[\d,]*)kb)?(?:oom_score_adj:(?P<adj>-?\d{1,4}))?"
    };
}

patterns! {
    INVOKED = r"invokedoom-killer:gfp_mask=0x(?P<gfp>[0-9a-f]{1,16})(?:\([^)]{0,200}\))?(?:,nodemask=[^,]{1,40})?,order=(?P<order>-?\d{1,3})(?:,oom_(?:score_)?adj=(?P<adj>-?\d{1,4}))?";
    CONSTRAINT = r"oom-kill:constraint=(?P<constraint>constraint_[a-z_]{3,24}),[^\n]{0,400}?task=(?P<task>.{1,32}?),pid=(?P<pid>\d{1,9}),uid=(?P<uid>\d{1,10})";
    OOM_MEMCG = r"oom_memcg=(?P<path>[^,]{1,300})";
    TASK_MEMCG = r"task_memcg=(?P<path>[^,]{1,300})";
    KILLED = concat!(r"killedprocess(?P<pid>\d{1,9})(?:\((?P<name>.{1,40}?)\))?", kill_fields!());
    NAME_AND_FIELDS = r"killedprocess\d{1,9}\((?P<name>.{1,40}?)\)(?:,uid\d{1,10},)?total-vm:";
    CUT = r"(?:[,.]*)(?:total-vm|anon-rss|file-rss|shmem-rss|pgtables):[^,\n]{0,20}";
    KILLING = r"killprocess(?P<pid>\d{1,9})\((?P<name>.{1,40}?)\)score(?P<score>\d{1,6})orsacrificechild";
    USAGE = r"(?P<what>memory\+swap|memory|swap|kmem):usage(?P<usage>\d{1,19})kb(?:,limit(?P<limit>\d{1,19})kb)?(?:,failcnt(?P<failed>\d{1,12}))?";
    REAPED = r"oom_reaper:reapedprocess(?P<pid>\d{1,9})\((?P<name>.{1,40}?)\),nowanon-rss:(?P<anon>\d{1,15})kb(?:,file-rss:(?P<file>\d{1,15})kb)?(?:,shmem-rss:(?P<shmem>\d{1,15})kb)?";
    PAGES = r"(?P<pages>\d{1,12})$";
}

/// Memory pages of nearly all machines that train; ARM servers with 64 KiB print the same columns.
pub(in crate::log) const PAGE: f64 = 4096.0;
/// Limits from here on mean that there is none.
const NO_LIMIT_KIB: f64 = (1_u64 << 52) as f64;

fn part(at: &At, kind: &'static str, range: std::ops::Range<usize>) -> Message {
    let mut message = Message::new(Family::KernelPart, &at.text, range);
    message.word("part", kind);
    message
}

/// `python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=986`: who asked for the last straw.
pub(super) fn invoked(at: &At) -> Option<Message> {
    let text = &at.text;
    let caps = at.here(&INVOKED)?;
    let mut message = part(at, "invoked", at.line().start..caps.get(0)?.end());
    message.word("invoker", text.original(at.line().start.max(at.start.saturating_sub(40))..at.start));
    message.count(text, &caps, "order", "order");
    message.last_count(text, &caps, "adj", "invoker_oom_score_adj");
    let digits: String = text.original(caps.name("gfp")?.range());
    if let Ok(mask) = u64::from_str_radix(&digits, 16) {
        message.set("gfp_mask", mask as f64);
    }
    Some(message)
}

/// `oom-kill:constraint=CONSTRAINT_MEMCG,...,oom_memcg=/a,task_memcg=/a/b,task=python,pid=1,uid=0`
pub(super) fn constraint(at: &At) -> Option<Message> {
    let text = &at.text;
    let caps = at.here(&CONSTRAINT)?;
    let all = caps.get(0)?;
    let mut message = part(at, "constraint", all.range());
    message.word("constraint", text.original(caps.name("constraint")?.range()));
    message.word("victim", text.original(caps.name("task")?.range()));
    message.count(text, &caps, "pid", "pid");
    message.last_count(text, &caps, "uid", "uid");
    let inner = &text.chars[..all.end()];
    if let Some(found) = OOM_MEMCG.captures_at(inner, all.start()) {
        message.word("path", text.original(found.name("path")?.range()));
    }
    if let Some(found) = TASK_MEMCG.captures_at(inner, all.start()) {
        message.word("task_path", text.original(found.name("path")?.range()));
    }
    Some(message)
}

/// `Out of memory: Killed process 1440763 (perl) total-vm:87033376kB, anon-rss:60356340kB, ...`
pub(super) fn killed(at: &At) -> Option<Message> {
    let text = &at.text;
    let caps = at.within(&KILLED, at.start, 400)?;
    let all = caps.get(0)?;
    let mut message = Message::new(Family::Kernel, text, all.range());
    // A pid without its name behind it may be cut.
    if caps.name("name").is_some() {
        message.count(text, &caps, "pid", "pid");
    } else {
        message.refused.push(format!("line {}: who was killed is cut or cannot be read", message.line));
    }
    // A name may have brackets of its own: it ends before the fields, where there are any.
    let name = at.within(&NAME_AND_FIELDS, at.start, 100).and_then(|caps| caps.name("name").map(|name| name.range()));
    let name = name.or_else(|| caps.name("name").map(|name| name.range()));
    let caps = match &name {
        Some(name) => fields(at, name.end).unwrap_or(caps),
        None => caps,
    };
    let end = caps.get(0)?.end().max(all.end());
    for (group, name) in
        [("vm", "total_vm"), ("anon", "anon_rss"), ("file", "file_rss"), ("shmem", "shmem_rss"), ("tables", "pgtables")]
    {
        message.kib(text, &caps, group, name);
    }
    message.count(text, &caps, "uid_old", "uid");
    message.count(text, &caps, "uid", "uid");
    message.last_count(text, &caps, "adj", "oom_score_adj");
    if let Some(name) = name {
        message.word("victim", text.original(name));
    }
    if let Some(cut) = at.within(&CUT, end, 40)
        && let Some(cut) = cut.get(0)
    {
        message.refused.push(format!(
            "line {}: `{}` is cut or cannot be read",
            text.line(cut.start()),
            super::excerpt(text, cut.range())
        ));
    }
    let before = at.before(40).to_ascii_lowercase();
    let ends = |word: &[u8]| before.ends_with(word);
    if ends(b"memorycgroupoutofmemory:") || ends(b"memorycgroupoutofmemory(oom_kill_allocating_task):") {
        message.word("scope", "cgroup");
    } else if ends(b"outofmemory:") {
        message.word("scope", "system");
    }
    message.excerpt = super::excerpt(text, at.line().start..end);
    message.end = end;
    Some(message)
}

/// The fields behind a name that ends here (its bracket follows).
fn fields<'a>(at: &At<'a>, name_end: usize) -> Option<regex::bytes::Captures<'a>> {
    at.within(&FIELDS, name_end, 400)
}

patterns! {
    FIELDS = concat!(r"\)", kill_fields!());
}

/// `Out of memory: Kill process 25635 (python) score 974 or sacrifice child`: 3.x and 4.x, before the kill itself.
pub(super) fn killing(at: &At) -> Option<Message> {
    let text = &at.text;
    let caps = at.here(&KILLING)?;
    let mut message = part(at, "killing", caps.get(0)?.range());
    message.count(text, &caps, "pid", "pid");
    message.count(text, &caps, "score", "score");
    message.word("victim", text.original(caps.name("name")?.range()));
    let before = at.before(30).to_ascii_lowercase();
    message.word("scope", if before.ends_with(b"memorycgroupoutofmemory:") { "cgroup" } else { "system" });
    Some(message)
}

/// `memory: usage 65536kB, limit 65536kB, failcnt 67`, and the same for swap and the kernel's memory.
pub(super) fn usage(at: &At) -> Option<Message> {
    let text = &at.text;
    let caps = at.here(&USAGE)?;
    let mut message = part(at, "usage", caps.get(0)?.range());
    let what = match text.original(caps.name("what")?.range()).to_ascii_lowercase().as_str() {
        "memory+swap" => "memory_swap",
        "swap" => "swap",
        "kmem" => "kmem",
        _ => "memory",
    };
    message.kib(text, &caps, "usage", &format!("{what}_usage"));
    let limited = caps.name("limit").and_then(|limit| crate::log::amount::count(text, limit.range(), true));
    if limited.is_some_and(|limit| limit < NO_LIMIT_KIB) {
        message.kib(text, &caps, "limit", &format!("{what}_limit"));
    }
    message.last_count(text, &caps, "failed", &format!("{what}_failcnt"));
    Some(message)
}

/// `Memory cgroup stats for /a: cache:0KB rss:0KB ...` (3.x, 4.x), or a line for each counter, in bytes.
pub(super) fn stats(at: &At) -> Option<Message> {
    const REACH: usize = 4 << 10;
    const MOST: usize = 100;
    let text = &at.text;
    let all = text.original(at.end..text.chars.len().min(at.end + REACH));
    let mut lines = all.lines();
    let first = lines.next()?;
    let (path, counters) = first.split_once(": ").unwrap_or((first, ""));
    let mut message = part(at, "stats", at.line());
    message.word("path", path.trim_end_matches(':'));
    let counter = |name: &str, value: &str| -> Option<(String, f64)> {
        let known = !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        known.then(|| value.parse::<u64>().ok()).flatten().map(|value| (format!("stat_{name}"), value as f64))
    };
    for word in counters.split_whitespace().take(MOST) {
        let Some((name, value)) = word.split_once(':') else { continue };
        if let Some((name, kib)) = value.strip_suffix("KB").and_then(|value| counter(name, value)) {
            message.set(&name, kib * 1024.0);
        }
    }
    if counters.is_empty() {
        // The last line may be cut, where the text is.
        for line in lines.take(MOST) {
            let Some((name, value)) = line.split_once(' ').and_then(|(name, value)| counter(name, value)) else { break };
            message.set(&name, value);
        }
    }
    message.end = at.end;
    Some(message)
}

/// `oom_reaper: reaped process 1440763 (perl), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB`
pub(super) fn reaped(at: &At) -> Option<Message> {
    let text = &at.text;
    let caps = at.here(&REAPED)?;
    let mut message = part(at, "reaped", caps.get(0)?.range());
    message.count(text, &caps, "pid", "pid");
    for (group, name) in [("anon", "reaped_anon_rss"), ("file", "reaped_file_rss"), ("shmem", "reaped_shmem_rss")] {
        message.kib(text, &caps, group, name);
    }
    Some(message)
}

/// `6291318 pages RAM`: what the machine has.
pub(super) fn pages(at: &At) -> Option<Message> {
    let text = &at.text;
    let start = at.line().start;
    let caps = PAGES.captures_at(&text.chars[..at.start], start)?;
    if caps.get(0)?.start() != start || text.flags_at(at.end) & LINE == 0 {
        return None;
    }
    let mut message = part(at, "pages", at.line());
    let pages = crate::log::amount::count(text, caps.name("pages")?.range(), true)?;
    message.set("machine_memory", pages * PAGE);
    Some(message)
}
