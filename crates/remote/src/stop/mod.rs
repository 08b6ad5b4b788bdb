//! Holding a process still, for an announced time.
//!
//! Without a stop the lists of a busy Python are torn (measured: 17 of 18 looks), so every look that follows pointers needs
//! one. It ends in whichever comes first: it is dropped; its time is over (a thread of its own sees to that, however long a
//! read takes); we die (the kernel lets the target go on then: `kill -9` included).
//!
//! What it does to the target stands in `docs/heap.md`: nothing but the pause, some system calls that end with EINTR, and
//! timer ticks that fall together.
//!
//! What else could stop us and so keep the target waiting is Ctrl-Z: see `job.rs`; and what keeps it waiting longer than it has to is a
//! busy machine: see `hurry.rs`.
//!
//! **A process that waits for the target as its parent** sees each stop in waitpid(2), whichever of its threads asked for
//! it, as an exit status that says "stopped": it must not take that for an end. `std::process::Child` does, so a parent
//! that waits by it must not be the one that stops.

mod hurry;
mod job;
mod ptrace;
mod tracer;

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::image::Image;
use crate::process::{Process, read_memory};
use crate::source::Source;
pub use hurry::{Hurry, hurried};
use job::NotNow;
use tracer::Tracer;

const HELD: u8 = 0;
const RELEASED: u8 = 1;
const TIME_OVER: u8 = 2;
const KILLED: u8 = 3;

/// How often is looked whether the target was killed while it was held: its parent learns of it only when we let go.
const LOOK: Duration = Duration::from_millis(10);

/// A process that holds still. Dropping it lets it go on.
#[derive(Debug)]
pub struct Stopped {
    process: Process,
    shared: Arc<Shared>,
    release: Sender<()>,
    tracer: Option<JoinHandle<()>>,
    threads: usize,
    hurry: Option<Hurry>,
    _not_now: NotNow,
}

#[derive(Debug)]
struct Shared {
    pid: u32,
    budget: Duration,
    state: AtomicU8,
    since: Instant,
    pause: OnceLock<Duration>,
}

impl Stopped {
    pub(crate) fn new(process: &Process, budget: Duration) -> Result<Self, Error> {
        process.must_be_ours()?;
        let not_now = NotNow::new();
        let hurry = Hurry::begin();
        let shared = Arc::new(Shared {
            pid: process.pid(),
            budget,
            state: AtomicU8::new(HELD),
            since: Instant::now(),
            pause: OnceLock::new(),
        });
        let (release, released) = channel();
        let (say, said) = channel();
        let tracer = {
            let (process, shared) = (process.clone(), Arc::clone(&shared));
            std::thread::Builder::new()
                .name("lowtide-stop".into())
                .spawn(move || trace(&process, &shared, &say, &released))
                .map_err(|source| Error::Io { path: "a new thread".into(), source })?
        };
        // No answer at all: the thread panicked, which is a fault of ours; the target goes on.
        let gone = || Err(Error::Gone { pid: process.pid() });
        match said.recv().unwrap_or_else(|_| gone()) {
            Ok(threads) => {
                let process = process.clone();
                Ok(Self { process, shared, release, tracer: Some(tracer), threads, hurry: Some(hurry), _not_now: not_now })
            }
            Err(error) => {
                let _ = tracer.join();
                Err(error)
            }
        }
    }

    /// Its memory, which fits together as long as it is held. Reads after that fail, and [`Image::trouble`] says why; what
    /// was read before stays.
    ///
    /// # Errors
    /// Where it was killed, or the time is over.
    pub fn image(&self) -> Result<Image, Error> {
        let memory = self.process.memory()?;
        let maps = self.process.maps()?;
        self.check()?;
        Ok(Image::new(Still { memory, shared: Arc::clone(&self.shared) }, maps))
    }

    /// The process.
    #[must_use]
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// How many threads are held.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Fails unless the process is still held.
    ///
    /// # Errors
    /// [`Error::TimeOver`], or [`Error::Gone`] where it was killed meanwhile.
    pub fn check(&self) -> Result<(), Error> {
        self.shared.check()
    }

