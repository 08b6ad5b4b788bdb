//! Which file an import means.

use std::path::{Path, PathBuf};

use ruff_python_ast::statement_visitor::{StatementVisitor, walk_stmt};
use ruff_python_ast::{ModModule, Stmt};

use super::Files;
use crate::table::HashMap;

/// Packages that are climbed to find where absolute imports begin.
const MAX_CLIMB: usize = 16;
/// Imports of one file that are looked at.
const MAX_IMPORTS: usize = 2_000;

/// Every dotted path that a file imports, wherever in it, with its leading dots as a number. `from a import b` gives both
/// `a` and `a.b`, which may be a module.
pub(super) fn imports(tree: &ModModule) -> Vec<(String, u32)> {
    let mut collector = Collector(Vec::new());
    collector.visit_body(&tree.body);
    collector.0
}

struct Collector(Vec<(String, u32)>);

impl Collector {
    /// A path and the packages above it, which are imported first.
    fn path(&mut self, path: &str, level: u32) {
        for (end, _) in path.match_indices('.') {
            self.0.push((path[..end].to_owned(), level));
        }
        self.0.push((path.to_owned(), level));
    }
}

impl<'a> StatementVisitor<'a> for Collector {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if self.0.len() >= MAX_IMPORTS {
            return;
        }
        match stmt {
            Stmt::Import(import) => import.names.iter().for_each(|alias| self.path(alias.name.as_str(), 0)),
            Stmt::ImportFrom(import) => {
                let module = import.module.as_ref().map_or("", |module| module.as_str());
                if !module.is_empty() {
                    self.path(module, import.level);
                }
                let dot = if module.is_empty() { "" } else { "." };
                self.0.extend(import.names.iter().map(|alias| (format!("{module}{dot}{}", alias.name), import.level)));
            }
            _ => walk_stmt(self, stmt),
        }
    }
}

/// Looks for the files of modules, for each place once.
pub(super) struct Finder<'f> {
    files: &'f dyn Files,
    /// Folders in which absolute imports are looked for beside the importing file's own.
    search: &'f [PathBuf],
    /// The file of a module by its path without an ending.
    found: HashMap<PathBuf, Option<PathBuf>>,
    /// Where absolute imports of a folder's files begin.
    tops: HashMap<PathBuf, Vec<Top>>,
}

/// A folder in which absolute imports begin, and what has been looked for in it: the first name of most means a library.
struct Top {
    path: PathBuf,
    heads: HashMap<String, bool>,
}

impl Top {
    /// Whether there is anything of a package or a module of this name.
    fn has(&mut self, files: &dyn Files, head: &str) -> bool {
        if let Some(known) = self.heads.get(head) {
            return *known;
        }
        let path = self.path.join(head);
        let has = files.may_be_folder(&path) || files.is_file(&path.with_extension("py"));
        self.heads.insert(head.to_owned(), has);
        has
    }
}

impl<'f> Finder<'f> {
    pub(super) fn new(files: &'f dyn Files, search: &'f [PathBuf]) -> Self {
        Self { files, search, found: HashMap::default(), tops: HashMap::default() }
    }

    /// The file of a module: beside the importing file, from the top of its package, or in one of the folders to search.
    pub(super) fn find(&mut self, from: &Path, name: &str, level: u32) -> Option<PathBuf> {
        let folder = from.parent()?;
        let relative: PathBuf = name.split('.').collect();
        if level > 0 {
            let mut base = folder;
            for _ in 1..level {
                base = base.parent()?;
            }
            return self.module(base.join(relative));
        }
        if !self.tops.contains_key(folder) {
            let tops = self.tops_of(folder);
            self.tops.insert(folder.to_owned(), tops);
        }
        let tops = self.tops.get_mut(folder).into_iter().flatten();
        let head = name.split('.').next().unwrap_or_default();
        let places: Vec<PathBuf> = tops.filter_map(|top| top.has(self.files, head).then(|| top.path.join(&relative))).collect();
        places.into_iter().find_map(|place| self.module(place))
    }

    fn tops_of(&self, folder: &Path) -> Vec<Top> {
        let mut top = folder;
        for _ in 0..MAX_CLIMB {
            if !self.files.is_file(&top.join("__init__.py")) {
                break;
            }
            let Some(parent) = top.parent() else { break };
            top = parent;
        }
        let climbed = (top != folder).then(|| top.to_owned());
        let all = climbed.into_iter().chain([folder.to_owned()]).chain(self.search.iter().cloned());
        all.map(|path| Top { path, heads: HashMap::default() }).collect()
    }

    fn module(&mut self, path: PathBuf) -> Option<PathBuf> {
        if let Some(known) = self.found.get(&path) {
            return known.clone();
        }
        // A module that is no package has none below it.
        let above = path.parent().and_then(|above| self.found.get(above)).and_then(Option::as_ref);
        if above.is_some_and(|above| !above.ends_with("__init__.py")) {
            return None;
        }
        let file = path.with_extension("py");
        let package = path.join("__init__.py");
        let found = [package, file].into_iter().find(|path| self.files.is_file(path));
        self.found.insert(path, found.clone());
        found
    }
}
