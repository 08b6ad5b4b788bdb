//! Why a look into another process cannot be had. Each text says what to do.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

/// Why another process cannot be read or held still.
#[derive(Debug, Error)]
pub enum Error {
    /// There is no such process, or it is hidden from us.
    #[error("no process {pid}: it has ended, or it is in a pid namespace that is not seen from here; check with `ps -p {pid}`")]
    Gone {
        /// The pid asked for.
        pid: u32,
    },
    /// The pid belongs to another process now.
    #[error("process {pid} has ended and another one has its pid now; look for the new pid with `lowtide attach --find`")]
    Reused {
        /// The pid asked for.
        pid: u32,
    },
    /// It ended and waits for its parent.
    #[error("process {pid} has already ended (it is a zombie): its memory is gone; start it again with `lowtide run`")]
    Zombie {
        /// The pid asked for.
        pid: u32,
    },
    /// A kernel thread, or a process in the middle of its end.
    #[error("process {pid} has no memory of its own: it is ending, or it is a kernel thread")]
    NoMemory {
        /// The pid asked for.
        pid: u32,
    },
    /// Another process traces it; only one can.
    #[error(
        "process {pid} is held by a debugger or tracer already (pid {tracer}{}): only one can have it; end that one (in gdb: `detach`) and \
         try again",
        name(.command)
    )]
    Traced {
        /// The pid asked for.
        pid: u32,
        /// Who traces it; 0 where that is not seen from here.
        tracer: u32,
        /// The tracer's name, where it can be read.
        command: Option<String>,
    },
    /// The kernel does not let us.
    #[error("process {pid} may not be read: {why}")]
    Denied {
        /// The pid asked for.
        pid: u32,
        /// What stands in the way, and what to do.
        why: String,
    },
    /// A thread did not stop in time.
    #[error(
        "process {pid} did not stop within {} ms: thread {thread} is {state}; nothing was read and it goes on",
        .waited.as_millis()
    )]
    Stubborn {
        /// The pid asked for.
        pid: u32,
        /// The thread that did not stop.
        thread: u32,
        /// What it does.
        state: String,
        /// How long was waited.
        waited: Duration,
    },
    /// The stop's time is over.
    #[error(
        "the stop of process {pid} has reached its limit of {} ms and the process goes on: what was not read by then is not \
         read",
        .budget.as_millis()
    )]
    TimeOver {
        /// The pid asked for.
        pid: u32,
        /// The time that was announced.
        budget: Duration,
    },
    /// A file that cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A file that is not what it should be.
    #[error("{}, {place}: {what}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Where in it.
        place: String,
        /// What is wrong there, and what to do.
        what: String,
    },
}

fn name(command: &Option<String>) -> String {
    command.as_ref().map_or_else(String::new, |command| format!(", {command}"))
}
