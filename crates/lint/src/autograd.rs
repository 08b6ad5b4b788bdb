//! Which expressions carry an autograd graph, as far as the source shows.
//!
//! A value carries one when it comes from calling a model or a loss, when `backward` is called on it, or when it is
//! computed from such a value; it does not under `no_grad` and behind what detaches (`detach()`, `item()`, `numpy()`). A
//! model is told by what the program does with it (`parameters()` is asked of it, it is made of `torch.nn` or of a class
//! that inherits from there), never by its name.

use std::collections::HashSet;

use ruff_python_ast::{ExprCall, StmtFunctionDef};

use crate::flow::{At, ClassId, Flow, Place};
use crate::model::{Assign, BindingKind, BlockId, BlockKind, Bound, Expr, ScopeId, ScopeKind, dotted};
use crate::program::FileId;

/// Rounds of following values from variable to variable.
const MAX_ROUNDS: usize = 6;
/// Nested expressions that are looked into.
const MAX_NESTING: usize = 40;

/// What carries a graph in a program.
#[derive(Debug)]
pub struct Autograd<'f, 'p> {
    flow: &'f Flow<'p>,
    models: HashSet<Place<'p>>,
    carriers: HashSet<Place<'p>>,
    /// Where `backward` is called on a place.
    backward: HashSet<Place<'p>>,
    /// Files that switch gradients off as a whole.
    off: HashSet<FileId>,
    /// Metrics of torchmetrics, whose updates run without gradients.
    metrics: HashSet<ClassId>,
}

impl<'f, 'p> Autograd<'f, 'p> {
    /// Reads a program.
    #[must_use]
    pub fn new(flow: &'f Flow<'p>) -> Self {
        let mut autograd = Self {
            flow,
            models: HashSet::new(),
            carriers: HashSet::new(),
            backward: HashSet::new(),
            off: HashSet::new(),
            metrics: HashSet::new(),
        };
        autograd.metrics = flow.classes.iter().filter(|class| autograd.is_metric(*class)).collect();
        autograd.find_uses();
        autograd.find_made();
        for _ in 0..MAX_ROUNDS {
            if !autograd.follow() {
                break;
            }
        }
        autograd
    }

    /// Models by what is asked of them, losses by `backward`.
    fn find_uses(&mut self) {
        for (file, model) in self.flow.models.iter() {
            for call in &model.calls {
                let Expr::Attribute(method) = &*call.call.func else { continue };
                let places = || self.flow.places(file, call.scope, &method.value).into_iter().filter(is_own).map(|at| at.place);
                match method.attr.as_str() {
                    "parameters" | "named_parameters" | "requires_grad_" => {
                        let found: Vec<_> = places().collect();
                        self.models.extend(found);
                    }
                    // `engine.backward(loss)` says nothing of the engine.
                    "backward" if call.call.arguments.args.is_empty() => {
                        let found: Vec<_> = places().collect();
                        self.backward.extend(found.iter().copied());
                        self.carriers.extend(found);
                    }
                    "set_grad_enabled" if model.function_of(call.scope).is_none() && says_false(call.call) => {
                        self.off.insert(file);
                    }
                    // `accelerator.backward(loss)`, `scaler.scale(loss).backward()` are seen by what they are given.
                    _ => {}
                }
                let given = call
                    .call
                    .arguments
                    .args
                    .first()
                    .filter(|_| matches!(method.attr.as_str(), "backward" | "manual_backward" | "scale"));
                if let Some(loss) = given {
                    let found: Vec<_> =
                        self.flow.places(file, call.scope, loss).iter().filter(|at| is_own(at)).map(|at| at.place).collect();
                    self.backward.extend(found.iter().copied());
                    self.carriers.extend(found);
                }
            }
        }
    }

    /// Places that are given a model or a loss function.
    fn find_made(&mut self) {
        for (file, model) in self.flow.models.iter() {
            for assign in model.assigns.iter().filter(|assign| assign.how == Bound::Whole) {
                if self.makes_model(file, assign.scope, assign.value, 8) {
                    let places = self.flow.places(file, assign.scope, assign.target);
                    self.models.extend(places.into_iter().filter(is_own).map(|at| at.place));
                }
            }
        }
    }

