//! What is put into a container, as far as rules tell things apart: each is one rule's.

use lowtide_lint::ask::{given, last_name, method};
use lowtide_lint::check::{Check, Put, Value, loops_around};
use lowtide_lint::feeds::Phase;
use lowtide_lint::flow::{At, Place};
use lowtide_lint::model::{Binding, BindingKind, BlockId, BlockKind, Bound, Expr, ExprCall, Model, Operator, ScopeId, ScopeKind};
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
fn is_exception(check: &Check, put: &Put) -> bool {
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

/// Whether entries are added for good: there is no key, or one that never comes again. A key that may come again is the name of
/// a layer, mostly, and its entry is overwritten.
pub(crate) fn is_added<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> bool {
    put.key.is_none_or(|key| never_repeats(check, put, key))
}

/// Whether a key never comes again: a step that is counted, a tensor, an address, a time, a random number.
pub(crate) fn never_repeats<'p>(check: &Check<'_, 'p>, put: &Put<'p>, key: &'p Expr) -> bool {
    never_repeats_within(check, put, key, true, 6)
}

/// `address`: whether that of an object counts.
fn never_repeats_within<'p>(check: &Check<'_, 'p>, put: &Put<'p>, key: &'p Expr, address: bool, looks: usize) -> bool {
    let Some(looks) = looks.checked_sub(1) else { return false };
    let inner = |part: &'p Expr| never_repeats_within(check, put, part, address, looks);
    let model = check.flow.models.of(put.file);
    match key {
        Expr::Call(call) => {
            let name = model.full_name(put.scope, &call.func).unwrap_or_default();
            let method = matches!(&*call.func, Expr::Attribute(method) if matches!(method.attr.as_str(), "data_ptr"));
            address && (method || name == "id")
                || matches!(
                    name.as_str(),
                    "time.time" | "time.time_ns" | "time.perf_counter" | "uuid.uuid4" | "uuid.uuid1" | "random.random"
                )
                || matches!(name.as_str(), "str" | "int" | "hash") && call.arguments.args.first().is_some_and(inner)
        }
        Expr::Name(_) => {
            // `key = ("plan", time.time())`, here and nowhere else. A key by an address that has a name, to be asked for and then
            // filed by, is mostly that of a thing that stays: a mesh, a weight.
            let made = || check.only_value(put.file, put.scope, key).filter(|(of, _)| *of == put.file);
            is_counted(check, put, key)
                || is_counted_by_loop(check, put, key)
                // One for each round of a loop is much only where it is data.
                || counts_up(check, put.file, put.scope, key, looks)
                    && (is_exception(check, put) || check.value(put.file, put.scope, put.block, put.value).is_data())
                || made().is_some_and(|(_, value)| never_repeats_within(check, put, value, false, looks) || is_address(check, put, value))
        }
        Expr::Attribute(_) => is_counted(check, put, key),
        // `f"step_{self.step}"`
        Expr::FString(text) => {
            text.value.elements().any(|part| part.as_interpolation().is_some_and(|part| inner(&part.expression)))
        }
        Expr::Tuple(each) => each.elts.iter().any(inner),
        _ => false,
    }
}

/// Whether a value is the address of what a parameter is given, and some caller in a training gives it another tensor or element each
/// time: `known[id(x)]`.
fn is_address<'p>(check: &Check<'_, 'p>, put: &Put<'p>, value: &'p Expr) -> bool {
    let Expr::Call(call) = value else { return false };
    let model = check.flow.models.of(put.file);
    let of = match (&*call.func, &*call.arguments.args) {
        (Expr::Name(name), [of]) if name.id.as_str() == "id" => of,
        (Expr::Attribute(method), []) if method.attr.as_str() == "data_ptr" => &*method.value,
        _ => return false,
    };
    let Expr::Name(name) = of else { return false };
    let Some(function) = model.function_of(put.scope) else { return false };
    check.callers(put.file, function).into_iter().any(|(from, call)| {
        let Some(round) = check.long_loop(from, call.block) else { return false };
        let given = check.flow.given(from, &call, put.file, function).into_iter();
        let mut given = given.filter(|one| one.parameter == name.id.as_str() && one.depth == 0);
        check.runs_with_training(from, call.scope, call.block)
            && given.any(|one| {
                !check.is_steady(from, call.scope, one.value, Some(round))
                    && (check.value(from, call.scope, call.block, one.value) == Value::Tensor
                        || is_element_of(check.flow.models.of(from), one.value, round))
            })
    })
}

