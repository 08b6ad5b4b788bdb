//! What of the reserved memory is in use, what could be given back, and what is stuck.

use super::{Segment, Snapshot, State};

/// How the memory of a device, or of one pool of it, is used. Bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// Held by the allocator.
    pub reserved: u64,
    /// In blocks of tensors.
    pub allocated: u64,
    /// What the tensors asked for.
    pub requested: u64,
    /// Freed, and waiting for another stream.
    pub pending: u64,
    /// Free, in segments that something else is alive in: `empty_cache` cannot give it back.
    pub split: u64,
    /// Free as whole segments: `empty_cache` would give it back.
    pub releasable: u64,
    /// The largest free block: what could still be had without a new segment.
    pub largest_free: u64,
    /// Segments.
    pub segments: u64,
    /// Free blocks.
    pub free_blocks: u64,
}

impl Use {
    /// What rounding up takes.
    #[must_use]
    pub fn rounding(&self) -> u64 {
        self.allocated.saturating_sub(self.requested)
    }

    /// All that is free.
    #[must_use]
    pub fn free(&self) -> u64 {
        self.split.saturating_add(self.releasable)
    }
}

/// A pool of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Its id: (0, 0) is the common one.
    pub id: (i64, i64),
    /// How it is used.
    pub used: Use,
}

/// How a device's memory is used.
#[must_use]
pub fn usage(snapshot: &Snapshot, device: u32) -> Use {
    of(snapshot, snapshot.segments.iter().filter(|segment| segment.device == device))
}

/// The pools of a device, in order of their ids.
#[must_use]
pub fn pools(snapshot: &Snapshot, device: u32) -> Vec<Pool> {
    let mine = || snapshot.segments.iter().filter(|segment| segment.device == device);
    let mut ids: Vec<(i64, i64)> = mine().map(|segment| segment.pool).collect();
    ids.sort_unstable();
    ids.dedup();
    // A bounded number: each looks at all segments.
    ids.truncate(64);
    ids.into_iter().map(|id| Pool { id, used: of(snapshot, mine().filter(|segment| segment.pool == id)) }).collect()
}

/// The segment's blocks are as large together as it is itself; else the snapshot does not fit itself.
#[must_use]
pub fn tiles(snapshot: &Snapshot, segment: &Segment) -> bool {
    let sizes = snapshot.blocks(segment).iter().map(|block| block.size);
    sizes.fold(0, u64::saturating_add) == segment.total
}

fn of<'a>(snapshot: &Snapshot, segments: impl Iterator<Item = &'a Segment>) -> Use {
    let mut used = Use::default();
    for segment in segments {
        let (mut free, mut busy) = (0_u64, false);
        for block in snapshot.blocks(segment) {
            match block.state {
                State::Allocated => {
                    used.allocated = used.allocated.saturating_add(block.size);
                    used.requested = used.requested.saturating_add(snapshot.asked(block).size);
                    busy = true;
                }
                State::PendingFree => {
                    used.pending = used.pending.saturating_add(block.size);
                    busy = true;
                }
                State::Inactive => {
                    free = free.saturating_add(block.size);
                    used.largest_free = used.largest_free.max(block.size);
                    used.free_blocks += 1;
                }
            }
        }
        let to = if busy { &mut used.split } else { &mut used.releasable };
        *to = to.saturating_add(free);
        used.reserved = used.reserved.saturating_add(segment.total);
        used.segments += 1;
    }
    used
}
