//! A copy of a process that it made of itself, to be read in place of it.
//!
//! Under `run`, the part inside a Python process makes one when it is asked to (`_lowtide/snapshot.py`): the process pauses
//! for as long as the kernel takes to copy its page tables, and goes on. The copy does nothing but wait for the end of a
//! connection to us. So it ends when ours closes, for whatever reason, and after 30 s in any case.
//!
//! What the process says is not believed: what is read must be its own child.

use std::fs;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::Error;
use crate::image::Image;
use crate::process::Process;

/// Where copies of one process find us. It must be there before the process is asked for one.
#[derive(Debug)]
pub struct Meeting {
    listener: UnixListener,
    path: PathBuf,
}

impl Meeting {
    /// In the folder of marks; `pid` as the process itself sees it.
    ///
    /// # Errors
    /// Where no socket can be made there.
    pub fn new(folder: &Path, pid: u32) -> Result<Self, Error> {
        let path = folder.join(format!("{pid}.snapshot"));
        // One that was left behind; a copy that still waits for its recorder keeps its connection.
        let _ = fs::remove_file(&path);
        let made = UnixListener::bind(&path).and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
        match made {
            Ok(listener) => Ok(Self { listener, path }),
            Err(source) => Err(Error::Io { path, source }),
        }
    }

    /// The copy that `maker` has answered with: its pid, below a filesystem root. Never waits.
    ///
    /// # Errors
    /// Where there is no such copy, or it may not be read.
    pub fn copy(self, root: &Path, maker: &Process, pid: u32) -> Result<Copied, Error> {
        let connection = self.listener.accept().map_err(|source| Error::Io { path: self.path.clone(), source })?.0;
        let process = Process::open(root, pid)?;
        if process.parent()? != maker.pid() {
            return Err(Error::Denied { pid, why: format!("it is no copy of process {}, which named it as one", maker.pid()) });
        }
        // Not allowed in some containers; then it ends with the look.
        go_first(pid);
        Ok(Copied { process, _connection: connection })
    }
}

impl Drop for Meeting {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Has a process of ours be the first that the kernel kills where memory runs out. Some containers do not allow it.
pub fn go_first(pid: u32) {
    let _ = fs::write(format!("/proc/{pid}/oom_score_adj"), "1000");
}

/// A copy that waits to be read. Dropping it ends it.
#[derive(Debug)]
pub struct Copied {
    process: Process,
    _connection: UnixStream,
}

impl Copied {
    /// The copy as a process: its maps, its modules.
    #[must_use]
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Its memory, in which nothing changes any more.
    ///
    /// # Errors
    /// Where it has ended.
    pub fn image(&self) -> Result<Image, Error> {
        self.process.image()
    }
}

/// How to hold a process still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Stop it and read it.
    Stop,
    /// Have it copy itself and read the copy.
    Copy,
}

/// Reading takes so long for an object (measured on CPython 3.8 to 3.13: 0.2 to 0.3 s for a million).
const OBJECT: Duration = Duration::from_nanos(300);
/// A copy holds its maker up so long for each MiB that is resident: 0.05 to 0.13 ms to copy page tables; then the kernel copies
/// each page that the maker writes to while the copy lives, 1.0 to 1.4 ms a MiB (both measured on 256 MiB to 1 GiB of a busy
/// machine), and a training step writes to a good part of its memory: a quarter is taken.
const MEBIBYTE: Duration = Duration::from_micros(400);

fn times(unit: Duration, count: u64) -> Duration {
    Duration::from_nanos((unit.as_nanos() as u64).saturating_mul(count))
}

/// How long a stop is predicted to take, for so many objects.
#[must_use]
pub fn held(objects: u64) -> Duration {
    times(OBJECT, objects)
}

/// How long a copy is predicted to hold its maker up, for so many resident bytes.
#[must_use]
pub fn copying(resident: u64) -> Duration {
    times(MEBIBYTE, resident >> 20)
}

/// Which of the two is predicted to hold it up less, and for how long, for so many objects and resident bytes.
#[must_use]
pub fn shorter(objects: u64, resident: u64) -> (How, Duration) {
    let (stop, copy) = (held(objects), copying(resident));
    if copy < stop { (How::Copy, copy) } else { (How::Stop, stop) }
}

/// Whether memory that a look will need fits twice into what the tightest limit leaves (both in bytes).
#[must_use]
pub fn fits(needed: u64, left: u64) -> bool {
    needed.checked_mul(2).is_some_and(|twice| twice <= left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shorter_pause_is_taken() {
        // A million objects in 300 MiB; the same in 1 GiB, and in 40 GiB of tensors.
        assert_eq!(shorter(1_000_000, 300 << 20).0, How::Copy);
        assert_eq!(shorter(1_000_000, 1 << 30).0, How::Stop);
        assert_eq!(shorter(1_000_000, 40 << 30), (How::Stop, Duration::from_millis(300)));
        assert_eq!(shorter(u64::MAX, 0), (How::Copy, Duration::ZERO));
    }

    #[test]
    fn it_must_fit_twice() {
        assert!(fits(100, 200) && !fits(101, 200) && !fits(u64::MAX, u64::MAX));
    }
}
