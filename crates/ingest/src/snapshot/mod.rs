//! Memory snapshots of PyTorch (`torch.cuda.memory._dump_snapshot`): what the caching allocator of each GPU held, which
//! lines of source had asked for it, and what it had done before.
//!
//! Every generation of the format is read, from the list of segments with `history` of torch 1.13 to the traces with
//! pools, user metadata and pinned host memory of today; keys that are not known are passed over. Blocks and segments
//! become structs; the events of a trace, of which there may be many millions, stay where the pickle has them and are
//! decoded as they are asked for ([`Snapshot::events`]).
//!
//! - [`stack`]: frames, and which of a stack is the line that matters
//! - [`sums`]: live bytes by line, and what became more between two snapshots
//! - [`fragments`]: what of the reserved memory is of no use
//! - [`timeline`]: the trace played: peak, out-of-memory errors, and what lived at them
//!
//! Invariant: what a snapshot does not say is `None` or zero, never guessed.

pub mod fragments;
mod schema;
pub mod stack;
pub mod sums;
pub mod timeline;

use std::io::Read;
use std::ops::Range;

use crate::pickle::{self, DictId, Heap, Item, ListId, PickleError};
use schema::Columns;
use stack::{StackId, Stacks};

/// A snapshot that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The pickle cannot be read.
    #[error(transparent)]
    Pickle(#[from] PickleError),
    /// A pickle of something else.
    #[error(
        "a pickle, but no memory snapshot of PyTorch: {0}. lowtide reads what torch.cuda.memory._dump_snapshot() writes, a dictionary \
         with `segments`"
    )]
    NotASnapshot(&'static str),
}

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// In use by a tensor.
    Allocated,
    /// Freed by its tensor, and still in use by another stream.
    PendingFree,
    /// Free for reuse.
    Inactive,
}

/// A piece of a segment. Sizes in bytes.
#[derive(Clone, Debug)]
pub struct Block {
    /// Where it lies.
    pub address: u64,
    /// Its size, rounded up by the allocator.
    pub size: u64,
    /// What it is.
    pub state: State,
    /// What was asked for in it, the newest first: one piece, but in snapshots of torch 1.13 and 2.0, which keep what was there
    /// before, too, and have none where nothing was recorded.
    pieces: Range<u32>,
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Bytes.
    pub size: u64,
    /// By whom; `None` where the snapshot has no place for it.
    pub stack: Option<StackId>,
}

/// What the allocator got from the driver in one piece. Sizes in bytes.
#[derive(Clone, Debug)]
pub struct Segment {
    /// The GPU.
    pub device: u32,
    /// Where it lies.
    pub address: u64,
    /// Its size.
    pub total: u64,
    /// What the snapshot itself says that is allocated of it.
    pub allocated: Option<u64>,
    /// The CUDA stream.
    pub stream: i64,
    /// For allocations up to 1 MiB.
    pub small: bool,
    /// The pool: (0, 0) is the common one; others are CUDA graphs' and the user's own.
    pub pool: (i64, i64),
    /// It grows in place (`expandable_segments`).
    pub expandable: bool,
    blocks: Range<usize>,
}

/// What the allocator did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the snapshot")]
pub enum Action {
    Alloc,
    FreeRequested,
    FreeCompleted,
    SegmentAlloc,
    SegmentFree,
    SegmentMap,
    SegmentUnmap,
    Snapshot,
    Oom,
    Other,
}

/// One entry of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traced {
    /// What was done.
    pub action: Action,
    /// Where; 0 for an out-of-memory error.
    pub address: u64,
    /// Bytes as asked for, not as rounded.
    pub size: u64,
    /// By whom.
    pub stack: Option<StackId>,
    /// When, microseconds since 1970; torch 2.2 and newer.
    pub time_us: Option<i64>,
    /// Free memory of the device at an out-of-memory error.
    pub device_free: Option<u64>,
}

/// A snapshot of one process.
#[derive(Debug)]
pub struct Snapshot {
    heap: Heap,
    columns: Vec<Columns>,
    actions: Vec<(pickle::TextId, Action)>,
    /// Segments of all devices, as they stand in the file.
    pub segments: Vec<Segment>,
    blocks: Vec<Block>,
    pieces: Vec<Piece>,
    traces: Vec<ListId>,
    /// Who asked.
    pub stacks: Stacks,
    /// The allocator's settings, by name, as far as they are numbers, yes or no, or text.
    pub settings: Vec<(String, String)>,
    /// Bytes of the file.
    pub bytes: u64,
    /// The file breaks off before its end; this is what stood before.
    pub cut: bool,
}

/// Reads a snapshot.
///
/// # Errors
/// Says what is wrong with the file and where, or what it would have run.
pub fn read(from: impl Read) -> Result<Snapshot, SnapshotError> {
    let pickle = pickle::read(from)?;
    schema::snapshot(pickle)
}

impl Snapshot {
    /// A segment's blocks in order of addresses.
    #[must_use]
    pub fn blocks(&self, segment: &Segment) -> &[Block] {
        &self.blocks[segment.blocks.clone()]
    }

    /// What was asked for in a block, the newest first.
    #[must_use]
    pub fn pieces(&self, block: &Block) -> &[Piece] {
        &self.pieces[block.pieces.start as usize..block.pieces.end as usize]
    }

    /// What a block's tensor asked for, and who did. Where neither was recorded, the whole block.
    #[must_use]
    pub fn asked(&self, block: &Block) -> Piece {
        self.pieces(block).first().copied().unwrap_or(Piece { size: block.size, stack: None })
    }

    /// How many devices have a trace, used or not.
    #[must_use]
    pub fn traces(&self) -> usize {
        self.traces.len()
    }

    /// How many events a device's trace has.
    #[must_use]
    pub fn traced(&self, device: u32) -> usize {
        self.traces.get(device as usize).map_or(0, |list| self.heap.list(*list).len())
    }

    /// A device's trace, in order of time.
    pub fn events(&self, device: u32) -> impl DoubleEndedIterator<Item = Traced> + '_ {
        let list = self.traces.get(device as usize).map_or(&[][..], |list| self.heap.list(*list));
        list.iter().filter_map(|value| if let Item::Dict(dict) = self.heap.item(*value) { self.event(dict) } else { None })
    }

    /// The devices that hold memory or have a trace, in order.
    #[must_use]
    pub fn devices(&self) -> Vec<u32> {
        let with_trace = (0..self.traces.len() as u32).filter(|device| self.traced(*device) > 0);
        let mut devices: Vec<u32> = self.segments.iter().map(|segment| segment.device).chain(with_trace).collect();
        devices.sort_unstable();
        devices.dedup();
        devices
    }

    fn event(&self, dict: DictId) -> Option<Traced> {
        let (shape, values) = self.heap.dict(dict);
        let row = self.columns[shape.0 as usize].row(&self.heap, values);
        let action = row.text(schema::ACTION)?;
        let action = self.actions.iter().find(|(id, _)| *id == action).map_or(Action::Other, |(_, action)| *action);
        Some(Traced {
            action,
            address: row.unsigned(schema::ADDR).unwrap_or(0),
            size: row.unsigned(schema::SIZE).unwrap_or(0),
            stack: row.list(schema::FRAMES).and_then(|list| self.stacks.of_list(list)),
            time_us: row.int(schema::TIME_US),
            device_free: row.unsigned(schema::DEVICE_FREE),
        })
    }
}
