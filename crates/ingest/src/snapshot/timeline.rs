//! A device's trace, played from its first event to its last.
//!
//! A trace begins when recording does, or where its ring of entries was overwritten: what was there before is found from
//! behind. What lives at the end and was not allocated in the trace was there at its start, and so was what is freed in it
//! without having been allocated. So every total is exact, as far as the trace and the blocks come from one moment.
//!
//! The events are decoded once: what each changes is kept, in 16 bytes and its time, and played as often as a question needs it.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::stack::StackId;
use super::sums::ByStack;
use super::{Action, Snapshot, State};

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
pub struct Trace {
    changes: Vec<Change>,
    /// Of each event, microseconds since 1970, or [`NO_TIME`]; empty where no event has one.
    times_us: Vec<i64>,
    /// The last errors: which event, what was free on the device.
    ooms: Vec<(usize, Option<u64>)>,
    ooms_seen: usize,
    events: usize,
    before: Before,
}

/// What an event changes, or a part of it.
#[derive(Clone, Copy)]
struct Change {
    /// Bytes.
    size: u64,
    /// The number of the stack, or [`NO_STACK`].
    stack: u32,
    what: What,
    /// The next one is of the same event.
    more: bool,
}

const NO_STACK: u32 = u32::MAX;
const NO_TIME: i64 = i64::MIN;

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Nothing,
    Added,
    Gone,
    Reserved,
    Released,
    Oom,
}

impl Change {
    fn of(what: What, size: u64, stack: Option<StackId>) -> Self {
        Self { size, stack: stack.map_or(NO_STACK, |stack| stack.index() as u32), what, more: false }
    }

    fn stack(self) -> Option<StackId> {
        (self.stack != NO_STACK).then(|| StackId::from_index(self.stack as usize))
    }
}

/// What there was before the first event.
struct Before {
    /// By whom, of what is still there.
    live: ByStack,
    freed: u64,
    reserved: u64,
}

type Live = HashMap<u64, (u64, Option<StackId>), FixedState>;

impl Trace {
    /// A device's trace; `None` where it has none.
    #[must_use]
    pub fn of(snapshot: &Snapshot, device: u32) -> Option<Self> {
        let events = snapshot.traced(device);
        if events == 0 {
            return None;
        }
        let mut trace = Self {
            changes: Vec::with_capacity(events),
            times_us: Vec::with_capacity(events),
            ooms: Vec::new(),
            ooms_seen: 0,
            events: 0,
            before: Before { live: ByStack::of(snapshot), freed: 0, reserved: 0 },
        };
        let mut live = Live::default();
        let (mut frees, mut net) = (0, 0_i128);
        for event in snapshot.events(device) {
            match event.action {
                Action::Alloc => {
                    // Where the free of what lay there is missing, it is gone all the same.
                    if let Some((size, stack)) = live.insert(event.address, (event.size, event.stack)) {
                        trace.changes.push(Change { more: true, ..Change::of(What::Gone, size, stack) });
                    }
                    trace.changes.push(Change::of(What::Added, event.size, event.stack));
                }
                Action::FreeRequested => {
                    let (size, stack) = live.remove(&event.address).unwrap_or_else(|| {
                        // It was there before the trace.
                        trace.before.freed = trace.before.freed.saturating_add(event.size);
                        frees += 1;
                        (event.size, None)
                    });
                    trace.changes.push(Change::of(What::Gone, size, stack));
                }
                // Where requests are not recorded.
                Action::FreeCompleted => {
                    let gone = live.remove(&event.address);
                    trace.changes.push(
                        gone.map_or(Change::of(What::Nothing, 0, None), |(size, stack)| Change::of(What::Gone, size, stack)),
                    );
                }
                Action::SegmentAlloc | Action::SegmentMap => {
                    net += i128::from(event.size);
                    trace.changes.push(Change::of(What::Reserved, event.size, None));
                }
                Action::SegmentFree | Action::SegmentUnmap => {
                    net -= i128::from(event.size);
                    trace.changes.push(Change::of(What::Released, event.size, None));
                }
                Action::Oom => {
                    trace.ooms_seen += 1;
                    if trace.ooms.len() == MOST_OOMS {
                        trace.ooms.remove(0);
                    }
                    trace.ooms.push((trace.events, event.device_free));
                    trace.changes.push(Change::of(What::Oom, event.size, event.stack));
                }
                Action::Snapshot | Action::Other => trace.changes.push(Change::of(What::Nothing, 0, None)),
            }
            trace.times_us.push(event.time_us.unwrap_or(NO_TIME));
            trace.events += 1;
        }
        if trace.times_us.iter().all(|time_us| *time_us == NO_TIME) {
            trace.times_us = Vec::new();
        }
        trace.before.find(snapshot, device, &live, frees, net);
        Some(trace)
    }

