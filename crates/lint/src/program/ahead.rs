//! Reading and parsing the entry files of a program, several at a time: they are known before any of them is read.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::{Files, MAX_FILES, MAX_TOTAL_BYTES};
use crate::source::{Source, SourceError};
use crate::table::HashMap;

/// A file's length in bytes, and what it was understood as.
pub(super) type Parsed = (usize, Result<Source, SourceError>);

/// The files that have been read already.
#[derive(Default)]
pub(super) struct Ahead(HashMap<PathBuf, Parsed>);

impl Ahead {
    /// Reads the first of these, as long as they are not too many bytes in all: what is left is read when it is asked for.
    pub fn of(files: &(dyn Files + Sync), paths: &[PathBuf]) -> Self {
        let paths = &paths[..paths.len().min(MAX_FILES)];
        let (next, bytes, read) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(HashMap::default()));
        let work = || {
            while bytes.load(Ordering::Relaxed) < MAX_TOTAL_BYTES
                && let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed))
            {
                let parsed = parsed(files, path);
                bytes.fetch_add(parsed.0, Ordering::Relaxed);
                read.lock().unwrap_or_else(PoisonError::into_inner).insert(path.clone(), parsed);
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(paths.len());
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
        Self(read.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// A file, once.
    pub fn take(&mut self, path: &Path) -> Option<Parsed> {
        self.0.remove(path)
    }
}

/// Reads a file; 0 bytes where that was not possible.
pub(super) fn parsed(files: &dyn Files, path: &Path) -> Parsed {
    match files.read(path) {
        Ok(bytes) => (bytes.len(), Source::parse(path, &bytes)),
        Err(error) => (0, Err(SourceError::Unreadable { path: path.to_owned(), problem: error.to_string() })),
    }
}
