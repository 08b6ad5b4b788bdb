//! What memory snapshots of PyTorch show.

use serde::Serialize;

/// What snapshots show of one device, by the last of them. Sizes in bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SnapshotReport {
    /// How many snapshots were compared.
    pub files: u64,
    /// The device.
    pub device: u32,
    /// Held by the allocator.
    pub reserved: u64,
    /// In blocks of tensors.
    pub allocated: u64,
    /// What these tensors asked for.
    pub requested: u64,
    /// Freed, and waiting for another stream.
    pub pending: u64,
    /// Free in segments that something is alive in: `empty_cache` cannot give it back.
    pub split: u64,
    /// Free as whole segments: `empty_cache` would give it back.
    pub releasable: u64,
    /// The largest free block.
    pub largest_free: u64,
    /// Reserved in pools of their own: CUDA graphs', or the user's.
    pub in_private_pools: u64,
    /// Segments.
    pub segments: u64,
    /// Events of the trace; 0 where none was recorded.
    pub events: u64,
    /// Seconds from its first to its last; `None` where it has no times.
    pub seconds: Option<f64>,
    /// The most that was allocated in the trace.
    pub peak: Option<u64>,
    /// Who holds what is allocated, by line: those that grew most first where several snapshots are compared, else those that
    /// hold most.
    pub lines: Vec<SnapshotLine>,
}

/// What the tensors of one line have.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SnapshotLine {
    /// The file; empty for all that nothing was recorded of.
    pub file: String,
    /// The line, from 1; 0 where it is not known.
    pub line: u32,
    /// The function.
    pub function: String,
    /// Bytes that live of it.
    pub bytes: u64,
    /// Blocks that live of it.
    pub blocks: u64,
    /// More bytes than in the first snapshot.
    pub bytes_delta: Option<i64>,
    /// More blocks than in the first snapshot.
    pub blocks_delta: Option<i64>,
    /// The stack with most of it, the innermost frame first: `train.py:55 step`.
    pub stack: Vec<String>,
}
