//! Which expressions carry an autograd graph, as far as the source shows.
//!
//! A value carries one when it comes from calling a model or a loss, when `backward` is called on it, or when it is
//! computed from such a value; it does not under `no_grad` and behind what detaches (`detach()`, `item()`, `numpy()`). A
//! model is told by what the program does with it (`parameters()` is asked of it, it is made of `torch.nn` or of a class
//! that inherits from there), never by its name. A parameter has no graph of its own, what is computed from one has.

use std::cell::{Cell, OnceCell, RefCell};
use std::hash::BuildHasher;

use ruff_python_ast::{ExprCall, StmtFunctionDef};

use crate::flow::{At, ClassId, Flow, Place};
use crate::model::{Assign, BindingKind, BlockId, BlockKind, Bound, Expr, ScopeId, ScopeKind, dotted};
use crate::program::FileId;
use crate::table::{HashMap, HashSet};

/// Places that a value is followed back through.
const MAX_DEPTH: usize = 12;
/// Rounds of following values on from variable to variable.
const MAX_ROUNDS: usize = 6;
/// Nested expressions that are looked into.
const MAX_NESTING: usize = 40;

/// What carries a graph in a program. Places are looked at when one is asked for, and each once.
#[derive(Debug)]
pub struct Autograd<'f, 'p> {
    flow: &'f Flow<'p>,
    /// What the program does with places.
    uses: OnceCell<Uses<'p>>,
    models: RefCell<HashMap<Place<'p>, bool>>,
    carriers: RefCell<HashMap<Place<'p>, Answer>>,
}

/// What a program does with places.
#[derive(Debug, Default)]
struct Uses<'p> {
    /// Models, by what is asked of them.
    models: HashSet<Place<'p>>,
    /// Where `backward` is called on a place.
    backward: HashSet<Place<'p>>,
    /// Files that switch gradients off as a whole.
    off: HashSet<FileId>,
    /// Metrics of torchmetrics, whose updates run without gradients.
    metrics: HashSet<ClassId>,
    /// Modules of Lightning, whose validation, test and prediction do.
    lightning: HashSet<ClassId>,
}

/// What is known of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// It carries a graph or not.
    Known(bool),
    /// It is being looked at, so many places up.
    Asked(usize),
}

/// A walk from a place to the places that its value comes from.
#[derive(Clone, Copy)]
struct Walk<'w> {
    /// Nested expressions that may still be looked into.
    nesting: usize,
    /// Places up to the one that was asked for.
    depth: usize,
    /// The outermost place that was met again: what is not found below it is not known before it is.
    met: &'w Cell<usize>,
}

impl Walk<'_> {
    fn deeper(self) -> Option<Self> {
        Some(Self { nesting: self.nesting.checked_sub(1)?, ..self })
    }
}

impl<'f, 'p> Autograd<'f, 'p> {
    /// For a program.
    #[must_use]
    pub fn new(flow: &'f Flow<'p>) -> Self {
        Self { flow, uses: OnceCell::new(), models: RefCell::default(), carriers: RefCell::default() }
    }

