//! From references to names: what CPython needs three objects for (an instance, its dict, a value in it) is one step.

use crate::census::Census;
use crate::offsets::Frames;
use crate::types::{Kind, Type};
use crate::visit::{Frame, Label, untagged};
use crate::walk::{ObjectId, Root};

use super::lines;

/// Where a path begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A module.
    Module {
        /// Its name in `sys.modules`.
        name: String,
        /// Its `__file__`.
        file: Option<String>,
    },
    /// A frame.
    Frame {
        /// The thread, by its position; 0 is the main thread.
        thread: u32,
        /// The kernel's number of the thread, where the version keeps it.
        native: Option<u64>,
        /// The function's qualified name (its bare name before 3.11).
        function: String,
        /// `co_filename`.
        file: String,
        /// The line that it is at.
        line: Option<u32>,
    },
    /// The state of a thread.
    Thread {
        /// The thread, by its position.
        thread: u32,
    },
    /// A type that no module names.
    Type,
    /// The interpreter's own state.
    Interpreter,
    /// Held by something that is not a Python object.
    Native,
    /// Held by nothing: a cycle that waits for the collector.
    Garbage,
}

/// By which name a step is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepName {
    /// A variable of a module or frame, or of a generator's frame.
    Variable(String),
    /// An attribute of an instance, class, module or function.
    Attribute(String),
    /// The value of a dict under a key, as Python would write it.
    Key(String),
    /// An item of a sequence.
    Index(u64),
    /// An item of something without an order.
    Item,
    /// A variable of a function's closure.
    Closure(String),
    /// A default argument.
    Default(String),
    /// A reference of the interpreter's that is no attribute (`__func__`, a frame's stack).
    Inner(String),
}

impl StepName {
    /// The same for all items of a container.
    pub(crate) fn shape(&self) -> String {
        match self {
            Self::Key(_) | Self::Index(_) | Self::Item => "[]".to_owned(),
            other => format!(" {other}"),
        }
    }
}

/// One step of a path: a name, and what it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The name.
    pub name: StepName,
    /// The type of the object that it leads to.
    pub kind: String,
    /// A function's or generator's name, where the object is one.
    pub function: Option<Function>,
    /// The object.
    pub id: ObjectId,
}

/// A function by its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its qualified name.
    pub name: String,
    /// `co_filename`.
    pub file: String,
    /// `co_firstlineno`.
    pub line: u32,
}

/// An object on the way, and how the one before refers to it.
pub struct Link {
    pub id: ObjectId,
    pub label: Option<Label>,
}

/// Names a chain of references.
pub fn name(census: &Census, root: Option<&Root>, links: &[Link]) -> (Place, Vec<Step>) {
    let mut steps = Vec::new();
    let mut at = 0;
    let place = match root {
        Some(Root::Module { name }) => {
            at = 1;
            let name = census.reader().text(*name).unwrap_or_else(|| "?".to_owned());
            let file = links.first().and_then(|link| census.file_of_module(census.objects().address(link.id)));
            Place::Module { name, file }
        }
        Some(Root::Frame { thread, frame, label }) => {
            at = first_of_frame(census, frame, *label, links, &mut steps);
            census.frame_place(*thread, frame)
        }
        Some(Root::Thread { thread }) => Place::Thread { thread: *thread },
        Some(Root::Type) => Place::Type,
        Some(Root::Interpreter) => Place::Interpreter,
        Some(Root::Garbage) => Place::Garbage,
        Some(Root::Native) | None => Place::Native,
    };
    if at == 0
        && let Some(first) = links.first()
    {
        steps.push(census.step(StepName::Item, first.id));
        at = 1;
    }
    let is_module = |index: usize| index > 0 && census.kind(links[index - 1].id).is_some_and(|kind| kind.kind == Kind::Module);
    while at < links.len() {
        let (name, taken) = one(census, links, at);
        let name = match name {
            StepName::Attribute(name) if is_module(at) => StepName::Variable(name),
            other => other,
        };
        at += taken;
        steps.push(census.step(name, links[at - 1].id));
    }
    (place, steps)
}

