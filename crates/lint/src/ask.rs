//! Small questions that many rules ask of calls, constants and loops.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};

use ruff_python_ast::{CmpOp, ExprCall, Number, UnaryOp};

use crate::check::{Check, loops_around};
use crate::feeds::is_inside;
use crate::flow::{ClassId, Place};
pub use crate::inside::{names_in, slices_in, words};
use crate::model::{Assign, BindingKind, BlockId, BlockKind, Bound, Call, Expr, Model, Operator, ScopeId, ScopeKind, TextRange};
use crate::program::FileId;

/// Calls that are followed from a loop to the function that trains.
const MAX_HOPS: usize = 4;
/// Constants that are looked up for one number.
const MAX_LOOKS: usize = 8;
/// A loop over fewer rounds than this is no training.
const FEW_ROUNDS: i64 = 20;

/// The value of a keyword argument.
#[must_use]
pub fn keyword<'a>(call: &'a ExprCall, name: &str) -> Option<&'a Expr> {
    call.arguments
        .keywords
        .iter()
        .find(|keyword| keyword.arg.as_ref().is_some_and(|arg| arg.as_str() == name))
        .map(|keyword| &keyword.value)
}

/// The value of a parameter that may be given by place or by name.
#[must_use]
pub fn argument<'a>(call: &'a ExprCall, place: usize, name: &str) -> Option<&'a Expr> {
    let by_place = call.arguments.args.get(place).filter(|_| !call.arguments.args.iter().take(place).any(Expr::is_starred_expr));
    by_place.or_else(|| keyword(call, name))
}

/// Every value that a call is given.
pub fn given(call: &ExprCall) -> impl Iterator<Item = &Expr> {
    call.arguments.args.iter().chain(call.arguments.keywords.iter().map(|keyword| &keyword.value))
}

/// The name of the method that a call calls.
#[must_use]
pub fn method(call: &ExprCall) -> Option<&str> {
    match &*call.func {
        Expr::Attribute(attribute) => Some(attribute.attr.as_str()),
        _ => None,
    }
}

/// What a method is called on.
#[must_use]
pub fn receiver(call: &ExprCall) -> Option<&Expr> {
    match &*call.func {
        Expr::Attribute(attribute) => Some(&attribute.value),
        _ => None,
    }
}

/// `True`, `False`, and `not` of them.
#[must_use]
pub fn truth(expr: &Expr) -> Option<bool> {
    match expr {
        Expr::BooleanLiteral(literal) => Some(literal.value),
        Expr::UnaryOp(not) if not.op == UnaryOp::Not => truth(&not.operand).map(|value| !value),
        _ => None,
    }
}

/// Whether a text is a part of one of the string literals in an expression.
#[must_use]
pub fn says(expr: &Expr, text: &str) -> bool {
    match expr {
        Expr::StringLiteral(literal) => literal.value.to_str().contains(text),
        Expr::If(each) => says(&each.body, text) || says(&each.orelse, text),
        Expr::BinOp(each) => says(&each.left, text) || says(&each.right, text),
        Expr::FString(each) => each.value.iter().any(|part| match part {
            ruff_python_ast::FStringPart::Literal(literal) => literal.value.contains(text),
            ruff_python_ast::FStringPart::FString(inner) => inner.elements.literals().any(|literal| literal.value.contains(text)),
        }),
        _ => false,
    }
}

/// What rules ask more than once; found at the first question.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    training: OnceCell<HashSet<(FileId, ScopeId)>>,
    /// The blocks of each file that train.
    training_blocks: RefCell<HashMap<FileId, HashSet<BlockId>>>,
}