    fn uses(&self) -> &Uses<'p> {
        self.uses.get_or_init(|| self.find_uses())
    }

    /// Models by what is asked of them, losses by `backward`.
    fn find_uses(&self) -> Uses<'p> {
        let metrics = self.flow.classes.iter().filter(|class| self.is_metric(*class)).collect();
        let lightning =
            self.flow.classes.iter().filter(|class| self.bases(*class).any(|name| name.ends_with(".LightningModule")));
        let mut uses = Uses { metrics, lightning: lightning.collect(), ..Uses::default() };
        for (file, model) in self.flow.models.iter() {
            for call in &model.calls {
                let Expr::Attribute(method) = &*call.call.func else { continue };
                let places = |expr| self.flow.places(file, call.scope, expr).into_iter().filter(is_own).map(|at| at.place);
                let arguments = &call.call.arguments.args;
                match method.attr.as_str() {
                    "parameters" | "named_parameters" | "requires_grad_" => uses.models.extend(places(&method.value)),
                    // `engine.backward(loss)` says nothing of the engine.
                    "backward" if arguments.is_empty() => uses.backward.extend(places(&method.value)),
                    // `accelerator.backward(loss)`, `scaler.scale(loss).backward()`
                    "backward" | "manual_backward" | "scale" => {
                        uses.backward.extend(arguments.first().into_iter().flat_map(places));
                    }
                    "set_grad_enabled" if model.function_of(call.scope).is_none() && says_false(call.call) => {
                        uses.off.insert(file);
                    }
                    _ => {}
                }
            }
        }
        uses
    }

    /// Whether a place is given a model or a loss function, or is used like one.
    pub fn is_model(&self, place: Place<'p>) -> bool {
        if let Some(known) = self.models.borrow().get(&place) {
            return *known;
        }
        let is_model = self.uses().models.contains(&place)
            || self
                .flow
                .assigned(place)
                .any(|(file, assign)| assign.how == Bound::Whole && self.makes_model(*file, assign.scope, assign.value, 8));
        self.models.borrow_mut().insert(place, is_model);
        is_model
    }

    /// Whether what a place holds can carry a graph: `backward` is called on it, or it is computed from something that does.
    fn can_carry(&self, place: Place<'p>, walk: Walk) -> bool {
        match self.carriers.borrow().get(&place) {
            Some(Answer::Known(known)) => return *known,
            Some(Answer::Asked(depth)) => {
                walk.met.set(walk.met.get().min(*depth));
                return false;
            }
            None => {}
        }
        if self.uses().backward.contains(&place) {
            self.carriers.borrow_mut().insert(place, Answer::Known(true));
            return true;
        }
        if walk.depth >= MAX_DEPTH {
            walk.met.set(0);
            return false;
        }
        self.carriers.borrow_mut().insert(place, Answer::Asked(walk.depth));
        let met = Cell::new(usize::MAX);
        let inner = Walk { nesting: MAX_NESTING, depth: walk.depth + 1, met: &met };
        let carries = match place {
            Place::Result(file, function) => self.gives_graph(file, function, inner),
            _ => self.flow.assigned(place).any(|(file, assign)| {
                matches!(assign.how, Bound::Whole | Bound::Part | Bound::Augmented(_))
                    && self.carries_within(*file, assign.scope, assign.block, assign.value, inner)
            }),
        };
        // "No" is known where it does not hang on a place further up that is still being looked at.
        if carries || met.get() >= walk.depth {
            self.carriers.borrow_mut().insert(place, Answer::Known(carries));
        } else {
            self.carriers.borrow_mut().remove(&place);
            walk.met.set(walk.met.get().min(met.get()));
        }
        carries
    }

    /// Whether a function gives what a function of torch made of something with a graph. Other functions may give a model that they
    /// put together, a number, or several values of which one has a graph.
    fn gives_graph(&self, file: FileId, function: ScopeId, walk: Walk) -> bool {
        let model = self.flow.models.of(file);
        let mut results = model.results.iter().filter(|result| result.scope == function && !result.yielded);
        results.any(|result| {
            let made = result.value.as_call_expr().and_then(|call| model.full_name(result.scope, &call.func));
            let of_torch = made.as_deref().filter(|name| name.starts_with("torch.")).and_then(|name| name.rsplit('.').next());
            of_torch.is_some_and(|last| last.starts_with(|first: char| first.is_lowercase()))
                && self.carries_within(file, result.scope, result.block, result.value, walk)
        })
    }

    fn makes_model(&self, file: FileId, scope: ScopeId, value: &Expr, nesting: usize) -> bool {
        let Expr::Call(call) = value else { return self.is_annotated(file, scope, value) };
        let name = self.flow.models.of(file).full_name(scope, &call.func);
        if name.as_deref().is_some_and(|name| {
            let last = name.rsplit('.').next().unwrap_or(name);
            name.starts_with("torch.nn.") && !name.starts_with("torch.nn.functional.") && !matches!(last, "Parameter" | "Buffer")
        }) {
            return true;
        }
        if self.flow.class_of(file, scope, value).is_some_and(|class| self.is_module(class)) {
            return true;
        }
        // `Net().to(device)`, `torch.compile(net)`
        match &*call.func {
            Expr::Attribute(method)
                if nesting > 0 && matches!(method.attr.as_str(), "to" | "cuda" | "cpu" | "train" | "eval" | "float" | "half") =>
            {
                self.makes_model(file, scope, &method.value, nesting - 1)
            }
            _ => false,
        }
    }

    /// Whether a class inherits from `torch.nn.Module`, in whatever way.
    #[must_use]
    pub fn is_module(&self, class: ClassId) -> bool {
        self.bases(class)
            .any(|name| name.starts_with("torch.nn.") || name.ends_with(".LightningModule") || name.ends_with("PreTrainedModel"))
    }

    /// The full names of all classes of libraries that a class inherits from.
    pub fn bases(&self, class: ClassId) -> impl Iterator<Item = String> {
        self.flow.classes.ancestors(class).iter().flat_map(|class| {
            let model = self.flow.models.of(class.file);
            let scope = model.scope(class.scope);
            let arguments = if let ScopeKind::Class(definition) = scope.kind { definition.arguments.as_deref() } else { None };
            let outer = scope.parent.unwrap_or(ScopeId::MODULE);
            arguments.into_iter().flat_map(|arguments| &arguments.args).filter_map(move |base| model.full_name(outer, base))
        })
    }

    fn is_metric(&self, class: ClassId) -> bool {
        self.bases(class).any(|name| name.contains("torchmetrics") && name.ends_with("Metric"))
    }

    /// Whether the value of an expression carries a graph.
    #[must_use]
    pub fn carries(&self, file: FileId, scope: ScopeId, block: BlockId, expr: &'p Expr) -> bool {
        let walk = Walk { nesting: MAX_NESTING, depth: 0, met: &Cell::new(usize::MAX) };
        self.carries_within(file, scope, block, expr, walk)
    }

    fn carries_within(&self, file: FileId, scope: ScopeId, block: BlockId, expr: &'p Expr, walk: Walk) -> bool {
        !self.uses().off.contains(&file) && !self.is_without(file, scope, block) && self.value(file, scope, expr, walk)
    }

    fn value(&self, file: FileId, scope: ScopeId, expr: &'p Expr, walk: Walk) -> bool {
        let Some(walk) = walk.deeper() else { return false };
        let inner = |expr: &'p Expr| self.value(file, scope, expr, walk);
        let here = || {
            let places = self.flow.places(file, scope, expr);
            places.iter().any(|at| is_own(at) && self.can_carry(at.place, walk))
        };
        match expr {
            Expr::Name(_) => here(),
            Expr::Attribute(each) => !is_plain(each.attr.as_str()) && (inner(&each.value) || here()),
            Expr::BinOp(each) => {
                let side = |side: &'p Expr| inner(side) || self.is_parameter(file, scope, side);
                side(&each.left) || side(&each.right)
            }
            Expr::UnaryOp(each) => !each.op.is_not() && inner(&each.operand),
            Expr::Subscript(each) => inner(&each.value),
            Expr::If(each) => inner(&each.body) || inner(&each.orelse),
            Expr::Named(each) => inner(&each.value),
            Expr::Call(call) => self.call(file, scope, call, walk),
            Expr::Tuple(each) => each.elts.iter().any(inner),
            Expr::List(each) => each.elts.iter().any(inner),
            Expr::Dict(each) => each.items.iter().any(|item| inner(&item.value)),
            _ => false,
        }
    }

    fn call(&self, file: FileId, scope: ScopeId, call: &'p ExprCall, walk: Walk) -> bool {
        if self.calls_model(file, scope, &call.func) {
            return true;
        }
        let given = || crate::ask::given(call);
        let name = self.flow.models.of(file).full_name(scope, &call.func);
        match name.as_deref() {
            Some(name) if name.starts_with("torch.") => {
                let last = name.rsplit('.').next().unwrap_or(name);
                return !is_plain(last) && given().any(|value| self.value(file, scope, value, walk));
            }
            Some("sum" | "max" | "min") => return given().any(|value| self.value(file, scope, value, walk)),
            _ => {}
        }
        if let Some((of, function)) = self.flow.callee(file, scope, &call.func)
            && self.can_carry(Place::Result(of, function), walk)
        {
            return true;
        }
        match &*call.func {
            Expr::Attribute(method) => {
                !is_plain(method.attr.as_str()) && name.is_none() && self.value(file, scope, &method.value, walk)
            }
            _ => false,
        }
    }

    /// Whether an expression is a `nn.Parameter` itself.
    fn is_parameter(&self, file: FileId, scope: ScopeId, expr: &'p Expr) -> bool {
        let makes = |file: FileId, scope, value: &Expr| {
            let Expr::Call(call) = value else { return false };
            let name = self.flow.models.of(file).full_name(scope, &call.func);
            matches!(name.as_deref(), Some("torch.nn.Parameter" | "torch.nn.parameter.Parameter"))
        };
        matches!(expr, Expr::Name(_) | Expr::Attribute(_))
            && self.flow.places(file, scope, expr).into_iter().filter(is_own).any(|at| {
                let mut assigned = self.flow.assigned(at.place);
                assigned.any(|(file, assign)| assign.how == Bound::Whole && makes(*file, assign.scope, assign.value))
            })
    }

    /// Whether a place holds something that carries a graph.
    #[must_use]
    pub fn is_carrier(&self, place: Place<'p>) -> bool {
        self.can_carry(place, Walk { nesting: MAX_NESTING, depth: 0, met: &Cell::new(usize::MAX) })
    }

    /// Whether `backward` is called on what a place holds: then it is a tensor of one element.
    #[must_use]
    pub fn is_scalar(&self, place: Place<'p>) -> bool {
        self.uses().backward.contains(&place)
    }

    /// Whether a call of this is a model's forward pass.
    #[must_use]
    pub fn calls_model(&self, file: FileId, scope: ScopeId, func: &'p Expr) -> bool {
        if let Some(class) = self.flow.class_of(file, scope, func)
            && self.flow.models.class(file, scope, func).is_none()
        {
            return self.is_module(class);
        }
        let places = self.flow.places(file, scope, func);
        places.iter().any(|at| at.depth == 0 && self.is_model(at.place)) || self.is_annotated(file, scope, func)
    }

    /// A parameter said to be a `nn.Module`.
    fn is_annotated(&self, file: FileId, scope: ScopeId, func: &Expr) -> bool {
        let Expr::Name(name) = func else { return false };
        let model = self.flow.models.of(file);
        model.bindings(scope, name.id.as_str()).iter().any(|binding| match binding.kind {
            BindingKind::Parameter { annotation: Some(annotation), .. } => model
                .full_name(scope, annotation)
                .is_some_and(|name| name.starts_with("torch.nn.") || name.ends_with(".LightningModule")),
            _ => false,
        })
    }

    /// Whether gradients are off at a block: `with torch.no_grad():` around it, or a decorator on a function.
    #[must_use]
    pub fn is_without(&self, file: FileId, scope: ScopeId, block: BlockId) -> bool {
        let model = self.flow.models.of(file);
        let by_block = model.blocks_within(block).any(|block| match block.kind {
            BlockKind::With(with) => with.items.iter().any(|item| is_off(&item.context_expr)),
            _ => false,
        });
        let by_function = model.function_of(scope).is_some_and(|function| match model.scope(function).kind {
            ScopeKind::Function(definition) => is_decorated_off(definition),
            _ => false,
        });
        let by_framework = || {
            let uses = self.uses();
            let none = uses.metrics.is_empty() && uses.lightning.is_empty();
            let method = if none { None } else { model.method_of(scope) };
            method.is_some_and(|(class, method)| {
                let (class, name) = (ClassId { file, scope: class }, model.scope(method).name());
                uses.metrics.contains(&class) && matches!(name, "update" | "compute")
                    || uses.lightning.contains(&class)
                        && (matches!(name, "validation_step" | "test_step" | "predict_step")
                            || name.starts_with("on_validation_")
                            || name.starts_with("on_test_"))
            })
        };
        by_block || by_function || by_framework()
    }

    /// Whether `backward` is called on what this assignment gives, directly or after more is done to it.
    #[must_use]
    pub fn reaches_backward(&self, file: FileId, assign: &Assign<'p>) -> bool {
        self.is_summed_up(file, assign.scope, assign.target)
    }

    /// Whether `backward` is called on what a place holds, or on something computed from it: the losses of several passes
    /// that are one.
    #[must_use]
    pub fn is_summed_up(&self, file: FileId, scope: ScopeId, expr: &'p Expr) -> bool {
        if self.uses().backward.is_empty() {
            return false;
        }
        let mut reached: HashSet<Place<'p>> = self.flow.places(file, scope, expr).into_iter().map(|at| at.place).collect();
        let model = self.flow.models.of(file);
        for _ in 0..MAX_ROUNDS {
            if reached.iter().any(|place| self.uses().backward.contains(place)) {
                return true;
            }
            let before = reached.len();
            for next in model.assigns.iter().filter(|next| matches!(next.how, Bound::Whole | Bound::Augmented(_))) {
                if mentions(self.flow, file, next.scope, next.value, &reached, 12) {
                    reached.extend(self.flow.places(file, next.scope, next.target).into_iter().map(|at| at.place));
                }
            }
            if reached.len() == before {
                return false;
            }
        }
        false
    }

    /// The program.
    #[must_use]
    pub fn flow(&self) -> &'f Flow<'p> {
        self.flow
    }
}