/// The first step from a frame: a local variable, or what is in the cell that the variable lives in.
fn first_of_frame(census: &Census, frame: &Frame, label: Label, links: &[Link], steps: &mut Vec<Step>) -> usize {
    let name = match label {
        Label::Local(position) => match Frame::local_name(census.reader(), frame.code, position) {
            Some(name) => StepName::Variable(name),
            None => StepName::Inner(format!("local {position}")),
        },
        Label::Stack => StepName::Inner("in use".to_owned()),
        Label::Named(name) => StepName::Inner(name.to_owned()),
        _ => StepName::Item,
    };
    let is_cell = |link: &Link| census.kind(link.id).is_some_and(|kind| kind.kind == Kind::Cell);
    let taken = if links.first().is_some_and(is_cell) && links.len() > 1 { 2 } else { links.len().min(1) };
    // The names of a class body or module that is being run lie in a dict.
    if matches!(label, Label::Named("locals()"))
        && let Some(Link { id, label: Some(Label::Value(key)) }) = links.get(1)
    {
        let name = census.reader().text(*key).unwrap_or_else(|| "?".to_owned());
        steps.push(census.step(StepName::Variable(name), *id));
        return 2;
    }
    if let Some(last) = links.get(taken.wrapping_sub(1)) {
        steps.push(census.step(name, last.id));
    }
    taken
}

/// References from a `threading.local` to what one of its attributes holds in a thread, at most.
const THREAD_LOCAL: usize = 4;
/// Classes that a class is made from one by one, at most.
const BASES: usize = 16;

/// The step that begins with the reference to `links[at]`, and how many references it takes.
fn one(census: &Census, links: &[Link], at: usize) -> (StepName, usize) {
    let label = |index: usize| links.get(index).and_then(|link| link.label);
    let holder = links[at - 1].id;
    if census.is_thread_local(holder) {
        // Each thread has a dict of its own for it, by a weak reference that nobody knows.
        let attribute = links[at..].iter().take(THREAD_LOCAL).enumerate().find_map(|(taken, link)| match link.label {
            Some(Label::Value(key)) => Some((StepName::Attribute(census.str_key(key)?), taken + 1)),
            _ => None,
        });
        if let Some(attribute) = attribute {
            return attribute;
        }
    }
    if census.kind(holder).is_some_and(|kind| kind.qualname() == "ContextVar") {
        return (StepName::Inner("get()".to_owned()), 1);
    }
    match (label(at), label(at + 1), label(at + 2)) {
        (Some(Label::Named("__dict__")), Some(Label::Value(key)), _) => (StepName::Attribute(census.key_name(key)), 2),
        (Some(Label::Named("__closure__")), Some(Label::Index(n)), Some(Label::Named("cell_contents"))) => {
            (StepName::Closure(census.free_variable(holder, n)), 3)
        }
        (Some(Label::Named("__defaults__")), Some(Label::Index(n)), _) => (StepName::Default(census.default(holder, n)), 2),
        (Some(Label::Named("__kwdefaults__")), Some(Label::Value(key)), _) => (StepName::Default(census.key_name(key)), 2),
        (Some(Label::Attribute(name)), ..) => (StepName::Attribute(census.key_name(name)), 1),
        (Some(Label::Value(key)), ..) => (StepName::Key(census.short(key)), 1),
        (Some(Label::Key), ..) => (StepName::Inner("key".to_owned()), 1),
        (Some(Label::Index(n)), ..) => (StepName::Index(n), 1),
        (Some(Label::Local(n)), next, _) => {
            let name = census.local(holder, n);
            // A variable that a closure shares lives in a cell.
            let taken = if next == Some(Label::Named("cell_contents")) { 2 } else { 1 };
            (StepName::Variable(name), taken)
        }
        (Some(Label::Stack), ..) => (StepName::Inner("in use".to_owned()), 1),
        (Some(Label::Named(name)), ..) => (StepName::Inner(name.to_owned()), 1),
        (Some(Label::Word(offset)), ..) => match census.kind(holder).and_then(|kind| kind.member(u64::from(offset))) {
            Some(name) => (StepName::Attribute(name.to_owned()), 1),
            None => (StepName::Item, 1),
        },
        (Some(Label::Item) | None, ..) => (StepName::Item, 1),
    }
}

impl Census {
    fn step(&self, name: StepName, id: ObjectId) -> Step {
        let kind = self.kind(id).map_or_else(|| "?".to_owned(), |kind| kind.name.clone());
        Step { name, kind, function: self.function(id), id }
    }

    /// Whether an object is a `threading.local`, or of a class made from it.
    fn is_thread_local(&self, id: ObjectId) -> bool {
        let base = |kind: &&Type| self.types().get(self.types().find(kind.base)?);
        std::iter::successors(self.kind(id), base).take(BASES).any(|kind| kind.name == "_thread._local")
    }

    /// The text of a key that is a str.
    fn str_key(&self, key: u64) -> Option<String> {
        let kind = self.class_at(key)?;
        self.reader().text(key).filter(|_| kind.kind == Kind::Str)
    }

