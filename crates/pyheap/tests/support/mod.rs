//! Targets for the tests: a Python that prints one line about itself and then waits.
#![allow(dead_code, clippy::unwrap_used, missing_docs)]

use lowtide_pyheap::native::area::{Area, Areas};
use lowtide_pyheap::native::resident::Resident;
use lowtide_remote::Source;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::FileExt;
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

    pub fn areas(&self) -> Areas {
        let text = std::fs::read_to_string(format!("/proc/{}/maps", self.pid())).unwrap();
        Areas::new(text.lines().map(area).collect())
    }

    pub fn resident(&self) -> Resident {
        let file = File::open(format!("/proc/{}/pagemap", self.pid())).unwrap();
        let mut resident = Resident::new();
        for area in self.areas().iter() {
            let mut words = vec![0; (area.size() / 4096 * 8) as usize];
            if file.read_exact_at(&mut words, area.start / 4096 * 8).is_ok() {
                resident.push(area.start, &words);
            }
        }
        resident
    }

    /// Stack pointers of all threads but the first, which have to be waiting.
    pub fn stack_pointers(&self) -> Vec<u64> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.pid())).unwrap();
        let other = tasks.map(|task| task.unwrap().path()).filter(|path| !path.ends_with(self.pid().to_string()));
        let pointer = |path: PathBuf| {
            let text = std::fs::read_to_string(path.join("syscall")).unwrap();
            let word = text.split_whitespace().rev().nth(1)?;
            u64::from_str_radix(word.trim_start_matches("0x"), 16).ok()
        };
        other.filter_map(pointer).collect()
    }

    pub fn memory(&self) -> Memory {
        Memory(File::open(format!("/proc/{}/mem", self.pid())).unwrap())
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn area(line: &str) -> Area {
    let mut parts = line.split_whitespace();
    let (start, end) = parts.next().unwrap().split_once('-').unwrap();
    let perms = parts.next().unwrap().as_bytes();
    let path = parts.nth(3).unwrap_or("").as_bytes().to_vec();
    let hex = |s| u64::from_str_radix(s, 16).unwrap();
    Area { start: hex(start), end: hex(end), read: perms[0] == b'r', write: perms[1] == b'w', shared: perms[3] == b's', path }
}

pub struct Memory(File);

impl Source for Memory {
    fn read(&self, address: u64, out: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(out, address)
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
