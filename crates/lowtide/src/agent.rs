//! The in-process part: Python files carried in here, and put where the target's Python finds them.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use crate::temporary::Temporary;

/// The files, by their place.
const FILES: [(&str, &str); 8] = [
    ("sitecustomize.py", include_str!("../agent/sitecustomize.py")),
    ("_lowtide/__init__.py", include_str!("../agent/_lowtide/__init__.py")),
    ("_lowtide/api.py", include_str!("../agent/_lowtide/api.py")),
    ("_lowtide/facts.py", include_str!("../agent/_lowtide/facts.py")),
    ("_lowtide/hooks.py", include_str!("../agent/_lowtide/hooks.py")),
    ("_lowtide/marks.py", include_str!("../agent/_lowtide/marks.py")),
    ("_lowtide/ring.py", include_str!("../agent/_lowtide/ring.py")),
    ("_lowtide/training.py", include_str!("../agent/_lowtide/training.py")),
];

/// The in-process part of one run, in a folder that goes with it.
pub struct Agent {
    folder: Temporary,
}

impl Agent {
    /// Puts it in place: the files, and an empty folder for the marks.
    pub fn place() -> Result<Self, NotPlaced> {
        Self::placed().map_err(NotPlaced)
    }

    fn placed() -> io::Result<Self> {
        let folder = Temporary::folder_in(&home(), "agent")?;
        let python = folder.path().join("python");
        std::fs::create_dir_all(python.join("_lowtide"))?;
        for (name, text) in FILES {
            std::fs::write(python.join(name), text)?;
        }
        std::fs::create_dir(folder.path().join("marks"))?;
        Ok(Self { folder })
    }

    /// Where the marks will be.
    pub fn marks(&self) -> PathBuf {
        self.folder.path().join("marks")
    }

    /// What the target's environment has besides ours.
    pub fn environment(&self) -> [(OsString, OsString); 2] {
        let mut path = self.folder.path().join("python").into_os_string();
        // What is empty names the working folder: that is no part of an unset variable.
        if let Some(before) = std::env::var_os("PYTHONPATH").filter(|before| !before.is_empty()) {
            path.push(":");
            path.push(before);
        }
        [("PYTHONPATH".into(), path), ("LOWTIDE_MARKS".into(), self.marks().into_os_string())]
    }
}

/// Why it could not be put in place: the run goes on without.
#[derive(Debug)]
pub struct NotPlaced(io::Error);

impl std::fmt::Display for NotPlaced {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "steps and phases: the in-process part could not be put in place ({})", self.0)
    }
}

/// A folder in memory where there is one, since marks are written into mapped pages: on a disk they would be written
/// out again and again.
fn home() -> PathBuf {
    let of_user = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let usable = |path: &PathBuf| path.is_absolute() && writable(path);
    of_user.filter(usable).or_else(|| Some(PathBuf::from("/dev/shm")).filter(usable)).unwrap_or_else(std::env::temp_dir)
}

fn writable(path: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let Ok(path) = std::ffi::CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: the string outlives the call.
    unsafe { libc::access(path.as_ptr(), libc::W_OK | libc::X_OK) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_of_the_folder_are_carried() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("agent");
        for part in ["", "_lowtide"] {
            for entry in std::fs::read_dir(folder.join(part)).expect("the folder").flatten() {
                let path = entry.path();
                if path.extension().is_some_and(|ending| ending == "py") {
                    let name = path.strip_prefix(&folder).expect("inside").display().to_string();
                    assert!(FILES.iter().any(|(carried, _)| *carried == name), "{name} is not carried");
                }
            }
        }
    }

    #[test]
    fn it_lies_in_a_private_folder_and_goes_away() {
        use std::os::unix::fs::PermissionsExt;
        let agent = Agent::place().expect("placed");
        let path = agent.folder.path().to_owned();
        assert_eq!(std::fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o700);
        assert!(path.join("python/_lowtide/hooks.py").exists() && agent.marks().exists());
        drop(agent);
        assert!(!path.exists());
    }
}
