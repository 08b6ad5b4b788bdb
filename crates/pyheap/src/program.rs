//! The program that a Python runs, as the interpreter itself knows it: its modules and their files, the folders that it
//! imports from, who calls whom. Names only: no file is opened here.

use crate::census::Census;
use crate::paths::Place;
use crate::types::{Kind, Type};
use crate::walk::ObjectId;

/// Folders of `sys.path` that are read at most.
const FOLDERS: u64 = 1024;

/// A module that has been imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Where its object is.
    pub address: u64,
    /// Its name in `sys.modules`.
    pub name: String,
    /// Its `__file__`; none of a module that is built in.
    pub file: Option<String>,
}

impl Census {
    /// All modules of all interpreters, in the order of `sys.modules`.
    #[must_use]
    pub fn modules(&self) -> Vec<Module> {
        let read = self.reader();
        let mut modules = Vec::new();
        for interpreter in &self.python().interpreters {
            read.dict(interpreter.modules, |_, entry| {
                if let (Some(name), true) = (self.text_of(entry.key), self.is(entry.value, Kind::Module)) {
                    modules.push(Module { address: entry.value, name, file: self.file_of_module(entry.value) });
                }
            });
        }
        modules
    }

    /// `sys.path`.
    #[must_use]
    pub fn search_path(&self) -> Vec<String> {
        let mut folders = Vec::new();
        let mut interpreters = self.python().interpreters.iter();
        let sys = interpreters.find_map(|interpreter| self.reader().dict_get(interpreter.modules, "sys"));
        let path = sys.filter(|sys| self.is(*sys, Kind::Module)).and_then(|sys| self.module_variable(sys, "path"));
        let path = path.filter(|path| self.is(*path, Kind::List));
        let items = path.and_then(|path| Some((self.reader().pointer(path.checked_add(24)?)?, self.reader().len(path)?)));
        if let Some((items, len)) = items {
            self.reader().words(items, len.min(FOLDERS), |_, item| folders.extend(self.text_of(item)));
        }
        folders
    }

    /// The functions that a thread is in, innermost first; empty for a thread that is not there.
    #[must_use]
    pub fn stack(&self, thread: u32) -> Vec<Place> {
        let threads = self.python().interpreters.iter().flat_map(|interpreter| &interpreter.threads);
        let frames = threads.into_iter().nth(thread as usize).map_or(&[][..], |thread| &thread.frames);
        frames.iter().map(|frame| self.frame_place(thread, frame)).collect()
    }

    /// The class that an object is, where it is one.
    #[must_use]
    pub fn as_class(&self, id: ObjectId) -> Option<&Type> {
        (self.kind(id)?.kind == Kind::Type).then_some(())?;
        self.types().get(self.types().find(self.objects().address(id))?)
    }

    /// `__file__` of the module at an address.
    pub(crate) fn file_of_module(&self, module: u64) -> Option<String> {
        self.is(module, Kind::Module).then_some(())?;
        self.text_of(self.module_variable(module, "__file__")?)
    }

    fn module_variable(&self, module: u64, name: &str) -> Option<u64> {
        let read = self.reader();
        read.dict_get(read.pointer(module.checked_add(read.layout.module_dict)?)?, name)
    }

    fn is(&self, object: u64, kind: Kind) -> bool {
        self.class_at(object).is_some_and(|found| found.kind == kind)
    }

    /// A str; `None` for any other object.
    fn text_of(&self, object: u64) -> Option<String> {
        if self.is(object, Kind::Str) { self.reader().text(object) } else { None }
    }
}
