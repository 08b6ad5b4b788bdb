//! What static rules work on: a program, what carries graphs in it, what its containers do.

mod again;
mod detach;
mod handed;
mod here;
mod lasting;
mod loaders;
mod made;
mod puts;
mod steps;
mod unused;
mod values;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;

pub use again::loops_around;
pub(crate) use loaders::LOADERS;
pub use loaders::{Loader, Workers};
pub use puts::Put;
pub use values::Value;

use crate::ask::Answers;
use crate::autograd::Autograd;
use crate::feeds::{Containers, Site, innermost_loop, is_inside};
use crate::fix::Fix;
use crate::flow::{At, ClassId, Flow, Place};
use crate::model::{BlockId, BlockKind, Expr, Model, ScopeId, TextSize};
use crate::program::FileId;

/// A program to be checked.
pub struct Check<'f, 'p> {
    /// Its places.
    pub flow: &'f Flow<'p>,
    /// What carries an autograd graph.
    pub autograd: Autograd<'f, 'p>,
    /// What its containers do.
    pub containers: Containers<'f, 'p>,
    /// The files to be checked.
    files: Vec<FileId>,
    /// What is kept for good; found when it is first asked for.
    kept: OnceCell<Vec<Put<'p>>>,
    /// What each file puts into containers.
    puts: RefCell<HashMap<FileId, Vec<Put<'p>>>>,
    /// Its loaders; the same.
    loaders: OnceCell<Vec<Loader<'p>>>,
    /// What has been asked before.
    pub(crate) answers: Answers,
    /// Functions that are called again and again, and classes that live long, as far as it was asked; the same.
    again: RefCell<HashMap<(FileId, ScopeId), bool>>,
    long_lived: RefCell<HashMap<ClassId, bool>>,
    /// What is made before a training and used in it; the same.
    made_before: OnceCell<lasting::MadeBefore>,
    /// Expressions that may still be looked at for the value that is asked for.
    looks_left: Cell<usize>,
    /// Whether loops run a model; the same.
    rounds: RefCell<HashMap<(FileId, BlockId), bool>>,
}

/// A place at which a rule found its pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The file.
    pub file: FileId,
    /// Where the statement begins.
    pub offset: TextSize,
    /// What is kept and by what, in the names of the source, without a full stop; empty where the cause's title says it all.
    pub what: String,
    /// How sure it is.
    pub confidence: Confidence,
    /// What would take it away.
    pub fix: Option<Fix>,
}

/// How sure a rule is that what it found keeps memory. Real code decides: nine of ten findings that are told by default
/// must be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// A hint. Told only where it was asked for by name.
    Low,
    /// The source shows the pattern; whether it matters depends on sizes that it does not show.
    Medium,
    /// The source shows what is kept, and that nothing lets go of it.
    High,
}

impl Hit {
    /// One that is sure.
    #[must_use]
    pub fn new(file: FileId, offset: TextSize) -> Self {
        Self { file, offset, what: String::new(), confidence: Confidence::High, fix: None }
    }

    /// What is kept and by what, without a full stop.
    #[must_use]
    pub fn saying(self, what: impl Into<String>) -> Self {
        Self { what: what.into(), ..self }
    }

    /// What would take it away, where the rule knows.
    #[must_use]
    pub fn fixed(self, fix: Option<Fix>) -> Self {
        Self { fix, ..self }
    }

    /// Less sure.
    #[must_use]
    pub fn with(self, confidence: Confidence) -> Self {
        Self { confidence, ..self }
    }
}

impl<'f, 'p> Check<'f, 'p> {
    /// For the user's own files of a program.
    #[must_use]
    pub fn new(flow: &'f Flow<'p>) -> Self {
        let own = flow.models.iter().map(|(file, _)| file).filter(|file| !flow.models.program.in_library(*file));
        Self::of(flow, own.collect())
    }

