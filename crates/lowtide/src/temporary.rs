//! Files and folders of our own for a while.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// A file or folder that only its owner can open, and that goes away with this.
pub struct Temporary(PathBuf);

impl Temporary {
    /// An empty folder in the system's temporary folder (`TMPDIR`).
    pub fn folder(what: &str) -> io::Result<Self> {
        Self::folder_in(&std::env::temp_dir(), what)
    }

    /// An empty folder in another one.
    pub fn folder_in(place: &Path, what: &str) -> io::Result<Self> {
        let path = place.join(name(what));
        // Fails where there is such a thing already: somebody else's must not be used.
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    /// An empty file there, open for writing.
    pub fn file(what: &str) -> io::Result<(Self, File)> {
        let path = std::env::temp_dir().join(name(what));
        let file = File::options().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok((Self(path), file))
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

/// A name that nobody has: the time is there for what a killed process of the same pid left behind.
fn name(what: &str) -> String {
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("lowtide-{what}-{}-{nanos:x}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goes_away_with_what_is_in_it() {
        let folder = Temporary::folder("test").expect("a folder");
        std::fs::write(folder.path().join("inside"), "x").expect("a file");
        let (file, _open) = Temporary::file("test").expect("a file");
        let paths = [folder.path().to_owned(), file.path().to_owned()];
        assert!(paths.iter().all(|path| path.exists()));
        drop((folder, file));
        assert!(!paths.iter().any(|path| path.exists()));
    }
}
