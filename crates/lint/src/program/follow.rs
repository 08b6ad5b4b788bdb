//! In which order imports are followed.
//!
//! What is imported may be more than is read. What classes inherit from comes first: without it nothing is known of them, not
//! even that they are models. The rest follows in the order of the distance.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use ruff_python_ast::ModModule;

use super::import::{self, Finder, Import};
use super::{FileId, Files, is_library};
use crate::table::HashSet;

/// A file to be read.
pub(super) struct Next {
    pub path: PathBuf,
    /// The names that are wanted of it: if it has them from others, these come first, too.
    pub names: Vec<String>,
    /// It is no entry.
    pub imported: bool,
}

impl Next {
    /// An entry.
    pub fn of(path: &Path) -> Self {
        Self { path: path.to_owned(), names: Vec::new(), imported: false }
    }
}

/// The files that imports lead to.
pub(super) struct Follow<'f> {
    finder: Finder<'f>,
    /// What holds classes from which others inherit, each with their names.
    bases: VecDeque<Next>,
    /// All others.
    rest: VecDeque<PathBuf>,
    /// What was asked of which file.
    asked: HashSet<(PathBuf, String)>,
    /// Files whose imports have been gone through.
    done: HashSet<FileId>,
    /// Whose import, how it is written, and the file that it means.
    pub found: Vec<(FileId, String, PathBuf)>,
}

impl<'f> Follow<'f> {
    pub fn new(files: &'f dyn Files, search: &'f [PathBuf]) -> Self {
        let finder = Finder::new(files, search);
        let (bases, rest) = (VecDeque::new(), VecDeque::new());
        Self { finder, bases, rest, asked: HashSet::default(), done: HashSet::default(), found: Vec::new() }
    }

    pub fn next(&mut self) -> Option<Next> {
        let rest = || Some(Next { path: self.rest.pop_front()?, names: Vec::new(), imported: true });
        self.bases.pop_front().or_else(rest)
    }

    /// Goes through the imports of a file of which some names are wanted.
    pub fn imports(&mut self, id: FileId, path: &Path, tree: &ModModule, names: &[String]) {
        let imports = import::imports(tree);
        let is_new = self.done.insert(id);
        // What is wanted of a file that is known is all that is looked for at the second time.
        let is_wanted = |name: &str| is_new && imports.bases.contains(name) || names.iter().any(|wanted| wanted == name);
        for import in &imports.all {
            let wanted = wanted_of(import, &is_wanted, names, is_new.then_some(&imports.bases));
            if !is_new && wanted.is_none() {
                continue;
            }
            let Some(to) = self.finder.find(path, &import.path, import.level) else { continue };
            if !is_library(&to) {
                match wanted {
                    Some(wanted) => self.ask(&to, wanted),
                    None => self.rest.push_back(to.clone()),
                }
            }
            if is_new {
                self.found.push((id, format!("{}{}", ".".repeat(import.level as usize), import.path), to));
            }
        }
    }

    /// Wants a file, and names of it.
    fn ask(&mut self, path: &Path, mut names: Vec<String>) {
        names.retain(|name| self.asked.insert((path.to_owned(), name.clone())));
        self.bases.push_back(Next { path: path.to_owned(), names, imported: true });
    }
}

/// The names that are wanted of what an import leads to; none where it gives no wanted ones.
fn wanted_of(
    import: &Import,
    is_wanted: &impl Fn(&str) -> bool,
    names: &[String],
    bases: Option<&HashSet<&str>>,
) -> Option<Vec<String>> {
    let mut wanted = None;
    for (bound, name) in &import.gives {
        if *bound == "*" {
            // It may give any of them.
            let all = names.iter().cloned().chain(bases.into_iter().flatten().map(|name| (*name).to_owned()));
            wanted.get_or_insert_with(Vec::new).extend(all);
        } else if is_wanted(bound) {
            wanted.get_or_insert_with(Vec::new).extend(name.map(str::to_owned));
        }
    }
    wanted
}
