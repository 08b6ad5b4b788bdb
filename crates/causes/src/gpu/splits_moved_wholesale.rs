//! LT502: Preloaded train, validation and test data are moved wholesale.

use super::moved_in_place::{self, iterated, moved_leaf};
use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::ask::{given, last_name, method, receiver};
use lowtide_lint::check::{Check, Confidence, Hit};
use lowtide_lint::feeds::Kind;
use lowtide_lint::flow::{ClassId, Place};
use lowtide_lint::model::{Assign, BlockId, Bound, Call, Expr, Model, Ranged, ScopeId};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT502",
    name: "splits-moved-wholesale",
    title: "Preloaded train, validation and test data are moved wholesale",
    severity: Severity::Leak,
    happens: "An object holds all splits of a node or a fold, and is moved to the device when its turn comes; or a whole \
                validation set is moved before the training, and then cut into batches.",
    keeps: "All splits go along, though only one is used; and nothing moves them back, so that each node visited \
                stays.",
    shows: "A jump per node or round, of the size of all its splits.",
    fix: Fix {
        text: "Keep the data on the CPU and move each batch; if it must be moved, move it back.",
        language: Language::Python,
        before: r#"node.to("cuda")
train(node)"#,
        after: r#"for x, y in node.loader("train"):
    step(x.to("cuda"), y.to("cuda"))"#,
    },
    harmless: "One node whose data fits.",
    sources: &["zoo/02_node_preload.py"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.holds_tensors() && live.on_gpu && live.statement == Some(Kind::Item)).then_some(75)
}

/// Data that is moved as a whole and then cut into batches; holders of data that a loop moves one after another, and never back.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        for call in model.calls.iter().filter(|call| matches!(method(call.call), Some("cuda" | "to"))) {
            if !model.blocks_within(call.block).all(|block| !block.kind.is_loop()) {
                continue;
            }
            let Some(on) = receiver(call.call).filter(|on| on.is_name_expr() || on.is_attribute_expr()) else { continue };
            // Which device is meant is asked last: it takes longest to tell.
            if (into_tensor_dataset(check, file, model, call) || is_cut_into_batches(check, file, model, call))
                && is_moved_to_gpu(check, file, call)
            {
                let what = format!(
                    "all of {} is moved to the GPU, and stays there, though a batch at a time is used",
                    crate::words::code(check, file, on)
                );
                hits.push(Hit::new(file, call.call.start()).saying(what).with(Confidence::Medium));
            }
        }
    }
    hits.extend(holders(check));
    hits.extend(moved_in_place::all(check));
    hits
}

fn is_moved_to_gpu<'p>(check: &Check<'_, 'p>, file: FileId, call: &Call<'p>) -> bool {
    match method(call.call) {
        Some("cuda") => check.called(file, call).is_none_or(|name| !name.starts_with("torch.")),
        _ => given(call.call).any(|value| check.is_gpu(file, call.scope, value)),
    }
}

/// `TensorDataset(x.cuda(), y.cuda())`.
fn into_tensor_dataset(check: &Check, file: FileId, model: &Model, call: &Call) -> bool {
    model.calls.iter().any(|outer| {
        last_name(&outer.call.func) == Some("TensorDataset")
            && outer.call.arguments.args.iter().any(|value| value.range() == call.call.range())
            && check
                .called(file, outer)
                .is_some_and(|name| name.ends_with("data.TensorDataset") || name.ends_with("dataset.TensorDataset"))
    })
}

