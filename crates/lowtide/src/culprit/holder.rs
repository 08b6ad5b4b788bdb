//! A way through the live heap in the words of the source: the variable that it begins with, attributes with their classes.
//!
//! The source knows an object by a variable, by an attribute of a class, or as what a function keeps. So the way is followed
//! from its root, and begins anew wherever an object has a name of its own in the source: at a module, a class, a function with
//! a closure, a generator. Where a step has no name there (a C object's words, a value in use), the class of what it leads to
//! is where the rest begins.

use std::collections::HashSet;

use lowtide_lint::feeds::{CYCLE, ClassRef, FunctionRef, Grows, Holder, Root, Step, TEE};
use lowtide_lint::program::is_library;
use lowtide_pyheap::types::{Kind, Type, flags};
use lowtide_pyheap::{Census, Function, HolderGrowth, ObjectId, Path, Place, StepName};

use super::Sources;
use super::modules::{Modules, source};

/// What is known of a process.
#[derive(Clone, Copy)]
pub struct Facts<'s, 'a> {
    pub sources: &'s Sources,
    pub census: &'a Census,
    pub modules: &'a Modules,
    /// Tensors that have a graph, by the address of their object.
    pub graphs: &'a HashSet<u64>,
}

impl Facts<'_, '_> {
    /// Whether a way leads through libraries only: neither where it begins nor any class on it is the program's own.
    pub fn is_librarys(&self, path: &Path) -> bool {
        let own_file = |file: &str| self.sources.path(file).is_some_and(|file| !is_library(&file));
        let by_root = match &path.root {
            // `python -c` and a notebook have no file.
            Place::Module { name, file } => file.as_deref().map_or(name == "__main__", own_file),
            Place::Frame { file, .. } => own_file(file),
            Place::Thread { .. } | Place::Type | Place::Interpreter | Place::Native | Place::Garbage => false,
        };
        let by_step = |id: ObjectId| {
            let own = |class: &Type| self.modules.file(&class.module).is_some_and(|file| !is_library(file));
            self.census.kind(id).is_some_and(own) || self.census.as_class(id).is_some_and(own)
        };
        let by_function = |function: &Option<Function>| function.as_ref().is_some_and(|function| own_file(&function.file));
        !by_root && !path.steps.iter().any(|step| by_step(step.id) || by_function(&step.function)) && path.root != Place::Garbage
    }

    fn class_ref(&self, class: &Type) -> ClassRef {
        let file = self.modules.file(&class.module).cloned();
        ClassRef { module: class.module.clone(), name: class.qualname().to_owned(), file }
    }

    fn function_ref(&self, function: &Function) -> Option<FunctionRef> {
        let file = self.sources.path(&function.file)?;
        Some(FunctionRef { file, name: function.name.clone(), line: usize::try_from(function.line).ok() })
    }

    /// The class of an object, where it is one of Python code: one that a statement of some source makes.
    fn class_of(&self, id: ObjectId) -> Option<ClassRef> {
        let class = self.census.kind(id)?;
        let made = class.has(flags::HEAPTYPE) && self.modules.file(&class.module).is_some();
        made.then(|| self.class_ref(class))
    }

    fn grows(&self, grown: &HolderGrowth) -> Grows {
        let more = grown.len.is_some_and(|(before, now)| now > before);
        if more {
            return Grows::Container { kind: grown.kind.clone(), class: self.class_of(grown.id) };
        }
        let of_places = matches!(self.census.kind(grown.id).map(|kind| kind.kind), Some(Kind::List | Kind::Ndarray));
        if of_places && grown.count.is_some_and(|count| count > 0) {
            return Grows::Places;
        }
        let objects = self.census.objects();
        if self.graphs.contains(&objects.address(grown.id)) { Grows::Graph } else { Grows::Value }
    }
}

/// A way that is being followed: where the source knows it to begin, and the names since.
type At = Option<(Root, Vec<Step>)>;

/// The question for one object that grew.
///
/// # Errors
/// One sentence, where no name of the source leads to it.
pub fn holder(facts: &Facts, grown: &HolderGrowth) -> Result<Holder, String> {
    let mut at = root(facts, &grown.path.root);
    let mut before = None;
    let (steps, around) = without_insides(facts, &grown.path.steps);
    for step in steps {
        at = match begins(facts, before, &step.name) {
            Some(new) => Some(new),
            None => goes_on(facts, at, before.map(|(id, _)| id), step),
        };
        before = Some((step.id, step.function.as_ref()));
    }
    // `for batch in itertools.cycle(loader):` has no name, and its line is known all the same.
    if around.as_deref().is_some_and(|kind| [CYCLE, TEE].contains(&kind)) {
        at = at.or_else(|| root(facts, &grown.path.root));
    }
    let (root, path) = at.ok_or("nothing that has a name in the source leads to it")?;
    let key = steps.last().and_then(|step| match &step.name {
        StepName::Key(key) => Some(key.clone()),
        _ => None,
    });
    let through = steps.iter().filter_map(|step| facts.class_of(step.id)).collect();
    let grows = around.map_or_else(|| facts.grows(grown), |kind| Grows::Container { kind, class: None });
    Ok(Holder { key, through, ..Holder::new(root, path, grows) })
}