/// Whether an expression is computed from one of these places, behind nothing that detaches.
#[must_use]
pub fn mentions<'p>(
    flow: &Flow<'p>,
    file: FileId,
    scope: ScopeId,
    expr: &'p Expr,
    places: &std::collections::HashSet<Place<'p>, impl BuildHasher>,
    nesting: usize,
) -> bool {
    let Some(nesting) = nesting.checked_sub(1) else { return false };
    let inner = |expr: &'p Expr| mentions(flow, file, scope, expr, places, nesting);
    match expr {
        Expr::Name(_) => flow.places(file, scope, expr).iter().any(|at| places.contains(&at.place)),
        Expr::Attribute(each) => {
            !is_plain(each.attr.as_str())
                && (flow.places(file, scope, expr).iter().any(|at| places.contains(&at.place)) || inner(&each.value))
        }
        Expr::BinOp(each) => inner(&each.left) || inner(&each.right),
        Expr::UnaryOp(each) => inner(&each.operand),
        Expr::Subscript(each) => inner(&each.value),
        Expr::If(each) => inner(&each.body) || inner(&each.orelse),
        Expr::Tuple(each) => each.elts.iter().any(inner),
        Expr::List(each) => each.elts.iter().any(inner),
        Expr::Starred(each) => inner(&each.value),
        Expr::Dict(each) => each.items.iter().any(|item| inner(&item.value)),
        Expr::Call(call) => {
            let detaching = match &*call.func {
                Expr::Attribute(method) => is_plain(method.attr.as_str()),
                Expr::Name(name) => is_plain(name.id.as_str()),
                _ => false,
            };
            let given = crate::ask::given(call);
            !detaching && (given.into_iter().any(inner) || matches!(&*call.func, Expr::Attribute(method) if inner(&method.value)))
        }
        _ => false,
    }
}