    /// Bytes that the trace frees without having allocated them.
    #[must_use]
    pub fn freed_from_before(&self) -> u64 {
        self.before.freed
    }

    /// Plays it, and calls with each moment.
    pub fn play(&self, mut then: impl FnMut(Moment)) -> Timeline {
        let part = self.events.div_ceil(PARTS).max(1);
        let mut now =
            Moment { after: 0, time_us: None, allocated: self.before.live.total().bytes, reserved: self.before.reserved };
        let (start, mut peak) = (now, now);
        let (mut lows, mut ooms): (Vec<Moment>, Vec<Oom>) = (Vec::new(), Vec::new());
        for (at, event) in self.each().enumerate() {
            let (mut added, mut gone) = (0_u64, 0_u64);
            for change in event {
                match change.what {
                    What::Added => added = change.size,
                    What::Gone => gone = change.size,
                    What::Reserved => now.reserved = now.reserved.saturating_add(change.size),
                    What::Released => now.reserved = now.reserved.saturating_sub(change.size),
                    What::Nothing | What::Oom => {}
                }
            }
            now.allocated = now.allocated.saturating_add(added).saturating_sub(gone);
            now.after = at + 1;
            now.time_us = self.times_us.get(at).copied().filter(|time_us| *time_us != NO_TIME).or(now.time_us);
            if now.allocated > peak.allocated {
                peak = now;
            }
            match lows.last_mut() {
                Some(low) if at % part != 0 => {
                    if now.allocated < low.allocated {
                        *low = now;
                    }
                }
                _ => lows.push(now),
            }
            if let [Change { what: What::Oom, .. }] = event
                && let Some((_, device_free)) = self.ooms.iter().find(|(oom, _)| *oom == at)
            {
                ooms.push(Oom { at: now, requested: event[0].size, device_free: *device_free, stack: event[0].stack() });
            }
            then(now);
        }
        Timeline { events: self.events, start, end: now, peak, lows, ooms_seen: self.ooms_seen, ooms }
    }

    /// What lived after so many events, for each of these numbers.
    #[must_use]
    pub fn live_at(&self, moments: &[usize]) -> Vec<ByStack> {
        let mut found = vec![ByStack::default(); moments.len()];
        let mut by_stack = self.before.live.clone();
        let mut look = |after: usize, now: &ByStack| {
            let asked = moments.iter().zip(&mut found).filter(|(moment, _)| **moment == after);
            asked.for_each(|(_, found)| found.clone_from(now));
        };
        look(0, &by_stack);
        let last = moments.iter().copied().max().unwrap_or(0);
        for (at, event) in self.each().enumerate().take(last) {
            for change in event {
                match change.what {
                    What::Added => by_stack.of_stack(change.stack()).add(change.size),
                    What::Gone => by_stack.of_stack(change.stack()).take(change.size),
                    _ => {}
                }
            }
            look(at + 1, &by_stack);
        }
        found
    }

    /// The changes of each event.
    fn each(&self) -> impl Iterator<Item = &[Change]> {
        let mut rest = &self.changes[..];
        std::iter::from_fn(move || {
            let first = rest.first()?;
            let (event, after) = rest.split_at(if first.more { 2 } else { 1 });
            rest = after;
            Some(event)
        })
    }
}

impl Before {
    /// What is there at the end and was not allocated in the trace, and what was freed without; what was reserved then.
    fn find(&mut self, snapshot: &Snapshot, device: u32, live: &Live, frees: u64, net: i128) {
        let mut reserved = 0_u64;
        for segment in snapshot.segments.iter().filter(|segment| segment.device == device) {
            reserved = reserved.saturating_add(segment.total);
            for block in snapshot.blocks(segment).iter().filter(|block| block.state == State::Allocated) {
                if !live.contains_key(&block.address) {
                    let asked = snapshot.asked(block);
                    self.live.of_stack(asked.stack).add(asked.size);
                }
            }
        }
        self.live.unknown.bytes = self.live.unknown.bytes.saturating_add(self.freed);
        self.live.unknown.blocks += frees;
        self.reserved = (i128::from(reserved) - net).clamp(0, i128::from(u64::MAX)) as u64;
    }
}
