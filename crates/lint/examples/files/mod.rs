//! What examples share: the Python files below some folders, each as a program of its own.

use std::path::{Path, PathBuf};

use lowtide_lint::program::{Files, Rooted};

/// Only one file of all.
pub struct Alone<'a>(pub &'a Rooted, pub &'a Path);

impl Files for Alone<'_> {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        self.0.read(path)
    }

    fn is_file(&self, path: &Path) -> bool {
        path == self.1
    }
}

/// The files below the folders of the command line, in order.
pub fn asked_for() -> Vec<PathBuf> {
    let mut paths = Vec::new();
    std::env::args().skip(1).for_each(|argument| walk(Path::new(&argument), &mut paths));
    paths
}

fn walk(path: &Path, paths: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let Ok(entries) = std::fs::read_dir(path) else { return };
        let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        entries.sort();
        entries.iter().filter(|entry| !entry.is_symlink()).for_each(|entry| walk(entry, paths));
    } else if path.extension().is_some_and(|ending| ending == "py") {
        paths.push(path.to_owned());
    }
}