    fn key_name(&self, key: u64) -> String {
        self.reader().text(key).unwrap_or_else(|| "?".to_owned())
    }

    pub(crate) fn frame_place(&self, thread: u32, frame: &Frame) -> Place {
        let read = self.reader();
        let threads = self.python().interpreters.iter().flat_map(|interpreter| &interpreter.threads);
        let native = threads.into_iter().nth(thread as usize).and_then(|thread| thread.native);
        let function = self.code_function(frame.code);
        let (function, file) = function.map_or_else(|| ("?".to_owned(), String::new()), |f| (f.name, f.file));
        Place::Frame { thread, native, function, file, line: lines::line(read, frame) }
    }

    /// A code object's names.
    fn code_function(&self, code: u64) -> Option<Function> {
        let read = self.reader();
        let text = |offset: u64| read.text(read.pointer(code.checked_add(offset)?)?);
        let name = read.layout.code_qualname.and_then(text).or_else(|| text(read.layout.code_name))?;
        let file = text(read.layout.code_filename)?;
        Some(Function { name, file, line: read.image.u32(code.checked_add(read.layout.code_first_line)?)? })
    }

    /// The code of a function, generator or frame.
    fn code(&self, id: ObjectId) -> Option<u64> {
        let (kind, address) = self.met(id)?;
        let read = self.reader();
        let field = |base: u64, offset: u64| read.pointer(base.checked_add(offset)?).and_then(untagged);
        match kind.kind {
            Kind::Function => {
                let (offset, _) = read.layout.function.iter().find(|(_, name)| *name == "__code__")?;
                field(address, *offset)
            }
            Kind::Generator => match read.layout.frame {
                Frames::Object { generator_frame, code, .. } => field(field(address, generator_frame)?, code),
                Frames::Interpreter { generator_frame, code, .. } => field(address.checked_add(generator_frame)?, code),
            },
            Kind::Frame => match read.layout.frame {
                Frames::Object { code, .. } => field(address, code),
                Frames::Interpreter { object_frame, code, .. } => field(field(address, object_frame)?, code),
            },
            _ => None,
        }
    }

    fn function(&self, id: ObjectId) -> Option<Function> {
        if !matches!(self.kind(id)?.kind, Kind::Function | Kind::Generator | Kind::Frame | Kind::LruCache | Kind::Method) {
            return None;
        }
        let code = match self.kind(id)?.kind {
            Kind::LruCache => self.wrapped(id),
            Kind::Method => self.function_code(self.reader().pointer(self.objects().address(id) + 16)?),
            _ => self.code(id),
        };
        self.code_function(code?)
    }

    /// The code of the function object at an address.
    fn function_code(&self, function: u64) -> Option<u64> {
        let read = self.reader();
        (self.class_at(function)?.kind == Kind::Function).then_some(())?;
        let (offset, _) = read.layout.function.iter().find(|(_, name)| *name == "__code__")?;
        read.pointer(function.checked_add(*offset)?)
    }

    /// The code of the function that a cache is for: the first function among its words.
    fn wrapped(&self, id: ObjectId) -> Option<u64> {
        let (kind, address) = self.met(id)?;
        let mut found = None;
        self.reader().words(address + 16, (kind.basic / 8).saturating_sub(2).min(64), |_, word| {
            if found.is_none() && word > 4096 && word % 8 == 0 {
                found = self.function_code(word);
            }
        });
        found
    }

    fn local(&self, holder: ObjectId, position: u32) -> String {
        let name = self.code(holder).and_then(|code| Frame::local_name(self.reader(), code, position));
        name.unwrap_or_else(|| format!("local {position}"))
    }

    /// The name of a closure's variable: free variables are the last of a function's locals.
    fn free_variable(&self, function: ObjectId, position: u64) -> String {
        let name = self.code(function).and_then(|code| Frame::free_name(self.reader(), code, position));
        name.unwrap_or_else(|| position.to_string())
    }

    /// The name of the parameter that a default belongs to.
    fn default(&self, function: ObjectId, position: u64) -> String {
        let read = self.reader();
        let name = || {
            let code = self.code(function)?;
            let (offset, _) = read.layout.function.iter().find(|(_, name)| *name == "__defaults__")?;
            let defaults = read.pointer(self.objects().address(function).checked_add(*offset)?)?;
            let arguments = u64::from(read.image.u32(code.checked_add(read.layout.code_arguments)?)?);
            let parameter = arguments.checked_sub(read.len(defaults)?)?.checked_add(position)?;
            Frame::local_name(read, code, u32::try_from(parameter).ok()?)
        };
        name().unwrap_or_else(|| position.to_string())
    }
}
