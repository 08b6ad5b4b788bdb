//! Files of metrics: bytes as they are, and messages inside frames that are right, so that damage reaches what reads them.

use lowtide_ingest::scalars::{self, Scalars};

/// The most series that a file may leave: 192 names, each as one or by the words around it.
const MOST_SERIES: usize = 3 * 192;
/// What W&B's logs begin with, and their blocks.
const WANDB: &[u8] = b":W&B\xE1\xBE\x00";
const BLOCK: usize = 32 << 10;

/// A file of metrics. Where its first byte is 0 or 1 the rest are messages, two bytes of length before each, for records of an
/// event file or of a W&B log.
pub fn scalars(bytes: &[u8]) {
    match bytes.split_first() {
        Some((0, rest)) => read(&event_file(rest)),
        Some((1, rest)) => read(&wandb(rest)),
        _ => read(bytes),
    }
}

fn read(bytes: &[u8]) {
    let _ = scalars::looks_like(bytes);
    let columns = ["memory=loss:MB".to_owned()];
    let whole = scalars::read(bytes, &columns).expect("bytes in memory can be read");
    assert!(whole.scalars <= bytes.len() as u64, "a scalar takes at least a byte");
    assert!(whole.series.len() <= MOST_SERIES, "bounded, whatever the names");
    assert!(whole.said.iter().all(|line| line.len() < 4096), "texts that can be read");
    for series in &whole.series {
        assert!(series.points <= whole.scalars && series.windows.len() <= 1024, "no more than there is");
        assert!(
            series.windows.iter().all(|window| window.low <= window.high && window.low.is_finite() && window.high.is_finite())
        );
        assert!(series.windows.windows(2).all(|pair| pair[0].end_s <= pair[1].start_s), "the axis goes on");
    }
    let said = |scalars: &Scalars| format!("{scalars:?}");
    let middle = bytes.len() / 2;
    let pieces = std::io::Read::chain(&bytes[..middle], &bytes[middle..]);
    let again = scalars::read(pieces, &columns).expect("bytes in memory can be read");
    assert_eq!(said(&whole), said(&again), "how a file is read does not matter");
}

/// The messages of an input.
fn messages(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let [low, high, more @ ..] = rest else { return None };
        let (message, after) = more.split_at(usize::from(u16::from_le_bytes([*low, *high])).min(more.len()));
        rest = after;
        Some(message)
    })
}

/// Records of TFRecord: length, its masked checksum, the message, four bytes that nobody reads.
fn event_file(rest: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    for message in messages(rest) {
        let length = (message.len() as u64).to_le_bytes();
        file.extend(length);
        file.extend(crc32c(&length).rotate_right(15).wrapping_add(0xA282_EAD8).to_le_bytes());
        file.extend(message);
        file.extend([0; 4]);
    }
    file
}

/// CRC-32C, once more: the reader's own must not check itself.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0x82F6_3B78 & (crc & 1).wrapping_neg()))
    })
}

/// Records in blocks of LevelDB's log: checksum, length, and whether it is whole (1) or a first (2), middle (3) or last (4) part.
fn wandb(rest: &[u8]) -> Vec<u8> {
    let mut file = WANDB.to_vec();
    for message in messages(rest) {
        let (mut rest, mut first) = (message, true);
        loop {
            let room = BLOCK - file.len() % BLOCK;
            if room < 7 {
                file.resize(file.len() + room, 0);
                continue;
            }
            let (part, after) = rest.split_at(rest.len().min(room - 7));
            file.extend([0; 4]);
            file.extend((part.len() as u16).to_le_bytes());
            file.push(match (first, after.is_empty()) {
                (true, true) => 1,
                (true, false) => 2,
                (false, false) => 3,
                (false, true) => 4,
            });
            file.extend(part);
            (rest, first) = (after, false);
            if rest.is_empty() {
                break;
            }
        }
    }
    file
}
