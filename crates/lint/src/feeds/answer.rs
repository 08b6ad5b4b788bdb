//! What is answered: statements, ranked, or the reason why there are none.

use std::path::PathBuf;

/// The answer for one holder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The statements that add to it, the most telling first.
    pub statements: Vec<Statement>,
    /// Why there is none.
    pub reason: Option<String>,
    /// Files that could not be read, each with its reason.
    pub unread: Vec<String>,
}

/// A statement that adds to a holder.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// Where it stands.
    pub site: Site,
    /// How it adds.
    pub kind: Kind,
    /// The function that it stands in, as in `Trainer.fit`; none at the level of the module.
    pub function: Option<String>,
    /// The class whose method that is.
    pub class: Option<String>,
    /// Loops around it inside its function.
    pub loops: usize,
    /// It runs again and again: in a loop, or in a function that is called in one or by a framework.
    pub repeated: bool,
    /// The part of the training that it stands in, as far as the source tells.
    pub phase: Option<Phase>,
    /// How sure it is that this holder is meant.
    pub certainty: Certainty,
    /// What keeps it from growing for ever, as far as the source tells.
    pub bound: Option<Bound>,
    /// It is a library's code; the user's own call is in `via`.
    pub library: bool,
    /// The calls and assignments that bring the holder here, nearest first.
    pub via: Vec<Site>,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Site {
    /// The file, as the program names it.
    pub file: PathBuf,
    /// The cell of a notebook, from 1; the line is one of the cell's.
    pub cell: Option<usize>,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// The line's text without its indentation.
    pub text: String,
}

/// How a statement adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// One element: `append`, `appendleft`, `insert`, `add`, `put`, `heappush`.
    Add,
    /// Many elements: `extend`, `update`, `|=`, `+=`.
    Extend,
    /// An entry: `d[k] = v`, `setdefault`.
    Item,
    /// A longer one takes its place: `xs = xs + [x]`, `torch.cat([xs, x])`.
    Rebuilt,
    /// One that keeps the last one inside takes its place: `step = compose(step, more)`, `last = Node(x, last)`.
    Wrapped,
    /// The method that adds is handed to somebody who calls it: `map(xs.append, ...)`.
    Handed,
    /// A hook or callback is registered.
    Hook,
    /// A cache by decorator: `@lru_cache`.
    Cache,
    /// What it goes over is kept to go over it again: `itertools.cycle(loader)`.
    Cycle,
    /// What one of several iterators over the same has not come to is kept for it: `itertools.tee(stream)`.
    Split,
    /// A value that carries its history: `total = total + loss`.
    Accumulated,
    /// The same, where the last value is weighed: `avg = 0.9 * avg + 0.1 * loss`.
    Averaged,
    /// The same, where a model makes the next value of the last one: `out, state = model(x, state)`.
    Carried,
    /// The graph is kept on purpose: `backward(retain_graph=True)`.
    Retained,
    /// Gradients are zeroed instead of dropped.
    Zeroed,
    /// The garbage collector is switched off or made rare.
    CollectorOff,
    /// The value is assigned.
    Assigned,
    /// A library's object gets something by a call.
    Call,
}

/// The part of a training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// A step with `backward`, or a function called so.
    Training,
    /// Without gradients, or a function called so.
    Validation,
}

/// How sure it is that a statement means the holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// It names it, or what it names is followed from it.
    Traced,
    /// An attribute of this name, of an object whose class is not told; no other class has one.
    ByName,
}

/// What keeps a holder from growing for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    /// It never has more elements than a number (`maxlen`, a comparison with its length), and which, where the source tells it.
    Ceiling(Site, Option<u64>),
    /// It is emptied whenever this runs.
    Emptied(Site),
    /// It is emptied, or loses elements, under a condition.
    EmptiedIf(Site),
    /// The key is one of few: a constant, a remainder.
    Keys,
    /// The key is a position in a data set: it has no more elements than that has samples.
    Samples,
    /// The key is made of sizes of tensors: it has no more elements than there are different ones.
    Sizes,
    /// It is an attribute of a data set, and this is its constructor.
    Making,
    /// It dies when its function returns.
    Local,
}

impl Bound {
    /// Whether it holds whatever happens.
    #[must_use]
    pub fn is_firm(&self) -> bool {
        !matches!(self, Self::EmptiedIf(_) | Self::Local)
    }
}
