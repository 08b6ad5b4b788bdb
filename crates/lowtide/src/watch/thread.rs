//! Watching on a thread of its own, for `run`: the main thread only waits for the target.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Instant;

use lowtide_model::ExitStatus;

use super::guard::guarded;
use super::{Outcome, Settings, Watch};

/// Told to the watching thread: the target ended so.
type Ended = ExitStatus;

/// A thread that watches.
pub struct Watcher {
    ended: Sender<Ended>,
    outcome: Receiver<Result<Outcome, String>>,
    closed: Receiver<Result<(), String>>,
}

impl Watcher {
    /// Starts it. What fails is told by [`Watcher::outcome`].
    pub fn start(settings: Settings) -> Self {
        let (ended, target_ended) = channel();
        let (tell, outcome) = channel();
        let (tell_closed, closed) = channel();
        let work = move || {
            let told = tell.clone();
            let result = guarded(|| watch(settings, &target_ended, &tell)).and_then(|result| result);
            // Nobody listens where the main thread has given up waiting.
            match result {
                Ok(result) => drop(tell_closed.send(result)),
                Err(text) => drop(told.send(Err(text))),
            }
        };
        let started = std::thread::Builder::new().name("lowtide-watch".to_owned()).spawn(work);
        // Without a thread the other ends are gone with `work`, and `outcome` says so.
        drop(started);
        Self { ended, outcome, closed }
    }

    /// Tells that the target has ended, and waits for the answer, at most until the deadline.
    pub fn outcome(&self, status: ExitStatus, deadline: Instant) -> Result<Outcome, String> {
        let _ = self.ended.send(status);
        self.outcome.recv_timeout(deadline.saturating_duration_since(Instant::now())).unwrap_or_else(|error| {
            Err(match error {
                RecvTimeoutError::Timeout => "the watching thread is held up (a slow disk, a processor that is busy?)",
                RecvTimeoutError::Disconnected => "the watching thread could not be started",
            }
            .to_owned())
        })
    }

    /// Waits until the recording is closed, at most until the deadline.
    pub fn closed(&self, deadline: Instant) -> Result<(), String> {
        self.closed
            .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            .unwrap_or_else(|_| Err("the recording could not be finished in time; all but its last seconds are there".to_owned()))
    }
}

/// Watches to the end and tells the outcome; returns how closing the recording went.
fn watch(
    settings: Settings,
    target_ended: &Receiver<Ended>,
    tell: &Sender<Result<Outcome, String>>,
) -> Result<Result<(), String>, String> {
    let mut watch = Watch::start(settings)?;
    loop {
        watch.turn();
        if let Some(reason) = watch.enough() {
            let outcome = watch.end(ExitStatus::Unknown, &reason);
            let closed = watch.close();
            // The target goes on, unwatched; what was seen is told when it ends.
            let _ = target_ended.recv();
            let _ = tell.send(outcome);
            return Ok(closed);
        }
        match target_ended.recv_timeout(watch.until_next()) {
            Ok(status) => {
                let _ = tell.send(watch.end(status, ""));
                return Ok(watch.close());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err("nobody waits for the answer".to_owned()),
        }
    }
}