impl<'p> Check<'_, 'p> {
    /// The full name of what a call calls; see [`Model::full_name`].
    #[must_use]
    pub fn called(&self, file: FileId, call: &Call) -> Option<String> {
        self.flow.models.of(file).full_name(call.scope, &call.call.func)
    }

    /// The calls of the files to be checked whose last name is one of these, or was before an import gave it another.
    pub fn calls_of<'c>(&'c self, names: &'c [&str]) -> impl Iterator<Item = (FileId, &'c Model<'p>, &'c Call<'p>)> {
        self.files().flat_map(move |(file, model)| model.calls_named(names).into_iter().map(move |call| (file, model, call)))
    }

    /// A whole number that the source says: a literal, a sum or a product of such, a name that is given one once, `a if c
    /// else b` where both are the same.
    #[must_use]
    pub fn number(&self, file: FileId, scope: ScopeId, expr: &'p Expr) -> Option<i64> {
        self.number_within(file, scope, expr, MAX_LOOKS)
    }

    fn number_within(&self, file: FileId, scope: ScopeId, expr: &'p Expr, looks: usize) -> Option<i64> {
        let looks = looks.checked_sub(1)?;
        let inner = |expr: &'p Expr| self.number_within(file, scope, expr, looks);
        match expr {
            Expr::NumberLiteral(literal) => match &literal.value {
                Number::Int(value) => value.as_i64(),
                _ => None,
            },
            Expr::BinOp(each) => {
                let (left, right) = (inner(&each.left)?, inner(&each.right)?);
                match each.op {
                    Operator::Add => left.checked_add(right),
                    Operator::Sub => left.checked_sub(right),
                    Operator::Mult => left.checked_mul(right),
                    Operator::FloorDiv => left.checked_div(right),
                    Operator::Pow => u32::try_from(right).ok().and_then(|right| left.checked_pow(right)),
                    Operator::LShift => u32::try_from(right).ok().and_then(|right| left.checked_shl(right)),
                    _ => None,
                }
            }
            Expr::Name(_) => {
                let (file, value) = self.only_value(file, scope, expr)?;
                self.number_within(file, ScopeId::MODULE, value, looks)
            }
            _ => None,
        }
    }

    /// The one value that a name of a module or a function is ever given.
    #[must_use]
    pub fn only_value(&self, file: FileId, scope: ScopeId, name: &'p Expr) -> Option<(FileId, &'p Expr)> {
        let places = self.flow.places(file, scope, name);
        let [at] = &*places else { return None };
        let Place::Variable(of, owner, text) = at.place else { return None };
        let model = self.flow.models.of(of);
        if at.depth > 0 || model.scope(owner).bindings(text).len() != 1 {
            return None;
        }
        let is_it = |assign: &&Assign<'p>| {
            matches!(assign.target, Expr::Name(each) if each.id.as_str() == text)
                && model.owner(assign.scope, text) == Some(owner)
                && assign.how == Bound::Whole
        };
        model.assigns.iter().find(is_it).map(|assign| (of, assign.value))
    }

    /// The innermost loop around a block, inside its function, that may have many rounds: a `for` over a display, over
    /// `range(3)` or over the parts of a model is none, and comprehensions are none.
    #[must_use]
    pub fn long_loop(&self, file: FileId, block: BlockId) -> Option<BlockId> {
        let model = self.flow.models.of(file);
        loops_around(model, block).find(|round| match model.block(*round).kind {
            BlockKind::For(each) => self.is_long(file, model.block(*round).scope, &each.iter),
            BlockKind::While(_) => true,
            _ => false,
        })
    }

    /// Whether a loop over something may have many rounds.
    #[must_use]
    pub fn is_long(&self, file: FileId, scope: ScopeId, iterable: &'p Expr) -> bool {
        match iterable {
            Expr::List(_) | Expr::Tuple(_) | Expr::Set(_) | Expr::Dict(_) | Expr::StringLiteral(_) => false,
            Expr::Name(_) => self.only_value(file, scope, iterable).is_none_or(|(_, value)| {
                !matches!(value, Expr::List(list) if !list.elts.is_empty())
                    && !matches!(value, Expr::Tuple(_) | Expr::Set(_))
                    && !matches!(value, Expr::Dict(dict) if !dict.items.is_empty())
            }),
            Expr::Call(call) => match last_name(&call.func) {
                Some("range") => {
                    let last = call.arguments.args.get(1).or_else(|| call.arguments.args.first());
                    last.and_then(|last| self.number(file, scope, last)).is_none_or(|rounds| rounds >= FEW_ROUNDS)
                }
                Some(
                    "enumerate" | "zip" | "reversed" | "sorted" | "list" | "tuple" | "tqdm" | "trange" | "items" | "keys"
                    | "values" | "product",
                ) => {
                    let over = receiver(call).filter(|_| matches!(last_name(&call.func), Some("items" | "keys" | "values")));
                    let over: Vec<&'p Expr> = over.map_or_else(|| call.arguments.args.iter().collect(), |over| vec![over]);
                    over.is_empty() || over.into_iter().all(|value| self.is_long(file, scope, value))
                }
                Some(
                    "parameters" | "named_parameters" | "modules" | "named_modules" | "children" | "named_children" | "buffers"
                    | "named_buffers",
                ) => false,
                _ => true,
            },
            // What an optimizer has: the parameters of a group, the groups.
            Expr::Subscript(item) => !matches!(&*item.slice, Expr::StringLiteral(key) if key.value.to_str() == "params"),
            Expr::Attribute(attribute) => attribute.attr.as_str() != "param_groups",
            _ => true,
        }
    }

    /// The innermost loop around a block in which something is trained: `backward` is called in it, or a function that does.
    #[must_use]
    pub fn training_loop(&self, file: FileId, block: BlockId) -> Option<BlockId> {
        let model = self.flow.models.of(file);
        let long = self.long_loop(file, block)?;
        loops_around(model, long).find(|round| self.trains_in(file, *round))
    }

    /// Whether a block calls `backward`, or a function that does.
    #[must_use]
    pub fn trains_in(&self, file: FileId, block: BlockId) -> bool {
        // Of all blocks of a file at once: a large one is asked for thousands of them.
        self.answers.training_blocks.borrow_mut().entry(file).or_insert_with(|| self.blocks_that_train(file)).contains(&block)
    }

    fn blocks_that_train(&self, file: FileId) -> HashSet<BlockId> {
        let model = self.flow.models.of(file);
        let training = self.answers.training.get_or_init(|| self.functions_that_train());
        let mut found = HashSet::new();
        for call in &model.calls {
            let mut at = Some(call.block).filter(|block| !found.contains(block));
            let trains = || {
                is_backward(call.call)
                    || self.flow.callee(file, call.scope, &call.call.func).is_some_and(|function| training.contains(&function))
            };
            if at.is_none() || !trains() {
                continue;
            }
            // What is around a block that is known is known, too.
            while let Some(id) = at.filter(|id| found.insert(*id)) {
                at = model.block(id).parent;
            }
        }
        found
    }

    /// Whether a function calls `backward`, or a function that does.
    #[must_use]
    pub fn trains(&self, file: FileId, function: ScopeId) -> bool {
        self.answers.training.get_or_init(|| self.functions_that_train()).contains(&(file, function))
    }

    fn functions_that_train(&self) -> HashSet<(FileId, ScopeId)> {
        let mut found = HashSet::new();
        for (file, model) in self.flow.models.iter() {
            let trains = model.calls.iter().filter(|call| is_backward(call.call));
            found.extend(trains.filter_map(|call| Some((file, model.function_of(call.scope)?))));
        }
        for _ in 0..MAX_HOPS {
            let names: HashSet<&str> =
                found.iter().map(|(file, function)| self.flow.models.of(*file).scope(*function).name()).collect();
            let mut more = Vec::new();
            for (file, model) in self.flow.models.iter() {
                for call in model.calls.iter().filter(|call| last_name(&call.call.func).is_some_and(|name| names.contains(name)))
                {
                    let Some(function) = model.function_of(call.scope) else { continue };
                    if !found.contains(&(file, function))
                        && self.flow.callee(file, call.scope, &call.call.func).is_some_and(|callee| found.contains(&callee))
                    {
                        more.push((file, function));
                    }
                }
            }
            if more.is_empty() {
                break;
            }
            found.extend(more);
        }
        found
    }

    /// Whether a function is called in every round of a loop that trains, under no condition inside of it.
    #[must_use]
    pub fn is_called_in_training_loop(&self, file: FileId, function: ScopeId) -> bool {
        self.callers(file, function).iter().any(|(from, call)| {
            self.training_loop(*from, call.block).is_some_and(|round| !self.is_conditional(*from, call.block, round))
        })
    }

    /// Whether a function is called in a loop that may have many rounds, or by one that is.
    #[must_use]
    pub fn is_called_in_loop(&self, file: FileId, function: ScopeId) -> bool {
        self.called_in_loop_within(file, function, MAX_HOPS)
    }

    fn called_in_loop_within(&self, file: FileId, function: ScopeId, hops: usize) -> bool {
        let Some(hops) = hops.checked_sub(1) else { return false };
        self.callers(file, function).iter().any(|(from, call)| {
            self.long_loop(*from, call.block).is_some()
                || self
                    .flow
                    .models
                    .of(*from)
                    .function_of(call.scope)
                    .is_some_and(|outer| (*from, outer) != (file, function) && self.called_in_loop_within(*from, outer, hops))
        })
    }

    /// The values that the places of an expression are ever given as a whole, and where.
    pub fn values(&self, file: FileId, scope: ScopeId, expr: &'p Expr) -> Vec<(FileId, ScopeId, &'p Expr)> {
        let places = self.flow.places(file, scope, expr).into_iter().filter(|at| at.depth == 0);
        let assigned = places.flat_map(|at| self.flow.assigned(at.place).collect::<Vec<_>>());
        assigned
            .filter(|(_, assign)| assign.how == Bound::Whole)
            .map(|(file, assign)| (*file, assign.scope, assign.value))
            .collect()
    }

    /// What functions of the program return at the place of a tuple that an expression's places are given: `a, b = make()`.
    pub fn returned_parts(&self, file: FileId, scope: ScopeId, expr: &'p Expr) -> Vec<(FileId, ScopeId, &'p Expr)> {
        use ruff_text_size::Ranged;
        let mut found = Vec::new();
        for at in self.flow.places(file, scope, expr).into_iter().filter(|at| at.depth == 0) {
            for (of, assign) in self.flow.assigned(at.place).filter(|(_, assign)| assign.how == Bound::Part) {
                let Expr::Call(call) = assign.value else { continue };
                let model = self.flow.models.of(*of);
                // The targets of one statement stand in their order.
                let targets =
                    model.assigns.iter().filter(|other| other.range == assign.range && other.value.range() == call.range());
                let Some(place) = targets.clone().position(|other| other.target.range() == assign.target.range()) else {
                    continue;
                };
                let Some((to, function)) = self.flow.callee(*of, assign.scope, &call.func) else { continue };
                let results = self.flow.models.of(to).returned(function);
                found.extend(results.filter_map(|result| match result.value {
                    Expr::Tuple(tuple) if tuple.elts.len() == targets.clone().count() => {
                        Some((to, result.scope, &tuple.elts[place]))
                    }
                    _ => None,
                }));
            }
        }
        found
    }

    /// Whether a new key makes a container larger: it is given a dictionary somewhere, and no list, whose places are there already.
    #[must_use]
    pub fn grows_by_key(&self, file: FileId, scope: ScopeId, container: &'p Expr) -> bool {
        self.values(file, scope, container).into_iter().any(|(_, _, value)| match value {
            Expr::Dict(_) | Expr::DictComp(_) => true,
            Expr::Call(call) => {
                matches!(last_name(&call.func), Some("dict" | "OrderedDict" | "defaultdict" | "Counter"))
            }
            _ => false,
        })
    }

    /// Whether a container is a set: it has each element once.
    #[must_use]
    pub fn is_set(&self, file: FileId, scope: ScopeId, container: &'p Expr) -> bool {
        self.values(file, scope, container).into_iter().any(|(_, _, value)| match value {
            Expr::Set(_) | Expr::SetComp(_) => true,
            Expr::Call(call) => last_name(&call.func) == Some("set"),
            _ => false,
        })
    }

    /// Whether a block runs only while a container is empty (`not cache`), or something of it is small enough, as it measures
    /// itself: `cache.size < limit`.
    #[must_use]
    pub fn is_limited(&self, file: FileId, block: BlockId, container: &'p Expr) -> bool {
        use ruff_text_size::Ranged;
        let model = self.flow.models.of(file);
        let text = model.source.slice(container.range());
        model.blocks_within(block).any(|block| match block.kind {
            BlockKind::If(Expr::UnaryOp(test)) if test.op == UnaryOp::Not => model.source.slice(test.operand.range()) == text,
            BlockKind::If(test) => compares(test, &|side| {
                let side = model.source.slice(side.range());
                side.contains(text) && side.len() > text.len()
            }),
            _ => false,
        })
    }

    /// The class that a block's code is a method of, and that method's name.
    #[must_use]
    pub fn method_at(&self, file: FileId, scope: ScopeId) -> Option<(ClassId, &'p str)> {
        let model = self.flow.models.of(file);
        let (class, method) = model.method_of(scope)?;
        Some((ClassId { file, scope: class }, model.scope(method).name()))
    }

    /// Whether a class is a data set: it inherits from one of torch's, in whatever way.
    #[must_use]
    pub fn is_dataset(&self, class: ClassId) -> bool {
        self.has_base(class, |name| {
            let last = name.rsplit('.').next().unwrap_or(name);
            (name.starts_with("torch.") || name.starts_with("torchvision.") || name.starts_with("torch_geometric."))
                && (last.ends_with("Dataset") || matches!(last, "ImageFolder" | "DatasetFolder" | "IterDataPipe" | "MapDataPipe"))
        })
    }

    /// Whether a class or one above it inherits from something outside of the program whose full name fits.
    pub fn has_base(&self, class: ClassId, fits: impl Fn(&str) -> bool) -> bool {
        self.flow.classes.ancestors(class).iter().any(|class| {
            let model = self.flow.models.of(class.file);
            let scope = model.scope(class.scope);
            let ScopeKind::Class(definition) = scope.kind else { return false };
            let outer = scope.parent.unwrap_or(ScopeId::MODULE);
            definition.arguments.iter().flat_map(|arguments| &arguments.args).any(|base| {
                let base = if let Expr::Subscript(generic) = base { &generic.value } else { base };
                model.full_name(outer, base).is_some_and(|name| fits(&name))
            })
        })
    }

    /// Whether a place at a block runs under a condition inside of `outer`.
    #[must_use]
    pub fn is_conditional(&self, file: FileId, block: BlockId, outer: BlockId) -> bool {
        let model = self.flow.models.of(file);
        let mut at = block;
        while at != outer {
            let here = model.block(at);
            if here.kind.is_conditional() {
                return true;
            }
            let Some(parent) = here.parent else { return false };
            at = parent;
        }
        false
    }

    /// Whether something that an expression reads changes from round to round of a loop: its variable, or what is assigned
    /// inside of it.
    #[must_use]
    pub fn changes_in(&self, file: FileId, scope: ScopeId, round: BlockId, expr: &'p Expr) -> bool {
        let model = self.flow.models.of(file);
        names_in(expr).into_iter().any(|name| {
            model.bindings(scope, name).iter().any(|binding| {
                matches!(binding.kind, BindingKind::Value | BindingKind::Function(_) | BindingKind::Class(_))
                    && is_inside(model, binding.block, round)
            })
        })
    }

    /// What is called on an object at the place of an expression, by method names, anywhere in the program.
    #[must_use]
    pub fn has_call_on(&self, file: FileId, scope: ScopeId, target: &'p Expr, methods: &[&str]) -> bool {
        let places = self.flow.places(file, scope, target);
        if places.is_empty() {
            return false;
        }
        let aliases = self.flow.aliases(&places, false);
        self.flow.models.iter().any(|(of, model)| {
            model.calls.iter().any(|call| {
                method(call.call).is_some_and(|name| methods.contains(&name))
                    && receiver(call.call).is_some_and(|on| {
                        let on = self.flow.places(of, call.scope, on);
                        aliases.iter().any(|alias| on.contains(&alias.at))
                    })
            })
        })
    }

    /// The assignment whose value a call is, directly.
    #[must_use]
    pub fn assigned(&self, file: FileId, range: TextRange) -> Option<&Assign<'p>> {
        use ruff_text_size::Ranged;
        self.flow.models.of(file).assigns.iter().find(|assign| assign.value.range() == range)
    }

    /// The text of a part of a file.
    #[must_use]
    pub fn text(&self, file: FileId, range: TextRange) -> &str {
        self.flow.models.of(file).source.slice(range)
    }
}

/// The last part of a dotted name.
#[must_use]
pub fn last_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Name(name) => Some(name.id.as_str()),
        Expr::Attribute(attribute) => Some(attribute.attr.as_str()),
        _ => None,
    }
}

/// Whether a call is a backward pass.
#[must_use]
pub fn is_backward(call: &ExprCall) -> bool {
    matches!(method(call), Some("backward" | "manual_backward"))
}

/// Whether a condition holds only while something is less than something else, one of which fits.
fn compares(test: &Expr, fits: &impl Fn(&Expr) -> bool) -> bool {
    match test {
        Expr::Compare(each) => {
            each.ops.iter().any(|op| matches!(op, CmpOp::Lt | CmpOp::LtE | CmpOp::Gt | CmpOp::GtE))
                && (fits(&each.left) || each.comparators.iter().any(fits))
        }
        Expr::BoolOp(each) => each.values.iter().any(|value| compares(value, fits)),
        _ => false,
    }
}
