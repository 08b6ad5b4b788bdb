//! numpy: an array that could not be made.

use super::{At, Family, Message, patterns};

patterns! {
    ARRAY = r"unabletoallocate(?P<amount>AMOUNT)foranarraywithshape\((?P<shape>[\d,]{1,200})\)(?:anddatatype(?P<type>[<>|=]?[a-z]{1,12}\d{0,4}))?";
    SHORT = r"unabletoallocate(?P<amount>AMOUNT)";
    OLD = r"unabletoallocatearraywithshape\((?P<shape>[\d,]{1,200})\)anddatatype(?P<type>[a-z]{1,12}\d{0,4})";
}

/// `Unable to allocate 7.28 TiB for an array with shape (1000000, 1000000) and data type float64`
pub(super) fn read(at: &At) -> Option<Message> {
    let text = &at.text;
    let caps = at.here(&ARRAY).or_else(|| at.here(&OLD)).or_else(|| at.here(&SHORT))?;
    let mut message = Message::new(Family::Numpy, text, caps.get(0)?.range());
    if caps.name("amount").is_some() {
        message.amount(text, &caps, "amount", "tried_to_allocate");
    }
    if let Some(shape) = caps.name("shape") {
        let shape = text.original(shape.range()).replace([' ', '\n'], "");
        if let Some(kind) = caps.name("type") {
            let kind = first_word(&text.original(kind.range()));
            if let Some(bytes) = size_of(&kind).and_then(|size| product(&shape, size)) {
                let told = message.number("tried_to_allocate");
                // Three digits are printed; both must mean the same.
                if told.is_none_or(|told| (told - bytes).abs() <= 0.01 * bytes + 1.0) {
                    message.set("array_bytes", bytes);
                }
            }
            message.word("type", kind);
        }
        message.word("shape", format!("({shape})"));
    }
    Some(message)
}

fn first_word(text: &str) -> String {
    text.split([' ', '\n']).next().unwrap_or("").to_ascii_lowercase()
}

/// Bytes of an element, by the name of its type.
fn size_of(kind: &str) -> Option<f64> {
    if kind == "bool" {
        return Some(1.0);
    }
    let digits = kind.find(|c: char| c.is_ascii_digit())?;
    let (name, bits) = kind.split_at(digits);
    let bits: u32 = bits.parse().ok()?;
    let plain = matches!(name, "float" | "int" | "uint" | "complex");
    (plain && matches!(bits, 8 | 16 | 32 | 64 | 128 | 256)).then(|| f64::from(bits) / 8.0)
}

fn product(shape: &str, size: f64) -> Option<f64> {
    let mut product = size;
    for side in shape.split(',').filter(|side| !side.is_empty()) {
        product *= side.parse::<u64>().ok()? as f64;
    }
    (product < 1e19).then_some(product)
}
