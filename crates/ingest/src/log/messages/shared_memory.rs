//! /dev/shm is full, or too small.

use super::{At, Family, Message, patterns};

patterns! {
    SHM_PATH = r"/dev/shm|</?torch_|/torch_\d|shm_open|shmget|sharedmemory|sem\.mp-|psm_[0-9a-f]{6}";
    MMAP = r"unabletommap(?P<bytes>\d{1,20})bytesfromfile<(?P<file>[^>]{1,120})>(?::[^(]{0,60}\((?P<errno>\d{1,4})\))?";
    TORCH = r"unableto(?:allocatesharedmemory\(shm\)for|writeto|resize|open(?:sharedmemory(?:object|file)?)?)(?:file)?<(?P<file>[^>]{1,120})>(?:totherightsize)?(?:inread-writemode)?(?::?[^(]{0,60}\((?P<errno>\d{1,4})\))?";
}

/// `OSError: [Errno 28] No space left on device: '/dev/shm/...'`; a full disk is none of our business.
pub(super) fn read(at: &At) -> Option<Message> {
    let text = &at.text;
    let line = at.line();
    let around = line.start.max(at.start.saturating_sub(300))..line.end.min(at.end + 300);
    let named = SHM_PATH.is_match(&text.chars[around]);
    // With a path that is another one it is a full disk; without one it may be either.
    let path = text.chars[at.end..line.end.min(at.end + 8)].iter().any(|c| matches!(c, b'/' | b'\'' | b'"'));
    if !named && (path || !at.before_ends_with("[errno28]")) {
        return None;
    }
    let mut message = Message::new(Family::SharedMemory, text, line);
    if !named {
        message.word("unsure", "a full disk says so, too");
    }
    message.set("errno", 28.0);
    message.word("said", "no space left on /dev/shm");
    message.end = at.end;
    Some(message)
}

/// torch's own words: `unable to mmap 8388608 bytes from file </torch_12_34_0>: Cannot allocate memory (12)`.
pub(super) fn torch(at: &At) -> Option<Message> {
    let text = &at.text;
    let caps = at.here(&MMAP).or_else(|| at.here(&TORCH))?;
    if !SHM_PATH.is_match(caps.name("file")?.as_bytes()) && !SHM_PATH.is_match(caps.get(0)?.as_bytes()) {
        return None;
    }
    let mut message = Message::new(Family::SharedMemory, text, caps.get(0)?.range());
    // Only `mmap` says how much was asked for.
    if caps.get(0)?.as_bytes().to_ascii_lowercase().starts_with(b"unabletommap") {
        message.count(text, &caps, "bytes", "tried_to_allocate");
    }
    message.count(text, &caps, "errno", "errno");
    message.word("file", text.original(caps.name("file")?.range()));
    message.word("said", "shared memory could not be had");
    Some(message)
}
