//! Applies the rules to every Python file below the given folders, each as a program of its own.
//!
//!     cargo run --release -p lowtide-causes --example check -- FOLDER...

#![allow(clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::time::Instant;

use lowtide_lint::check::Check;
use lowtide_lint::flow::Flow;
use lowtide_lint::program::{Files, Models, Program, Rooted};

fn main() {
    let mut paths = Vec::new();
    for argument in std::env::args().skip(1) {
        walk(Path::new(&argument), &mut paths);
    }
    let (mut found, start) = (0, Instant::now());
    for path in &paths {
        let program = Program::load(&Alone(path), std::slice::from_ref(path), &[]);
        let models = Models::new(&program);
        let flow = Flow::new(&models);
        for finding in lowtide_causes::check(&Check::of_all(&flow)) {
            found += 1;
            let site = finding.site;
            println!("{}:{}:{}: {} {}", site.file.display(), site.line, site.column, finding.cause.id, site.text);
        }
    }
    println!("{} files, {found} findings, {} ms", paths.len(), start.elapsed().as_millis());
}

/// Only one file of all.
struct Alone<'a>(&'a Path);

impl Files for Alone<'_> {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        Rooted::new("/").read(path)
    }

    fn is_file(&self, path: &Path) -> bool {
        path == self.0
    }
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
