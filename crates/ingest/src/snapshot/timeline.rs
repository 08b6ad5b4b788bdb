//! A device's trace, played from its first event to its last.
//!
//! A trace begins when recording does, or where its ring of entries was overwritten: what was there before is found from
//! behind. What lives at the end and was not allocated in the trace was there at its start, and so was what is freed in it
//! without having been allocated. So every total is exact, as far as the trace and the blocks come from one moment.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::stack::StackId;
use super::sums::ByStack;
use super::{Action, Snapshot, State, Traced};

/// Out-of-memory errors that are told: the last ones.
const MOST_OOMS: usize = 8;
/// Parts of a trace whose low tides are told.
const PARTS: usize = 256;

/// A moment of a trace. Bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// How many events lie before it.
    pub after: usize,
    /// When, microseconds since 1970.
    pub time_us: Option<i64>,
    /// What tensors had asked for and not given back.
    pub allocated: u64,
    /// What the allocator held.
    pub reserved: u64,
}

/// An out-of-memory error.
#[derive(Clone, Copy, Debug)]
pub struct Oom {
    /// When.
    pub at: Moment,
    /// Bytes that were asked for.
    pub requested: u64,
    /// Free memory of the device by the driver.
    pub device_free: Option<u64>,
    /// Who asked.
    pub stack: Option<StackId>,
}

/// A trace that was played.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// How many events there were.
    pub events: usize,
    /// Before the first event.
    pub start: Moment,
    /// After the last.
    pub end: Moment,
    /// Where most was allocated.
    pub peak: Moment,
    /// The low tide of each part of the trace, in order.
    pub lows: Vec<Moment>,
    /// Out-of-memory errors in all.
    pub ooms_seen: usize,
    /// The last ones of them, in order.
    pub ooms: Vec<Oom>,
}

/// A device's trace.
pub struct Trace<'a> {
    snapshot: &'a Snapshot,
    device: u32,
    before: Before,
}

impl<'a> Trace<'a> {
    /// A device's trace; `None` where it has none.
    #[must_use]
    pub fn of(snapshot: &'a Snapshot, device: u32) -> Option<Self> {
        let before = (snapshot.traced(device) > 0).then(|| Before::of(snapshot, device))?;
        Some(Self { snapshot, device, before })
    }

    /// Bytes that the trace frees without having allocated them.
    #[must_use]
    pub fn freed_from_before(&self) -> u64 {
        self.before.freed
    }

    /// Plays it, and calls with each moment.
    pub fn play(&self, mut then: impl FnMut(Moment)) -> Timeline {
        let events = self.snapshot.traced(self.device);
        let part = events.div_ceil(PARTS).max(1);
        let mut play = self.before.play();
        let start = play.moment(0, None);
        let (mut peak, mut end) = (start, start);
        let (mut lows, mut ooms): (Vec<Moment>, Vec<Oom>) = (Vec::new(), Vec::new());
        let mut ooms_seen = 0;
        for (at, event) in self.snapshot.events(self.device).enumerate() {
            play.take(&event);
            end = play.moment(at + 1, event.time_us.or(end.time_us));
            if end.allocated > peak.allocated {
                peak = end;
            }
            match lows.last_mut() {
                Some(low) if at % part != 0 => {
                    if end.allocated < low.allocated {
                        *low = end;
                    }
                }
                _ => lows.push(end),
            }
            if event.action == Action::Oom {
                ooms_seen += 1;
                if ooms.len() == MOST_OOMS {
                    ooms.remove(0);
                }
                let (requested, device_free, stack) = (event.size, event.device_free, event.stack);
                ooms.push(Oom { at: end, requested, device_free, stack });
            }
            then(end);
        }
        Timeline { events, start, end, peak, lows, ooms_seen, ooms }
    }

