//! The files of one program, and which file an import means.
//!
//! Entry files are read, and what they import of the user's own; libraries are never followed, only read where they are
//! asked for by name.

mod ahead;
mod files;
mod follow;
mod import;
mod library;

use std::path::{Path, PathBuf};

use ahead::{Ahead, Parsed};
pub use files::{Files, InMemory, Rooted};
pub use library::is_library;

use crate::model::{Binding, BindingKind, Expr, Model, ScopeId};
use crate::source::{Source, SourceError};
use crate::table::{HashMap, HashSet};

/// Files of one program that are read, at most.
pub const MAX_FILES: usize = 400;
/// Bytes of what the files of one part of a tree import from other parts, at most; one file may go beyond it. What that does to
/// memory is measured by `benches/source.py`.
pub const MAX_IMPORTED_BYTES: usize = 1 << 20;
/// Bytes of one program that are read, at most.
pub const MAX_TOTAL_BYTES: usize = 32 << 20;

/// Files that import a name from one another, until it is found.
const MAX_HOPS: usize = 8;

/// Index of a file in its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// The files of one program.
#[derive(Debug, Default)]
pub struct Program {
    sources: Vec<Source>,
    library: Vec<bool>,
    /// Which files the imports of each file mean.
    links: Vec<Links>,
    errors: Vec<SourceError>,
    /// Whether there was more than is read.
    pub cut: bool,
}

/// What the imports of one file mean.
#[derive(Debug, Default)]
struct Links {
    /// Dotted paths as they are written there, with their leading dots.
    files: HashMap<String, FileId>,
    /// What the first name of one can be; most names lead to no file of the program.
    heads: HashSet<String>,
}

impl Links {
    fn add(&mut self, path: String, to: FileId) {
        self.heads.insert(head(&path).to_owned());
        self.files.insert(path, to);
    }
}

/// The first name of a dotted path; nothing for a relative one.
fn head(path: &str) -> &str {
    path.split('.').next().unwrap_or_default()
}

impl Program {
    /// Reads the entry files, and what they import of the user's own. `search` are the folders in which absolute imports
    /// are looked for beside the importing file's own (the target's `sys.path`).
    #[must_use]
    pub fn load(files: &(dyn Files + Sync), entries: &[PathBuf], search: &[PathBuf]) -> Self {
        Self::load_after(Ahead::of(files, entries), files, entries, search, MAX_TOTAL_BYTES)
    }

    /// The same, with at most so many bytes of what is imported, and one file more. What the classes of the entry files inherit
    /// from comes first.
    #[must_use]
    pub fn load_within(files: &dyn Files, entries: &[PathBuf], search: &[PathBuf], most_imported: usize) -> Self {
        Self::load_after(Ahead::default(), files, entries, search, most_imported)
    }

    fn load_after(mut ahead: Ahead, files: &dyn Files, entries: &[PathBuf], search: &[PathBuf], most_imported: usize) -> Self {
        let mut program = Self::default();
        let mut known: HashMap<PathBuf, Option<FileId>> = HashMap::default();
        let mut follow = follow::Follow::new(files, search);
        let mut bytes_left = MAX_TOTAL_BYTES;
        let mut imported_left = most_imported;
        let mut entries = entries.iter();
        while let Some(next) = entries.next().map(|path| follow::Next::of(path)).or_else(|| follow.next()) {
            let path = next.path;
            let id = match known.get(&path) {
                // What is asked of a file now may be what it hands on from others.
                Some(Some(id)) if !next.names.is_empty() => *id,
                Some(_) => continue,
                None => {
                    let full = program.sources.len() + program.errors.len() >= MAX_FILES;
                    if full || next.imported && imported_left == 0 {
                        program.cut = true;
                        break;
                    }
                    let before = bytes_left;
                    let parsed = ahead.take(&path).unwrap_or_else(|| ahead::parsed(files, &path));
                    let id = program.add(&path, parsed, &mut bytes_left);
                    if next.imported {
                        imported_left = imported_left.saturating_sub(before - bytes_left);
                    }
                    known.insert(path.clone(), id);
                    let Some(id) = id else { continue };
                    id
                }
            };
            if !program.library[id.0 as usize] {
                follow.imports(id, &path, program.sources[id.0 as usize].tree(), &next.names);
            }
        }
        program.links.resize_with(program.sources.len(), Links::default);
        for (from, name, path) in follow.found {
            if let Some(Some(to)) = known.get(&path) {
                program.links[from.0 as usize].add(name, *to);
            }
        }
        program
    }

