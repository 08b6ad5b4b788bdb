//! CUDA: PyTorch's allocator, the runtime, the libraries, the driver.

use super::{At, Family, Message, caching_allocator, patterns};

patterns! {
    DRIVER = r"failedtoallocate(?P<rounded>AMOUNT)\((?P<bytes>\d+)bytes\)fromdevice:$";
    CUPY = r"outofmemoryallocating(?P<request>[\d,]{1,24})bytes\(allocatedsofar:(?P<allocated>[\d,]{1,24})bytes(?:,limitsetto:(?P<limit>[\d,]{1,24})bytes)?\)";
    BITSANDBYTES = r"outofmemoryatline\d{1,5}infile";
    DRIVER_SHORT = r"failedtoallocate(?P<rounded>AMOUNT)[^.]{0,40}$";
}

/// `CUDA out of memory. ...` and `CUDA error: out of memory`.
pub(super) fn read(at: &At) -> Option<Message> {
    if at.before_ends_with("cudaerror:") {
        let mut message = Message::new(Family::Cuda, &at.text, at.start - "cudaerror:".len()..at.end);
        message.word("said", "CUDA error: out of memory");
        return Some(message);
    }
    caching_allocator::read(at, Family::Cuda, "cuda")
}

/// `CUBLAS_STATUS_ALLOC_FAILED`, and `CUDNN_STATUS_NOT_SUPPORTED`, which may be one.
pub(super) fn library(at: &At) -> Option<Message> {
    let status = at.text.original(at.start..at.end).to_ascii_uppercase();
    let mut message = Message::new(Family::Cuda, &at.text, at.line());
    // Many calls print it for what they do not support: memory is only one reason.
    if status.ends_with("NOT_SUPPORTED") {
        message.word("unsure", "cuDNN says so of what it does not support, too");
    }
    message.word("said", status);
    message.end = at.end;
    Some(message)
}

/// What NCCL, Triton, CuPy and bitsandbytes say of it.
pub(super) fn other(at: &At) -> Option<Message> {
    const BEFORE: usize = 32;
    let text = &at.text;
    let before = at.before(BEFORE).to_ascii_lowercase();
    let said = if let Some(caps) = at.here(&CUPY) {
        let mut message = Message::new(Family::Cuda, text, caps.get(0)?.range());
        for (group, name) in [("request", "tried_to_allocate"), ("allocated", "allocated"), ("limit", "allowed")] {
            message.count(text, &caps, group, name);
        }
        message.word("cupy", "its pool");
        return Some(message);
    } else if before.ends_with(b"'") && before.windows(11).any(|window| window == b"cudafailure") {
        "NCCL: CUDA out of memory"
    } else if before.ends_with(b"tritonerror[cuda]:") {
        "Triton: CUDA out of memory"
    } else if before.ends_with(b"error") && at.here(&BITSANDBYTES).is_some() {
        "bitsandbytes: CUDA out of memory"
    } else {
        return None;
    };
    let mut message = Message::new(Family::Cuda, text, at.line());
    message.word("said", said);
    message.end = at.end;
    Some(message)
}

/// `failed to allocate 17.79G (19104890880 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY`.
pub(super) fn driver(at: &At) -> Option<Message> {
    let text = &at.text;
    let from = at.start.saturating_sub(120);
    let before = &text.chars[..at.start];
    let found = DRIVER.captures_at(before, from).or_else(|| DRIVER_SHORT.captures_at(before, from));
    let begin = found.as_ref().and_then(|caps| caps.get(0)).map_or(at.start, |all| all.start());
    let mut message = Message::new(Family::Cuda, text, begin..at.end);
    message.word("said", "CUDA_ERROR_OUT_OF_MEMORY");
    if let Some(caps) = found {
        // The exact number counts; the rounded one is the same.
        message.count(text, &caps, "bytes", "tried_to_allocate");
        if !message.numbers.contains_key("tried_to_allocate") {
            message.amount(text, &caps, "rounded", "tried_to_allocate");
        }
    }
    // `CUDA_ERROR_OUT_OF_MEMORY: out of memory` is one message.
    message.end = at.end + ":outofmemory".len();
    Some(message)
}
