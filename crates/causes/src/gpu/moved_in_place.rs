//! Containers of data that a program replaces by their own copies on the device, entry by entry or all at once: a part of LT502.

use std::collections::HashSet;

use crate::words::code;
use lowtide_lint::ask::{given, last_name, method, names_in, receiver};
use lowtide_lint::autograd::mentions;
use lowtide_lint::check::{Check, Confidence, Hit, loops_around};
use lowtide_lint::flow::Place;
use lowtide_lint::model::{Assign, BindingKind, BlockKind, Bound, Comprehension, Expr, ExprCall, Ranged, ScopeId};
use lowtide_lint::program::FileId;

/// Nested displays and comprehensions that are looked into.
const MAX_NESTING: usize = 8;

/// `data = {k: v.to(device) for k, v in data.items()}` before a training that uses it piece by piece;
/// `self.shards[i] = {k: v.to(device) for k, v in self.shards[i].items()}` for one after the other.
pub(super) fn all(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        for assign in model.assigns.iter().filter(|assign| assign.how == Bound::Whole) {
            let Some(moved) = moved_leaf(assign.value, MAX_NESTING) else { continue };
            let Some(base) = base(assign.target) else { continue };
            let whole = (is_local_data(check, file, assign, moved, base) || is_entry_of_many(check, file, assign))
                && is_to_device(check, file, assign.scope, moved);
            if whole {
                hits.push(Hit::new(file, assign.target.start()).with(Confidence::Medium).saying(format!(
                    "all of {} is moved to the device, and stays there, though a batch at a time is used",
                    code(check, file, base)
                )));
            }
        }
    }
    hits
}

/// What moves the innermost elements of a value: `{name: [x.to(device) for x in part] for name, part in data.items()}`.
pub(super) fn moved_leaf(value: &Expr, left: usize) -> Option<&ExprCall> {
    let left = left.checked_sub(1)?;
    match value {
        Expr::ListComp(each) => moved_leaf(&each.elt, left),
        Expr::DictComp(each) => moved_leaf(&each.value, left),
        Expr::Tuple(each) => each.elts.iter().find_map(|one| moved_leaf(one, left)),
        Expr::List(each) => each.elts.iter().find_map(|one| moved_leaf(one, left)),
        Expr::Dict(each) => each.items.iter().find_map(|item| moved_leaf(&item.value, left)),
        Expr::Call(call) => (matches!(method(call), Some("to" | "cuda")) && receiver(call).is_some()).then_some(call),
        _ => None,
    }
}

/// What the outermost loop of a comprehension goes over, without `items()` and its like.
pub(super) fn iterated(value: &Expr) -> Option<&Expr> {
    let generators: &[Comprehension] = match value {
        Expr::ListComp(each) => &each.generators,
        Expr::DictComp(each) => &each.generators,
        _ => return None,
    };
    match &generators.first()?.iter {
        Expr::Call(call) if matches!(method(call), Some("items" | "values")) => receiver(call),
        Expr::Call(call) if last_name(&call.func) == Some("enumerate") => call.arguments.args.first(),
        other => Some(other),
    }
}

/// The variable or attribute that a target is an item of, or is.
fn base(target: &Expr) -> Option<&Expr> {
    match target {
        Expr::Subscript(item) => base(&item.value),
        Expr::Name(_) | Expr::Attribute(_) => Some(target),
        _ => None,
    }
}

/// Whether something goes to a GPU or to what the program calls its device.
fn is_to_device<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, call: &'p ExprCall) -> bool {
    let is_device = |value: &Expr| {
        matches!(value, Expr::Name(_) | Expr::Attribute(_))
            && last_name(value).is_some_and(|name| name.split('_').any(|word| matches!(word, "device" | "dev" | "gpu")))
    };
    method(call) == Some("cuda") || given(call).any(|value| is_device(value) || check.is_gpu(file, scope, value))
}

/// Whether a variable's own container is replaced by its copy, or all of its entries are, once and before a training that takes
/// pieces of it.
fn is_local_data<'p>(check: &Check<'_, 'p>, file: FileId, assign: &Assign<'p>, moved: &'p ExprCall, base: &'p Expr) -> bool {
    let model = check.flow.models.of(file);
    let Expr::Name(name) = base else { return false };
    let is_it = |expr: &Expr| matches!(self::base(expr), Some(Expr::Name(each)) if each.id == name.id);
    let replaced = match assign.target {
        Expr::Name(_) => iterated(assign.value).is_some_and(is_it) && loops_around(model, assign.block).next().is_none(),
        target => {
            let same = receiver(moved).is_some_and(|on| check.text(file, on.range()) == check.text(file, target.range()));
            let mut rounds = loops_around(model, assign.block).peekable();
            same && rounds.peek().is_some()
                && rounds.all(|round| match model.block(round).kind {
                    BlockKind::For(each) => is_it(iterated_by_loop(&each.iter)),
                    _ => false,
                })
        }
    };
    let Some(owner) = model.owner(assign.scope, name.id.as_str()) else { return false };
    let is_parameter = |kind: &BindingKind| matches!(kind, BindingKind::Parameter { .. });
    let is_own = !model.scope(owner).bindings(name.id.as_str()).iter().any(|binding| is_parameter(&binding.kind));
    let once = || model.function_of(assign.scope).is_none_or(|function| !check.is_called_again(file, function));
    replaced && is_own && once() && !is_of_model(check, file, assign, base) && is_used_in_pieces(check, file, owner, base, assign)
}

