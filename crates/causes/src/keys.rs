//! Keys of entries: whether one comes again, so that its entry is overwritten, or never.

use crate::kept::{is_element_of, is_exception};
use lowtide_lint::ask::last_name;
use lowtide_lint::check::{Check, Put, Value, loops_around};
use lowtide_lint::flow::{At, Place};
use lowtide_lint::model::{BindingKind, BlockId, BlockKind, Bound, Expr, Model, Operator, ScopeId};
use lowtide_lint::program::FileId;

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
    let round = binding.block;
    let BlockKind::For(each) = model.block(round).kind else { return false };
    numbers(model, round, name)
        && check.is_long(file, scope, &each.iter)
        && loops_around(model, round).count() == 1
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

/// Whether a variable is the number of a loop's round: `for epoch in range(epochs)`, `for step, batch in enumerate(loader)`.
fn numbers(model: &Model, round: BlockId, name: &str) -> bool {
    let BlockKind::For(each) = model.block(round).kind else { return false };
    let Expr::Call(over) = &*each.iter else { return false };
    let is_name = |target: &Expr| matches!(target, Expr::Name(target) if target.id.as_str() == name);
    match (last_name(&over.func), &*each.target) {
        (Some("range" | "trange" | "count"), target) => is_name(target),
        (Some("enumerate"), Expr::Tuple(parts)) => parts.elts.first().is_some_and(is_name),
        _ => false,
    }
}

/// Whether the outermost loop of a function counts something up: `for epoch in range(epochs)`, for a container that the function made.
/// What it enumerates may be few.
fn is_counted_by_loop<'p>(check: &Check<'_, 'p>, put: &Put<'p>, key: &Expr) -> bool {
    let model = check.flow.models.of(put.file);
    let Some(outermost) = loops_around(model, put.block).last() else { return false };
    let of_range = || match model.block(outermost).kind {
        BlockKind::For(each) => each.target.is_name_expr(),
        _ => false,
    };
    let is_local = || {
        let places = check.flow.places(put.file, put.scope, put.container);
        places.iter().all(|at| matches!(at.place, Place::Variable(_, owner, _) if Some(owner) == model.function_of(put.scope)))
    };
    of_range() && matches!(key, Expr::Name(name) if numbers(model, outermost, name.id.as_str())) && is_local()
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
