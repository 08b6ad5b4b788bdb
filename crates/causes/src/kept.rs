//! What is put into a container, as far as rules tell things apart: each is one rule's.

use lowtide_lint::ask::{given, method};
use lowtide_lint::check::{Check, Put, Value, loops_around};
use lowtide_lint::feeds::Phase;
use lowtide_lint::model::{Binding, BindingKind, BlockId, BlockKind, Bound, Expr, ExprCall, Model, ScopeId, ScopeKind};
use lowtide_lint::program::FileId;

/// What sort of thing is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// Something with its autograd graph.
    Graph,
    /// The state of a model.
    State,
    /// A caught exception.
    Exception,
    /// An image that was opened and not loaded.
    Image,
    /// A function that uses variables of the one that made it.
    Closure,
    /// A part of a tensor, which keeps all of it.
    View,
    /// Tensors or arrays.
    Data,
    /// The same, under a key that is asked for before: there are as many as keys.
    Cached,
    /// What a loop goes over, as it comes.
    Batch,
    /// A number, a text.
    Small,
    /// The source does not tell.
    Other,
}

/// What sort of thing a value is that is put somewhere.
pub(crate) fn sort<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> Sort {
    let Put { file, scope, block, value, .. } = *put;
    if state_of(check, put).is_some() {
        return Sort::State;
    }
    if is_exception(check, put) {
        return Sort::Exception;
    }
    if is_open_image(check, file, scope, value) {
        return Sort::Image;
    }
    if is_closure(check, put) {
        return Sort::Closure;
    }
    if check.autograd.carries(file, scope, block, value) {
        return Sort::Graph;
    }
    match check.value(file, scope, block, value) {
        Value::Tensor | Value::Array | Value::Unknown if crate::graphs::is_cached(check, put) => Sort::Cached,
        Value::Tensor if is_view(check, put) => Sort::View,
        Value::Tensor | Value::Array => Sort::Data,
        Value::Small => Sort::Small,
        Value::Unknown if is_batch(check, put) => Sort::Batch,
        Value::Unknown => Sort::Other,
    }
}

/// The model whose `state_dict()` is put somewhere, as it comes or copied.
pub(crate) fn state_of<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> Option<&'p Expr> {
    state_within(check, put.file, put.scope, put.value, 6)
}

fn state_within<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, value: &'p Expr, left: usize) -> Option<&'p Expr> {
    let left = left.checked_sub(1)?;
    let inner = |value| state_within(check, file, scope, value, left);
    match value {
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) if method.attr.as_str() == "state_dict" => Some(&method.value),
            Expr::Attribute(method) if matches!(method.attr.as_str(), "copy" | "items" | "cpu" | "eval" | "to") => {
                inner(&method.value)
            }
            func => {
                // A function of the program that gives one: whose it is, its own call tells.
                if let Some((of, function)) = check.flow.callee(file, scope, func) {
                    let mut results = check.flow.models.of(of).returned(function);
                    let found = results.any(|result| state_within(check, of, result.scope, result.value, left).is_some());
                    return found.then_some(func);
                }
                let name = check.flow.models.of(file).full_name(scope, func)?;
                let copies = matches!(name.as_str(), "copy.deepcopy" | "copy.copy" | "dict" | "collections.OrderedDict");
                let copied = call.arguments.args.first().filter(|_| copies)?;
                let is_model = name == "copy.deepcopy" && check.autograd.calls_model(file, scope, copied);
                if is_model { Some(copied) } else { inner(copied) }
            }
        },
        Expr::DictComp(each) => each.generators.first().and_then(|first| inner(&first.iter)),
        Expr::Tuple(each) => each.elts.iter().find_map(inner),
        Expr::Dict(each) => each.items.iter().find_map(|item| inner(&item.value)),
        // `server.add([client.fit(model) for client in clients])`
        Expr::ListComp(each) => match &*each.elt {
            Expr::Call(call) => {
                let (of, function) = check.flow.callee(file, scope_of(check, file, scope, value), &call.func)?;
                let mut results = check.flow.models.of(of).returned(function);
                results.find_map(|result| state_within(check, of, result.scope, result.value, left))
            }
            element => inner(element),
        },
        Expr::Name(_) if is_parameter(check, file, scope, value) => {
            let given = check.flow.places(file, scope, value).into_iter().flat_map(|at| check.given_to(at));
            given.take(8).find_map(|(of, scope, value)| state_within(check, of, scope, value, left))
        }
        Expr::Name(_) => check.flow.places(file, scope, value).into_iter().filter(|at| at.depth == 0).find_map(|at| {
            let mut assigned = check.flow.assigned(at.place).filter(|(of, assign)| *of == file && assign.how == Bound::Whole);
            assigned
                .find_map(|(_, assign)| state_within(check, file, assign.scope, assign.value, left))
                // A list that is filled with them.
                .or_else(|| {
                    let list = check.flow.put_into(at.place).filter(|put| put.file == file);
                    list.take(4).find_map(|put| state_within(check, file, put.scope, put.value, left))
                })
        }),
        _ => None,
    }
}

