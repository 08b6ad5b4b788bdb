//! The layout of a recording. All numbers are little-endian; a *varint* is LEB128; a *zigzag* is a varint of a signed
//! number, `(n << 1) ^ (n >> 63)`.
//!
//! ```text
//! file    := header frame*
//! header  := magic[8] version:u16 reserved:u16 run:u64 crc32:u32            24 bytes; crc over the 20 before it
//! frame   := kind:u8 length:varint crc32:u32 payload[length]                crc over kind and payload
//! ```
//!
//! | kind | name | payload |
//! |---|---|---|
//! | 1 | start | JSON of `RunInfo` |
//! | 2 | process | JSON of `Process` |
//! | 3 | exit | JSON of `Exit` |
//! | 4 | cgroup | JSON of `Cgroup` |
//! | 5 | note | JSON of `Note` |
//! | 6 | cost | JSON of `WatchCost` |
//! | 7 | end | JSON of `RunEnd` |
//! | 8 | key tick | binary, complete in itself |
//! | 9 | tick | binary, changes against the tick before |
//! | 10 | thinned | varint: how many events compaction left out here |
//! | 11 | mark | JSON of `Mark` |
//! | 12 | look | JSON of `Look` |
//! | 13 | GPU | JSON of `Gpu` |
//! | 14 | user of a GPU | JSON of `GpuUser` |
//!
//! A reader skips kinds and JSON fields that it does not know, and what follows the tables of a tick; so a new measurement
//! can be a new table behind the others, empty where it is missing. A change that old readers would get wrong needs a new
//! [`VERSION`], which they refuse. Times are kept to the microsecond.
//!
//! ```text
//! key tick := ordinal:varint time_us:zigzag flags:u8 tables     ordinal: events before this one in the whole run
//! tick     := step_us:zigzag flags:u8 tables                    step minus the step before it
//! flags    := 1 the processes are those of the tick before, in its order; 2 the machine was read; 4 as 1, for cgroups; 8 for GPUs;
//!             16 for their users
//! tables   := [count:varint id:zigzag*] process-table  [machine-table]  [count:varint id:zigzag*] cgroup-table
//!             [count:varint id:zigzag*] gpu-table [count:varint id:zigzag*] gpu-user-table   absent where neither was read
//! table    := columns:varint column*                            bit n: column n changed in some row
//! column   := [bitmap] value*                                   one bit per row, absent for one row; a value per set bit
//! value    := change against the same row of the tick before, or against zero (key tick, new row)
//! ```
//!
//! Ids are written as the difference to the id before. A value is a zigzag of the change; in columns with a unit
//! (4096, 1024 or 2^20 bytes) it is twice the zigzag of the change in units, or the byte 1 and then the zigzag of the
//! change in bytes where that is no multiple. Columns, with their units:
//! - process: anon, file, shmem, swap (4096), threads, fds + 1, maps + 1 (0: not counted), has-rollup + 2 * has-private +
//!   4 * has-data + 8 * has-size, pss, uss, private_dirty, pss_anon, pss_file, pss_shmem, private_anon (1024; where they were not read they keep their
//!   last value), data, size (2^20; version 2);
//! - machine: total, available, swap_total, swap_used, shmem, cached, dev_shm_used, dev_shm_size (1024), oom_kills, psi_full_us;
//! - cgroup: usage, anon, file, inactive_file, shmem, peak (4096), psi_full_us, oom_kills, limit_hits, has-limit + 2 * has-high, limit,
//!   high (4096);
//! - GPU: total, used, free, reserved (4096);
//! - user of a GPU: has-used, used (4096; where it is not told it keeps its last value).

use crate::varint::Malformed;

