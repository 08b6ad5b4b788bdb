//! Where the bytes go: a file, or in tests something that fails on purpose.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::compact;
use crate::encode::Encoder;
use crate::error::RecordError;
use crate::format::{Header, MAGIC};

/// A place for the bytes of one recording.
pub(crate) trait Disk: Send {
    /// Takes some of `bytes`, or says why not.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Bytes that it has taken and still holds.
    fn size(&self) -> u64;
    /// Whether old ticks should be thinned now.
    fn wants_compaction(&self) -> bool {
        false
    }
    /// Thins old ticks, or leaves all as it is; whether it did. Called only when all bytes are written.
    fn compact(&mut self, _encoder: &mut Encoder) -> bool {
        false
    }
}

/// A recording's file.
pub(crate) struct FileDisk {
    file: File,
    path: PathBuf,
    header: [u8; crate::format::HEADER_LEN],
    size: u64,
    budget: compact::Budget,
}

impl FileDisk {
    /// Makes the file and writes its header, so that a folder that is read-only or full is known at once.
    pub(crate) fn create(path: &Path) -> Result<Self, RecordError> {
        Self::with_budget(path, compact::Budget::default())
    }

    pub(crate) fn with_budget(path: &Path, budget: compact::Budget) -> Result<Self, RecordError> {
        clear_the_way(path)?;
        let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(RecordError::io("create", path))?;
        let header = Header::encode(run_number());
        if let Err(error) = file.write_all(&header) {
            // A file without a header is of no use to anybody; if it stays, it reads as empty.
            let _ = fs::remove_file(path);
            return Err(RecordError::io("write", path)(error));
        }
        Ok(Self { file, path: path.to_owned(), header, size: header.len() as u64, budget })
    }

    /// Whether the path still leads to the file that we write: it may have been deleted, moved or replaced.
    fn is_ours(&self) -> bool {
        let (Ok(ours), Ok(there)) = (self.file.metadata(), fs::symlink_metadata(&self.path)) else { return false };
        (ours.dev(), ours.ino()) == (there.dev(), there.ino())
    }

    fn try_compact(&mut self, encoder: &mut Encoder) -> io::Result<()> {
        if !self.is_ours() {
            return Err(io::Error::other("another file is in its place"));
        }
        let temporary = temporary(&self.path);
        let made = self.budget.rewrite(&self.path, &temporary, &self.header, encoder.last_us());
        let renamed = made.and_then(|(file, size)| {
            // The new file must be whole on the disk before it takes the old one's name, or a machine that stops dead
            // now could leave neither. This is the only fsync there is.
            file.sync_data()?;
            fs::rename(&temporary, &self.path)?;
            Ok((file, size))
        });
        match renamed {
            Ok((file, size)) => {
                self.file = file;
                self.size = size;
                // What the encoder remembers is not what the new file ends with.
                encoder.force_key();
                Ok(())
            }
            Err(error) => {
                let _ = fs::remove_file(&temporary);
                Err(error)
            }
        }
    }
}

impl Disk for FileDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.size += count as u64;
        Ok(count)
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn wants_compaction(&self) -> bool {
        self.budget.is_over(self.size)
    }

    fn compact(&mut self, encoder: &mut Encoder) -> bool {
        let compacted = self.try_compact(encoder).is_ok();
        if !compacted {
            // That costs nothing but room: the old file is whole, and it is tried again when it has grown by half.
            self.budget.failed(self.size, encoder.last_us());
        }
        compacted
    }
}

/// Removes a recording that has the name already. Removed and not written into: its writer may still be at it.
fn clear_the_way(path: &Path) -> Result<(), RecordError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(RecordError::io("open", path)(error)),
    };
    let mut start = Vec::new();
    let is_file = file.metadata().is_ok_and(|meta| meta.is_file());
    if is_file {
        file.take(MAGIC.len() as u64).read_to_end(&mut start).map_err(RecordError::io("read", path))?;
    }
    if !is_file || !(start.is_empty() || start == MAGIC) {
        return Err(RecordError::Exists { path: path.to_owned() });
    }
    fs::remove_file(path).map_err(RecordError::io("replace", path))
}

/// A number that no other run has, or hardly ever.
fn run_number() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    now ^ u64::from(std::process::id()).rotate_right(20)
}

/// The file that a compaction writes, beside the recording so that it can be renamed.
fn temporary(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}