    /// How long it has been held.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.shared.pause.get().copied().unwrap_or_else(|| self.shared.since.elapsed())
    }

    /// What is left of the announced time.
    #[must_use]
    pub fn left(&self) -> Duration {
        if self.check().is_ok() { self.shared.budget.saturating_sub(self.shared.since.elapsed()) } else { Duration::ZERO }
    }

    /// Lets it go on, and says how long it was held: from the first thread that was asked to the last that was let go.
    pub fn release(mut self) -> Duration {
        self.end()
    }

    fn end(&mut self) -> Duration {
        if let Some(tracer) = self.tracer.take() {
            // It fails where the thread has let go already.
            let _ = self.release.send(());
            let _ = tracer.join();
        }
        self.hurry = None;
        self.elapsed()
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn check(&self) -> Result<(), Error> {
        match self.state.load(Ordering::SeqCst) {
            HELD => Ok(()),
            KILLED => Err(Error::Gone { pid: self.pid }),
            _ => Err(Error::TimeOver { pid: self.pid, budget: self.budget }),
        }
    }
}

/// The tracer's thread.
fn trace(process: &Process, shared: &Shared, say: &Sender<Result<usize, Error>>, released: &Receiver<()>) {
    let mut tracer = Tracer::new(process);
    let end = shared.since + shared.budget;
    // Half of the time to stop, so that some is left to read.
    let outcome = tracer.stop(shared.budget / 2);
    let held = outcome.is_ok();
    if say.send(outcome.map(|()| tracer.count())).is_err() || !held {
        return;
    }
    let state = loop {
        let left = end.saturating_duration_since(Instant::now());
        match released.recv_timeout(left.min(LOOK)) {
            Ok(()) | Err(RecvTimeoutError::Disconnected) => break RELEASED,
            Err(RecvTimeoutError::Timeout) if left.is_zero() => break TIME_OVER,
            Err(RecvTimeoutError::Timeout) if !tracer.still_held() => break KILLED,
            Err(RecvTimeoutError::Timeout) => {}
        }
    };
    // First said, then done: a read that sees "held" after it has its bytes had them from a process that stood still.
    shared.state.store(state, Ordering::SeqCst);
    tracer.let_go();
    let _ = shared.pause.set(shared.since.elapsed());
}

/// Memory of a process that holds still.
struct Still {
    memory: File,
    shared: Arc<Shared>,
}

impl Source for Still {
    fn read(&self, address: u64, out: &mut [u8]) -> io::Result<usize> {
        self.shared.check().map_err(io::Error::other)?;
        let count = read_at_once(self.shared.pid, address, out).or_else(|_| read_memory(&self.memory, address, out));
        // Whatever came after the end of the stop may be torn.
        self.shared.check().map_err(io::Error::other)?;
        count
    }

    fn read_each(&self, addresses: &[u64], out: &mut [u8]) -> io::Result<usize> {
        self.shared.check().map_err(io::Error::other)?;
        let count = read_all_at_once(self.shared.pid, addresses, out);
        self.shared.check().map_err(io::Error::other)?;
        count
    }
}

/// By process_vm_readv(2), which copies once where `/proc/PID/mem` copies twice (measured: 0.44 instead of 0.57 s of
/// processor time for 511 MiB). It names the process by its pid, which cannot be given to another while we trace it.
fn read_at_once(pid: u32, address: u64, out: &mut [u8]) -> io::Result<usize> {
    let theirs = libc::iovec { iov_base: place(address)?, iov_len: out.len() };
    read_ranges(pid, &[theirs], out)
}

/// Of how many of the addresses all bytes were read.
fn read_all_at_once(pid: u32, addresses: &[u64], out: &mut [u8]) -> io::Result<usize> {
    /// `UIO_MAXIOV`.
    const MOST: usize = 1024;
    let Some(len) = out.len().checked_div(addresses.len()).filter(|len| *len > 0) else { return Ok(0) };
    let range = |address: &u64| Ok(libc::iovec { iov_base: place(*address)?, iov_len: len });
    let theirs = addresses.iter().take(MOST).map(range).collect::<io::Result<Vec<_>>>()?;
    let wanted = theirs.len() * len;
    Ok(read_ranges(pid, &theirs, &mut out[..wanted])? / len)
}

fn place(address: u64) -> io::Result<*mut libc::c_void> {
    Ok(std::ptr::without_provenance_mut(usize::try_from(address).map_err(io::Error::other)?))
}

/// Reads these ranges of its memory, one behind the other.
fn read_ranges(pid: u32, theirs: &[libc::iovec], out: &mut [u8]) -> io::Result<usize> {
    let pid = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
    let ours = libc::iovec { iov_base: out.as_mut_ptr().cast(), iov_len: out.len() };
    // SAFETY: one range on our side, to which the kernel writes at most `out.len()` bytes; it only reads theirs, of which there are as
    // many as is said.
    let count = unsafe { libc::process_vm_readv(pid, &raw const ours, 1, theirs.as_ptr(), theirs.len() as libc::c_ulong, 0) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error()).and_then(|count| match count {
        0 if !out.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
        count => Ok(count),
    })
}
