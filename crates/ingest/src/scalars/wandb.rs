//! The binary logs of W&B (`run-*.wandb`): blocks of 32 KiB of LevelDB's log format, whose records are messages of
//! `wandb_internal.proto`. Of these the system's metrics (`StatsRecord`) and what the program logged (`HistoryRecord`) are read.

use std::io::Read;

use super::wire::{Fields, Value, text};
use super::{MOST_RECORD, Reader, fill};
use crate::log::numbers::{Moment, Unit};

/// `:W&B`, then the format's number 0xBEE1 and version 0.
const MAGIC: [u8; 7] = [b':', b'W', b'&', b'B', 0xE1, 0xBE, 0];
const BLOCK: usize = 32 << 10;
/// Checksum, length, type.
const HEAD: usize = 7;

pub(super) fn looks_like(start: &[u8]) -> bool {
    start.starts_with(&MAGIC)
}

pub(super) fn read(input: &mut impl Read, reader: &mut Reader) -> std::io::Result<()> {
    let mut magic = [0_u8; MAGIC.len()];
    fill(input, &mut magic)?;
    let mut left = BLOCK - MAGIC.len();
    let (mut record, mut whole, mut count): (Vec<u8>, bool, u64) = (Vec::new(), false, 0);
    let mut chunk = vec![0_u8; BLOCK];
    loop {
        if left < HEAD {
            if !fill(input, &mut chunk[..left])? {
                return Ok(());
            }
            left = BLOCK;
        }
        let head = &mut [0_u8; HEAD];
        if !fill(input, head)? {
            break;
        }
        left -= HEAD;
        let length = usize::from(u16::from_le_bytes([head[4], head[5]]));
        // Zeros fill a file that was made larger than what is written yet.
        if head[6] == 0 && length == 0 {
            break;
        }
        if length > left || !(1..=4).contains(&head[6]) {
            reader.said.push(format!("it is damaged after {count} records; what stands before that was read"));
            return Ok(());
        }
        if !fill(input, &mut chunk[..length])? {
            break;
        }
        left -= length;
        // 1 is a whole record, 2 its first part, 3 one in the middle, 4 its last one.
        if matches!(head[6], 1 | 2) {
            record.clear();
            whole = true;
        }
        whole &= record.len() + length <= MOST_RECORD as usize;
        if whole {
            record.extend_from_slice(&chunk[..length]);
        }
        if matches!(head[6], 1 | 4) {
            count += 1;
            if whole {
                message(&record, count, reader);
            }
            (record, whole) = (std::mem::take(&mut record), false);
        }
    }
    if whole {
        reader.said.push(format!("it breaks off after {count} records; what stands before that was read"));
    }
    Ok(())
}

fn message(record: &[u8], count: u64, reader: &mut Reader) {
    for (field, value) in Fields::of(record) {
        match (field, value) {
            (2, Value::Bytes(history)) => items(history, count, &mut Moment { line: count, ..Moment::default() }, reader, false),
            (7, Value::Bytes(stats)) => {
                let mut moment = Moment { line: count, ..Moment::default() };
                for (field, value) in Fields::of(stats) {
                    if let (2, Value::Bytes(stamp)) = (field, value) {
                        moment.time_s = Some(seconds(stamp));
                    }
                }
                items(stats, count, &mut moment, reader, true);
            }
            _ => {}
        }
    }
}

/// A `google.protobuf.Timestamp`.
fn seconds(stamp: &[u8]) -> f64 {
    Fields::of(stamp).fold(0.0, |sum, (field, value)| match (field, value) {
        (1, Value::Varint(seconds)) => sum + seconds as f64,
        (2, Value::Varint(nanos)) => sum + nanos as f64 * 1e-9,
        _ => sum,
    })
}

/// The items of a record; of a history, those that say when come among the others.
fn items(message: &[u8], count: u64, moment: &mut Moment, reader: &mut Reader, system: bool) {
    let of_item = if system { 3 } else { 1 };
    let mut found: Vec<(String, f64, f64)> = Vec::new();
    for (field, value) in Fields::of(message) {
        match (field, value) {
            (field, Value::Bytes(bytes)) if field == of_item => found.extend(item(bytes, system)),
            (2, Value::Bytes(step)) if !system => {
                moment.step = Fields::of(step)
                    .find_map(|(_, value)| if let Value::Varint(step) = value { Some(step as f64) } else { None });
            }
            _ => {}
        }
    }
    for (name, value, _) in &found {
        match name.as_str() {
            "_timestamp" => moment.time_s = Some(*value),
            "_step" => moment.step = Some(*value),
            _ => {}
        }
    }
    moment.line = count;
    for (name, value, digit) in found.iter().filter(|(name, ..)| !name.starts_with('_')) {
        reader.scalars += 1;
        if system {
            let Some((unit, called)) = system_metric(name) else { continue };
            reader.numbers.scalar("W&B system metrics", &called, Some(unit), *value, *digit, moment);
        } else {
            reader.numbers.scalar("W&B history", name, None, *value, *digit, moment);
        }
    }
}

/// An item's name, its number, and the value of its last digit.
fn item(message: &[u8], system: bool) -> Option<(String, f64, f64)> {
    let (mut name, mut found) = (String::new(), None);
    for (field, value) in Fields::of(message) {
        match (field, value) {
            (1, Value::Bytes(key)) => name = text(key),
            (2, Value::Bytes(key)) if !system => {
                name.push_str(if name.is_empty() { "" } else { "." });
                name.push_str(&text(key));
            }
            // Zigzag, as sint64 is written.
            (5, Value::Varint(value)) if !system => {
                found = Some((((value >> 1) as i64 ^ -((value & 1) as i64)) as f64, 1.0));
            }
            (6, Value::Fixed64(bits)) if !system => found = Some((f64::from_bits(bits), 0.0)),
            (16, Value::Bytes(json)) => {
                let json = text(json);
                let digits =
                    json.split_once('.').filter(|_| !json.contains(['e', 'E'])).map_or(0, |(_, part)| part.len().min(12));
                found = json.parse::<f64>().ok().map(|value| (value, 10.0_f64.powi(-(digits as i32))));
            }
            _ => {}
        }
    }
    let (value, digit) = found.filter(|(value, _)| value.is_finite())?;
    (!name.is_empty()).then_some((name, value, digit))
}

/// The unit of W&B's own metrics that say what is in use, and what they are of: they do not say it in their names
/// (docs.wandb.ai/guides/models/app/settings-page/system-metrics). MB are of 2^20 bytes there.
fn system_metric(name: &str) -> Option<(Unit, String)> {
    const MIB: Unit = Unit::Exact(1_048_576.0);
    match name {
        "proc.memory.rssMB" => Some((MIB, "process memory rss".to_owned())),
        // The whole machine's.
        "memory" | "memory_percent" => Some((Unit::Percent, "system memory".to_owned())),
        _ => {
            let of_card = name.strip_prefix("gpu.")?;
            // `gpu.process.0.*` is of the cards that the process uses, counted for the whole card all the same.
            let (card, metric) = of_card.strip_prefix("process.").unwrap_or(of_card).split_once('.')?;
            let whose = if of_card.starts_with("process.") { " of a process" } else { "" };
            (metric == "memoryAllocatedBytes").then(|| (Unit::Exact(1.0), format!("gpu {card} memory{whose}")))
        }
    }
}