fn iterated_by_loop(iterable: &Expr) -> &Expr {
    match iterable {
        Expr::Call(call) if matches!(method(call), Some("items" | "keys" | "values")) => receiver(call).unwrap_or(iterable),
        Expr::Call(call) if matches!(last_name(&call.func), Some("list" | "enumerate")) => {
            call.arguments.args.first().map_or(iterable, iterated_by_loop)
        }
        other => other,
    }
}

/// Whether a variable holds what a model or an optimizer is made of.
fn is_of_model<'p>(check: &Check<'_, 'p>, file: FileId, assign: &Assign<'p>, base: &'p Expr) -> bool {
    let places = check.flow.places(file, assign.scope, base);
    let mut given = places.iter().flat_map(|at| check.flow.assigned(at.place));
    given.any(|(of, made)| {
        let text = check.text(*of, made.value.range());
        ["state_dict", "parameters(", "buffers(", ".state"].iter().any(|word| text.contains(word))
            || check.autograd.carries(*of, made.scope, made.block, made.value)
    })
}

/// Whether a training takes pieces of a container: a loop that trains goes over a part of it or cuts slices of one, or a data set
/// is made of its parts.
fn is_used_in_pieces<'p>(check: &Check<'_, 'p>, file: FileId, owner: ScopeId, base: &'p Expr, moved: &Assign<'p>) -> bool {
    let model = check.flow.models.of(file);
    let mut parts: HashSet<Place<'p>> = check.flow.places(file, moved.scope, base).into_iter().map(|at| at.place).collect();
    // `x, y = data["x"], data["y"]`
    for assign in model.assigns.iter().filter(|assign| assign.target.is_name_expr() && assign.value.is_subscript_expr()) {
        let taken = model.function_of(assign.scope).unwrap_or(ScopeId::MODULE) == owner;
        if taken && mentions(check.flow, file, assign.scope, assign.value, &parts, 4) {
            parts.extend(check.flow.places(file, assign.scope, assign.target).into_iter().map(|at| at.place));
        }
    }
    let is_part = |scope, value: &'p Expr| mentions(check.flow, file, scope, value, &parts, 4);
    let trains = |block| loops_around(model, block).any(|round| check.trains_in(file, round));
    let into_data_set = || {
        model
            .calls_named(&["TensorDataset", "DataLoader"])
            .iter()
            .any(|call| given(call.call).any(|value| is_part(call.scope, value)))
    };
    let gone_through = || {
        model.blocks.iter().any(|block| match block.kind {
            BlockKind::For(each) => {
                is_part(block.scope, &each.iter) && check.trains(file, model.function_of(block.scope).unwrap_or(ScopeId::MODULE))
            }
            _ => false,
        })
    };
    let cut =
        || model.assigns.iter().any(|assign| trains(assign.block) && cuts(assign.value, &|value| is_part(assign.scope, value)));
    into_data_set() || cut() || gone_through()
}

/// `x[start : start + size]`, wherever that is moved.
fn cuts<'p>(value: &'p Expr, is_part: &dyn Fn(&'p Expr) -> bool) -> bool {
    match value {
        Expr::Subscript(item) => match &*item.slice {
            Expr::Slice(slice) => slice.lower.as_deref().is_some_and(|lower| !lower.is_literal_expr()) && is_part(&item.value),
            _ => false,
        },
        Expr::Call(call) => receiver(call).is_some_and(|on| cuts(on, is_part)),
        Expr::Tuple(each) => each.elts.iter().any(|one| cuts(one, is_part)),
        _ => false,
    }
}

/// Whether an entry of what an object holds is replaced by its copy, for one key after the other, and nothing moves it back.
fn is_entry_of_many<'p>(check: &Check<'_, 'p>, file: FileId, assign: &Assign<'p>) -> bool {
    let model = check.flow.models.of(file);
    let (Expr::Subscript(entry), Some(over)) = (assign.target, iterated(assign.value)) else { return false };
    let Expr::Attribute(container) = &*entry.value else { return false };
    let Some(class) = check.flow.own_class(file, assign.scope, &container.value) else { return false };
    let text = |expr: &Expr| check.text(file, expr.range());
    let is_entry = text(over) == text(assign.target)
        || check.only_value(file, assign.scope, over).is_some_and(|(of, value)| of == file && text(value) == text(assign.target));
    let goes_on = || {
        check.long_loop(file, assign.block).is_some()
            || model.function_of(assign.scope).is_some_and(|function| check.is_called_in_loop(file, function))
    };
    let back = || {
        model.assigns.iter().any(|other| {
            other.range != assign.range
                && matches!(other.target, Expr::Subscript(item) if text(&item.value) == text(&entry.value))
        })
    };
    is_entry
        && !names_in(&entry.slice).is_empty()
        && !check.autograd.is_module(class)
        && !check.is_read_by_loader(class)
        && goes_on()
        && !back()
        && check.containers.is_never_emptied(file, assign.scope, &entry.value)
}
