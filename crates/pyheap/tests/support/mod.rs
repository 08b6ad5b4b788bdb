//! Targets for the tests: a Python that prints one line about itself and then waits.
#![allow(dead_code, clippy::unwrap_used, missing_docs)]

use lowtide_remote::{Image, Process};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A running target; ended when dropped.
pub struct Target {
    pub child: Child,
    /// What it said of itself, one line.
    pub said: String,
}

impl Target {
    /// Starts `script` of `tests/targets` with `python`, and waits for its line.
    pub fn start(python: &Path, script: &str) -> Target {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/targets").join(script);
        let mut child =
            Command::new(python).arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python starts");
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert!(!said.is_empty(), "the target said nothing: {:?}", child.wait());
        Target { child, said }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its memory as it waits.
    pub fn look(&self) -> (Process, Image) {
        let process = Process::open(Path::new("/"), self.pid()).unwrap();
        let image = process.image().unwrap();
        (process, image)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Pythons to test with: those in `LOWTIDE_TEST_PYTHONS` (colon-separated), else `python3`.
pub fn pythons() -> Vec<PathBuf> {
    match std::env::var("LOWTIDE_TEST_PYTHONS") {
        Ok(list) => list.split(':').filter(|p| !p.is_empty()).map(PathBuf::from).collect(),
        Err(_) => vec![PathBuf::from("python3")],
    }
}

/// Those that have torch, so that tests of tensors are not run on all others.
pub fn torches() -> Vec<PathBuf> {
    let has = |python: &PathBuf| {
        let find = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)";
        Command::new(python).args(["-c", find]).status().is_ok_and(|status| status.success())
    };
    pythons().into_iter().filter(has).collect()
}
