//! Following a recording while it is written.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use lowtide_model::Event;

use crate::decode::{Decoder, Frames, Meaning, Step};
use crate::error::RecordError;
use crate::format::HEADER_LEN;
use crate::read::read_header;

/// Bytes read at a time.
const CHUNK: usize = 64 << 10;
/// The most bytes of one [`Follower::poll`], so that a huge file comes in portions.
const MAX_POLL: usize = 4 << 20;
/// Polls that damage may last. Over a network, pages arrive in any order, and read as zeros before they do.
const PATIENCE: u32 = 10;

/// Reads a recording that grows, without a lock. Each event comes once, also when compaction puts a thinned file in the place of
/// the one that was read so far.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    file: File,
    run: u64,
    frames: Frames,
    decoder: Decoder,
    /// Events handed out, counted as the run counts them.
    seen: u64,
    stuck: u32,
}

impl Follower {
    /// Follows from the first event on.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let (file, run) = open(path)?;
        let frames = Frames::at(HEADER_LEN as u64);
        Ok(Self { path: path.to_owned(), file, run, frames, decoder: Decoder::default(), seen: 0, stuck: 0 })
    }

    /// What has come since the last call, in order; empty where nothing has. At most some megabytes at a time: when it
    /// was not empty, there may be more.
    pub fn poll(&mut self) -> Result<Vec<Event>, RecordError> {
        let mut events = Vec::new();
        let drained = match self.read_on(&mut events) {
            Ok(drained) => drained,
            // The server has forgotten the file since another has its name now.
            Err(error) if is_stale(&error) => true,
            Err(error) => return Err(RecordError::io("read", &self.path)(error)),
        };
        if drained && self.was_replaced() {
            // What was written to the old file before the other took its name is read by now or was not to be had. The other
            // file counts events as this one does, so that those handed out are passed over.
            let (file, run) = open(&self.path)?;
            if run != self.run {
                return Err(RecordError::Replaced { path: self.path.clone() });
            }
            // Once more: the last bytes may have come between the reading and the rename.
            let _ = self.read_on(&mut events);
            self.file = file;
            self.frames = Frames::at(HEADER_LEN as u64);
            self.decoder = Decoder::default();
            self.read_on(&mut events).map_err(RecordError::io("read", &self.path))?;
        }
        Ok(events)
    }

    fn was_replaced(&self) -> bool {
        match (self.file.metadata(), fs::metadata(&self.path)) {
            (Ok(ours), Ok(there)) => ours.dev() != there.dev() || ours.ino() != there.ino(),
            (Err(_), Ok(_)) => true,
            // Deleted or moved: its writer may go on all the same.
            (_, Err(_)) => false,
        }
    }

    /// Reads what is there; true where that was all.
    fn read_on(&mut self, events: &mut Vec<Event>) -> io::Result<bool> {
        let mut chunk = vec![0; CHUNK];
        for _ in 0..MAX_POLL / CHUNK {
            let at = self.frames.offset() + self.frames.left() as u64;
            let count = match self.file.read_at(&mut chunk, at) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            self.frames.feed(&chunk[..count]);
            if !self.decode(events) || count == 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Hands out what is whole; false at damage that may yet turn out to be bytes still on their way.
    fn decode(&mut self, events: &mut Vec<Event>) -> bool {
        loop {
            match self.frames.step() {
                Step::Frame { kind, payload, after_damage } => {
                    self.stuck = 0;
                    let meaning = self.decoder.frame(kind, payload, after_damage);
                    match meaning {
                        Meaning::Event(event) if self.decoder.ordinal > self.seen => events.push(event),
                        Meaning::Bad => self.frames.note_bad_frame(),
                        Meaning::Event(_) | Meaning::Nothing => {}
                    }
                    self.seen = self.seen.max(self.decoder.ordinal);
                }
                Step::More => return true,
                Step::Damaged if self.stuck < PATIENCE => {
                    self.stuck += 1;
                    self.frames.unfeed();
                    return false;
                }
                Step::Damaged => {
                    if !self.frames.skip_damage(false) {
                        return true;
                    }
                }
            }
        }
    }
}

fn open(path: &Path) -> Result<(File, u64), RecordError> {
    let mut file = File::open(path).map_err(RecordError::io("open", path))?;
    let header = read_header(&mut file, path)?;
    Ok((file, header.run))
}

/// ESTALE: a file of a network file system that the server does not have any more.
fn is_stale(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::StaleNetworkFileHandle
}
