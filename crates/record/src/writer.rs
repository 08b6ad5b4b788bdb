//! The front of the writer: what the collector calls. It hands events over and returns.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use lowtide_model::Event;

use crate::background::{self, Shared};
use crate::disk::{Disk, FileDisk};
use crate::error::RecordError;

/// How long [`Writer::finish`] waits for a disk that hangs.
const FINISH: Duration = Duration::from_secs(1);

/// Writes the recording of one run.
///
/// No call waits for the disk, except [`Writer::finish`], a second at most. A thread of its own writes what was
/// appended within a second, at once after [`Writer::tick_done`]. Once written it is the kernel's, and outlives the recorder; it is
/// not forced to the disk (fsync), since that would keep busy the disk that the training run reads from, and what it
/// protects against, a machine that stops dead, ends the run as well.
#[derive(Debug)]
pub struct Writer {
    shared: Arc<Shared>,
    path: PathBuf,
}

/// How the recording is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// The size of the file, in bytes.
    pub bytes: u64,
    /// Events that the disk has taken, those that were thinned since included.
    pub events: u64,
    /// Events that were dropped since the disk did not take what came before them.
    pub dropped: u64,
    /// What last went wrong; `None` again once all is written.
    pub error: Option<String>,
    /// Times that old ticks were thinned.
    pub compactions: u64,
}

impl Writer {
    /// Begins a recording. The folder must exist. A recording that is there already is replaced, never written into; any other
    /// file is left alone.
    pub fn create(path: &Path) -> Result<Self, RecordError> {
        let disk = FileDisk::create(path)?;
        Self::start(Box::new(disk), path)
    }

    pub(crate) fn start(disk: Box<dyn Disk>, path: &Path) -> Result<Self, RecordError> {
        let shared = Arc::new(Shared::default());
        let for_thread = Arc::clone(&shared);
        thread::Builder::new()
            .name("lowtide-record".to_owned())
            .spawn(move || background::run(&for_thread, disk))
            .map_err(RecordError::io("start a thread to write", path))?;
        Ok(Self { shared, path: path.to_owned() })
    }

    /// Takes an event in. Never fails and never waits: what the disk does not take is dropped once the queue is full,
    /// counted, and marked with a note.
    pub fn append(&mut self, event: &Event) {
        self.shared.push(event);
    }

    /// Says that the events of a tick are all there: time to write them.
    pub fn tick_done(&mut self) {
        self.shared.wake();
    }

    /// How the recording is doing.
    #[must_use]
    pub fn health(&self) -> Health {
        self.shared.health()
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes what is left. Waits for a second at most; what a hanging disk has not taken by then counts as dropped.
    #[must_use]
    pub fn finish(self) -> Health {
        self.shared.close(FINISH)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.close(FINISH);
    }
}
