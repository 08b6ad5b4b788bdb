//! Listening to one process, beside whoever else does: nothing is written to its ring, and nothing is removed.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::ring::Ring;
use crate::rings::{CAREFULLY, RawMark};

/// What one process says of itself.
#[derive(Debug)]
pub struct Listener(Ring);

impl Listener {
    /// Opens a ring; `None` where the file is none.
    ///
    /// # Errors
    /// Where it cannot be opened.
    pub fn open(ring: &Path) -> io::Result<Option<Self>> {
        let file = File::options().read(true).custom_flags(CAREFULLY).open(ring)?;
        Ok(Ring::new(file).map(Self))
    }

    /// The process, as it calls itself.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.0.pid
    }

    /// What it has said since the last call; at the first one, what its ring has room for.
    pub fn poll(&mut self) -> Vec<RawMark> {
        let mut marks = Vec::new();
        self.0.read_on(&mut marks);
        marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::{HEADER_LEN, SLOT_LEN};
    use lowtide_model::MarkKind;
    use std::os::unix::fs::FileExt;

    #[test]
    fn what_is_new_comes_once_and_the_ring_stays_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("7-1.marks");
        let mut bytes = vec![0; HEADER_LEN + 4 * SLOT_LEN];
        bytes[..8].copy_from_slice(b"LTMARKS1");
        for (at, number) in [(8, SLOT_LEN as u32), (12, 4), (16, 7)] {
            bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        }
        std::fs::write(&path, &bytes).expect("written");
        let mut listener = Listener::open(&path).expect("opened").expect("a ring");
        assert_eq!((listener.pid(), listener.poll()), (7, vec![]));
        let file = File::options().write(true).open(&path).expect("opened");
        file.write_all_at(&[3_u64.to_le_bytes(), 99_u64.to_le_bytes()].concat(), 40).expect("written");
        let told: Vec<(MarkKind, u64, u64)> =
            listener.poll().into_iter().map(|mark| (mark.what, mark.steps, mark.t_ns)).collect();
        assert_eq!(told, [(MarkKind::Step, 3, 99)]);
        assert_eq!(listener.poll(), []);
        let before = std::fs::read(&path).expect("read");
        drop(listener);
        assert_eq!(std::fs::read(&path).expect("it is still there"), before);
        std::fs::write(&path, "no ring").expect("written");
        assert!(Listener::open(&path).expect("opened").is_none());
        assert!(Listener::open(&folder.path().join("other")).is_err());
    }
}