/// `x = x.cuda()`, and a loop takes `x[start : start + size]`, here or in a function that is given `x`.
fn is_cut_into_batches<'p>(check: &Check<'_, 'p>, file: FileId, model: &Model<'p>, call: &Call<'p>) -> bool {
    let Some(assign) = check.assigned(file, call.call.range()).filter(|assign| assign.target.is_name_expr()) else {
        return false;
    };
    let Expr::Name(name) = assign.target else { return false };
    let places = check.flow.places(file, assign.scope, assign.target);
    let Some(Place::Variable(_, owner, _)) = places.first().map(|at| at.place) else { return false };
    if cuts(check, file, owner, name.id.as_str()) {
        return true;
    }
    model.calls.iter().filter(|other| check.flow.models.of(file).owner(other.scope, name.id.as_str()) == Some(owner)).any(
        |other| {
            let Some((of, function)) = check.flow.callee(file, other.scope, &other.call.func) else { return false };
            let given = check.flow.given(file, other, of, function).into_iter();
            given
                .filter(|one| one.depth == 0 && matches!(one.value, Expr::Name(each) if each.id == name.id))
                .any(|one| cuts(check, of, function, one.parameter))
        },
    )
}

/// Whether a loop takes slices of a variable whose ends change from round to round.
fn cuts(check: &Check, file: FileId, owner: ScopeId, name: &str) -> bool {
    let model = check.flow.models.of(file);
    let is_cut = |value: &Expr, scope: ScopeId, block: BlockId| {
        let Expr::Subscript(item) = value else { return false };
        let Expr::Slice(slice) = &*item.slice else { return false };
        let round = lowtide_lint::check::loops_around(model, block).next();
        matches!(&*item.value, Expr::Name(each) if each.id.as_str() == name && model.owner(scope, name) == Some(owner))
            && round.is_some_and(|round| {
                runs_something(check, file, round)
                    && slice.lower.iter().any(|lower| {
                        lowtide_lint::ask::names_in(lower).iter().any(|name| {
                            model.bindings(scope, name).iter().any(|binding| check.is_within(file, binding.block, round))
                        })
                    })
            })
    };
    let base = |mut value: &'_ Expr, scope, block| {
        // `x[a:b].cuda()`
        for _ in 0..4 {
            if is_cut(value, scope, block) {
                return true;
            }
            value = match value {
                Expr::Call(call) => match receiver(call) {
                    Some(on) => on,
                    None => return false,
                },
                _ => return false,
            };
        }
        false
    };
    model.assigns.iter().any(|assign| base(assign.value, assign.scope, assign.block))
        || model.calls.iter().any(|call| call.call.arguments.args.iter().any(|value| base(value, call.scope, call.block)))
}

/// Whether a loop trains, or calls a model or something that may be one: what a function or an object was given.
fn runs_something<'p>(check: &Check<'_, 'p>, file: FileId, round: BlockId) -> bool {
    let model = check.flow.models.of(file);
    let may_be_model = |call: &Call<'p>| match &*call.call.func {
        Expr::Name(name) => model
            .bindings(call.scope, name.id.as_str())
            .iter()
            .any(|binding| matches!(binding.kind, lowtide_lint::model::BindingKind::Parameter { .. })),
        func => func.is_attribute_expr() && check.autograd.calls_model(file, call.scope, func),
    };
    check.trains_in(file, round)
        || check.runs_model(file, round)
        || model.calls.iter().any(|call| check.is_within(file, call.block, round) && may_be_model(call))
}

/// `node.to(device)` for one node after another, where that copies a dictionary of tensors into the node, and nothing lets go.
fn holders(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        for assign in model.assigns.iter().filter(|assign| assign.how == Bound::Whole) {
            let Some((class, of)) = model.method_of(assign.scope) else { continue };
            let class = ClassId { file, scope: class };
            let kept = match assign.target {
                Expr::Subscript(item) => &*item.value,
                other => other,
            };
            let of_self =
                matches!(kept, Expr::Attribute(each) if check.flow.own_class(file, assign.scope, &each.value) == Some(class));
            if of_self
                && !check.autograd.is_module(class)
                && !check.is_read_by_loader(class)
                && copies_each(check, file, assign.scope, assign.block, assign.value, assign.target)
                && !is_let_go(check, file, assign, kept)
                && is_called_for_each(check, file, of, class)
            {
                let what = format!(
                    "{} of one `{}` after another is filled on the device, and nothing moves it back",
                    crate::words::code(check, file, kept),
                    model.scope(class.scope).name()
                );
                hits.push(Hit::new(file, assign.target.start()).saying(what));
            }
        }
    }
    hits
}