/// The first bytes of every recording. The first one is no ASCII, so that nothing takes the file for text.
pub const MAGIC: [u8; 8] = *b"\x89LOWTIDE";
/// The version that this crate writes, and the newest that it reads.
pub const VERSION: u16 = 2;
/// Bytes of the header.
pub const HEADER_LEN: usize = 24;
/// The longest payload of a frame, in bytes. Longer ones are damage.
pub const MAX_PAYLOAD: usize = 1 << 20;
/// The most processes, and the most cgroups, of one tick.
pub const MAX_ROWS: usize = 1 << 14;

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Start = 1,
    Process = 2,
    Exit = 3,
    Cgroup = 4,
    Note = 5,
    Cost = 6,
    End = 7,
    KeyTick = 8,
    Tick = 9,
    Thinned = 10,
    Mark = 11,
    Look = 12,
    Gpu = 13,
    GpuUser = 14,
}

impl Kind {
    pub(crate) const ALL: [Self; 14] = [
        Self::Start,
        Self::Process,
        Self::Exit,
        Self::Cgroup,
        Self::Note,
        Self::Cost,
        Self::End,
        Self::KeyTick,
        Self::Tick,
        Self::Thinned,
        Self::Mark,
        Self::Look,
        Self::Gpu,
        Self::GpuUser,
    ];

    pub(crate) fn of(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// What the header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) version: u16,
    /// Tells runs apart that were written to the same path; has no other meaning.
    pub(crate) run: u64,
    /// The checksum fits. A header without is read all the same: frames have their own.
    pub(crate) intact: bool,
}

impl Header {
    pub(crate) fn encode(run: u64) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..20].copy_from_slice(&run.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..20]);
        bytes[20..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// `None`: not the header of a recording.
    pub(crate) fn decode(bytes: &[u8; HEADER_LEN]) -> Option<Self> {
        let (magic, rest) = bytes.split_first_chunk::<8>()?;
        if *magic != MAGIC {
            return None;
        }
        let (version, rest) = rest.split_first_chunk::<2>()?;
        let (_reserved, rest) = rest.split_first_chunk::<2>()?;
        let (run, crc) = rest.split_first_chunk::<8>()?;
        let intact = crc == crc32fast::hash(&bytes[..20]).to_le_bytes();
        Some(Self { version: u16::from_le_bytes(*version), run: u64::from_le_bytes(*run), intact })
    }
}

/// The range of times that a recording can hold, in microseconds: what `f64` seconds hold exactly to the microsecond
/// (71 years).
const MAX_TIME_US: i64 = 1 << 51;

/// Seconds to whole microseconds; what is no time becomes the nearest that is one.
pub(crate) fn to_us(t_s: f64) -> i64 {
    // The cast saturates and turns NaN to zero.
    ((t_s * 1e6).round() as i64).clamp(-MAX_TIME_US, MAX_TIME_US)
}

/// Whole microseconds to seconds.
pub(crate) fn from_us(us: i64) -> f64 {
    us as f64 / 1e6
}

/// A time as a recording keeps it. All times of a run pass through here, so that what was equal or in order stays so.
pub(crate) fn keep_time(t_s: f64) -> f64 {
    from_us(to_us(t_s))
}

/// Checks a time that a file claims.
pub(crate) fn check_us(us: i64) -> Result<i64, Malformed> {
    if (-MAX_TIME_US..=MAX_TIME_US).contains(&us) { Ok(us) } else { Err(Malformed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_comes_back_and_shows_damage() {
        let bytes = Header::encode(77);
        assert_eq!(Header::decode(&bytes), Some(Header { version: VERSION, run: 77, intact: true }));
        let mut damaged = bytes;
        damaged[15] ^= 1;
        assert!(!Header::decode(&damaged).expect("still a recording").intact);
        damaged[0] = 0;
        assert_eq!(Header::decode(&damaged), None);
    }

    #[test]
    fn times_are_kept_once_and_for_all() {
        for t in [0.0, 1.0 / 3.0, 86_400.123_456_7, -5.25, 6e8] {
            let kept = keep_time(t);
            assert!((kept - t).abs() < 1e-6);
            assert_eq!(kept.to_bits(), keep_time(kept).to_bits(), "{t}");
        }
        assert_eq!(keep_time(f64::NAN), 0.0);
        assert!(keep_time(f64::INFINITY).is_finite());
    }
}
