//! The source of a running process: its files, as it sees them.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use lowtide_lint::program::{Files, Rooted};
use lowtide_remote::{Process, Root};

/// Start times are known to two hundredths of a second.
const SLACK: Duration = Duration::from_millis(20);

/// The files that a process sees, by the names that it uses itself.
pub struct Sources {
    files: Rooted,
    /// For names that are relative.
    folder: PathBuf,
    started: Option<SystemTime>,
    /// Keeps its root at hand.
    _root: Option<Root>,
}

impl Sources {
    /// Those of a process: below its own root, which in a container is not ours. They can be read after its end, too.
    pub fn of(process: &Process) -> Self {
        let root = process.its_root();
        let (folder, started) = (process.folder(), process.started());
        Self { files: Rooted::new(root.path()), folder, started, _root: Some(root) }
    }

    /// Those below a folder, of a process that is gone.
    pub fn below(root: &Path) -> Self {
        Self { files: Rooted::new(root), folder: std::env::current_dir().unwrap_or_default(), started: None, _root: None }
    }

    /// A file as the process means it; `None` where there is no such file (`<string>`, `<frozen os>`).
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        let made_up = name.is_empty() || name.starts_with('<');
        (!made_up).then(|| self.folder.join(name))
    }

    /// A file as people write it: from the folder in which the process runs, where it lies below that; a library's from where
    /// libraries are installed.
    pub fn shown(&self, file: &Path) -> String {
        if let Ok(below) = file.strip_prefix(&self.folder) {
            return below.display().to_string();
        }
        let mut parts = file.components();
        let installed = parts.any(|part| part.as_os_str() == "site-packages" || part.as_os_str() == "dist-packages");
        if installed { parts.as_path().display().to_string() } else { file.display().to_string() }
    }

    /// Whether a file was changed after the process began.
    pub fn has_changed(&self, file: &Path) -> bool {
        let modified = self.files.modified(file);
        matches!((modified, self.started), (Ok(modified), Some(started)) if modified > started + SLACK)
    }
}

impl Files for Sources {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.files.read(path)
    }

    fn is_file(&self, path: &Path) -> bool {
        self.files.is_file(path)
    }
}