    /// What lived after so many events, for each of these numbers.
    #[must_use]
    pub fn live_at(&self, moments: &[usize]) -> Vec<ByStack> {
        let mut found = vec![ByStack::default(); moments.len()];
        let mut by_stack = self.before.live.clone();
        let mut play = self.before.play();
        let mut look = |after: usize, now: &ByStack| {
            let asked = moments.iter().zip(&mut found).filter(|(moment, _)| **moment == after);
            asked.for_each(|(_, found)| found.clone_from(now));
        };
        look(0, &by_stack);
        let last = moments.iter().copied().max().unwrap_or(0);
        for (at, event) in self.snapshot.events(self.device).enumerate().take(last) {
            let taken = play.take(&event);
            if let Some((size, stack)) = taken.gone {
                by_stack.of_stack(stack).take(size);
            }
            if let Some((size, stack)) = taken.added {
                by_stack.of_stack(stack).add(size);
            }
            look(at + 1, &by_stack);
        }
        found
    }
}

type Live = HashMap<u64, (u64, Option<StackId>), FixedState>;

/// What there was before the first event.
struct Before {
    /// By whom, of what is still there.
    live: ByStack,
    freed: u64,
    reserved: u64,
}

impl Before {
    fn of(snapshot: &Snapshot, device: u32) -> Self {
        let mut live = Live::default();
        let (mut freed, mut frees) = (0_u64, 0);
        let mut net = 0_i128;
        for event in snapshot.events(device) {
            match event.action {
                Action::Alloc => drop(live.insert(event.address, (event.size, event.stack))),
                Action::FreeRequested if live.remove(&event.address).is_none() => {
                    freed = freed.saturating_add(event.size);
                    frees += 1;
                }
                Action::FreeCompleted => drop(live.remove(&event.address)),
                Action::SegmentAlloc | Action::SegmentMap => net += i128::from(event.size),
                Action::SegmentFree | Action::SegmentUnmap => net -= i128::from(event.size),
                _ => {}
            }
        }
        let mut by_stack = ByStack::of(snapshot);
        let mut reserved = 0_u64;
        for segment in snapshot.segments.iter().filter(|segment| segment.device == device) {
            reserved = reserved.saturating_add(segment.total);
            for block in snapshot.blocks(segment).iter().filter(|block| block.state == State::Allocated) {
                if !live.contains_key(&block.address) {
                    let asked = snapshot.asked(block);
                    by_stack.of_stack(asked.stack).add(asked.size);
                }
            }
        }
        by_stack.unknown.bytes = by_stack.unknown.bytes.saturating_add(freed);
        by_stack.unknown.blocks += frees;
        let reserved = (i128::from(reserved) - net).clamp(0, i128::from(u64::MAX)) as u64;
        Self { live: by_stack, freed, reserved }
    }

    fn play(&self) -> Play {
        Play { live: Live::default(), allocated: self.live.total().bytes, reserved: self.reserved }
    }
}

/// What an event changes.
#[derive(Default)]
struct Taken {
    added: Option<(u64, Option<StackId>)>,
    gone: Option<(u64, Option<StackId>)>,
}

/// How things stand between two events.
struct Play {
    live: Live,
    allocated: u64,
    reserved: u64,
}

impl Play {
    fn take(&mut self, event: &Traced) -> Taken {
        let mut taken = Taken::default();
        match event.action {
            Action::Alloc => {
                taken.added = Some((event.size, event.stack));
                // Where the free of what lay there is missing, it is gone all the same.
                taken.gone = self.live.insert(event.address, (event.size, event.stack));
            }
            // What was there before the trace, too.
            Action::FreeRequested => taken.gone = self.live.remove(&event.address).or(Some((event.size, None))),
            // Where requests are not recorded.
            Action::FreeCompleted => taken.gone = self.live.remove(&event.address),
            Action::SegmentAlloc | Action::SegmentMap => self.reserved = self.reserved.saturating_add(event.size),
            Action::SegmentFree | Action::SegmentUnmap => self.reserved = self.reserved.saturating_sub(event.size),
            _ => {}
        }
        let size = |one: Option<(u64, _)>| one.map_or(0, |(size, _)| size);
        self.allocated = self.allocated.saturating_add(size(taken.added)).saturating_sub(size(taken.gone));
        taken
    }

    fn moment(&self, after: usize, time_us: Option<i64>) -> Moment {
        Moment { after, time_us, allocated: self.allocated, reserved: self.reserved }
    }
}
