//! Frames: the checksummed records that a recording is a sequence of.

use crate::format::{Kind, MAX_PAYLOAD};
use crate::varint;

/// One frame at the front of some bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Front<'a> {
    /// It is whole; `len` bytes in all.
    Whole { kind: u8, payload: &'a [u8], len: usize },
    /// It may be whole once more bytes are there.
    Part,
    /// These bytes are no frame, whatever follows.
    Damaged,
}

/// Kind, three bytes of length, checksum: the most that stands before a payload.
pub(crate) const MAX_PREFIX: usize = 8;

/// Appends a frame. The caller keeps payloads within [`MAX_PAYLOAD`].
pub(crate) fn put(out: &mut Vec<u8>, kind: Kind, payload: &[u8]) {
    out.push(kind as u8);
    varint::put(out, payload.len() as u64);
    out.extend_from_slice(&checksum(kind as u8, payload).to_le_bytes());
    out.extend_from_slice(payload);
}

fn checksum(kind: u8, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[kind]);
    hasher.update(payload);
    hasher.finalize()
}

/// What begins at the front of `bytes`.
pub(crate) fn front(bytes: &[u8]) -> Front<'_> {
    let Prefix { kind, length, body } = match prefix(bytes) {
        Ok(Some(prefix)) => prefix,
        Ok(None) => return Front::Part,
        Err(varint::Malformed) => return Front::Damaged,
    };
    let Some((crc, rest)) = body.split_first_chunk::<4>() else { return Front::Part };
    let Some(payload) = rest.get(..length) else { return Front::Part };
    if checksum(kind, payload) != u32::from_le_bytes(*crc) {
        return Front::Damaged;
    }
    Front::Whole { kind, payload, len: bytes.len() - rest.len() + length }
}

/// Kind and payload of a frame that [`front`] found whole.
pub(crate) fn parts(frame: &[u8]) -> Option<(u8, &[u8])> {
    let Prefix { kind, length, body } = prefix(frame).ok()??;
    Some((kind, body.get(4..4 + length)?))
}

/// What stands before a payload; the checksum and all that follows it are in `body`.
struct Prefix<'a> {
    kind: u8,
    length: usize,
    body: &'a [u8],
}

/// Kind and payload length; `None` where the bytes end before these do.
fn prefix(bytes: &[u8]) -> Result<Option<Prefix<'_>>, varint::Malformed> {
    let Some((&kind, mut rest)) = bytes.split_first() else { return Ok(None) };
    if kind == 0 {
        // What a hole in a file reads as.
        return Err(varint::Malformed);
    }
    if rest.len() < 3 && rest.iter().all(|byte| *byte >= 0x80) {
        return Ok(None);
    }
    let length = varint::take_at_most(&mut rest, MAX_PAYLOAD as u64)?;
    Ok(Some(Prefix { kind, length: length as usize, body: rest }))
}

/// Where in `bytes`, after the damage at its front, the next frame of a known kind begins. Each byte that a checksum has to be
/// made of is taken off `budget`, so that bytes made to look like frames cannot cost more than time in proportion.
pub(crate) fn find(bytes: &[u8], budget: &mut u64) -> Option<usize> {
    for at in 1..bytes.len() {
        let tail = &bytes[at..];
        if Kind::of(tail[0]).is_none() {
            continue;
        }
        let Ok(Some(Prefix { length, body, .. })) = prefix(tail) else { continue };
        if body.len() < length + 4 {
            continue;
        }
        *budget = budget.checked_sub(length as u64 + 16)?;
        if let Front::Whole { .. } = front(tail) {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn two() -> (Vec<u8>, usize) {
        let mut out = Vec::new();
        put(&mut out, Kind::Note, b"first");
        let second = out.len();
        put(&mut out, Kind::Tick, &[7; 300]);
        (out, second)
    }

    #[test]
    fn frames_come_back_and_every_cut_is_a_part() {
        let (bytes, second) = two();
        assert_eq!(front(&bytes), Front::Whole { kind: 5, payload: b"first", len: second });
        assert_eq!(front(&bytes[second..]), Front::Whole { kind: 9, payload: &[7; 300], len: bytes.len() - second });
        for cut in second..bytes.len() {
            assert_eq!(front(&bytes[second..cut]), Front::Part, "{cut}");
        }
    }

    #[test]
    fn each_flipped_bit_is_noticed_and_the_next_frame_found() {
        let (bytes, second) = two();
        for bit in 0..second * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(!matches!(front(&damaged), Front::Whole { .. }), "bit {bit}");
            assert_eq!(find(&damaged, &mut 1_000_000), Some(second));
        }
    }

    #[test]
    fn the_search_stops_when_its_budget_is_spent() {
        let (bytes, _) = two();
        assert_eq!(find(&bytes[1..], &mut 100), None);
    }

    proptest! {
        #[test]
        fn never_panics(bytes: Vec<u8>) {
            let _ = front(&bytes);
            let _ = find(&bytes, &mut 10_000);
        }
    }
}
