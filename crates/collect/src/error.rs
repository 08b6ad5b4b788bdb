//! Why a process cannot be watched at all. Everything smaller is a note in the recording.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why watching cannot start. Each text says what to do.
#[derive(Debug, Error)]
pub enum CollectError {
    /// There is no such process, or it is hidden from us.
    #[error(
        "no process {pid}: it has ended, it is in a pid namespace that is not seen from here, or /proc hides other users' \
         processes (hidepid); check with `ps -p {pid}`, or run as its user or as root"
    )]
    NoSuchProcess {
        /// The pid asked for.
        pid: u32,
    },
    /// The process ended and waits for its parent to collect it.
    #[error("process {pid} has already ended (it is a zombie): nothing is left to watch; start it again with `lowtide run`")]
    Zombie {
        /// The pid asked for.
        pid: u32,
    },
    /// The kernel does not let us read it.
    #[error("{} cannot be read: {source}; run as the user of the process or as root", path.display())]
    Denied {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The file is there and is not what the kernel writes.
    #[error("{} is not in the format of proc(5); is {} really a proc file system?", path.display(), proc.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The folder that should be a proc file system.
        proc: PathBuf,
    },
    /// There is no /proc.
    #[error("{} cannot be listed: {source}; mount it with `mount -t proc proc {}`", path.display(), path.display())]
    NoProc {
        /// The folder.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}
