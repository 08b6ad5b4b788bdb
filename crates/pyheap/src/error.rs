//! Why a Python cannot be looked into. Each text says what to do.

use thiserror::Error;

/// Why a Python cannot be looked into.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The process is not a Python, or hides it.
    #[error(
        "process {pid} has no CPython in it (no symbol _PyRuntime in its program or libraries): check the pid with `ps -p {pid} -f`; a \
         Python before 3.7, PyPy, or one that was stripped of all its symbols cannot be read"
    )]
    NoPython {
        /// The pid.
        pid: u32,
    },
    /// A build without the interpreter lock has no lists of objects.
    #[error(
        "this is a free-threaded CPython {version}: it keeps no list of its objects, and cannot be read from outside yet; run the \
         program with the ordinary build of the same version to look into it"
    )]
    FreeThreaded {
        /// Its version.
        version: Version,
    },
    /// A version that there is no table for.
    #[error("this is CPython {version}: its memory is laid out in a way that is not known here (known: 3.8 to 3.14)")]
    Unknown {
        /// Its version.
        version: Version,
    },
    /// No table fits.
    #[error(
        "a CPython is there (_PyRuntime at {runtime:#x}), but its structures fit none of the known layouts (3.8 to 3.14): {tried}; is it a \
         patched or a debug build, or still starting? Try again, and tell us the output of `python -VV`"
    )]
    NoFit {
        /// Where `_PyRuntime` is.
        runtime: u64,
        /// What did not fit, by version.
        tried: String,
    },
    /// The collector ran at every attempt.
    #[error("the garbage collector was running at each of {attempts} attempts, and its lists are in pieces meanwhile")]
    Collecting {
        /// How often was tried.
        attempts: u32,
    },
    /// The lists do not fit together.
    #[error("the list of objects at {at:#x} is broken: {what}; the target was not stopped, or its memory is damaged")]
    Torn {
        /// Where.
        at: u64,
        /// How.
        what: &'static str,
    },
    /// The memory could not be read.
    #[error(transparent)]
    Remote(#[from] lowtide_remote::Error),
    /// It takes more memory than there is for it.
    #[error(
        "the look was given up: it needs more than the {} MiB that it may keep, so that twice as much stays free below the tightest \
         memory limit; look from outside of that limit, or raise it", budget >> 20
    )]
    NoRoom {
        /// How many bytes it may keep of what it reads.
        budget: u64,
    },
    /// It could be read in part only.
    #[error("the look broke off: {0}")]
    Cut(String),
}

/// A version of CPython.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// 3.
    pub major: u8,
    /// 11 of 3.11.7.
    pub minor: u8,
    /// 7 of 3.11.7.
    pub micro: u8,
}

impl Version {
    /// From `PY_VERSION_HEX`, as `sys.hexversion` has it.
    #[must_use]
    pub fn from_hex(hex: u64) -> Self {
        Self { major: (hex >> 24) as u8, minor: (hex >> 16) as u8, micro: (hex >> 8) as u8 }
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.micro)
    }
}