    fn add(&mut self, path: &Path, (len, parsed): Parsed, left: &mut usize) -> Option<FileId> {
        let parsed = match left.checked_sub(len) {
            Some(still) => {
                *left = still;
                parsed
            }
            None => Err(SourceError::TooLarge { path: path.to_owned(), bytes: len }),
        };
        match parsed {
            Ok(source) => {
                let id = FileId(u32::try_from(self.sources.len()).ok()?);
                self.sources.push(source);
                self.library.push(is_library(path));
                Some(id)
            }
            Err(error) => {
                self.errors.push(error);
                None
            }
        }
    }

    /// The files that were understood.
    #[must_use]
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Those that were not, and why.
    #[must_use]
    pub fn errors(&self) -> &[SourceError] {
        &self.errors
    }

    /// A file by its path.
    #[must_use]
    pub fn by_path(&self, path: &Path) -> Option<FileId> {
        self.sources.iter().zip(0..).find(|(source, _)| source.path() == path).map(|(_, id)| FileId(id))
    }

    /// Whether a file belongs to a library or to Python itself.
    #[must_use]
    pub fn in_library(&self, file: FileId) -> bool {
        self.library[file.0 as usize]
    }
}

/// What an expression names, and its scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Defined {
    /// A function or a method.
    Function(FileId, ScopeId),
    /// A class.
    Class(FileId, ScopeId),
}

/// A program and what names mean in each of its files.
#[derive(Debug)]
pub struct Models<'p> {
    /// The program.
    pub program: &'p Program,
    models: Vec<Model<'p>>,
    /// For each file those that `from module import *` brings names of, over as many files as there are, in the order that they are
    /// asked for a name. Where packages do it in circles, following it for each name anew is following ever more ways.
    starred: Vec<Vec<FileId>>,
}

impl<'p> Models<'p> {
    /// Reads the trees of all files.
    #[must_use]
    pub fn new(program: &'p Program) -> Self {
        let mut models = Self { program, models: program.sources.iter().map(Model::new).collect(), starred: Vec::new() };
        let direct: Vec<Vec<FileId>> = models.iter().map(|(file, model)| models.stars(file, model)).collect();
        let all = models.iter().map(|(file, _)| {
            let (mut order, mut open) = (Vec::new(), vec![file]);
            let mut met: HashSet<FileId> = std::iter::once(file).collect();
            while let Some(next) = open.pop() {
                if next != file {
                    order.push(next);
                }
                open.extend(direct[next.0 as usize].iter().copied().filter(|to| met.insert(*to)));
            }
            order
        });
        models.starred = all.collect();
        models
    }

    /// The files that a file imports everything from, the last one last.
    fn stars(&self, file: FileId, model: &Model<'p>) -> Vec<FileId> {
        let stars = model.scope(ScopeId::MODULE).bindings("*").iter().filter_map(|binding| {
            let BindingKind::Import { path, level } = &binding.kind else { return None };
            let path = format!("{}{path}", ".".repeat(*level as usize));
            let (to, left) = self.import(file, path.strip_suffix(".*").or_else(|| path.strip_suffix('*'))?)?;
            left.is_empty().then_some(to)
        });
        stars.collect()
    }

