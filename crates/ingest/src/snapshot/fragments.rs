//! What of the reserved memory is in use, what could be given back, and what is stuck.

use std::collections::BTreeMap;

use super::{Block, Segment, Snapshot, State};

/// Pools that are told apart.
const MOST_POOLS: usize = 64;

/// What a segment that grows in place grows by, and is given back by: `kSmallBuffer` and `kLargeBuffer` of PyTorch's
/// CUDACachingAllocator.cpp.
const GRANULES: (u64, u64) = (2 << 20, 20 << 20);

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
    /// Free as whole segments, or as whole granules of one that grows in place: `empty_cache` would give it back.
    pub releasable: u64,
    /// The largest free block: what could still be had without a new segment.
    pub largest_free: u64,
    /// Segments.
    pub segments: u64,
}

impl Use {
    fn add(&mut self, snapshot: &Snapshot, segment: &Segment) {
        let (mut free, mut busy, mut whole) = (0_u64, false, 0_u64);
        for block in snapshot.blocks(segment) {
            match block.state {
                State::Allocated => {
                    self.allocated = self.allocated.saturating_add(block.size);
                    self.requested = self.requested.saturating_add(snapshot.asked(block).size);
                    busy = true;
                }
                State::PendingFree => {
                    self.pending = self.pending.saturating_add(block.size);
                    busy = true;
                }
                State::Inactive => {
                    free = free.saturating_add(block.size);
                    whole = whole.saturating_add(granules(segment, block));
                    self.largest_free = self.largest_free.max(block.size);
                }
            }
        }
        let releasable = if busy { whole.min(free) } else { free };
        self.releasable = self.releasable.saturating_add(releasable);
        self.split = self.split.saturating_add(free - releasable);
        self.reserved = self.reserved.saturating_add(segment.total);
        self.segments += 1;
    }

    /// All that is free.
    #[must_use]
    pub fn free(&self) -> u64 {
        self.split.saturating_add(self.releasable)
    }
}

/// What of a free block can be given back though something else is alive in its segment: granules that are free as a whole. A
/// stretch that is mapped begins with one.
fn granules(segment: &Segment, block: &Block) -> u64 {
    if !segment.expandable {
        return 0;
    }
    let granule = if segment.small { GRANULES.0 } else { GRANULES.1 };
    let begin = block.address.saturating_sub(segment.address);
    let first = begin.div_ceil(granule);
    let last = begin.saturating_add(block.size) / granule;
    last.saturating_sub(first).saturating_mul(granule)
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
    let mut used = Use::default();
    snapshot.segments.iter().filter(|segment| segment.device == device).for_each(|segment| used.add(snapshot, segment));
    used
}

/// The pools of a device, in order of their ids; a bounded number.
#[must_use]
pub fn pools(snapshot: &Snapshot, device: u32) -> Vec<Pool> {
    let mut pools: BTreeMap<(i64, i64), Use> = BTreeMap::new();
    for segment in snapshot.segments.iter().filter(|segment| segment.device == device) {
        pools.entry(segment.pool).or_default().add(snapshot, segment);
    }
    pools.into_iter().take(MOST_POOLS).map(|(id, used)| Pool { id, used }).collect()
}

/// What pools of their own have of a device, all of them, bytes.
#[must_use]
pub fn in_private_pools(snapshot: &Snapshot, device: u32) -> u64 {
    let private = snapshot.segments.iter().filter(|segment| segment.device == device && segment.pool != (0, 0));
    private.map(|segment| segment.total).fold(0, u64::saturating_add)
}

/// The segment's blocks are as large together as it is itself; else the snapshot does not fit itself.
#[must_use]
pub fn tiles(snapshot: &Snapshot, segment: &Segment) -> bool {
    let sizes = snapshot.blocks(segment).iter().map(|block| block.size);
    sizes.fold(0, u64::saturating_add) == segment.total
}
