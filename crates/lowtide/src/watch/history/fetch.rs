//! A snapshot, from where its process wrote it to where it stays.
//!
//! A process writes it where its marks are, which it reaches whatever it sees of our disks. That is memory as a rule, and counts
//! among the run's own: so it is taken away at once, on a thread of its own, since a disk may be slow. What lies there was written
//! by a program: only a plain file of the size that it told is taken, and only where it leaves the disk enough.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use lowtide_marks::CAREFULLY;
use lowtide_model::Bytes;

/// The most bytes of a snapshot, which its process is told.
pub const MOST: u64 = 64 << 20;
/// The part of what is free on its disk that it may take.
const SHARE: u64 = 4;
/// Bytes that are copied at a time.
const PIECE: usize = 1 << 20;

/// A snapshot on its way.
pub struct Fetch {
    done: Receiver<Result<(), String>>,
    stop: Arc<AtomicBool>,
}

impl Fetch {
    /// Begins to move `from`, of so many bytes, to a new file.
    pub fn start(from: PathBuf, bytes: u64, to: PathBuf) -> Self {
        let (tell, done) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let work = move || {
            let moved = fetch(&from, bytes, &to, &stopped);
            // Whatever came of it, it takes memory there for nothing.
            let _ = std::fs::remove_file(&from);
            let _ = tell.send(moved.map_err(|error| format!("{}: {error}", to.display())));
        };
        // Without a thread its end of the channel is gone, and whoever asks is told.
        drop(std::thread::Builder::new().name("lowtide-fetch".to_owned()).spawn(work));
        Self { done, stop }
    }

    /// Whether it is there now, or why it is not; `None` as long as it is on its way.
    pub fn done(&self) -> Option<Result<(), String>> {
        match self.done.try_recv() {
            Ok(done) => Some(done),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err("it broke off inside lowtide".to_owned())),
        }
    }
}

impl Drop for Fetch {
    /// Nobody waits for it any more: half of it is not left behind.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn fetch(from: &Path, bytes: u64, to: &Path, stop: &AtomicBool) -> io::Result<()> {
    let mut file = File::options().read(true).custom_flags(CAREFULLY).open(from)?;
    let found = file.metadata()?;
    if !found.is_file() || found.len() != bytes || bytes > MOST {
        return Err(io::Error::other("what was written is not what was told"));
    }
    let free = lowtide_collect::free_bytes(to.parent().unwrap_or(Path::new("/"))).unwrap_or(0);
    if bytes > free / SHARE {
        return Err(io::Error::other(format!("{} of the {} that are free are too many", Bytes(bytes), Bytes(free))));
    }
    let mut new = File::options().write(true).create_new(true).mode(0o600).open(to)?;
    let copied = copy(&mut file, &mut new, bytes, stop);
    if copied.is_err() {
        let _ = std::fs::remove_file(to);
    }
    copied
}

fn copy(from: &mut File, to: &mut File, bytes: u64, stop: &AtomicBool) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    let mut left = bytes;
    while left > 0 {
        if stop.load(Ordering::Relaxed) {
            return Err(io::Error::other("the run was over before it was there"));
        }
        let now = piece.len().min(usize::try_from(left).unwrap_or(PIECE));
        from.read_exact(&mut piece[..now])?;
        to.write_all(&piece[..now])?;
        left -= now as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::time::Duration;

    use super::*;

    fn come(from: &Path, bytes: u64, to: &Path) -> Result<(), String> {
        let fetch = Fetch::start(from.to_owned(), bytes, to.to_owned());
        loop {
            if let Some(done) = fetch.done() {
                return done;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_snapshot_is_moved_as_a_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        let data: Vec<u8> = (0..3 * PIECE + 7).map(|at| at as u8).collect();
        std::fs::write(&from, &data).expect("written");
        assert_eq!(come(&from, data.len() as u64, &to), Ok(()));
        assert!(!from.exists() && std::fs::read(&to).expect("read") == data);
        assert_eq!(std::fs::metadata(&to).expect("there").permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn what_is_no_snapshot_is_not_taken_and_does_not_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        let secret = folder.path().join("secret");
        for path in [&from, &secret] {
            std::fs::write(path, "1234").expect("written");
        }
        assert!(come(&from, 5, &to).is_err_and(|why| why.contains("not what was told")));
        symlink(&secret, &from).expect("linked");
        assert!(come(&from, 4, &to).is_err(), "a link leads elsewhere");
        assert!(!from.exists() && secret.exists() && !to.exists());
        std::fs::write(&to, "the user's").expect("written");
        std::fs::write(&from, "1234").expect("written");
        assert!(come(&from, 4, &to).is_err() && !from.exists());
        assert_eq!(std::fs::read(&to).expect("read"), b"the user's");
    }

    #[test]
    fn half_of_one_is_not_left_behind() {
        let folder = tempfile::tempdir().expect("a folder");
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        std::fs::write(&from, "1234").expect("written");
        let stopped = fetch(&from, 4, &to, &AtomicBool::new(true));
        assert!(stopped.is_err() && !to.exists());
    }
}
