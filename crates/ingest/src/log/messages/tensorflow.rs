//! TensorFlow and JAX.

use super::{At, Family, Message, patterns};

patterns! {
    TENSOR = r"oomwhenallocatingtensorwithshape\[(?P<shape>[\d,]{0,200})\](?:andtype(?P<type>bool|half|bfloat16|float(?:16|32|64)?|double|q?u?int(?:8|16|32|64)?|complex(?:64|128)))?(?:on(?P<device>/job:[^\s]{1,80}?|/[a-z]{1,8}:[a-z0-9:_/]{1,80}?))?(?:byallocator(?P<allocator>[a-z]{3}(?:_\d{1,3})?_bfc|mklcpu|cpu))?";
    DEVICE = r"device:(?P<kind>gpu|cpu|tpu):(?P<index>\d{1,3})";
    BYTES = r"(?:outofmemorywhiletryingtoallocate|outofmemoryallocating|failedtoallocaterequestfor|tryingtoallocate|attemptingtoallocate|attemptingtoreserve)(?P<amount>AMOUNT|(?P<plain>\d{1,20})bytes)";
    NOT_POSSIBLE = r"thereare(?P<free>AMOUNT)free";
    BFC = r"(?:allocator\((?P<allocator>[a-z0-9_]{1,24})\))?ranoutofmemorytryingtoallocate(?P<amount>AMOUNT)(?:\(roundedto(?P<rounded>\d{1,20})\))?";
    HBM = r"ranoutofmemoryinmemoryspace(?P<space>[a-z]{1,16})\.used(?P<used>AMOUNT)of(?P<total>AMOUNT)(?:[a-z]{1,16})?\.(?:exceeded[a-z]{1,16}capacityby(?P<over>AMOUNT))?";
}

/// `OOM when allocating tensor with shape[256,1024] and type double on /job:.../device:GPU:0 by allocator GPU_0_bfc`
pub(super) fn tensor(at: &At) -> Option<Message> {
    let text = &at.text;
    let Some(caps) = at.here(&TENSOR) else {
        let mut message = Message::new(Family::TensorFlow, text, at.start..at.end);
        message.refused.push(format!("line {}: the tensor's shape is cut or cannot be read", message.line));
        device(&mut message, at);
        return Some(message);
    };
    let mut message = Message::new(Family::TensorFlow, text, caps.get(0)?.range());
    let shape = text.original(caps.name("shape")?.range()).replace([' ', '\n'], "");
    message.word("shape", format!("[{shape}]"));
    let dtype = caps.name("type").map(|kind| text.original(kind.range()).to_ascii_lowercase().replace('\n', ""));
    if let Some(bytes) = dtype.as_deref().and_then(size_of).and_then(|size| bytes_of(&shape, size)) {
        message.set("tensor_bytes", bytes);
    }
    if let Some(dtype) = dtype {
        message.word("type", dtype);
    }
    device(&mut message, at);
    Some(message)
}

fn device(message: &mut Message, at: &At) {
    if let Some(caps) = at.near(&DEVICE, 200)
        && let Some(kind) = caps.name("kind")
    {
        if kind.as_bytes().eq_ignore_ascii_case(b"gpu") {
            // `GPU:0 by allocator`: what follows in the text is no digit.
            message.last_count(&at.text, &caps, "index", "gpu");
        }
        message.word("device", at.text.original(kind.start()..caps.get(0).map_or(kind.end(), |all| all.end())));
    }
}

/// Bytes of an element.
fn size_of(dtype: &str) -> Option<f64> {
    Some(match dtype {
        "bool" | "int8" | "uint8" | "qint8" | "quint8" => 1.0,
        "half" | "float16" | "bfloat16" | "int16" | "uint16" => 2.0,
        "float" | "float32" | "int32" | "uint32" | "int" | "qint32" => 4.0,
        "double" | "float64" | "int64" | "uint64" | "complex64" => 8.0,
        "complex128" => 16.0,
        _ => return None,
    })
}

fn bytes_of(shape: &str, size: f64) -> Option<f64> {
    let mut product = size;
    for side in shape.split(',').filter(|side| !side.is_empty()) {
        product *= side.parse::<u64>().ok()? as f64;
    }
    (product < 1e18 && !shape.is_empty()).then_some(product)
}

/// `RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes.`
pub(super) fn exhausted(at: &At) -> Option<Message> {
    let text = &at.text;
    const REACH: usize = 300;
    let begin = at.start;
    // What stands behind the words, or the words themselves.
    let end = text.chars.len().min(at.end + REACH);
    let Some(caps) = BYTES.captures_at(&text.chars[..end], at.start) else {
        // `RESOURCE_EXHAUSTED: OOM when allocating tensor` is told by its other words; gRPC has the name for other things, too.
        return None;
    };
    let mut message = Message::new(Family::TensorFlow, text, begin..caps.get(0)?.end());
    message.word("said", "RESOURCE_EXHAUSTED");
    if caps.name("plain").is_some() {
        message.count(text, &caps, "plain", "tried_to_allocate");
    } else {
        message.amount(text, &caps, "amount", "tried_to_allocate");
    }
    if let Some(caps) = at.near(&NOT_POSSIBLE, REACH) {
        message.amount(text, &caps, "free", "free");
    }
    Some(message)
}

/// `Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.50GiB (rounded to 2684354560)`
pub(super) fn allocator(at: &At) -> Option<Message> {
    let text = &at.text;
    let caps = at.around(&BFC, 44)?;
    let mut message = Message::new(Family::TensorFlow, text, caps.get(0)?.range());
    message.amount(text, &caps, "amount", "tried_to_allocate");
    message.count(text, &caps, "rounded", "rounded_to");
    if let Some(allocator) = caps.name("allocator") {
        let name = text.original(allocator.range());
        let index = name.split('_').nth(1).and_then(|index| index.parse::<u32>().ok());
        if let Some(index) = index.filter(|_| name.to_ascii_uppercase().starts_with("GPU_")) {
            message.set("gpu", f64::from(index));
        }
        message.word("allocator", name);
    }
    Some(message)
}

/// `Ran out of memory in memory space hbm. Used 17.20G of 15.48G hbm. Exceeded hbm capacity by 1.72G.`
pub(super) fn hbm(at: &At) -> Option<Message> {
    let text = &at.text;
    let caps = at.here(&HBM)?;
    let mut message = Message::new(Family::TensorFlow, text, caps.get(0)?.range());
    message.amount(text, &caps, "used", "used");
    message.amount(text, &caps, "total", "total_capacity");
    message.amount(text, &caps, "over", "exceeded_by");
    message.word("space", text.original(caps.name("space")?.range()));
    Some(message)
}
