//! Reading files below a root folder, into a buffer that is used again.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::parse::stat::Stat;
use crate::sys;

/// The file system to read: `/`, or a fake one, or another machine's mounted somewhere.
#[derive(Clone, Debug)]
pub struct Root {
    path: PathBuf,
    ours: bool,
    folders_tell_files: bool,
}

/// More than any of the files that we read whole should have; longer ones are cut.
pub const READ_LIMIT: usize = 256 << 10;

impl Root {
    /// Everything is read below `path`.
    pub fn new(path: &Path) -> Self {
        let mut root = Self { path: path.to_owned(), ours: path == Path::new("/"), folders_tell_files: false };
        let folder = root.proc("self/fd");
        root.folders_tell_files = sys::is_proc(&folder) && std::fs::metadata(folder).is_ok_and(|folder| folder.len() > 0);
        root
    }

    /// Whether pids below this root are pids of this process's own namespace, so that calls on pids make sense.
    pub fn is_ours(&self) -> bool {
        self.ours && std::fs::read_link("/proc/self").is_ok_and(|link| link.to_str() == Some(&std::process::id().to_string()))
    }

    /// Whether the size of `/proc/PID/fd` is the number of open files (Linux 6.2).
    pub fn folders_tell_files(&self) -> bool {
        self.folders_tell_files
    }

    /// How many files a process has open, where that is told without counting.
    pub fn open_files(&self, pid: u32) -> Option<u64> {
        if !self.folders_tell_files {
            return None;
        }
        Some(std::fs::metadata(self.of(pid, "fd")).ok()?.len())
    }

    /// A path below the root; `relative` may start with `/`.
    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        let relative = relative.as_ref();
        self.path.join(relative.strip_prefix("/").unwrap_or(relative))
    }

    /// `/proc/PID/FILE` below the root.
    pub fn of(&self, pid: u32, file: &str) -> PathBuf {
        self.path(format!("proc/{pid}/{file}"))
    }

    /// `/proc/FILE` below the root.
    pub fn proc(&self, file: &str) -> PathBuf {
        self.path("proc").join(file)
    }

    /// `/proc/PID/stat`, or `None` where there is no such process to be seen.
    pub fn stat(&self, pid: u32, scratch: &mut Scratch) -> Option<Stat> {
        Stat::parse(scratch.read(&self.of(pid, "stat")).ok()?)
    }

    /// All pids of `/proc`, in no order, or why it cannot be listed.
    pub fn pids(&self, pids: &mut Vec<u32>) -> io::Result<()> {
        pids.clear();
        for entry in std::fs::read_dir(self.path("proc"))? {
            if let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) {
                pids.push(pid);
            }
        }
        Ok(())
    }

    /// Seconds since boot, on the clock of start times.
    pub fn uptime_s(&self, scratch: &mut Scratch) -> Option<f64> {
        let text = scratch.read(&self.proc("uptime")).ok()?;
        std::str::from_utf8(text).ok()?.split_ascii_whitespace().next()?.parse().ok().filter(|uptime: &f64| uptime.is_finite())
    }
}

/// A buffer for the contents of one file at a time. It grows to the longest file seen and is never cleared, since
/// zeroing it would cost more than most reads.
#[derive(Debug, Default)]
pub struct Scratch {
    bytes: Vec<u8>,
}

impl Scratch {
    /// The first [`READ_LIMIT`] bytes of a file.
    pub fn read(&mut self, path: &Path) -> io::Result<&[u8]> {
        let file = File::open(path)?;
        let mut filled = 0;
        loop {
            let count = file.read_at(self.room(filled), filled as u64)?;
            filled += count;
            if count == 0 || filled >= READ_LIMIT {
                return Ok(&self.bytes[..filled.min(READ_LIMIT)]);
            }
        }
    }

    /// Reads a file that is kept open once more from its start; the kernel writes its contents anew. For files that
    /// the kernel writes in one piece: `status`, `stat`, those of a cgroup.
    pub fn read_again(&mut self, file: &File) -> io::Result<&[u8]> {
        let mut filled = 0;
        loop {
            let room = self.room(filled);
            let space = room.len();
            let count = file.read_at(room, filled as u64)?;
            filled += count;
            if count < space || filled >= READ_LIMIT {
                return Ok(&self.bytes[..filled.min(READ_LIMIT)]);
            }
        }
    }

    /// Overwrites what was read: for files that hold other people's secrets.
    pub fn wipe(&mut self) {
        self.bytes.fill(0);
    }

    fn room(&mut self, filled: usize) -> &mut [u8] {
        if self.bytes.len() - filled < 2048 {
            let larger = (self.bytes.len() * 2).max(8192);
            self.bytes.resize(larger, 0);
        }
        &mut self.bytes[filled..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_again_what_has_changed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        std::fs::write(&path, "one").expect("write");
        let file = File::open(&path).expect("open");
        let mut scratch = Scratch::default();
        assert_eq!(scratch.read_again(&file).expect("read"), b"one");
        let long = "x".repeat(100_000);
        std::fs::write(&path, &long).expect("write");
        assert_eq!(scratch.read_again(&file).expect("read").len(), long.len());
        assert_eq!(scratch.read(&path).expect("read").len(), long.len());
        std::fs::write(&path, "x".repeat(READ_LIMIT * 3)).expect("write");
        assert_eq!(scratch.read(&path).expect("read").len(), READ_LIMIT);
    }

    #[test]
    fn lists_pids_only() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["1", "42", "self", "99999999999"] {
            std::fs::create_dir_all(folder.path().join("proc").join(name)).expect("mkdir");
        }
        let mut pids = Vec::new();
        Root::new(folder.path()).pids(&mut pids).expect("list");
        pids.sort_unstable();
        assert_eq!(pids, [1, 42]);
    }
}