    /// For some files of a program. The others only tell what those import, and who calls them.
    #[must_use]
    pub fn of(flow: &'f Flow<'p>, files: Vec<FileId>) -> Self {
        Self {
            flow,
            autograd: Autograd::new(flow),
            containers: Containers::new(flow),
            files,
            kept: OnceCell::new(),
            puts: RefCell::default(),
            loaders: OnceCell::new(),
            answers: Answers::default(),
            again: RefCell::default(),
            long_lived: RefCell::default(),
            made_before: OnceCell::new(),
            looks_left: Cell::new(0),
            rounds: RefCell::default(),
        }
    }

    /// The files to be checked, with their models.
    pub fn files(&self) -> impl Iterator<Item = (FileId, &Model<'p>)> {
        self.files.iter().map(|file| (*file, self.flow.models.of(*file)))
    }

    /// Whether what a place holds lives on from one step of the training to the next.
    ///
    /// A local of a model's own method does not: its loops go over layers and parts of one batch, unless they call
    /// `backward` themselves. Neither does one of another function whose loop only counts (`for i in range(n)`).
    #[must_use]
    pub fn outlives(&self, file: FileId, scope: ScopeId, block: BlockId, expr: &'p Expr) -> bool {
        self.containers.outlives(file, scope, block, expr)
            && (innermost_loop(self.flow.models.of(file), block).is_some_and(|round| self.trains_in(file, round))
                || !self.is_models_local(file, scope, expr) && !self.is_counted(file, scope, block, expr))
    }

    fn is_models_local(&self, file: FileId, scope: ScopeId, expr: &'p Expr) -> bool {
        let model = self.flow.models.of(file);
        let of_model = model.method_of(scope).is_some_and(|(class, _)| {
            let class = ClassId { file, scope: class };
            self.autograd.is_module(class) || self.flow.method(class, "forward").is_some() || self.containers.is_foreign(class)
        });
        let local = |at: &At<'_>| matches!(at.place, Place::Variable(..) | Place::Result(..));
        of_model && self.flow.places(file, scope, expr).iter().all(local)
    }

    /// Whether an expression is a local, and the loops around only count. Over a run's steps they call `backward`, with what is there
    /// before them.
    fn is_counted(&self, file: FileId, scope: ScopeId, block: BlockId, expr: &'p Expr) -> bool {
        let model = self.flow.models.of(file);
        let Some(function) = model.function_of(scope) else { return false };
        let own = |at: &At<'_>| matches!(at.place, Place::Variable(_, owner, _) if owner == function);
        let places = self.flow.places(file, scope, expr);
        let is_older = |round| {
            let mut assigned = places.iter().flat_map(|at| self.flow.assigned(at.place));
            !assigned.any(|(of, assign)| *of == file && is_inside(model, assign.block, round))
        };
        let counts = |round| match &model.block(round).kind {
            BlockKind::For(each) => is_range(&each.iter) && !(is_older(round) && self.trains_in(file, round)),
            _ => false,
        };
        let mut rounds = loops_around(model, block).peekable();
        rounds.peek().is_some() && places.iter().all(own) && rounds.all(counts)
    }

    /// Whether two expressions can mean the same object.
    #[must_use]
    pub fn same(&self, file: FileId, scope: ScopeId, one: &'p Expr, other: &'p Expr) -> bool {
        let places = self.flow.places(file, scope, one);
        self.flow.places(file, scope, other).iter().any(|at| places.contains(at))
    }

    /// The line of a hit.
    #[must_use]
    pub fn site(&self, hit: &Hit) -> Site {
        crate::feeds::site(self.flow, hit.file, hit.offset)
    }
}

/// `range(n)`, with or without a bar: `tqdm(range(n))`, `trange(n)`.
fn is_range(iterable: &Expr) -> bool {
    let Expr::Call(call) = iterable else { return false };
    let name = match &*call.func {
        Expr::Name(name) => name.id.as_str(),
        Expr::Attribute(attribute) => attribute.attr.as_str(),
        _ => return false,
    };
    matches!(name, "range" | "trange") || name == "tqdm" && call.arguments.args.first().is_some_and(is_range)
}