/// The way without what an object keeps inside of it that no program names, and then that object's type: the list in an
/// `io.StringIO`, the dict in a `ModuleList`, the chain of what an iterator of `itertools.tee` has not given yet. Whoever adds to the
/// object adds to that.
fn without_insides<'p>(facts: &Facts, steps: &'p [lowtide_pyheap::Step]) -> (&'p [lowtide_pyheap::Step], Option<String>) {
    if let Some(at) = steps.iter().position(|step| step.kind == TEE) {
        return (steps.get(..=at).unwrap_or(steps), Some(TEE.to_owned()));
    }
    let [before @ .., last] = steps else { return (steps, None) };
    let outer = before.last().filter(|outer| {
        let Some(class) = facts.census.kind(outer.id) else { return false };
        match &last.name {
            StepName::Item => class.kind == Kind::Other && facts.class_of(outer.id).is_none(),
            StepName::Attribute(name) => {
                IN_MODULES.contains(&name.as_str()) && class.module.starts_with("torch.nn.modules.container")
            }
            _ => false,
        }
    });
    match outer {
        Some(outer) => (before, Some(outer.kind.clone())),
        None => (steps, None),
    }
}

fn root(facts: &Facts, place: &Place) -> At {
    let root = match place {
        Place::Module { name, file } => {
            Root::Module { name: name.clone(), file: file.as_deref().and_then(|file| source(facts.sources, name, file)) }
        }
        Place::Frame { file, function, line, .. } => Root::Frame {
            file: facts.sources.path(file)?,
            function: function.clone(),
            line: line.and_then(|line| usize::try_from(line).ok()),
        },
        Place::Garbage => Root::Garbage,
        Place::Thread { .. } | Place::Type | Place::Interpreter | Place::Native => return None,
    };
    Some((root, Vec::new()))
}

/// A new beginning, where the object before the step is one that the source has a name for.
fn begins(facts: &Facts, before: Option<(ObjectId, Option<&Function>)>, step: &StepName) -> At {
    let (id, function) = before?;
    let kind = facts.census.kind(id)?;
    let function = || facts.function_ref(function?);
    Some(match (kind.kind, step) {
        (Kind::Module, StepName::Variable(name)) => {
            let (module, file) = facts.modules.at(facts.census.objects().address(id))?;
            (Root::Module { name: module.clone(), file: file.clone() }, vec![Step::Name(name.clone())])
        }
        (Kind::Type, StepName::Attribute(name)) => {
            let class = facts.class_ref(facts.census.as_class(id)?);
            (Root::Class(class), vec![Step::Attribute { name: name.clone(), owner: None }])
        }
        (Kind::Function, StepName::Closure(name)) => (Root::Closure(function()?), vec![Step::Name(name.clone())]),
        (Kind::Function, StepName::Default(name)) => (Root::Default(function()?), vec![Step::Name(name.clone())]),
        (Kind::Generator | Kind::Frame, StepName::Variable(name)) => {
            let FunctionRef { file, name: function, line } = function()?;
            (Root::Frame { file, function, line }, vec![Step::Name(name.clone())])
        }
        (Kind::LruCache, _) => (Root::LruCache(function()?), Vec::new()),
        _ => return None,
    })
}

/// One step further on a way.
fn goes_on(facts: &Facts, at: At, before: Option<ObjectId>, step: &lowtide_pyheap::Step) -> At {
    let owner = before.and_then(|before| facts.class_of(before));
    match (&step.name, at) {
        (StepName::Variable(name), Some((root, mut path))) if path.is_empty() => {
            path.push(Step::Name(name.clone()));
            Some((root, path))
        }
        (StepName::Attribute(name), Some((root, mut path))) => {
            path.push(Step::Attribute { name: name.clone(), owner });
            Some((root, path))
        }
        (StepName::Attribute(name), None) => {
            Some((Root::Instance(owner?), vec![Step::Attribute { name: name.clone(), owner: None }]))
        }
        (StepName::Key(key), Some((root, mut path))) if let Some(name) = module_attribute(&path, key) => {
            let Some(Step::Attribute { owner, .. }) = path.pop() else { return None };
            path.push(Step::Attribute { name, owner });
            Some((root, path))
        }
        (StepName::Key(_) | StepName::Index(_) | StepName::Item, Some((root, mut path)))
            if before.is_none_or(|before| is_plain(facts.census, before)) =>
        {
            path.push(Step::Item);
            Some((root, path))
        }
        // What a `ContextVar` is set to in a context is an item of it: `trace.get()` is what the source says.
        (StepName::Inner(name), Some((root, mut path))) if name == "get()" => {
            path.push(Step::Item);
            Some((root, path))
        }
        // No name of the source: what it leads to may have a class of its own.
        _ => Some((Root::Instance(facts.class_of(step.id)?), Vec::new())),
    }
}

/// Where torch's modules keep their parts.
const IN_MODULES: [&str; 3] = ["_modules", "_parameters", "_buffers"];

/// The attribute that an entry of a torch module's own dicts is in the source: `model._modules['head']` is written
/// `model.head` (`torch.nn.Module.__getattr__`).
fn module_attribute(path: &[Step], key: &str) -> Option<String> {
    let Some(Step::Attribute { name, .. }) = path.last() else { return None };
    let name = IN_MODULES.contains(&name.as_str()).then(|| key.trim_matches('\''))?;
    let begins = name.starts_with(|letter: char| letter.is_alphabetic() || letter == '_');
    (begins && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')).then(|| name.to_owned())
}

/// Whether an object's items are what its class says they are: a container, or a class made from one.
fn is_plain(census: &Census, id: ObjectId) -> bool {
    census.kind(id).is_some_and(|kind| kind.kind.is_container() || kind.kind == Kind::Tuple)
}
