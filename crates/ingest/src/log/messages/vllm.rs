//! vLLM, which serves models and generates for reinforcement learning: at its start it takes a share of the card for its cache.

use super::{At, Family, Message, patterns};

patterns! {
    FREE = r"freememoryondevice(?:cuda:\d{1,3})?\((?P<free>\d{1,6}(?:\.\d{1,4})?)/(?P<total>\d{1,6}(?:\.\d{1,4})?gib)\)onstartupislessthandesiredgpumemoryutilization\((?P<share>\d(?:\.\d{1,6})?),(?P<wanted>AMOUNT)\)";
    NEEDED = r"\(?(?P<needed>AMOUNT)(?:kvcacheisneeded)?,?whichislargerthantheavailablekvcachememory\((?P<available>AMOUNT)\)";
    NEEDED_SHORT = r"(?P<needed>AMOUNT)kvcacheisneeded,?$";
}

/// `No available memory for the cache blocks. Try increasing gpu_memory_utilization`
pub(super) fn no_blocks(at: &At) -> Option<Message> {
    let mut message = Message::new(Family::Cuda, &at.text, at.start..at.end);
    message.word("said", "vLLM: no available memory for the cache blocks");
    message.word("vllm", "none");
    Some(message)
}

/// `Free memory on device (12.34/79.19 GiB) on startup is less than desired GPU memory utilization (0.9, 71.27 GiB).`
pub(super) fn free(at: &At) -> Option<Message> {
    let text = &at.text;
    let caps = at.here(&FREE)?;
    let mut message = Message::new(Family::Cuda, text, caps.get(0)?.range());
    // The unit stands behind the second number only.
    let free = caps.name("free")?;
    if text.flags_within(free.range()) == 0
        && let Ok(value) = String::from_utf8_lossy(free.as_bytes()).parse::<f64>()
    {
        message.set("free", (value * f64::from(1 << 30)).round());
    }
    message.amount(text, &caps, "total", "total_capacity");
    message.amount(text, &caps, "wanted", "tried_to_allocate");
    if let Some(share) = caps.name("share").and_then(|share| String::from_utf8_lossy(share.as_bytes()).parse::<f64>().ok()) {
        message.set("gpu_memory_utilization", share);
    }
    message.word("vllm", "free");
    Some(message)
}

/// `(5.62 GiB KV cache is needed, which is larger than the available KV cache memory (2.33 GiB)`
pub(super) fn cache(at: &At) -> Option<Message> {
    const BEFORE: usize = 60;
    let text = &at.text;
    let from = at.start.saturating_sub(BEFORE);
    let caps = (from..at.start).find_map(|place| at.from(&NEEDED, place));
    let mut message = Message::new(Family::Cuda, text, at.start..at.end);
    if let Some(caps) = caps {
        message = Message::new(Family::Cuda, text, caps.get(0)?.range());
        message.amount(text, &caps, "needed", "tried_to_allocate");
        message.amount(text, &caps, "available", "cache_available");
    } else if let Some(caps) = NEEDED_SHORT.captures_at(&text.chars[..at.start], from) {
        message.amount(text, &caps, "needed", "tried_to_allocate");
    }
    message.word("vllm", "cache");
    Some(message)
}
