//! The ring's layout, version 1; all numbers are little-endian.
//!
//! ```text
//! ring   := header[4096] slot[136]*
//! header := 0 magic `LTMARKS1`   8 slot size u32   12 slots u32   16 pid u32   20 parent u32   24 made at, ns u64
//!           32 slots ever written u64   40 steps u64   48 last step at, ns u64   56 rank i32   60 local rank i32
//!           64 Python's version u8 * 3   68 state u32 (2: off)   72 role[24]   96 torch's version[24]   120 text[136]
//!           256 request u64   264 its kind u32   272 answered u64   280 answer i64   512 path[1024]
//! slot   := seq u64   t_ns u64   kind u8   scope u8   text length u8   flags u8   gc_full u32   steps u64   index i64
//!           heap_used i64   heap_free i64   gc_objects i64   workers u32   compiled u32   blocks i64   text[48]
//!           seq u64
//! ```
//!
//! A slot of kind 8 answers a request: scope is what was asked for, index what came of it (-1: it could not be done), and
//! heap_used, heap_free and gc_objects are the request's number, the nanoseconds that it took, and the bytes that were free inside
//! the C heap before it; text says why it could not be done, where that is known. A file that was asked for goes into the ring's
//! folder, by the name in the header, and has no more bytes than stand there.
//!
//! A slot of kind 7 tells of a device: index is its number, heap_used, heap_free and gc_objects are allocated, reserved and peak
//! bytes. Kind 10 tells more of the same device: gc_full is the share of it that may be used in millionths, heap_used, heap_free
//! and gc_objects are active, inactive split and requested bytes, workers and compiled the retries and failures, blocks the bytes
//! of private pools, text the bytes of pinned host memory.
//!
//! Slot number n lies at place n modulo the number of slots and holds n + 1 as its sequence number at both ends: a slot
//! that is being written has two different ones.

use lowtide_model::{Answer, DeviceFacts, InnerFacts, MarkKind, Request, Scope, ScopeMark};

/// Bytes of the header.
pub const HEADER_LEN: usize = 4096;
/// Where the header's text lies.
pub(crate) const TEXT: std::ops::Range<usize> = 120..256;
/// Where the header has the most bytes of a file, u64, and its name.
pub(crate) const MOST: u64 = 512;
pub(crate) const NAME: std::ops::Range<usize> = 520..584;
/// Bytes of a slot.
pub const SLOT_LEN: usize = 136;
/// The most slots that a ring may have.
const MOST_SLOTS: u32 = 1 << 16;

/// What the header says that does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The process, as it calls itself.
    pub pid: u32,
    /// Slots of the ring.
    pub slots: u64,
}

/// Reads the start of a header; `None`: none, or of another version.
#[must_use]
pub fn header(bytes: &[u8]) -> Option<Header> {
    let slots = u32_at(bytes, 12)?;
    let fits = bytes.get(..8)? == b"LTMARKS1" && u32_at(bytes, 8)? as usize == SLOT_LEN && (1..=MOST_SLOTS).contains(&slots);
    fits.then_some(Header { pid: u32_at(bytes, 16)?, slots: u64::from(slots) })
}

/// What a slot says.
#[derive(Clone, Debug, PartialEq)]
pub enum Slot {
    /// A mark: nanoseconds of the monotonic clock, what, optimizer steps by then, facts.
    Mark(u64, MarkKind, u64, Option<InnerFacts>),
    /// The facts of a device, for the mark before.
    Device(DeviceFacts),
    /// More of the device before.
    DeviceMore(DeviceFacts),
    /// Of a kind that is not known here, or of none that the run's record has.
    Other,
}

