//! Where source comes from: a filesystem root, or memory.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use crate::source::MAX_BYTES;

/// Symbolic links that are followed on the way to one file, as in the kernel (`path_resolution(7)`).
const MAX_LINKS: usize = 40;
/// Bytes of a path, at most, as in the kernel (`PATH_MAX`).
const MAX_PATH: usize = 4096;

/// Gives the bytes of files by the paths that the program itself uses.
pub trait Files {
    /// The bytes of a file, at most one more than is read of any.
    ///
    /// # Errors
    /// Those of the filesystem; also where the path leads to no regular file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// Whether there is a regular file.
    fn is_file(&self, path: &Path) -> bool;

    /// Whether there may be files below a folder; what cannot tell says yes.
    fn may_be_folder(&self, _path: &Path) -> bool {
        true
    }
}

/// A filesystem below a root, such as `/proc/PID/root`. Symbolic links are followed inside it, as the process would. Where a folder
/// leads to is asked once: of one program's modules thousands are looked for in a few folders.
#[derive(Clone, Debug)]
pub struct Rooted {
    root: PathBuf,
    folders: Arc<Mutex<HashMap<PathBuf, PathBuf>>>,
}

impl Rooted {
    /// Files below this root.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), folders: Arc::default() }
    }

    fn place(&self, path: &Path) -> io::Result<PathBuf> {
        if self.root == Path::new("/") {
            return Ok(path.to_owned());
        }
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(self.root.join(self.follow(PathBuf::new(), path)?));
        };
        Ok(self.root.join(self.follow(self.folder(folder)?, Path::new(name))?))
    }

    /// Where a folder leads to: from the nearest one above it that is known, since most share all but their last part.
    fn folder(&self, folder: &Path) -> io::Result<PathBuf> {
        if folder.as_os_str().len() > MAX_PATH {
            return Err(io::ErrorKind::InvalidFilename.into());
        }
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        let above: Vec<&Path> = folder.ancestors().take_while(|above| !folders.contains_key(*above)).collect();
        let known = above.last().map_or(Some(folder), |last| last.parent()).and_then(|known| folders.get(known));
        let mut inside = known.cloned().unwrap_or_default();
        for part in above.into_iter().rev() {
            let last = part.components().next_back().map_or(Path::new(""), |last| Path::new(last.as_os_str()));
            inside = self.follow(inside, last)?;
            folders.insert(part.to_owned(), inside.clone());
        }
        Ok(inside)
    }

    /// Where a path leads to that begins at a place inside the root, which has no links on the way to it.
    fn follow(&self, mut found: PathBuf, path: &Path) -> io::Result<PathBuf> {
        let mut links = 0;
        let mut rest: Vec<PathBuf> = reversed(path);
        while let Some(part) = rest.pop() {
            match part.components().next() {
                Some(Component::Normal(name)) => found.push(name),
                Some(Component::ParentDir) => {
                    found.pop();
                    continue;
                }
                Some(Component::RootDir) => {
                    found.clear();
                    continue;
                }
                _ => continue,
            }
            if let Ok(target) = self.root.join(&found).read_link() {
                links += 1;
                if links > MAX_LINKS {
                    return Err(io::Error::other("too many symbolic links"));
                }
                found.pop();
                rest.extend(reversed(&target));
            }
        }
        Ok(found)
    }
}

fn reversed(path: &Path) -> Vec<PathBuf> {
    path.components().rev().map(|part| PathBuf::from(part.as_os_str())).collect()
}

impl Rooted {
    /// When a file was changed last.
    ///
    /// # Errors
    /// Those of the filesystem.
    pub fn modified(&self, path: &Path) -> io::Result<SystemTime> {
        self.place(path)?.metadata()?.modified()
    }
}

impl Files for Rooted {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let place = self.place(path)?;
        // A pipe or a device in the file's place would keep us waiting.
        if !place.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let mut bytes = Vec::new();
        File::open(place)?.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn is_file(&self, path: &Path) -> bool {
        self.place(path).is_ok_and(|place| place.is_file())
    }

    fn may_be_folder(&self, path: &Path) -> bool {
        self.place(path).is_ok_and(|place| place.is_dir())
    }
}

/// Files in memory, for tests and for text from standard input.
#[derive(Clone, Debug, Default)]
pub struct InMemory(pub HashMap<PathBuf, Vec<u8>>);

impl Files for InMemory {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.0.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn is_file(&self, path: &Path) -> bool {
        self.0.contains_key(path)
    }
}