/// Whether the program empties the attribute, or gives it something else after it was made.
fn is_let_go<'p>(check: &Check<'_, 'p>, file: FileId, moved: &Assign<'p>, kept: &'p Expr) -> bool {
    if moved.target.is_subscript_expr() {
        return !check.containers.is_never_emptied(file, moved.scope, kept);
    }
    check.flow.places(file, moved.scope, kept).into_iter().any(|at| {
        check.flow.assigned(at.place).any(|(of, assign)| {
            let model = check.flow.models.of(*of);
            let in_init = model.method_of(assign.scope).is_some_and(|(_, method)| model.scope(method).name() == "__init__");
            !in_init && assign.range != moved.range
        })
    })
}

/// `self.on_card[k] = t.to(device)` in a loop over what the object holds, or `{k: t.to(device) for k, t in self.data.items()}`.
fn copies_each<'p>(
    check: &Check<'_, 'p>,
    file: FileId,
    scope: ScopeId,
    block: BlockId,
    value: &'p Expr,
    target: &'p Expr,
) -> bool {
    let is_copy = |value: &Expr| matches!(value, Expr::Call(call) if matches!(method(call), Some("to" | "cuda" | "clone")) && receiver(call).is_some_and(Expr::is_name_expr));
    let model = check.flow.models.of(file);
    let held = |iterable: &'p Expr, scope| {
        let base = match iterable {
            Expr::Call(call) => receiver(call).unwrap_or(iterable),
            other => other,
        };
        matches!(base, Expr::Attribute(each) if check.flow.own_class(file, scope, &each.value).is_some())
    };
    match value {
        Expr::ListComp(_) | Expr::DictComp(_) => {
            let copied = match value {
                Expr::DictComp(each) => is_copy(&each.value),
                _ => false,
            };
            (copied || moved_leaf(value, 4).is_some()) && iterated(value).is_some_and(|over| held(over, scope))
        }
        Expr::Call(_) if target.is_subscript_expr() => {
            is_copy(value)
                && lowtide_lint::check::loops_around(model, block).any(|round| match model.block(round).kind {
                    lowtide_lint::model::BlockKind::For(each) => held(&each.iter, scope),
                    _ => false,
                })
        }
        _ => false,
    }
}

/// Whether a long loop calls a method on elements of a container of such objects, and nobody calls it with the CPU.
fn is_called_for_each(check: &Check, file: FileId, of: ScopeId, class: ClassId) -> bool {
    let callers = check.callers(file, of);
    let back = callers.iter().any(|(_, call)| {
        given(call.call).any(|value| matches!(value, Expr::StringLiteral(text) if text.value.to_str() == "cpu"))
    });
    !back
        && callers.iter().any(|(from, call)| {
            let Some(on) = receiver(call.call) else { return false };
            let model = check.flow.models.of(*from);
            let is_one_of_many = |of: FileId, scope, value| {
                check.flow.places(of, scope, value).iter().any(|at| {
                    check
                        .flow
                        .assigned(at.place)
                        .any(|(_, assign)| assign.how == Bound::Element || matches!(assign.value, Expr::Subscript(_)))
                })
            };
            // In a function that is given one of them: `run_node(node)`.
            let given_one = || {
                let places = check.flow.places(*from, call.scope, on).into_iter().filter(|at| at.depth == 0);
                places.flat_map(|at| check.given_to(at)).take(8).any(|(of, scope, value)| is_one_of_many(of, scope, value))
            };
            let element = on.is_subscript_expr() || is_one_of_many(*from, call.scope, on) || given_one();
            element
                && check.flow.class_of(*from, call.scope, on) == Some(class)
                && (check.long_loop(*from, call.block).is_some()
                    || model.function_of(call.scope).is_some_and(|function| check.is_called_in_loop(*from, function)))
        })
}
