//! The modules that a process has imported, and which of their files are the program's own.

use std::collections::HashMap;
use std::path::PathBuf;

use lowtide_lint::program::is_library;
use lowtide_pyheap::{Census, Module};

use super::Sources;

/// The modules of a process.
pub struct Modules {
    /// By the address of the module: its name and file.
    by_address: HashMap<u64, (String, Option<PathBuf>)>,
    /// By the name of the module: its file.
    files: HashMap<String, PathBuf>,
    entries: Vec<PathBuf>,
    search: Vec<PathBuf>,
}

impl Modules {
    /// Those of a process.
    pub fn of(sources: &Sources, census: &Census) -> Self {
        let search = census.search_path().iter().filter_map(|folder| sources.path(folder)).collect();
        let mut all = Self { by_address: HashMap::new(), files: HashMap::new(), entries: Vec::new(), search };
        let modules = census.modules();
        let ours = ours(sources, &modules);
        for module in modules {
            let file = module.file.as_deref().and_then(|file| source(sources, &module.name, file));
            if let Some(file) = &file {
                all.files.entry(module.name.clone()).or_insert_with(|| file.clone());
                let is_ours = ours.iter().any(|folder| file.starts_with(folder));
                if !is_library(file) && !is_ours && !all.entries.contains(file) {
                    all.entries.push(file.clone());
                }
            }
            all.by_address.insert(module.address, (module.name, file));
        }
        all
    }

    /// The name and the file of the module at an address.
    pub fn at(&self, address: u64) -> Option<&(String, Option<PathBuf>)> {
        self.by_address.get(&address)
    }

    /// The file of a module.
    pub fn file(&self, name: &str) -> Option<&PathBuf> {
        self.files.get(name)
    }

    /// The program's own files, that it was started with first.
    pub fn entries(&self) -> &[PathBuf] {
        &self.entries
    }

    /// `sys.path`.
    pub fn search(&self) -> &[PathBuf] {
        &self.search
    }
}

/// The folders of what `run` puts into a process, and of the package that programs may import: no part of the program, whose functions are
/// called by nobody there.
fn ours(sources: &Sources, modules: &[Module]) -> Vec<PathBuf> {
    let packages = modules.iter().filter_map(|module| match module.name.as_str() {
        // Beside it lies the `sitecustomize` that starts it.
        "_lowtide" => Some((module.file.as_deref()?, 2)),
        "lowtide" => Some((module.file.as_deref()?, 1)),
        _ => None,
    });
    packages.filter_map(|(file, up)| sources.path(file)?.ancestors().nth(up).map(PathBuf::from)).collect()
}

/// The source file of a module. A program may have any name; a module of another ending (`.so`) is no source.
pub(super) fn source(sources: &Sources, module: &str, file: &str) -> Option<PathBuf> {
    let is_source = |file: &PathBuf| module == "__main__" || file.extension().is_some_and(|ending| ending == "py");
    sources.path(file).filter(is_source)
}
