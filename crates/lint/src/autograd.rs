//! Which expressions carry an autograd graph, as far as the source shows.
//!
//! A value carries one when it comes from calling a model or a loss, when `backward` is called on it, or when it is
//! computed from such a value; it does not under `no_grad` and behind what detaches (`detach()`, `item()`, `numpy()`). A
//! model is told by what the program does with it (`parameters()` is asked of it, it is made of `torch.nn` or of a class
//! that inherits from there), never by its name. A parameter has no graph of its own, what is computed from one has.
//!
//! What is asked about is a part of a value: itself, the second of a tuple, what a dictionary has under a key. A question
//! is followed back through variables, displays, comprehensions and the program's own functions (`origins`), to where a
//! graph begins or to the parameters of the function that it was asked in.

mod backward;
mod models;
mod origins;
mod plain;
mod uses;

use std::cell::{OnceCell, RefCell};
use std::hash::BuildHasher;

use ruff_python_ast::{ExprCall, StmtFunctionDef};

use crate::flow::{At, ClassId, Flow, Place};
use crate::model::{Assign, BlockId, BlockKind, Bound, Comprehension, Expr, ScopeId, ScopeKind, dotted};
use crate::program::FileId;
use crate::table::{HashMap, HashSet};

use origins::{Answer, Question, Sought, Wanted};
pub(crate) use origins::{is_passed, is_taken_off};
pub use plain::is_plain;
use uses::Uses;

/// Rounds of following values on from variable to variable.
const MAX_ROUNDS: usize = 6;
/// Callers of callers that are asked whether gradients are off.
const MAX_CALLERS: usize = 3;

/// What carries a graph in a program. Places are looked at when one is asked for, and each once.
#[derive(Debug)]
pub struct Autograd<'f, 'p> {
    flow: &'f Flow<'p>,
    /// What the program does with places.
    uses: OnceCell<Uses<'p>>,
    models: RefCell<HashMap<Place<'p>, bool>>,
    /// Classes that inherit from `nn.Module`, and those that do not.
    modules: RefCell<HashMap<ClassId, bool>>,
    /// Where what is asked about comes from.
    answers: RefCell<HashMap<Question<'p>, Answer<'p>>>,
    /// What is only a guess among them.
    guessed: RefCell<Vec<Question<'p>>>,
    /// Whether some caller gives a parameter something with a graph.
    handed: RefCell<HashMap<(Place<'p>, Wanted<'p>, Sought), bool>>,
    /// Functions that are only called where gradients are off.
    without: RefCell<HashMap<(FileId, ScopeId), bool>>,
}

impl<'f, 'p> Autograd<'f, 'p> {
    /// For a program.
    #[must_use]
    pub fn new(flow: &'f Flow<'p>) -> Self {
        Self {
            flow,
            uses: OnceCell::new(),
            models: RefCell::default(),
            modules: RefCell::default(),
            answers: RefCell::default(),
            guessed: RefCell::default(),
            handed: RefCell::default(),
            without: RefCell::default(),
        }
    }

    /// Whether the value of an expression carries a graph, itself or in one of its items.
    #[must_use]
    pub fn carries(&self, file: FileId, scope: ScopeId, block: BlockId, expr: &'p Expr) -> bool {
        self.origins(file, scope, block, expr, Wanted::ANY).graph
    }

    /// Whether a place holds something that carries a graph.
    #[must_use]
    pub fn is_carrier(&self, place: Place<'p>) -> bool {
        self.origins_of(place, Wanted::ANY).graph
    }

    /// Whether the value of an expression comes from a parameter that some caller gives something with its graph.
    #[must_use]
    pub fn is_handed(&self, file: FileId, scope: ScopeId, block: BlockId, expr: &'p Expr) -> bool {
        let origins = self.origins(file, scope, block, expr, Wanted::ANY);
        !origins.graph && origins.given.iter().any(|(place, wanted)| self.is_given(*place, *wanted, Sought::Graph))
    }

    /// Whether the value of an expression comes from what the forward pass of a module is given: activations, in training.
    #[must_use]
    pub fn is_activation(&self, file: FileId, scope: ScopeId, block: BlockId, expr: &'p Expr) -> bool {
        let origins = self.origins(file, scope, block, expr, Wanted::ANY);
        origins.given.iter().any(|(place, wanted)| self.is_given(*place, *wanted, Sought::Activation))
    }

