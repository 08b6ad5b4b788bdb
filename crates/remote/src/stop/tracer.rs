//! What the tracer's thread does: stop every thread, wait, let every thread go on.
//!
//! The kernel ties tracing to a thread, not to a process, so all of it happens on one that lives as long as the stop. When
//! that thread ends, in whatever way, the kernel lets go of everything that it still holds.

use std::thread;
use std::time::{Duration, Instant};

use super::ptrace::{self, Stop};
use crate::error::Error;
use crate::process::Process;

/// The longest time between two looks whether a thread has stopped.
const LONGEST_NAP: Duration = Duration::from_millis(1);

/// All threads of a process, of which we are the tracer.
pub struct Tracer<'a> {
    process: &'a Process,
    threads: Vec<Thread>,
}

struct Thread {
    id: u32,
    /// `None`: asked to stop, but runs still.
    stop: Option<Stop>,
}

impl<'a> Tracer<'a> {
    /// Holds nothing yet.
    pub fn new(process: &'a Process) -> Self {
        Self { process, threads: Vec::new() }
    }

    /// Stops every thread, within `limit`. On an error those that are held are let go by [`Tracer::let_go`].
    pub fn stop(&mut self, limit: Duration) -> Result<(), Error> {
        let since = Instant::now();
        // A thread may start others until it has stopped itself. Once all that are known have, and a look finds no other,
        // there is nobody left to start one.
        loop {
            let new = self.seize_new()?;
            if new == 0 && self.threads.iter().all(|thread| thread.stop.is_some()) {
                break;
            }
            self.wait(since, limit)?;
        }
        if self.threads.is_empty() {
            self.process.check()?;
            return Err(Error::Gone { pid: self.process.pid() });
        }
        // The pid may have been given to another process before we seized it; from here on it cannot be any more.
        self.process.check()
    }

    /// How many threads are held.
    pub fn count(&self) -> usize {
        self.threads.len()
    }

    /// Whether they are still held: a SIGKILL ends a stop.
    pub fn still_held(&self) -> bool {
        self.threads.first().is_some_and(|first| matches!(ptrace::stopped(first.id), Ok(Some(_))))
    }

    /// Lets every thread go on.
    pub fn let_go(&mut self) {
        for thread in self.threads.drain(..) {
            // One that has not stopped cannot be let go by a call: the end of this thread does it. One that has stopped
            // since it was last asked must be asked what in, so that its signal is not lost.
            let stop = thread.stop.or_else(|| ptrace::stopped(thread.id).ok().flatten());
            if let Some(stop) = stop {
                // It fails where the thread was killed, and then there is nothing to do.
                let _ = ptrace::detach(thread.id, stop);
            }
        }
    }

    /// Seizes and interrupts the threads that are not held yet; says how many.
    fn seize_new(&mut self) -> Result<usize, Error> {
        let mut new = 0;
        for id in self.process.threads()? {
            if self.threads.iter().any(|thread| thread.id == id) {
                continue;
            }
            match ptrace::seize(id) {
                Ok(()) => {
                    self.threads.push(Thread { id, stop: None });
                    // It fails where the thread has ended since.
                    let _ = ptrace::interrupt(id);
                    new += 1;
                }
                Err(_) if self.has_ended(id)? => {}
                Err(error) => return Err(self.process.refused(id, error)),
            }
        }
        Ok(new)
    }

    /// Waits until all that are held have stopped. Those that take long are asked again: where a thread that was not held
    /// yet execs, it takes over the number of the first one, which was, and is found anew at the next look.
    fn wait(&mut self, since: Instant, limit: Duration) -> Result<(), Error> {
        let mut nap = Duration::from_micros(20);
        loop {
            let ask_again = nap >= LONGEST_NAP;
            let mut running = None;
            let mut ended = Vec::new();
            for index in 0..self.threads.len() {
                let thread = &self.threads[index];
                if thread.stop.is_some() {
                    continue;
                }
                let id = thread.id;
                match ptrace::stopped(id) {
                    Ok(Some(stop)) => self.threads[index].stop = Some(stop),
                    _ if self.has_ended(id)? || (ask_again && ptrace::interrupt(id).is_err()) => ended.push(id),
                    _ => running = Some(id),
                }
            }
            // A thread that execs waits for the others to be gone, and those that we trace are so when we know of it. The
            // first one is its parent's to know of.
            for id in ended.iter().filter(|id| **id != self.process.pid()) {
                ptrace::reap(*id);
            }
            self.threads.retain(|thread| !ended.contains(&thread.id));
            let Some(id) = running else { return Ok(()) };
            let waited = since.elapsed();
            if waited > limit {
                return Err(Error::Stubborn { pid: self.process.pid(), thread: id, state: self.process.doing(id), waited });
            }
            thread::sleep(nap);
            nap = (nap * 2).min(LONGEST_NAP);
        }
    }

    fn has_ended(&self, thread: u32) -> Result<bool, Error> {
        // Of the first thread the process's own file tells; of the others, theirs.
        Ok(self.process.thread_stat(thread)?.is_none_or(|stat| matches!(stat.state, b'Z' | b'X')))
    }
}

impl Drop for Tracer<'_> {
    fn drop(&mut self) {
        self.let_go();
    }
}
