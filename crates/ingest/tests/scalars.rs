//! Files of metrics: a real event file of TensorBoard, a binary log of W&B written here, and any bytes.
#![allow(clippy::unwrap_used, missing_docs)]

use std::path::Path;

use lowtide_ingest::log::numbers::{Axis, What, Whose};
use lowtide_ingest::scalars::{looks_like, read};
use proptest::prelude::*;

fn event_file(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scalars").join(name)).unwrap()
}

#[test]
fn scalars_of_an_event_file_that_mean_memory() {
    let file = event_file("leak.tfevents");
    assert!(looks_like(&file));
    let scalars = read(&file[..], &[]).unwrap();
    assert_eq!((scalars.scalars, scalars.series.len()), (1200, 2));
    let rss = &scalars.series[0];
    assert_eq!((rss.name.as_str(), rss.points, rss.axis), ("system/rss_mb", 400, Axis::Time));
    assert_eq!((rss.whose, rss.what), (Whose::Process, What::Used));
    let last = rss.windows.last().unwrap().last;
    assert!((last - rss.first - 200.0 * 1_048_576.0).abs() < 8.0 * 1_048_576.0, "200 MiB were kept: {last}");
    assert_eq!(read(&file[..], &["memory=train/loss:GB".to_owned()]).unwrap().series.len(), 3, "the user may name one");
}

#[test]
fn a_file_that_breaks_off_was_read_that_far() {
    let file = event_file("none.tfevents");
    let half = read(&file[..file.len() / 2], &[]).unwrap();
    assert!(half.said[0].contains("breaks off"), "{:?}", half.said);
    assert!((500..700).contains(&half.scalars), "{}", half.scalars);
    let mut damaged = file.clone();
    damaged[file.len() / 2..].fill(0xAA);
    assert!(read(&damaged[..], &[]).unwrap().said[0].contains(" at byte "));
}

/// A binary log of W&B with these records, in blocks of 32 KiB as LevelDB has them.
fn wandb(records: &[Vec<u8>]) -> Vec<u8> {
    let mut file = b":W&B\xE1\xBE\x00".to_vec();
    for record in records {
        let mut rest = &record[..];
        let mut begun = false;
        loop {
            let left = (32 << 10) - file.len() % (32 << 10);
            if left < 7 {
                file.resize(file.len() + left, 0);
                continue;
            }
            let (part, after) = rest.split_at(rest.len().min(left - 7));
            let kind = match (begun, after.is_empty()) {
                (false, true) => 1,
                (false, false) => 2,
                (true, false) => 3,
                (true, true) => 4,
            };
            file.extend([0; 4]);
            file.extend((part.len() as u16).to_le_bytes());
            file.push(kind);
            file.extend(part);
            (rest, begun) = (after, true);
            if rest.is_empty() {
                break;
            }
        }
    }
    file
}

/// A field of bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length > 0x7F {
        field.push(length as u8 | 0x80);
        length >>= 7;
    }
    field.push(length as u8);
    field.extend(bytes);
    field
}

/// `StatsRecord` with one metric of the system, a second after the other.
fn stats(at: u8, key: &str, value: &str) -> Vec<u8> {
    let stamp = field(2, &[0x08, at]);
    // Field 16 has a key of two bytes.
    let item = [field(1, key.as_bytes()), vec![0x82, 0x01, value.len() as u8], value.as_bytes().to_vec()].concat();
    field(7, &[stamp, field(3, &item)].concat())
}

#[test]
fn metrics_of_the_system_in_a_binary_log() {
    let mut records: Vec<Vec<u8>> = Vec::new();
    for at in 0..100 {
        records.push(stats(at, "proc.memory.rssMB", &format!("{}.5", 100 + u32::from(at))));
        records.push(stats(at, "gpu.1.memoryAllocatedBytes", "1073741824"));
        // The share of the time in which the card's memory is read or written.
        records.push(stats(at, "gpu.1.memory", "55"));
        // Larger than a block.
        records.push(field(4, &vec![b'x'; if at == 50 { 100_000 } else { 10 }]));
    }
    let file = wandb(&records);
    assert!(looks_like(&file));
    let scalars = read(&file[..], &[]).unwrap();
    let told: Vec<_> =
        scalars.series.iter().map(|one| (one.name.as_str(), one.points, one.whose, one.device, one.first)).collect();
    let expected = [
        ("process memory rss", 100, Whose::Process, None, 100.5 * 1_048_576.0),
        ("gpu 1 memory", 100, Whose::Card, Some(1), 1_073_741_824.0),
    ];
    assert_eq!(told, expected);
    assert_eq!(scalars.said, Vec::<String>::new());
    let torn = read(&file[..file.len() - 5], &[]).unwrap();
    assert_eq!(torn.series[0].points, 100);
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..4096), wandb in any::<bool>(), at in any::<prop::sample::Index>()) {
        let mut file = if wandb { b":W&B\xE1\xBE\x00".to_vec() } else { event_file("none.tfevents")[..4096].to_vec() };
        if wandb {
            file.extend(&bytes);
        } else {
            let at = at.index(file.len());
            let end = (at + bytes.len().min(64)).min(file.len());
            let count = end - at;
            file[at..end].copy_from_slice(&bytes[..count]);
        }
        let scalars = read(&file[..], &[]).unwrap();
        prop_assert!(scalars.series.iter().all(|one| one.windows.iter().all(|window| window.low.is_finite())));
    }
}