    /// Whether a variable is a parameter of the forward pass of a module.
    fn is_of_forward(&self, place: Place<'p>) -> bool {
        let Place::Variable(file, function, _) = place else { return false };
        let model = self.flow.models.of(file);
        let class = model.scope(function).parent.filter(|parent| model.scope(*parent).is_class());
        model.scope(function).name() == "forward" && class.is_some_and(|class| self.is_module(ClassId { file, scope: class }))
    }

    /// Whether `backward` is called on what a place holds: then it is a tensor of one element.
    #[must_use]
    pub fn is_scalar(&self, place: Place<'p>) -> bool {
        self.uses().backward.contains(&place)
    }

    /// Whether gradients are off at a block: `with torch.no_grad():` around it, a decorator on a function, or all who call
    /// the function have them off.
    #[must_use]
    pub fn is_without(&self, file: FileId, scope: ScopeId, block: BlockId) -> bool {
        self.is_off_at(file, scope, block, MAX_CALLERS)
    }

    fn is_off_at(&self, file: FileId, scope: ScopeId, block: BlockId, left: usize) -> bool {
        let model = self.flow.models.of(file);
        let by_block = model.blocks_within(block).any(|block| match block.kind {
            BlockKind::With(with) => with.items.iter().any(|item| is_off(&item.context_expr)),
            _ => false,
        });
        let function = model.function_of(scope);
        let by_function = || {
            function.is_some_and(|function| match model.scope(function).kind {
                ScopeKind::Function(definition) => is_decorated_off(definition),
                _ => false,
            })
        };
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
        let by_callers = || function.is_some_and(|function| self.is_called_without(file, function, left));
        by_block || by_function() || by_framework() || by_callers()
    }

    /// Whether a function is called, and only where gradients are off.
    fn is_called_without(&self, file: FileId, function: ScopeId, left: usize) -> bool {
        let Some(left) = left.checked_sub(1) else { return false };
        if let Some(known) = self.without.borrow().get(&(file, function)) {
            return *known;
        }
        // A function that calls itself tells nothing of it.
        self.without.borrow_mut().insert((file, function), false);
        let named = matches!(self.flow.models.of(file).scope(function).kind, ScopeKind::Function(_));
        let callers = if named { self.flow.callers(file, function) } else { Vec::new() };
        let off = !callers.is_empty() && callers.iter().all(|(from, call)| self.is_off_at(*from, call.scope, call.block, left));
        self.without.borrow_mut().insert((file, function), off);
        off
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
        let uses = self.uses();
        if uses.backward.is_empty() && uses.backward_through.is_empty() {
            return false;
        }
        let mut reached: HashSet<Place<'p>> = self.flow.places(file, scope, expr).into_iter().map(|at| at.place).collect();
        let model = self.flow.models.of(file);
        for _ in 0..MAX_ROUNDS {
            if reached.iter().any(|place| uses.backward.contains(place) || uses.backward_through.contains(place)) {
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
        Expr::ListComp(each) => of_each(&each.generators, &each.elt, &inner),
        Expr::Generator(each) => of_each(&each.generators, &each.elt, &inner),
        Expr::DictComp(each) => of_each(&each.generators, &each.value, &inner),
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

/// Whether what is computed for each element comes from somewhere.
fn of_each<'p>(generators: &'p [Comprehension], value: &'p Expr, inner: &impl Fn(&'p Expr) -> bool) -> bool {
    let taken_off = match value {
        Expr::Call(call) => crate::ask::last_name(&call.func).is_some_and(is_plain),
        Expr::Attribute(attribute) => is_plain(attribute.attr.as_str()),
        _ => false,
    };
    inner(value) || !taken_off && generators.iter().any(|each| inner(&each.iter))
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
    // `@smart_inference_mode()`: a program's own way to the same.
    let names_it = |expr: &Expr| {
        let named = if let Expr::Call(call) = expr { &*call.func } else { expr };
        crate::ask::last_name(named).is_some_and(|name| name.ends_with("no_grad") || name.ends_with("inference_mode"))
    };
    function.decorator_list.iter().any(|decorator| is_off(&decorator.expression) || names_it(&decorator.expression))
}