    /// The model of a file.
    #[must_use]
    pub fn of(&self, file: FileId) -> &Model<'p> {
        &self.models[file.0 as usize]
    }

    /// All files with their models.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, &Model<'p>)> {
        self.models.iter().zip(0..).map(|(model, id)| (FileId(id), model))
    }

    /// The file that the longest beginning of a dotted path means in `file`, and the parts left.
    #[must_use]
    pub fn import<'n>(&self, file: FileId, path: &'n str) -> Option<(FileId, &'n str)> {
        let links = self.program.links.get(file.0 as usize)?;
        if !links.heads.contains(head(path)) {
            return None;
        }
        let mut end = path.len();
        loop {
            if let Some(to) = links.files.get(&path[..end]) {
                return Some((*to, path[end..].trim_start_matches('.')));
            }
            end = path[..end].rfind('.').filter(|at| *at > 0 && path[..*at].chars().any(|letter| letter != '.'))?;
        }
    }

    /// Where the definition that an expression names stands, in whichever file: its scope and its name there.
    #[must_use]
    pub fn definition(&self, file: FileId, scope: ScopeId, expr: &Expr) -> Option<(FileId, ScopeId, &'p str)> {
        let parts = crate::model::dotted(expr)?;
        self.named(file, scope, &parts)
    }

    /// The same for the parts of a dotted name.
    #[must_use]
    pub fn named(&self, file: FileId, scope: ScopeId, parts: &[&str]) -> Option<(FileId, ScopeId, &'p str)> {
        self.named_within(file, scope, parts, MAX_HOPS)
    }

    fn named_within(&self, file: FileId, scope: ScopeId, parts: &[&str], hops: usize) -> Option<(FileId, ScopeId, &'p str)> {
        let (first, rest) = parts.split_first()?;
        let model = self.of(file);
        let Some(owner) = model.owner(scope, first) else { return self.starred(file, parts, hops.checked_sub(1)?) };
        let (name, bindings) = model.scope(owner).names.get_key_value(*first)?;
        let binding = bindings.last()?;
        match &binding.kind {
            BindingKind::Import { path, level } => {
                let hops = hops.checked_sub(1)?;
                let first = if *level > 0 { "" } else { head(path) };
                if !self.program.links.get(file.0 as usize)?.heads.contains(first) {
                    return None;
                }
                let path = format!("{}{path}", ".".repeat(*level as usize));
                let whole = std::iter::once(path.as_str()).chain(rest.iter().copied()).collect::<Vec<_>>().join(".");
                let (to, left) = self.import(file, &whole)?;
                let left: Vec<&str> = left.split('.').filter(|part| !part.is_empty()).collect();
                self.named_within(to, ScopeId::MODULE, &left, hops)
            }
            BindingKind::Class(class) if !rest.is_empty() => {
                let member = model.scope(*class);
                let [name] = rest else { return None };
                member.names.get_key_value(*name).map(|(name, _)| (file, *class, *name))
            }
            _ if rest.is_empty() => Some((file, owner, name)),
            _ => None,
        }
    }

    /// What a name means that only `from module import *` can have bound.
    fn starred(&self, file: FileId, parts: &[&str], hops: usize) -> Option<(FileId, ScopeId, &'p str)> {
        let first = parts.first()?;
        let binds = |to: &&FileId| self.of(**to).owner(ScopeId::MODULE, first).is_some();
        let files = self.starred[file.0 as usize].iter().filter(binds);
        files.copied().find_map(|to| self.named_within(to, ScopeId::MODULE, parts, hops))
    }

    /// The class that an expression names.
    #[must_use]
    pub fn class(&self, file: FileId, scope: ScopeId, expr: &Expr) -> Option<(FileId, ScopeId)> {
        let (file, bindings) = self.bindings_of(file, scope, expr)?;
        bindings.iter().rev().find_map(|binding| match binding.kind {
            BindingKind::Class(class) => Some((file, class)),
            _ => None,
        })
    }

    /// The function that an expression names.
    #[must_use]
    pub fn function(&self, file: FileId, scope: ScopeId, expr: &Expr) -> Option<(FileId, ScopeId)> {
        match self.defined(file, scope, expr) {
            Some(Defined::Function(file, function)) => Some((file, function)),
            _ => None,
        }
    }

    /// The function that an expression names; the class, where it names none.
    #[must_use]
    pub fn defined(&self, file: FileId, scope: ScopeId, expr: &Expr) -> Option<Defined> {
        let (file, bindings) = self.bindings_of(file, scope, expr)?;
        let mut class = None;
        for binding in bindings.iter().rev() {
            match binding.kind {
                BindingKind::Function(function) => return Some(Defined::Function(file, function)),
                BindingKind::Class(found) if class.is_none() => class = Some(Defined::Class(file, found)),
                _ => {}
            }
        }
        class
    }

    fn bindings_of(&self, file: FileId, scope: ScopeId, expr: &Expr) -> Option<(FileId, &[Binding<'p>])> {
        let (file, owner, name) = self.definition(file, scope, expr)?;
        Some((file, self.of(file).scope(owner).bindings(name)))
    }
}

#[cfg(test)]
mod tests;
