//! From what was seen in a run to its cause.

use lowtide_lint::feeds::{Kind, Phase};

use crate::{Cause, all};

/// What was seen of something that grows. What is not known is left at its default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Live {
    /// The sort of memory.
    pub kind: Memory,
    /// The shape of its growth.
    pub class: Option<Class>,
    /// The process.
    pub role: Option<Role>,
    /// The part of the training in which it is added.
    pub phase: Option<Phase>,
    /// What the holder is.
    pub container: Option<Container>,
    /// What keeps the holder alive.
    pub root: Option<RootKind>,
    /// The holder's owner: the class or module whose attribute or variable it is.
    pub owner: String,
    /// Types of the objects that become more, as in `torch.Tensor`.
    pub objects: Vec<String>,
    /// Tensors among them drag an autograd graph along.
    pub grad_fn: bool,
    /// They are views of storages much larger than themselves.
    pub views: bool,
    /// They lie on a GPU.
    pub on_gpu: bool,
    /// The statement that adds, where one was found.
    pub statement: Option<Kind>,
    /// That statement stands in a class: a cache is that of a method.
    pub in_class: bool,
    /// Something keeps it below a ceiling.
    pub bounded: bool,
}

/// The sort of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    /// Not known.
    #[default]
    Unknown,
    /// Python objects.
    Objects,
    /// Storages of tensors and arrays.
    Tensors,
    /// Nodes of autograd graphs and what they save.
    Graph,
    /// Live native heap that nothing in Python holds.
    Native,
    /// Free memory inside the allocator.
    Holes,
    /// Shared memory.
    Shared,
    /// Memory reserved by the GPU allocator beyond what is allocated.
    GpuReserved,
    /// The number of processes.
    Processes,
    /// The number of file descriptors.
    Descriptors,
    /// The number of threads.
    Threads,
}

/// The shape of growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Without bound, as far as can be told.
    Leak,
    /// Up to a ceiling.
    Bounded,
    /// Peaks that come back.
    Spikes,
    /// Climbs and falls.
    Sawtooth,
    /// A step at the start.
    Floor,
}

/// What a process is in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It trains.
    Trainer,
    /// It loads data.
    Worker,
    /// It compiles kernels.
    CompileWorker,
}

/// What a holder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// A list.
    List,
    /// A dictionary of any kind.
    Dict,
    /// A set.
    Set,
    /// A deque or a queue.
    Deque,
    /// Another one.
    Other,
}

/// What keeps a holder alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootKind {
    /// A module's variable.
    Module,
    /// A local of a running function.
    Local,
    /// A class.
    Class,
    /// A closure.
    Closure,
    /// A function's default arguments.
    Default,
    /// A cache by decorator.
    Cache,
    /// Nothing: it waits for the collector.
    Garbage,
    /// Native code alone: no name leads to it. The owner is its own type.
    Native,
}

impl Live {
    pub(crate) fn has_graph(&self) -> bool {
        self.grad_fn || self.kind == Memory::Graph
    }

    /// Whether a container gets more elements: by its statement, else by what it is.
    pub(crate) fn adds_to_container(&self) -> bool {
        match self.statement {
            Some(kind) => matches!(kind, Kind::Add | Kind::Extend | Kind::Item | Kind::Rebuilt | Kind::Wrapped | Kind::Handed),
            None => self.container.is_some(),
        }
    }

    pub(crate) fn holds_tensors(&self) -> bool {
        !self.is_of_model() && (self.kind == Memory::Tensors || self.objects_named(&["Tensor", "Parameter"]))
    }

    /// Whether it is a part of a model or of an optimizer that gets more: layers, parameters and their state.
    pub(crate) fn is_of_model(&self) -> bool {
        ["torch.nn.modules.container", "torch.optim"].iter().any(|module| self.owner.starts_with(module))
    }

    /// Whether one of the objects' types has one of these names, without its module.
    pub(crate) fn objects_named(&self, names: &[&str]) -> bool {
        self.objects.iter().any(|object| names.contains(&object.rsplit('.').next().unwrap_or(object)))
    }

    /// Whether one of the words that the owner's name is made of is this: `log` in `RunLog` and `run_log`, and not in `Catalog`.
    pub(crate) fn owner_has_word(&self, word: &str) -> bool {
        let mut before = ' ';
        let begins = |this: char| {
            let new = !this.is_alphanumeric() || this.is_uppercase() && !before.is_uppercase();
            before = this;
            new
        };
        let mut words: Vec<String> = Vec::new();
        let starts: Vec<bool> = self.owner.chars().map(begins).collect();
        for (letter, new) in self.owner.chars().zip(starts) {
            match words.last_mut() {
                Some(last) if !new => last.extend(letter.to_lowercase()),
                _ => words.push(letter.to_lowercase().filter(|letter| letter.is_alphanumeric()).collect()),
            }
        }
        // `WANDBLogger` is one word here.
        words.iter().any(|own| own == word || word.len() > 4 && own.ends_with(word))
    }

    /// Whether one of the objects is an exception or what it came by: a name that ends as exceptions' names do.
    pub(crate) fn has_exceptions(&self) -> bool {
        let ends = ["traceback", "Exception", "Error", "Warning", "Interrupt"];
        self.objects.iter().any(|object| ends.iter().any(|end| object.ends_with(end)))
    }

    /// Whether the owner's name has this in it, in whatever case.
    pub(crate) fn owner_contains(&self, part: &str) -> bool {
        self.owner.to_ascii_lowercase().contains(part)
    }
}

/// A cause that fits.
#[derive(Clone, Copy, Debug)]
pub struct Match {
    /// Which.
    pub cause: &'static Cause,
    /// How well, of 100.
    pub fit: u8,
}

/// The causes that fit what was seen, the best first.
#[must_use]
pub fn matching(live: &Live) -> Vec<Match> {
    let fits = all().filter_map(|cause| Some(Match { cause, fit: cause.signature?(live)? }));
    let mut found: Vec<Match> = fits.collect();
    found.sort_by(|one, other| other.fit.cmp(&one.fit).then(one.cause.id.cmp(other.cause.id)));
    found
}