/// Whether a loop gives a variable: its own, or a part of it.
fn is_element_of(model: &Model, value: &Expr, round: BlockId) -> bool {
    let Expr::Name(name) = value else { return false };
    model.assigns.iter().any(|assign| {
        assign.block == round
            && matches!(assign.how, Bound::Element | Bound::Part)
            && matches!(assign.target, Expr::Name(target) if target.id == name.id)
    })
}

/// Whether a variable is the number of a loop's round, of a loop that runs once: `for step, batch in enumerate(loader)`. Or a
/// parameter that all callers give such a number.
fn counts_up<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, key: &'p Expr, looks: usize) -> bool {
    let (Some(looks), Expr::Name(name)) = (looks.checked_sub(1), key) else { return false };
    let model = check.flow.models.of(file);
    let (name, Some(owner)) = (name.id.as_str(), model.owner(scope, name.id.as_str())) else { return false };
    let bindings = model.scope(owner).bindings(name);
    if bindings.iter().all(|binding| matches!(binding.kind, BindingKind::Parameter { .. })) {
        let Some((name, _)) = model.scope(owner).names.get_key_value(name) else { return false };
        let given = check.given_to(At { place: check.flow.variable(file, owner, name), depth: 0 });
        return !given.is_empty() && given.into_iter().all(|(of, scope, value)| counts_up(check, of, scope, value, looks));
    }
    let [binding] = bindings else { return false };
    let BlockKind::For(each) = model.block(binding.block).kind else { return false };
    let Expr::Call(over) = &*each.iter else { return false };
    let is_name = |target: &Expr| matches!(target, Expr::Name(target) if target.id.as_str() == name);
    let counts = match (last_name(&over.func), &*each.target) {
        (Some("range" | "trange" | "count"), target) => is_name(target),
        (Some("enumerate"), Expr::Tuple(parts)) => parts.elts.first().is_some_and(is_name),
        _ => false,
    };
    counts
        && check.is_long(file, scope, &each.iter)
        && loops_around(model, binding.block).count() == 1
        && model.function_of(owner).is_none_or(|function| !check.is_called_again(file, function))
}

/// Whether something is counted up where it runs: `self.step += 1`, and set back nowhere but where it is made.
fn is_counted(check: &Check, put: &Put, key: &Expr) -> bool {
    let Some(key) = find(check, put, key) else { return false };
    let mut up = false;
    for (file, assign) in check.flow.assigned(key.place) {
        let model = check.flow.models.of(*file);
        let made = model.function_of(assign.scope).is_none_or(|function| model.scope(function).name() == "__init__")
            || model.loops(assign.block) == 0 && matches!(key.place, Place::Variable(..));
        match assign.how {
            Bound::Augmented(Operator::Add) => up = true,
            Bound::Whole if made => {}
            _ => return false,
        }
    }
    up
}

/// Whether the outermost loop of a function counts something up: `for epoch in range(epochs)`, for a container that the function made.
fn is_counted_by_loop<'p>(check: &Check<'_, 'p>, put: &Put<'p>, key: &Expr) -> bool {
    let model = check.flow.models.of(put.file);
    let Some(BlockKind::For(each)) = loops_around(model, put.block).last().map(|round| model.block(round).kind) else {
        return false;
    };
    let counts = matches!(&*each.iter, Expr::Call(call) if matches!(last_name(&call.func), Some("range" | "trange")));
    let is_local = || {
        let places = check.flow.places(put.file, put.scope, put.container);
        places.iter().all(|at| matches!(at.place, Place::Variable(_, owner, _) if Some(owner) == model.function_of(put.scope)))
    };
    let is_it = match (&*each.target, key) {
        (Expr::Name(target), Expr::Name(key)) => target.id == key.id,
        _ => false,
    };
    counts && is_it && is_local()
}

/// The place of a variable or an attribute, where it is known to be that one alone.
fn find<'p>(check: &Check<'_, 'p>, put: &Put, key: &Expr) -> Option<At<'p>> {
    match key {
        Expr::Name(name) => {
            let model = check.flow.models.of(put.file);
            let owner = model.owner(put.scope, name.id.as_str())?;
            let (name, _) = model.scope(owner).names.get_key_value(name.id.as_str())?;
            Some(At { place: check.flow.variable(put.file, owner, name), depth: 0 })
        }
        Expr::Attribute(attribute) => {
            let class = check.flow.class_of(put.file, put.scope, &attribute.value)?;
            Some(At { place: Place::Attribute(class, check.flow.attribute_name(attribute.attr.as_str())?), depth: 0 })
        }
        _ => None,
    }
}
