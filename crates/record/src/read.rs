//! Reading a recording, whole or broken.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lowtide_model::{Event, Note, NoteKind};

use crate::decode::{Damage, Decoder, Frames, Meaning, Step};
use crate::error::RecordError;
use crate::format::{HEADER_LEN, Header, MAGIC, VERSION};

/// The most samples (of processes and cgroups) that [`read`] keeps in memory: some 2 GiB.
const MAX_SAMPLES: u64 = 20_000_000;
/// Bytes read at a time.
const CHUNK: usize = 64 << 10;

/// Whether a file that begins with these bytes is a recording. Eight bytes tell.
#[must_use]
pub fn is_recording(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// A recording that just stops: the recorder was killed, the node was lost, or it is still being written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BrokeOff {
    /// The last tick, in seconds after the run's start.
    pub last_t_s: f64,
    /// Where a torn frame was cut off at the end, in bytes; `None` where the last frame is whole.
    pub torn_at: Option<u64>,
    /// Seconds since the file was written last, by this machine's clock. A live recorder writes every tick.
    pub silent_s: Option<f64>,
}

/// A recording, read.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// What happened, in order. Where [`Recording::damage`] has something, a note among them says so.
    pub events: Vec<Event>,
    /// How it broke off, where there is no [`Event::End`].
    pub broke_off: Option<BrokeOff>,
    /// What could not be read.
    pub damage: Damage,
    /// Events that compaction left out.
    pub thinned: u64,
    /// The file's size, in bytes.
    pub bytes: u64,
}

/// Reads a whole recording into memory. For files of any size see [`stream`].
pub fn read(path: &Path) -> Result<Recording, RecordError> {
    read_at_most(path, MAX_SAMPLES)
}

fn read_at_most(path: &Path, limit: u64) -> Result<Recording, RecordError> {
    let mut stream = stream(path)?;
    let mut events = Vec::new();
    let mut samples = 0;
    for event in &mut stream {
        let event = event?;
        if let Event::Tick(tick) = &event {
            samples += 1 + (tick.procs.len() + tick.cgroups.len()) as u64;
            if samples > limit {
                return Err(RecordError::TooLarge { path: path.to_owned(), limit });
            }
        }
        events.push(event);
    }
    let damage = stream.damage();
    if let Some(note) = damage_note(&damage, stream.last_t_s) {
        let before_end = events.len() - usize::from(matches!(events.last(), Some(Event::End(_))));
        events.insert(before_end, Event::Note(note));
    }
    Ok(Recording {
        events,
        broke_off: stream.broke_off(),
        damage,
        thinned: stream.decoder.thinned,
        bytes: stream.frames.offset(),
    })
}

fn damage_note(damage: &Damage, t_s: f64) -> Option<Note> {
    let Damage { places, bytes, first_at, lost_ticks } = *damage;
    let text = format!(
        "the recording is damaged in {places} places ({bytes} bytes, the first at byte {first_at}); {lost_ticks} ticks that refer to what stood there are left out"
    );
    (places > 0).then_some(Note { t_s, kind: NoteKind::Gap, text, process: None })
}

/// The events of a recording, one by one, in constant memory.
pub fn stream(path: &Path) -> Result<Events, RecordError> {
    let file = File::open(path).map_err(RecordError::io("open", path))?;
    Events::of(file, path)
}

/// See [`stream`].
#[derive(Debug)]
pub struct Events {
    file: File,
    path: PathBuf,
    chunk: Vec<u8>,
    frames: Frames,
    decoder: Decoder,
    last_t_s: f64,
    saw_end: bool,
    done: bool,
}

impl Events {
    fn of(mut file: File, path: &Path) -> Result<Self, RecordError> {
        let header = read_header(&mut file, path)?;
        let mut frames = Frames::at(HEADER_LEN as u64);
        if !header.intact {
            frames.note_bad_frame();
        }
        Ok(Self {
            file,
            path: path.to_owned(),
            chunk: vec![0; CHUNK],
            frames,
            decoder: Decoder::default(),
            last_t_s: 0.0,
            saw_end: false,
            done: false,
        })
    }

    /// What could not be read so far.
    #[must_use]
    pub fn damage(&self) -> Damage {
        Damage { lost_ticks: self.decoder.lost_ticks, ..self.frames.damage }
    }

