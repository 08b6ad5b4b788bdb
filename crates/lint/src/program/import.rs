//! Which file an import means.

use std::path::{Path, PathBuf};

use ruff_python_ast::statement_visitor::{StatementVisitor, walk_stmt};
use ruff_python_ast::{Alias, Expr, ModModule, Stmt};

use super::Files;
use crate::model::dotted;
use crate::table::{HashMap, HashSet};

/// Packages that are climbed to find where absolute imports begin.
const MAX_CLIMB: usize = 16;
/// Imports of one file that are looked at.
const MAX_IMPORTS: usize = 2_000;

/// A dotted path that a file imports.
pub(super) struct Import<'a> {
    pub path: String,
    /// Leading dots.
    pub level: u32,
    /// The names that it gives the file, and what each is called where it comes from, if it comes out of what the path leads to:
    /// `from path import name as bound`. A star gives all.
    pub gives: Vec<(&'a str, Option<&'a str>)>,
}

/// What a file says of others.
pub(super) struct Imports<'a> {
    /// Every dotted path that it imports, wherever in it. `from a import b` gives both `a` and `a.b`, which may be a module.
    pub all: Vec<Import<'a>>,
    /// The first names of what its classes inherit from.
    pub bases: HashSet<&'a str>,
}

/// The imports of a file.
pub(super) fn imports(tree: &ModModule) -> Imports<'_> {
    let mut imports = Imports { all: Vec::new(), bases: HashSet::default() };
    imports.visit_body(&tree.body);
    imports
}

impl<'a> Imports<'a> {
    /// A path and the packages above it, which are imported first; what these give them comes out of the last.
    fn path(&mut self, path: &str, level: u32, gives: Vec<(&'a str, Option<&'a str>)>) {
        for (end, _) in path.match_indices('.') {
            self.all.push(Import { path: path[..end].to_owned(), level, gives: Vec::new() });
        }
        self.all.push(Import { path: path.to_owned(), level, gives });
    }
}

impl<'a> StatementVisitor<'a> for Imports<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if self.all.len() >= MAX_IMPORTS {
            return;
        }
        match stmt {
            Stmt::Import(import) => {
                for alias in &import.names {
                    let path = alias.name.as_str();
                    let bound =
                        alias.asname.as_ref().map_or_else(|| path.split('.').next().unwrap_or(path), |name| name.as_str());
                    self.path(path, 0, vec![(bound, None)]);
                }
            }
            Stmt::ImportFrom(import) => {
                let module = import.module.as_ref().map_or("", |module| module.as_str());
                if !module.is_empty() {
                    let bound = |alias: &'a Alias| alias.asname.as_ref().unwrap_or(&alias.name).as_str();
                    let gives = import.names.iter().map(|alias| (bound(alias), Some(alias.name.as_str())));
                    self.path(module, import.level, gives.collect());
                }
                let dot = if module.is_empty() { "" } else { "." };
                for alias in &import.names {
                    let bound = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
                    let (path, level) = (format!("{module}{dot}{}", alias.name), import.level);
                    self.all.push(Import { path, level, gives: vec![(bound, None)] });
                }
            }
            Stmt::ClassDef(class) => {
                let named = class.arguments.iter().flat_map(|arguments| &arguments.args);
                self.bases.extend(named.filter_map(|base| {
                    let base = if let Expr::Subscript(generic) = base { &generic.value } else { base };
                    dotted(base)?.first().copied()
                }));
                walk_stmt(self, stmt);
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
