//! The in-process part: Python files carried in here, and put where the target's Python finds them.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::temporary::Temporary;

mod stale;

/// The files, by their place.
const FILES: [(&str, &str); 15] = [
    ("sitecustomize.py", include_str!("../agent/sitecustomize.py")),
    ("_lowtide/__init__.py", include_str!("../agent/_lowtide/__init__.py")),
    ("_lowtide/api.py", include_str!("../agent/_lowtide/api.py")),
    ("_lowtide/budget.py", include_str!("../agent/_lowtide/budget.py")),
    ("_lowtide/facts.py", include_str!("../agent/_lowtide/facts.py")),
    ("_lowtide/frameworks.py", include_str!("../agent/_lowtide/frameworks.py")),
    ("_lowtide/history.py", include_str!("../agent/_lowtide/history.py")),
    ("_lowtide/hooks.py", include_str!("../agent/_lowtide/hooks.py")),
    ("_lowtide/loaders.py", include_str!("../agent/_lowtide/loaders.py")),
    ("_lowtide/marks.py", include_str!("../agent/_lowtide/marks.py")),
    ("_lowtide/requests.py", include_str!("../agent/_lowtide/requests.py")),
    ("_lowtide/ring.py", include_str!("../agent/_lowtide/ring.py")),
    ("_lowtide/snapshot.py", include_str!("../agent/_lowtide/snapshot.py")),
    ("_lowtide/steps.py", include_str!("../agent/_lowtide/steps.py")),
    ("_lowtide/training.py", include_str!("../agent/_lowtide/training.py")),
];

/// The in-process part of one run, in a folder that goes with it.
pub struct Agent {
    folder: Temporary,
    gpu_history: bool,
    /// Tells others that the folder is in use.
    _lock: File,
}

impl Agent {
    /// Puts it in place: the files, and an empty folder for the marks. Else why it could not be: the run goes on without.
    pub fn place() -> Result<Self, String> {
        let mut refused = String::new();
        for home in homes() {
            stale::remove(&home);
            match Self::placed(&home) {
                Ok(agent) => return Ok(agent),
                Err(error) => refused = format!("{}: {error}", home.display()),
            }
        }
        Err(format!("steps and phases: the in-process part could not be put in place ({refused})"))
    }

    fn placed(home: &Path) -> io::Result<Self> {
        let folder = Temporary::folder_in(home, stale::WHAT)?;
        let lock = stale::hold(folder.path())?;
        let python = folder.path().join("python");
        std::fs::create_dir_all(python.join("_lowtide"))?;
        for (name, text) in FILES {
            std::fs::write(python.join(name), text)?;
        }
        std::fs::create_dir(folder.path().join("marks"))?;
        Ok(Self { folder, gpu_history: false, _lock: lock })
    }

    /// The same; PyTorch is to note who asks for GPU memory, or not.
    pub fn with_gpu_history(self, gpu_history: bool) -> Self {
        Self { gpu_history, ..self }
    }

    /// Where the marks will be.
    pub fn marks(&self) -> PathBuf {
        self.folder.path().join("marks")
    }

    /// What the target's environment has besides ours.
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut path = self.folder.path().join("python").into_os_string();
        // What is empty names the working folder: that is no part of an unset variable.
        if let Some(before) = std::env::var_os("PYTHONPATH").filter(|before| !before.is_empty()) {
            path.push(":");
            path.push(before);
        }
        let mut environment = vec![("PYTHONPATH".into(), path), ("LOWTIDE_MARKS".into(), self.marks().into_os_string())];
        environment.extend(self.gpu_history.then(|| ("LOWTIDE_GPU_HISTORY".into(), "1".into())));
        environment
    }
}

/// Where it may lie, the best first: in memory where there is such a place, since marks are written into mapped pages, which a disk
/// would have to write again and again.
fn homes() -> impl Iterator<Item = PathBuf> {
    let of_user = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    of_user.into_iter().chain([PathBuf::from("/dev/shm"), std::env::temp_dir()])
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
