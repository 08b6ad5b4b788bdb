//! What is asked: an object that grows, and the names that lead to it.
//!
//! This is the question's own form. Whoever looks into a process fills it from what was seen there; nothing in it is
//! trusted beyond being a name.

use std::path::PathBuf;

/// An object that grows, by the path of names from what keeps it alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Where the path begins.
    pub root: Root,
    /// The names on the way.
    pub path: Vec<Step>,
    /// What grows there.
    pub grows: Grows,
    /// The constant key that the last step is an item by, as Python writes it: `'loss'` of `hist["loss"]`.
    pub key: Option<String>,
    /// The program's own classes of the objects on the way.
    pub through: Vec<ClassRef>,
}

impl Holder {
    /// What lies at the end of these steps.
    #[must_use]
    pub fn new(root: Root, path: Vec<Step>, grows: Grows) -> Self {
        Self { root, path, grows, key: None, through: Vec::new() }
    }

    /// What holds the step at `at`.
    pub(super) fn before(&self, at: usize) -> Self {
        Self::new(self.root.clone(), self.path[..at].to_vec(), Grows::Value)
    }
}

/// Where a path begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Root {
    /// A module; the first step is the name of its variable.
    Module {
        /// Its `__name__`.
        name: String,
        /// Its `__file__`.
        file: Option<PathBuf>,
    },
    /// A running (or suspended) function; the first step is the name of its local variable.
    Frame {
        /// Its `co_filename`.
        file: PathBuf,
        /// Its `co_qualname`, or `co_name` where Python has only that (before 3.11).
        function: String,
        /// The line that it is at.
        line: Option<usize>,
    },
    /// A class; the first step is an attribute of the class itself.
    Class(ClassRef),
    /// An instance of a class, however it is kept alive; the first step is its attribute.
    Instance(ClassRef),
    /// A function's closure; the first step is the name of the cell's variable.
    Closure(FunctionRef),
    /// A function's default arguments; the first step is the parameter, where it is known.
    Default(FunctionRef),
    /// The cache that `functools.lru_cache` or `cache` keeps for a function.
    LruCache(FunctionRef),
    /// Nothing: unreachable objects that wait for the collector.
    Garbage,
}

/// A step on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The variable of a module, a frame or a closure.
    Name(String),
    /// An attribute.
    Attribute {
        /// Its name.
        name: String,
        /// The class of the object that has it.
        owner: Option<ClassRef>,
    },
    /// An item of a list, a dictionary or any other container.
    Item,
}

/// A class by its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassRef {
    /// `__module__`.
    pub module: String,
    /// `__qualname__`, or `__name__`.
    pub name: String,
    /// The `__file__` of its module.
    pub file: Option<PathBuf>,
}

/// A function by its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionRef {
    /// `co_filename`.
    pub file: PathBuf,
    /// `__qualname__`, or `__name__`.
    pub name: String,
    /// `co_firstlineno`.
    pub line: Option<usize>,
}

/// What grows at the end of the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grows {
    /// A container gets more elements.
    Container {
        /// Its type, as in `list`, `collections.deque`.
        kind: String,
        /// Its class, where it is one of the program's own.
        class: Option<ClassRef>,
    },
    /// Places of something of a fixed length are taken, one after another: an array of objects, `[None] * n`.
    Places,
    /// A tensor drags a longer and longer autograd graph along.
    Graph,
    /// The gradients of a model's parameters stay allocated.
    Gradients,
    /// One object is replaced by larger and larger ones, or by ones that keep the old.
    Value,
}

impl Grows {
    /// A container of a built-in or library type.
    #[must_use]
    pub fn container(kind: &str) -> Self {
        Self::Container { kind: kind.to_owned(), class: None }
    }

    /// The bare name of the container's type.
    pub(super) fn type_name(&self) -> &str {
        match self {
            Self::Container { kind, .. } => kind.rsplit('.').next().unwrap_or(kind),
            _ => "",
        }
    }
}
