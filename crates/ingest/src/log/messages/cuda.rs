//! CUDA: PyTorch's allocator, the runtime, the libraries, the driver.

use super::{At, Family, Message, caching_allocator, patterns};

patterns! {
    DRIVER = r"failedtoallocate(?P<rounded>AMOUNT)\((?P<bytes>\d+)bytes\)fromdevice:$";
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
    if status.starts_with("CUDNN") {
        message.word("unsure", "cuDNN says so of what it does not support, too");
    }
    message.word("said", status);
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
