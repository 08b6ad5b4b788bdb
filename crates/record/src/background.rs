//! The thread that writes: takes events from the queue, encodes them, hands the bytes to the disk, for as long as it takes.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lowtide_model::Event;

use crate::disk::Disk;
use crate::encode::Encoder;
use crate::queue::Queue;
use crate::writer::Health;

/// How often a disk that failed is tried again, and the most that an event waits for without [`Shared::wake`].
const RETRY: Duration = Duration::from_secs(1);

/// What the collector and the thread share. The lock is never held while the disk works.
#[derive(Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    work: Condvar,
    finished: Condvar,
}

#[derive(Default)]
struct State {
    queue: Queue,
    health: Health,
    /// Events encoded and not yet written whole.
    in_flight: u64,
    woken: bool,
    closing: bool,
    finished: bool,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("health", &self.health()).finish()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A thread that panicked holding the lock leaves nothing half done that matters to the other.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, event: &Event) {
        let mut state = self.lock();
        let State { queue, health, .. } = &mut *state;
        queue.push(event, health.error.as_deref());
        health.dropped = queue.dropped;
    }

    pub(crate) fn wake(&self) {
        self.lock().woken = true;
        self.work.notify_one();
    }

    pub(crate) fn health(&self) -> Health {
        self.lock().health.clone()
    }

    /// Ends the thread once all is written; waits for it at most `patience`.
    pub(crate) fn close(&self, patience: Duration) -> Health {
        let mut state = self.lock();
        // Whoever asked before has done the waiting.
        let until = Instant::now() + if state.closing { Duration::ZERO } else { patience };
        state.closing = true;
        self.work.notify_one();
        while !state.finished {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.finished.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let mut health = state.health.clone();
        health.dropped += state.in_flight + state.queue.given();
        if !state.finished {
            health.error.get_or_insert_with(|| "the disk did not take the last events in time".to_owned());
        }
        health
    }

    /// Waits for something to do: events taken from the queue (none where the disk still owes bytes), and whether
    /// this is the end.
    fn next(&self, owing: bool) -> (Vec<Event>, bool) {
        let mut state = self.lock();
        if !state.woken && !state.closing {
            state = self.work.wait_timeout(state, RETRY).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.woken = false;
        // While the disk is behind, events wait in the queue, which is bounded.
        let given = if owing { 0 } else { state.queue.given() };
        let events: Vec<Event> = if owing { Vec::new() } else { state.queue.take().into() };
        state.in_flight += given;
        let last = state.closing && state.queue.is_empty();
        (events, last)
    }
}

/// The thread.
pub(crate) fn run(shared: &Shared, mut disk: Box<dyn Disk>) {
    let mut encoder = Encoder::new();
    let mut owed: Vec<u8> = Vec::new();
    loop {
        let (events, last) = shared.next(!owed.is_empty());
        let unfit = events.iter().filter(|event| !encoder.put(&mut owed, event)).count() as u64;
        if last {
            encoder.flush_cost(&mut owed);
        }
        let result = write(&mut *disk, &mut owed);
        let mut state = shared.lock();
        state.queue.dropped += unfit;
        state.health.bytes = disk.size();
        state.health.error = result.as_ref().err().map(ToString::to_string);
        if result.is_ok() {
            state.health.events += std::mem::take(&mut state.in_flight);
        }
        // At the end a disk that fails gets no second chance: the caller waits.
        if last || (state.closing && result.is_err()) {
            state.finished = true;
            shared.finished.notify_all();
            return;
        }
        drop(state);
        if result.is_ok() && disk.wants_compaction() {
            let compacted = disk.compact(&mut encoder);
            let mut state = shared.lock();
            state.health.bytes = disk.size();
            state.health.compactions += u64::from(compacted);
        }
    }
}

/// Writes `owed`; what could not be written stays in it.
fn write(disk: &mut dyn Disk, owed: &mut Vec<u8>) -> std::io::Result<()> {
    let mut written = 0;
    let result = loop {
        if written == owed.len() {
            break Ok(());
        }
        match disk.write(&owed[written..]) {
            Ok(0) => break Err(std::io::ErrorKind::WriteZero.into()),
            Ok(count) => written += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => break Err(error),
        }
    };
    owed.drain(..written);
    result
}