/// Whether the value of an attribute, method or function of this name carries no graph, whatever it is taken from.
#[must_use]
pub fn is_plain(name: &str) -> bool {
    matches!(
        name,
        "detach"
            | "detach_"
            | "item"
            | "numpy"
            | "tolist"
            | "data"
            | "grad"
            | "shape"
            | "size"
            | "dtype"
            | "device"
            | "ndim"
            | "dim"
            | "numel"
            | "requires_grad"
            | "argmax"
            | "argmin"
            | "argsort"
            | "long"
            | "int"
            | "bool"
            | "eq"
            | "ne"
            | "gt"
            | "lt"
            | "ge"
            | "le"
            | "isnan"
            | "isfinite"
            | "isinf"
            | "any"
            | "all"
            | "backward"
            | "step"
            | "zero_grad"
            | "no_grad"
            | "is_tensor"
            | "allclose"
            | "equal"
            | "len"
            | "float"
            | "str"
            | "round"
            | "tensor"
            | "zeros_like"
            | "ones_like"
            | "rand_like"
            | "randn_like"
            | "empty_like"
            | "save"
            | "manual_seed"
            | "__len__"
            | "element_size"
            | "nelement"
            | "stride"
            | "keys"
            | "format"
    )
}

/// `torch.no_grad()`, `inference_mode()`, `set_grad_enabled(False)`, however imported.
fn is_off(expr: &Expr) -> bool {
    match expr {
        Expr::Call(call) => {
            let name = dotted(&call.func);
            match name.as_deref().and_then(<[&str]>::last) {
                Some(&"no_grad" | &"inference_mode") => true,
                Some(&"set_grad_enabled") => says_false(call),
                _ => false,
            }
        }
        _ => matches!(dotted(expr).as_deref().and_then(<[&str]>::last), Some(&"no_grad" | &"inference_mode")),
    }
}

/// Whether something is at the place itself, and the place is one: an instance of a class or an attribute of who knows what
/// may be anything.
fn is_own(at: &At<'_>) -> bool {
    at.depth == 0 && !matches!(at.place, Place::Instance(_) | Place::Unknown(_))
}

fn says_false(call: &ExprCall) -> bool {
    matches!(call.arguments.args.first(), Some(Expr::BooleanLiteral(on)) if !on.value)
}

fn is_decorated_off(function: &StmtFunctionDef) -> bool {
    function.decorator_list.iter().any(|decorator| is_off(&decorator.expression))
}