    fn makes_model(&self, file: FileId, scope: ScopeId, value: &Expr, nesting: usize) -> bool {
        let Expr::Call(call) = value else { return false };
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
    fn bases(&self, class: ClassId) -> impl Iterator<Item = String> {
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

    /// From carriers to what is assigned from them; whether anything was new.
    fn follow(&mut self) -> bool {
        let mut found = Vec::new();
        for (file, model) in self.flow.models.iter() {
            for assign in &model.assigns {
                if matches!(assign.how, Bound::Whole | Bound::Part | Bound::Augmented(_))
                    && self.carries(file, assign.scope, assign.block, assign.value)
                {
                    let places = self.flow.places(file, assign.scope, assign.target);
                    found.extend(places.into_iter().filter(is_own).map(|at| at.place));
                }
            }
        }
        let before = self.carriers.len();
        self.carriers.extend(found);
        self.carriers.len() > before
    }

    /// Whether the value of an expression carries a graph.
    #[must_use]
    pub fn carries(&self, file: FileId, scope: ScopeId, block: BlockId, expr: &'p Expr) -> bool {
        !self.off.contains(&file) && !self.is_without(file, scope, block) && self.value(file, scope, expr, MAX_NESTING)
    }

    fn value(&self, file: FileId, scope: ScopeId, expr: &'p Expr, nesting: usize) -> bool {
        let Some(nesting) = nesting.checked_sub(1) else { return false };
        let inner = |expr: &'p Expr| self.value(file, scope, expr, nesting);
        match expr {
            Expr::Name(_) => {
                self.flow.places(file, scope, expr).iter().any(|at| at.depth == 0 && self.carriers.contains(&at.place))
            }
            Expr::Attribute(each) => {
                !PLAIN.contains(&each.attr.as_str())
                    && (inner(&each.value)
                        || self
                            .flow
                            .places(file, scope, expr)
                            .iter()
                            .any(|at| at.depth == 0 && self.carriers.contains(&at.place)))
            }
            Expr::BinOp(each) => inner(&each.left) || inner(&each.right),
            Expr::UnaryOp(each) => !each.op.is_not() && inner(&each.operand),
            Expr::Subscript(each) => inner(&each.value),
            Expr::If(each) => inner(&each.body) || inner(&each.orelse),
            Expr::Named(each) => inner(&each.value),
            Expr::Call(call) => self.call(file, scope, call, nesting),
            Expr::Tuple(each) => each.elts.iter().any(inner),
            Expr::List(each) => each.elts.iter().any(inner),
            Expr::Dict(each) => each.items.iter().any(|item| inner(&item.value)),
            _ => false,
        }
    }

    fn call(&self, file: FileId, scope: ScopeId, call: &'p ExprCall, nesting: usize) -> bool {
        if self.calls_model(file, scope, &call.func) {
            return true;
        }
        let given = || call.arguments.args.iter().chain(call.arguments.keywords.iter().map(|keyword| &keyword.value));
        let name = self.flow.models.of(file).full_name(scope, &call.func);
        match name.as_deref() {
            Some(name) if name.starts_with("torch.") => {
                let last = name.rsplit('.').next().unwrap_or(name);
                return !PLAIN.contains(&last) && given().any(|value| self.value(file, scope, value, nesting));
            }
            Some("sum" | "max" | "min") => return given().any(|value| self.value(file, scope, value, nesting)),
            _ => {}
        }
        match &*call.func {
            Expr::Attribute(method) => {
                !PLAIN.contains(&method.attr.as_str()) && name.is_none() && self.value(file, scope, &method.value, nesting)
            }
            _ => false,
        }
    }

    /// Whether a place holds something that carries a graph.
    #[must_use]
    pub fn is_carrier(&self, place: Place<'p>) -> bool {
        self.carriers.contains(&place)
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
        places.iter().any(|at| at.depth == 0 && self.models.contains(&at.place)) || self.is_annotated(file, scope, func)
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
        let by_metric = !self.metrics.is_empty()
            && model.method_of(scope).is_some_and(|(class, method)| {
                self.metrics.contains(&ClassId { file, scope: class })
                    && matches!(model.scope(method).name(), "update" | "compute")
            });
        by_block || by_function || by_metric
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
        let mut reached: HashSet<Place<'p>> = self.flow.places(file, scope, expr).into_iter().map(|at| at.place).collect();
        let model = self.flow.models.of(file);
        for _ in 0..MAX_ROUNDS {
            if reached.iter().any(|place| self.backward.contains(place)) {
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
    places: &HashSet<Place<'p>>,
    nesting: usize,
) -> bool {
    let Some(nesting) = nesting.checked_sub(1) else { return false };
    let inner = |expr: &'p Expr| mentions(flow, file, scope, expr, places, nesting);
    match expr {
        Expr::Name(_) => flow.places(file, scope, expr).iter().any(|at| places.contains(&at.place)),
        Expr::Attribute(each) => {
            !PLAIN.contains(&each.attr.as_str())
                && (flow.places(file, scope, expr).iter().any(|at| places.contains(&at.place)) || inner(&each.value))
        }
        Expr::BinOp(each) => inner(&each.left) || inner(&each.right),
        Expr::UnaryOp(each) => inner(&each.operand),
        Expr::Subscript(each) => inner(&each.value),
        Expr::If(each) => inner(&each.body) || inner(&each.orelse),
        Expr::Tuple(each) => each.elts.iter().any(inner),
        Expr::List(each) => each.elts.iter().any(inner),
        Expr::Starred(each) => inner(&each.value),
        Expr::Call(call) => {
            let detaching = match &*call.func {
                Expr::Attribute(method) => PLAIN.contains(&method.attr.as_str()),
                Expr::Name(name) => PLAIN.contains(&name.id.as_str()),
                _ => false,
            };
            let given = call.arguments.args.iter().chain(call.arguments.keywords.iter().map(|keyword| &keyword.value));
            !detaching && (given.into_iter().any(inner) || matches!(&*call.func, Expr::Attribute(method) if inner(&method.value)))
        }
        _ => false,
    }
}

/// Attributes, methods and functions whose value carries no graph, whatever it is taken from.
const PLAIN: &[&str] = &[
    "detach",
    "detach_",
    "item",
    "numpy",
    "tolist",
    "data",
    "grad",
    "shape",
    "size",
    "dtype",
    "device",
    "ndim",
    "dim",
    "numel",
    "requires_grad",
    "argmax",
    "argmin",
    "argsort",
    "long",
    "int",
    "bool",
    "eq",
    "ne",
    "gt",
    "lt",
    "ge",
    "le",
    "isnan",
    "isfinite",
    "isinf",
    "any",
    "all",
    "backward",
    "step",
    "zero_grad",
    "no_grad",
    "is_tensor",
    "allclose",
    "equal",
    "len",
    "float",
    "str",
    "round",
    "tensor",
    "zeros_like",
    "ones_like",
    "rand_like",
    "randn_like",
    "empty_like",
    "save",
    "manual_seed",
    "__len__",
    "element_size",
    "nelement",
    "stride",
    "keys",
    "format",
];

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