    /// How the recording broke off; to be asked once the events are all read.
    #[must_use]
    pub fn broke_off(&self) -> Option<BrokeOff> {
        if self.saw_end {
            return None;
        }
        let torn_at = (self.frames.left() > 0).then_some(self.frames.offset());
        let modified = self.file.metadata().and_then(|meta| meta.modified()).ok();
        let silent_s = modified.and_then(|time| SystemTime::now().duration_since(time).ok()).map(|age| age.as_secs_f64());
        Some(BrokeOff { last_t_s: self.last_t_s, torn_at, silent_s })
    }

    /// Events of the run up to the last one handed out, those that compaction left out included.
    pub(crate) fn ordinal(&self) -> u64 {
        self.decoder.ordinal
    }

    /// Where the next frame begins in the file, in bytes.
    pub(crate) fn offset(&self) -> u64 {
        self.frames.offset()
    }

    fn next_event(&mut self) -> io::Result<Option<Event>> {
        loop {
            match self.frames.step() {
                Step::Frame { kind, payload, after_damage } => match self.decoder.frame(kind, payload, after_damage) {
                    Meaning::Event(event) => return Ok(Some(event)),
                    Meaning::Nothing => {}
                    Meaning::Bad => self.frames.note_bad_frame(),
                },
                Step::Damaged => {
                    if !self.frames.skip_damage(false) && !self.more()? && !self.frames.skip_damage(true) {
                        return Ok(None);
                    }
                }
                Step::More => {
                    if !self.more()? && !self.frames.skip_damage(true) {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Reads on; false at the end of the file.
    fn more(&mut self) -> io::Result<bool> {
        let count = read_some(&mut self.file, &mut self.chunk)?;
        self.frames.feed(&self.chunk[..count]);
        Ok(count > 0)
    }
}

impl Iterator for Events {
    type Item = Result<Event, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let next = self.next_event().map_err(RecordError::io("read", &self.path)).transpose();
        match &next {
            Some(Ok(Event::Tick(tick))) => self.last_t_s = tick.t_s,
            Some(Ok(Event::End(_))) => self.saw_end = true,
            Some(Ok(_)) => {}
            Some(Err(_)) | None => self.done = true,
        }
        next
    }
}

/// As `Read::read`, not stopped by signals.
pub(crate) fn read_some(source: &mut impl Read, chunk: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Reads the header and checks that this version can read what follows.
pub(crate) fn read_header(source: &mut impl Read, path: &Path) -> Result<Header, RecordError> {
    let mut bytes = [0; HEADER_LEN];
    let mut filled = 0;
    while filled < HEADER_LEN {
        match read_some(source, &mut bytes[filled..]).map_err(RecordError::io("read", path))? {
            0 => break,
            count => filled += count,
        }
    }
    let path = || path.to_owned();
    if bytes[..filled.min(MAGIC.len())] != MAGIC[..filled.min(MAGIC.len())] {
        return Err(RecordError::NotARecording { path: path() });
    }
    if filled < HEADER_LEN {
        return Err(RecordError::Empty { path: path() });
    }
    let header = Header::decode(&bytes).ok_or_else(|| RecordError::NotARecording { path: path() })?;
    if header.version > VERSION && header.intact {
        return Err(RecordError::Newer { path: path(), found: header.version });
    }
    Ok(header)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::Writer;
    use crate::common::{tick, ticks};
    use crate::format::Kind;

    #[test]
    fn small_files_that_claim_endless_measurements_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.lowtide");
        let mut writer = Writer::create(&path).unwrap();
        writer.append(&tick(0.0, 16_384, |_| 4096));
        assert_eq!(writer.finish().dropped, 0);
        // Ticks with the same processes, cgroups and numbers: four bytes that mean two megabytes.
        let mut bomb = std::fs::read(&path).unwrap();
        for _ in 0..10 {
            crate::frame::put(&mut bomb, Kind::Tick, &[0, 5, 0, 0]);
        }
        std::fs::write(&path, bomb).unwrap();
        assert!(matches!(read_at_most(&path, 100_000), Err(RecordError::TooLarge { .. })));
        let whole = read_at_most(&path, 200_000).unwrap();
        assert!(ticks(&whole.events).all(|tick| tick.procs.len() == 16_384));
        assert_eq!(whole.events.len(), 11);
    }
}