fn is_parameter(check: &Check, file: FileId, scope: ScopeId, value: &Expr) -> bool {
    let Expr::Name(name) = value else { return false };
    let mut bindings = check.flow.models.of(file).bindings(scope, name.id.as_str()).iter().peekable();
    bindings.peek().is_some() && bindings.all(|binding| matches!(binding.kind, BindingKind::Parameter { .. }))
}

/// The scope of a comprehension.
fn scope_of(check: &Check, file: FileId, scope: ScopeId, whole: &Expr) -> ScopeId {
    let mut scopes = check.flow.models.of(file).scopes.iter().zip(0..);
    let found = scopes.find(|(scope, _)| matches!(scope.kind, ScopeKind::Comprehension(each) if std::ptr::eq(each, whole)));
    found.map_or(scope, |(_, id)| ScopeId(id))
}

/// The name that an `except` around it gives, alone or in a tuple.
pub(crate) fn is_exception(check: &Check, put: &Put) -> bool {
    let model = check.flow.models.of(put.file);
    let caught = |value: &Expr| {
        value.as_name_expr().is_some_and(|name| {
            let other = |each: &Binding| matches!(each.kind, BindingKind::Other);
            model.bindings(put.scope, name.id.as_str()).iter().any(other)
        })
    };
    // `sys.exc_info()`, with the traceback in it.
    if let Expr::Call(call) = put.value
        && model.full_name(put.scope, &call.func).is_some_and(|name| name == "sys.exc_info")
    {
        return true;
    }
    model.blocks_within(put.block).any(|block| matches!(block.kind, BlockKind::Except))
        && match put.value {
            Expr::Tuple(each) => each.elts.iter().any(caught),
            Expr::Dict(each) => each.items.iter().any(|item| caught(&item.value)),
            value => caught(value),
        }
}

/// `Image.open(path)`, directly, through a variable that is not closed, or from a function of the program that gives one.
pub(crate) fn is_open_image<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, value: &'p Expr) -> bool {
    match value {
        // A dataclass that has one among its fields.
        Expr::Call(call) if is_record(check, file, scope, call) => {
            given(call).any(|field| !field.is_call_expr() && is_opened(check, file, scope, field))
        }
        Expr::Call(call) if check.flow.models.class(file, scope, &call.func).is_none() => {
            let by_function = |(of, function): (FileId, ScopeId)| {
                let mut results = check.flow.models.of(of).returned(function).peekable();
                results.peek().is_some() && results.all(|result| is_opened(check, of, result.scope, result.value))
            };
            is_opened(check, file, scope, value) || check.flow.callee(file, scope, &call.func).is_some_and(by_function)
        }
        value => is_opened(check, file, scope, value),
    }
}

fn is_opened(check: &Check, file: FileId, scope: ScopeId, value: &Expr) -> bool {
    let model = check.flow.models.of(file);
    let opens = |call: &ExprCall, scope| model.full_name(scope, &call.func).is_some_and(|name| name == "PIL.Image.open");
    match value {
        Expr::Call(call) => opens(call, scope),
        Expr::Name(name) => {
            let Some(owner) = model.owner(scope, name.id.as_str()) else { return false };
            let mut values = model.assigns.iter().filter(|assign| {
                assign.how == Bound::Whole
                    && matches!(assign.target, Expr::Name(target) if target.id == name.id)
                    && model.owner(assign.scope, name.id.as_str()) == Some(owner)
            });
            // One that is loaded, copied or closed anywhere is none.
            let used = model.calls.iter().any(|call| {
                matches!(&*call.call.func, Expr::Attribute(method)
                    if matches!(method.attr.as_str(), "load" | "close")
                        && matches!(&*method.value, Expr::Name(of) if of.id == name.id))
            });
            values.clone().next().is_some()
                && !used
                && values.all(|assign| matches!(assign.value, Expr::Call(call) if opens(call, assign.scope)))
        }
        _ => false,
    }
}

/// Whether a call makes a record: an object of a class of the program's own that keeps its arguments as they are.
pub(crate) fn is_record(check: &Check, file: FileId, scope: ScopeId, call: &ExprCall) -> bool {
    check.flow.models.class(file, scope, &call.func).is_some_and(|(file, scope)| {
        let class = lowtide_lint::flow::ClassId { file, scope };
        check.flow.method(class, "__init__").is_none() && check.flow.method(class, "__post_init__").is_none()
    })
}

