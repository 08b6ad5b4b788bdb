//! TensorBoard's event files: records of TFRecord, each an `Event` (tensorflow/core/util/event.proto) with its time, step and
//! summary. A scalar is a `simple_value`, or a tensor of one float or double (TensorFlow 2).

use std::io::Read;

use super::wire::{Fields, Value, text};
use super::{MOST_RECORD, Reader, fill};
use crate::log::numbers::Moment;

/// Before its first record's bytes: their length, and its checksum.
const HEAD: usize = 12;

/// Whether a file begins with the length of a record and its checksum.
pub(super) fn looks_like(start: &[u8]) -> bool {
    start.get(..HEAD).is_some_and(|head| is_head(head) && length_of(head) > 0)
}

fn length_of(head: &[u8]) -> u64 {
    head.iter().take(8).rev().fold(0, |length, byte| (length << 8) | u64::from(*byte))
}

fn is_head(head: &[u8]) -> bool {
    let told = head.iter().skip(8).rev().fold(0_u32, |sum, byte| (sum << 8) | u32::from(*byte));
    masked(crc32c(&head[..8])) == told
}

/// CRC-32C (Castagnoli), bit by bit: it is taken of eight bytes only.
fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = !0_u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0x82F6_3B78 } else { crc >> 1 };
        }
    }
    !crc
}

/// As TFRecord stores it (tensorflow/core/lib/hash/crc32c.h).
fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xA282_EAD8)
}

pub(super) fn read(input: &mut impl Read, reader: &mut Reader) -> std::io::Result<()> {
    let mut record = Vec::new();
    let (mut count, mut offset) = (0_u64, 0_u64);
    loop {
        let mut head = [0_u8; HEAD];
        let mut first = [0_u8; 1];
        if !fill(input, &mut first)? {
            return Ok(());
        }
        head[0] = first[0];
        let whole = fill(input, &mut head[1..])?;
        if !whole || !is_head(&head) {
            let what = if whole { "is damaged" } else { "breaks off" };
            reader.said.push(format!("it {what} at byte {offset}, after {count} records; what stands before that was read"));
            return Ok(());
        }
        let length = length_of(&head);
        count += 1;
        if length > MOST_RECORD {
            // An image or a model: passed over without being kept.
            let passed = std::io::copy(&mut input.take(length.saturating_add(4)), &mut std::io::sink())?;
            offset = offset.saturating_add(HEAD as u64 + passed);
            continue;
        }
        // Grows with what is there, not with what is claimed.
        record.clear();
        input.take(length + 4).read_to_end(&mut record)?;
        if (record.len() as u64) < length {
            reader
                .said
                .push(format!("it breaks off at byte {offset}, after {} records; what stands before that was read", count - 1));
            return Ok(());
        }
        offset += HEAD as u64 + length + 4;
        event(&record[..length as usize], count, reader);
    }
}

fn event(message: &[u8], count: u64, reader: &mut Reader) {
    let mut moment = Moment { line: count, ..Moment::default() };
    let mut summary = None;
    for (field, value) in Fields::of(message) {
        match (field, value) {
            (1, Value::Fixed64(bits)) => moment.time_s = Some(f64::from_bits(bits)).filter(|time_s| time_s.is_finite()),
            (2, Value::Varint(step)) => moment.step = Some(step as i64 as f64),
            (5, Value::Bytes(bytes)) => summary = Some(bytes),
            _ => {}
        }
    }
    for (_, value) in Fields::of(summary.unwrap_or_default()).filter(|(field, _)| *field == 1) {
        let Value::Bytes(value) = value else { continue };
        if let Some((tag, scalar, digit)) = scalar(value) {
            reader.scalars += 1;
            reader.numbers.scalar("TensorBoard", &tag, None, scalar, digit, &moment);
        }
    }
}

/// The tag of a summary's value, its scalar, and how fine that is.
fn scalar(value: &[u8]) -> Option<(String, f64, f64)> {
    let (mut tag, mut scalar) = (None, None);
    for (field, value) in Fields::of(value) {
        match (field, value) {
            (1, Value::Bytes(bytes)) => tag = Some(text(bytes)),
            (2, Value::Fixed32(bits)) => scalar = Some(single(bits)),
            (8, Value::Bytes(bytes)) => scalar = tensor(bytes).or(scalar),
            _ => {}
        }
    }
    let (scalar, digit) = scalar.filter(|(scalar, _)| scalar.is_finite())?;
    Some((tag?, scalar, digit))
}

/// A float has 24 bits: what is counted in bytes is rounded to 2^-23 of it.
fn single(bits: u32) -> (f64, f64) {
    let value = f64::from(f32::from_bits(bits));
    (value, value.abs() * f64::from(f32::EPSILON))
}

/// A tensor of one number: its data type is 1 for float and 2 for double.
fn tensor(message: &[u8]) -> Option<(f64, f64)> {
    let (mut kind, mut found) = (0, None);
    for (field, value) in Fields::of(message) {
        match (field, value) {
            (1, Value::Varint(told)) => kind = told,
            (4 | 5, Value::Bytes(bytes)) if bytes.len() == 4 && kind == 1 => {
                found = Some(single(u32::from_le_bytes(bytes.try_into().ok()?)));
            }
            (5, Value::Fixed32(bits)) if kind == 1 => found = Some(single(bits)),
            (4 | 6, Value::Bytes(bytes)) if bytes.len() == 8 && kind == 2 => {
                found = Some((f64::from_le_bytes(bytes.try_into().ok()?), 0.0));
            }
            (6, Value::Fixed64(bits)) if kind == 2 => found = Some((f64::from_bits(bits), 0.0)),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_castagnolis() {
        // The check value of CRC-32C.
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
    }

    #[test]
    fn scalars_of_both_sorts() {
        let simple = [&[0x0A, 1, b't', 0x15][..], &2.5_f32.to_le_bytes()].concat();
        assert_eq!(scalar(&simple).map(|(tag, value, _)| (tag, value)), Some(("t".to_owned(), 2.5)));
        let content = [&[0x08, 1, 0x22, 4][..], &2.5_f32.to_le_bytes()].concat();
        let of_tensor = [&[0x0A, 1, b't', 0x42, content.len() as u8][..], &content].concat();
        assert_eq!(scalar(&of_tensor).map(|(tag, value, _)| (tag, value)), Some(("t".to_owned(), 2.5)));
        let picture = [0x0A, 1, b't', 0x22, 2, 1, 2];
        assert_eq!(scalar(&picture), None);
    }
}
