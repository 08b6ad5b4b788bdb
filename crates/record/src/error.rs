//! What can go wrong with a recording, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

/// Why a recording cannot be written, read or exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The operating system refused.
    #[error("cannot {what} {}: {source}{}", path.display(), mend(source))]
    Io {
        /// What was tried: `read`, `create`, ...
        what: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file has no bytes: its writer was stopped before the first, or the disk was full.
    #[error("{} is empty: nothing was recorded, perhaps since the disk was full; record again", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{} is not a lowtide recording: it does not begin with the bytes of one", path.display())]
    NotARecording {
        /// The file.
        path: PathBuf,
    },
    /// A file is there already that lowtide must not overwrite.
    #[error("{} exists and is not a lowtide recording, so it is not overwritten; choose another name", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A newer lowtide wrote it.
    #[error("{} is a recording of version {found}, this lowtide reads up to version {}; update lowtide", path.display(), crate::format::VERSION)]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version that it has.
        found: u16,
    },
    /// More measurements than fit in memory.
    #[error("{} holds more than {limit} measurements of processes, too many to read at once; export it to SQLite or Parquet", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most that [`crate::read()`] takes.
        limit: u64,
    },
    /// The file that was followed is another run's now.
    #[error("{} was replaced by the recording of another run; open it again", path.display())]
    Replaced {
        /// The file.
        path: PathBuf,
    },
    /// An export failed on the way.
    #[error("cannot export to {}: {reason}", path.display())]
    Export {
        /// The file that was to be written.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
}

impl RecordError {
    /// For `map_err` on I/O.
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { what, path, source }
    }
}

/// What a person can do about an I/O error, as the end of a sentence.
fn mend(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; choose a folder that you may use, with --record FILE or LOWTIDE_DIR"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; make room, or choose another disk with LOWTIDE_DIR",
        io::ErrorKind::NotFound => "; check the name",
        _ => "",
    }
}
