//! PyTorch's allocator of main memory.

use super::{At, Family, Message, patterns};

patterns! {
    PLACE = r"\[enforcefailat.{0,200}?(?:alloc_cpu|cpuallocator)\.cpp:(?P<at>\d{1,5})\]";
    REQUEST = r".{0,40}?(?:can'?tallocatememory|notenoughmemory):youtriedtoallocate(?P<bytes>[\d,]+)bytes";
    CODE = r".{0,12}?errorcode(?P<code>\d{1,5})";
    OLD = r".{0,80}?==0\.(?P<code>\d{1,5})vs0";
}

/// `[enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 116813856768 bytes. ...`
pub(super) fn read(at: &At) -> Option<Message> {
    let text = &at.text;
    let place = at.here(&PLACE);
    let begins = place.as_ref().and_then(|caps| caps.get(0));
    let named = text.chars[at.start..at.end].eq_ignore_ascii_case(b"defaultcpuallocator");
    if begins.is_none() && !named {
        return None;
    }
    let from = begins.map_or(at.end, |all| all.end());
    let mut message = Message::new(Family::CpuAllocator, text, at.start..from);
    if let Some(caps) = &place {
        message.count(text, caps, "at", "source_line");
    }
    if let Some(caps) = at.from(&REQUEST, from) {
        message.count(text, &caps, "bytes", "tried_to_allocate");
        message.end = caps.get(0).map_or(from, |all| all.end());
        if let Some(caps) = at.from(&CODE, message.end) {
            message.last_count(text, &caps, "code", "error_code");
            message.end = caps.get(0).map_or(from, |all| all.end());
        }
    } else if let Some(caps) = at.from(&OLD, from) {
        message.count(text, &caps, "code", "error_code");
        message.end = caps.get(0).map_or(from, |all| all.end());
    } else if named {
        message.refused.push(format!("line {}: DefaultCPUAllocator failed, but how much was asked for is cut", message.line));
    } else {
        return None;
    }
    message.excerpt = super::excerpt(text, at.start..message.end);
    Some(message)
}