/// A lambda or an inner function that uses a local of the function around it.
fn is_closure<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> bool {
    let model = check.flow.models.of(put.file);
    let Some(around) = model.function_of(put.scope) else { return false };
    let made = match put.value {
        // `partial(report, out)`
        Expr::Call(call) => {
            let is_local = |value: &'p Expr| match value {
                Expr::Name(name) => {
                    let bindings = model.scope(around).bindings(name.id.as_str());
                    bindings.iter().any(|each| matches!(each.kind, BindingKind::Value))
                        && check.value(put.file, put.scope, put.block, value) != Value::Small
                }
                _ => false,
            };
            return model.full_name(put.scope, &call.func).is_some_and(|name| name == "functools.partial")
                && given(call).skip(1).any(is_local);
        }
        Expr::Lambda(lambda) => model.scope_of_lambda(lambda),
        Expr::Name(name) => model.bindings(put.scope, name.id.as_str()).iter().find_map(|each| match each.kind {
            BindingKind::Function(scope) if model.scope(scope).parent == Some(around) => Some(scope),
            _ => None,
        }),
        _ => None,
    };
    let Some(made) = made else { return false };
    // What it reads of the locals around it: by the names that stand in its text and are bound there.
    let text = match (put.value, model.scope(made).kind) {
        (Expr::Lambda(lambda), _) => model.source.slice(lambda.range),
        (_, ScopeKind::Function(function)) => model.source.slice(function.range),
        _ => return false,
    };
    let own = &model.scope(made).names;
    let words: Vec<&str> = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').collect();
    model.scope(around).names.iter().any(|(name, bindings)| {
        let local = bindings.iter().any(|each| matches!(each.kind, BindingKind::Value | BindingKind::Parameter { .. }));
        local && *name != "self" && words.contains(name) && !own.contains_key(name)
    })
}

/// `batch[0]`, `x[:1]`: a part that shares the storage of the whole.
fn is_view<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> bool {
    let Expr::Subscript(part) = put.value else { return false };
    // A part of a tuple is no view; a slice or several indices are of a tensor.
    let sliced = part.slice.is_slice_expr() || matches!(&*part.slice, Expr::Tuple(parts) if !parts.elts.is_empty());
    let numbered = matches!(&*part.slice, Expr::NumberLiteral(_) | Expr::UnaryOp(_) | Expr::Name(_));
    sliced || numbered && check.value(put.file, put.scope, put.block, &part.value) == Value::Tensor
}

/// What the innermost loop goes over, or the batch that a framework gives.
fn is_batch<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> bool {
    let model = check.flow.models.of(put.file);
    let is_one = |value: &Expr| {
        let Expr::Name(name) = value else { return false };
        let of_loop = loops_around(model, put.block).next().is_some_and(|round| is_element_of(model, value, round));
        let given = model.function_of(put.scope).is_some_and(|function| {
            check.is_each_round(put.file, function)
                && model
                    .bindings(put.scope, name.id.as_str())
                    .iter()
                    .any(|each| matches!(each.kind, BindingKind::Parameter { .. }))
        });
        let used = |name: &str| is_used_as_batch(check, put, name);
        (of_loop || given) && used(name.id.as_str()) || of_loop && is_beside_batch(check, put, name.id.as_str(), &used)
    };
    match put.value {
        Expr::Tuple(each) => each.elts.iter().any(is_one),
        value => is_one(value),
    }
}

/// Whether a loop over a loader gives a variable together with another that is used as a batch: `for x, y in loader`.
fn is_beside_batch(check: &Check, put: &Put, name: &str, used: &dyn Fn(&str) -> bool) -> bool {
    let model = check.flow.models.of(put.file);
    let Some(round) = loops_around(model, put.block).next() else { return false };
    let BlockKind::For(each) = model.block(round).kind else { return false };
    let Expr::Tuple(all) = &*each.target else { return false };
    let names = || all.elts.iter().filter_map(Expr::as_name_expr).map(|each| each.id.as_str());
    check.goes_over_loader(put.file, round) && names().any(|each| each == name) && names().any(|each| each != name && used(each))
}

/// Whether a variable is moved to a device or given to a model.
fn is_used_as_batch(check: &Check, put: &Put, name: &str) -> bool {
    let model = check.flow.models.of(put.file);
    let function = model.function_of(put.scope);
    let is_it = |value: &Expr| matches!(value, Expr::Name(of) if of.id.as_str() == name);
    model.calls.iter().filter(|call| model.function_of(call.scope) == function).any(|call| {
        let moved = matches!(&*call.call.func, Expr::Attribute(method)
            if matches!(method.attr.as_str(), "to" | "cuda") && is_it(&method.value));
        moved || call.call.arguments.args.iter().any(is_it) && check.autograd.calls_model(put.file, call.scope, &call.call.func)
    })
}

/// Whether something is put somewhere in an evaluation, and not in the forward pass or the step of a training that only
/// switches gradients off for it.
pub(crate) fn in_evaluation(check: &Check, put: &Put) -> bool {
    let model = check.flow.models.of(put.file);
    let function = model.function_of(put.scope);
    let trains =
        model.calls.iter().any(|call| model.function_of(call.scope) == function && method(call.call) == Some("backward"));
    check.containers.phase(put.file, put.scope, put.block) == Some(Phase::Validation)
        && !trains
        && function.is_none_or(|function| model.scope(function).name() != "forward")
}

/// Whether a loop gives a variable: its own, or a part of it.
pub(crate) fn is_element_of(model: &Model, value: &Expr, round: BlockId) -> bool {
    let Expr::Name(name) = value else { return false };
    model.assigns.iter().any(|assign| {
        assign.block == round
            && matches!(assign.how, Bound::Element | Bound::Part)
            && matches!(assign.target, Expr::Name(target) if target.id == name.id)
    })
}
