//! Targets for tests of the heap: a Python that says one line about itself and then waits for its input to end.
#![allow(dead_code, clippy::unwrap_used, missing_docs)]

use lowtide_pyheap::{Census, Python};
use lowtide_remote::{Image, Process};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// A running target; ended when dropped.
pub struct Target {
    child: Child,
    output: BufReader<ChildStdout>,
    /// What it said of itself.
    pub said: serde_json::Value,
}

impl Target {
    /// Starts a script of `tests/targets`.
    pub fn start(python: &Path, script: &str) -> Target {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/targets").join(script);
        let mut child =
            Command::new(python).arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python starts");
        let mut said = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut said).unwrap();
        assert!(!said.is_empty(), "the target said nothing: {:?}", child.wait());
        let said = serde_json::from_str(&said).expect("a line of JSON");
        Target { child, output, said }
    }

    /// Waits until it says a line.
    pub fn wait_for(&mut self, line: &str) {
        let mut said = String::new();
        while said.trim() != line {
            said.clear();
            assert!(self.output.read_line(&mut said).unwrap() > 0, "the target has ended");
        }
    }

    /// Says a line to it.
    pub fn say(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The number in its next line, `freed N`; nothing below 0.
    pub fn freed(&mut self) -> u64 {
        let mut said = String::new();
        self.output.read_line(&mut said).unwrap();
        said.trim().strip_prefix("freed ").expect(&said).parse::<i64>().unwrap().max(0).unsigned_abs()
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

    /// Counts its objects.
    pub fn census(&self, threads: usize) -> Census {
        let (process, image) = self.look();
        let runtime = Python::runtime(&process, &image).unwrap();
        drop(image);
        let stopped = process.stop(Duration::from_secs(60)).unwrap();
        let image = stopped.image().unwrap();
        let python = Python::at(&image, runtime).unwrap();
        Census::take(image, python, threads).unwrap()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Pythons to test with: those in `LOWTIDE_TEST_PYTHONS` (separated by colons), else `python3`.
pub fn pythons() -> Vec<PathBuf> {
    match std::env::var("LOWTIDE_TEST_PYTHONS") {
        Ok(list) => list.split(':').filter(|path| !path.is_empty()).map(PathBuf::from).collect(),
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
