//! Which file an import means.

use std::path::{Path, PathBuf};

use ruff_python_ast::statement_visitor::{StatementVisitor, walk_stmt};
use ruff_python_ast::{ModModule, Stmt};

use super::Files;

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

/// The file of a module: beside the importing file, from the top of its package, or in one of the folders of `search`.
pub(super) fn find(files: &dyn Files, from: &Path, name: &str, level: u32, search: &[PathBuf]) -> Option<PathBuf> {
    let folder = from.parent()?;
    let relative: PathBuf = name.split('.').collect();
    if level > 0 {
        let mut base = folder;
        for _ in 1..level {
            base = base.parent()?;
        }
        return module(files, &base.join(relative));
    }
    let mut tops = vec![folder.to_owned()];
    let mut top = folder;
    for _ in 0..MAX_CLIMB {
        if !files.is_file(&top.join("__init__.py")) {
            break;
        }
        let Some(parent) = top.parent() else { break };
        top = parent;
    }
    if top != folder {
        tops.insert(0, top.to_owned());
    }
    tops.iter().chain(search).find_map(|top| module(files, &top.join(&relative)))
}

fn module(files: &dyn Files, path: &Path) -> Option<PathBuf> {
    let file = path.with_extension("py");
    let package = path.join("__init__.py");
    [package, file].into_iter().find(|path| files.is_file(path))
}
