//! Recordings: bytes as they are, and bytes behind checksums that fit, so that the decoder sees damage that no
//! checksum caught.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use lowtide_analyse::Analyser;
use lowtide_record::format::{HEADER_LEN, MAGIC, VERSION};

/// A recording. Its first byte says whether the rest is a file as it stands or frames whose checksums are to be made
/// right.
pub fn record(bytes: &[u8]) {
    match bytes.split_first() {
        Some((0, rest)) => read(&framed(rest)),
        Some((_, rest)) => read(rest),
        None => read(bytes),
    }
}

fn read(bytes: &[u8]) {
    let _ = lowtide_record::is_recording(bytes);
    let file = Temporary::with(bytes);
    let Ok(stream) = lowtide_record::stream(file.path()) else { return };
    let mut analyser = Analyser::new();
    let mut events = 0_usize;
    for event in stream {
        let Ok(event) = event else { break };
        analyser.push(&event);
        events += 1;
    }
    assert!(events <= 16 + bytes.len(), "no more events than the file has room for");
    let _ = analyser.report();
    let whole = lowtide_record::read(file.path()).map_or(0, |recording| recording.events.len());
    assert!(whole <= 16 + bytes.len());
}

/// A header and frames around pieces of the input: kind, two bytes of length, payload.
fn framed(mut rest: &[u8]) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    file.extend(VERSION.to_le_bytes());
    file.extend([0; 10]);
    let crc = crc32fast::hash(&file);
    file.extend(crc.to_le_bytes());
    debug_assert_eq!(file.len(), HEADER_LEN);
    while let [kind, low, high, more @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(more.len());
        let (payload, after) = more.split_at(length);
        let mut crc = crc32fast::Hasher::new();
        crc.update(&[*kind]);
        crc.update(payload);
        file.push(*kind);
        let mut left = length;
        while left >= 0x80 {
            file.push((left & 0x7f) as u8 | 0x80);
            left >>= 7;
        }
        file.push(left as u8);
        file.extend(crc.finalize().to_le_bytes());
        file.extend(payload);
        rest = after;
    }
    file
}

/// A file or a folder in memory that goes away with this.
pub struct Temporary(PathBuf);

impl Temporary {
    /// A file with these bytes.
    pub fn with(bytes: &[u8]) -> Self {
        let path = Self::new_path();
        std::fs::write(&path, bytes).expect("room in memory for a small file");
        Self(path)
    }

    /// An empty folder.
    pub fn folder() -> Self {
        let path = Self::new_path();
        std::fs::create_dir(&path).expect("room in memory for a folder");
        Self(path)
    }

    fn new_path() -> PathBuf {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let folder = if Path::new("/dev/shm").is_dir() { PathBuf::from("/dev/shm") } else { std::env::temp_dir() };
        folder.join(format!("lowtide-fuzz-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = if self.0.is_dir() { std::fs::remove_dir_all(&self.0) } else { std::fs::remove_file(&self.0) };
    }
}