/// Reads slot number `n`; `None` where it is not whole.
#[must_use]
pub fn slot(bytes: &[u8], n: u64) -> Option<Slot> {
    if u64_at(bytes, 0)? != n + 1 || u64_at(bytes, SLOT_LEN - 8)? != n + 1 {
        return None;
    }
    let (t_ns, kind, scope, flags) = (u64_at(bytes, 8)?, *bytes.get(16)?, *bytes.get(17)?, *bytes.get(19)?);
    let length = usize::from(*bytes.get(18)?).min(48);
    let text = || String::from_utf8_lossy(bytes.get(80..80 + length).unwrap_or_default()).into_owned();
    let (steps, index) = (u64_at(bytes, 24)?, i64_at(bytes, 32)?);
    let number = |at: usize| i64_at(bytes, at).and_then(|value| u64::try_from(value).ok());
    let what = match kind {
        1 => MarkKind::On(text()),
        2 => MarkKind::Step,
        3 => {
            let index = u64::try_from(index).ok().filter(|_| flags & 8 != 0);
            MarkKind::Begin(ScopeMark { scope: scope_of(scope)?, index, name: text() })
        }
        4 => MarkKind::End(scope_of(scope)?),
        6 => MarkKind::Off(text()),
        7 => {
            let (allocated, reserved) = (number(40).unwrap_or(0), number(48).unwrap_or(0));
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            let peak = number(56).unwrap_or(0);
            return Some(Slot::Device(DeviceFacts { index, allocated, reserved, peak, ..DeviceFacts::default() }));
        }
        10 => {
            let known = |at: usize| u32_at(bytes, at).filter(|count| *count != u32::MAX);
            return Some(Slot::DeviceMore(DeviceFacts {
                index: u32::try_from(index).unwrap_or(u32::MAX),
                share_ppm: known(20),
                active: number(40),
                inactive_split: number(48),
                requested: number(56),
                retries: known(64),
                ooms: known(68),
                private_pools: number(72),
                pinned: text().parse().ok(),
                ..DeviceFacts::default()
            }));
        }
        8 => MarkKind::Answer(Answer {
            request: request_of(scope)?,
            number: number(40)?,
            value: u64::try_from(index).ok(),
            pause_us: number(48).unwrap_or(0) / 1000,
            free: number(56),
            why: text(),
        }),
        9 => MarkKind::Loss(Some(f64::from_bits(u64_at(bytes, 32)?)).filter(|loss| loss.is_finite())?),
        _ => return Some(Slot::Other),
    };
    let facts = (flags & 4 != 0).then(|| InnerFacts {
        heap_used: number(40),
        heap_free: number(48),
        gc_enabled: (flags & 2 != 0).then_some(flags & 1 != 0),
        gc_full: u32_at(bytes, 20),
        gc_objects: number(56),
        workers: u32_at(bytes, 64).filter(|count| *count != u32::MAX),
        compiled: u32_at(bytes, 68).filter(|count| *count != u32::MAX),
        python_blocks: number(72),
        devices: Vec::new(),
    });
    Some(Slot::Mark(t_ns, what, steps, facts))
}

fn request_of(number: u8) -> Option<Request> {
    [Request::Snapshot, Request::Trim, Request::History].into_iter().find(|request| request_number(*request) == u32::from(number))
}

/// A request as the header has it.
pub(crate) fn request_number(request: Request) -> u32 {
    match request {
        Request::Snapshot => 1,
        Request::Trim => 2,
        Request::History => 3,
        Request::SnapshotAtBackward => 4,
    }
}

/// The header's text: what counts as a step, or why marks are off. A slot has too little room for it.
#[must_use]
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}

fn scope_of(number: u8) -> Option<Scope> {
    [Scope::Round, Scope::Node, Scope::Epoch, Scope::Phase].get(usize::from(number).checked_sub(1)?).copied()
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn i64_at(bytes: &[u8], at: usize) -> Option<i64> {
    Some(i64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200), n in 0_u64..4, whole: bool) {
            let mut bytes = bytes;
            if whole && bytes.len() >= SLOT_LEN {
                bytes[..8].copy_from_slice(&(n + 1).to_le_bytes());
                bytes[SLOT_LEN - 8..SLOT_LEN].copy_from_slice(&(n + 1).to_le_bytes());
            }
            let _ = (header(&bytes), slot(&bytes, n));
        }
    }

    #[test]
    fn a_slot_that_is_being_written_is_not_taken() {
        let mut bytes = [0; SLOT_LEN];
        bytes[..8].copy_from_slice(&7_u64.to_le_bytes());
        bytes[16] = 2;
        assert_eq!(slot(&bytes, 6), None);
        bytes[SLOT_LEN - 8..].copy_from_slice(&7_u64.to_le_bytes());
        assert_eq!(slot(&bytes, 6), Some(Slot::Mark(0, MarkKind::Step, 0, None)));
        assert_eq!(slot(&bytes, 5), None, "another one's place");
    }
}
