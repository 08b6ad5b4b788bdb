//! LT107: Precomputed embeddings are moved to the device without `detach`.

use std::collections::HashSet;

use crate::words::code;
use crate::{Cause, Fix, Language, Severity};
use lowtide_lint::ask::{given, method, receiver};
use lowtide_lint::autograd::mentions;
use lowtide_lint::check::{Check, Hit, loops_around};
use lowtide_lint::flow::Place;
use lowtide_lint::model::{Assign, Bound, Expr, Ranged};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT107",
    name: "precomputed-embedding-not-detached",
    title: "Precomputed embeddings are moved to the device without `detach`",
    severity: Severity::Leak,
    happens: "Text or image embeddings are computed once and moved to the device in every step, still attached to \
                  the encoder's graph.",
    keeps: "Each copy on the device is a new node on top of the encoder's graph, and keeps it alive for as long as \
                the copy is. The whole encoder's activations stay for the run.",
    shows: "A floor higher than the data by the encoder's activations; growth where the copies are kept.",
    fix: Fix {
        text: "Compute under `no_grad`, and detach before the embeddings are stored.",
        language: Language::Python,
        before: r#"embeddings = text_encoder(tokens)"#,
        after: r#"with torch.no_grad():
    embeddings = text_encoder(tokens)"#,
    },
    harmless: "An encoder that is trained along: then the graph is needed, and must not be kept over steps.",
    sources: &["https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html"],
    signature: None,
    rule: Some(rule),
};

/// What a model gave before the training loop, with its graph, is moved to a device inside of it, or when it is made.
fn rule(check: &Check) -> Vec<Hit> {
    let moved = moved_in_training(check);
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        for made in model.assigns.iter().filter(|assign| assign.how == Bound::Whole) {
            let places = || check.flow.places(file, made.scope, made.target);
            let kept = (contains_move(made.value) && is_used_in_training(check, file, made)
                || !moved.is_empty() && places().iter().any(|at| moved.contains(&at.place)))
                && is_embedded(check, file, made);
            if kept {
                hits.push(Hit::new(file, made.target.start()).saying(format!(
                    "{} keeps the graph of {} for as long as it is used",
                    code(check, file, made.target),
                    code(check, file, made.value)
                )));
            }
        }
    }
    hits
}

/// Whether a value has the graph of a model's call, once: outside of all loops.
fn is_embedded<'p>(check: &Check<'_, 'p>, file: FileId, made: &Assign<'p>) -> bool {
    let model = check.flow.models.of(file);
    (made.target.is_name_expr() || made.target.is_attribute_expr())
        && loops_around(model, made.block).next().is_none()
        && !check.autograd.is_without(file, made.scope, made.block)
        && check.autograd.carries(file, made.scope, made.block, made.value)
        && !check.autograd.calls_model(file, made.scope, made.target)
        && !is_moved_parameter(check, file, made)
}

/// `self.kernel = self.kernel.to(device)`, where nothing else that it is ever given has a graph: a parameter.
fn is_moved_parameter<'p>(check: &Check<'_, 'p>, file: FileId, made: &Assign<'p>) -> bool {
    let moves_itself = matches!(made.value, Expr::Call(call)
        if receiver(call).is_some_and(|on| check.same(file, made.scope, on, made.target)));
    moves_itself
        && check.flow.places(file, made.scope, made.target).iter().all(|at| {
            let mut others = check.flow.assigned(at.place).filter(|(of, other)| (*of, other.range) != (file, made.range));
            !others.any(|(of, other)| check.autograd.carries(*of, other.scope, other.block, other.value))
        })
}

/// `e.to(device)`, `[e.to(device) for e in all]`, `{k: e.cuda() for k, e in all.items()}`
fn contains_move(value: &Expr) -> bool {
    match value {
        Expr::ListComp(each) => contains_move(&each.elt),
        Expr::DictComp(each) => contains_move(&each.value),
        Expr::Call(call) => matches!(method(call), Some("to" | "cuda")),
        _ => false,
    }
}

/// Whether what is made is read, not only set, by a loop that trains after it in the same function; or, where an object has it, by
/// the forward pass of the module that it is or by a function that trains.
fn is_used_in_training<'p>(check: &Check<'_, 'p>, file: FileId, made: &Assign<'p>) -> bool {
    let model = check.flow.models.of(file);
    let function = model.function_of(made.scope);
    let places: HashSet<Place<'p>> =
        check.flow.places(file, made.scope, made.target).into_iter().filter(|at| at.depth == 0).map(|at| at.place).collect();
    let reads = |scope, value: &'p Expr| mentions(check.flow, file, scope, value, &places, 12);
    let is_of_object = places.iter().any(|place| matches!(place, Place::Attribute(..)));
    let trains = |scope, block| {
        let by_loop = loops_around(model, block).any(|round| check.trains_in(file, round));
        let other = model.function_of(scope);
        match other {
            _ if !is_of_object => by_loop && other == function,
            None => by_loop,
            Some(other) => {
                by_loop
                    || check.trains(file, other)
                    || model.scope(other).name() == "forward" && check.autograd.is_in_module(file, scope)
            }
        }
    };
    // Set anew in the training, it is of the step.
    let renewed = places.iter().any(|place| {
        check.flow.assigned(*place).any(|(of, again)| {
            *of == file
                && again.range != made.range
                && again.range.start() > made.range.start()
                && trains(again.scope, again.block)
        })
    });
    let after = |start| is_of_object || start > made.range.end();
    !places.is_empty()
        && !renewed
        && (model.calls.iter().any(|call| {
            after(call.call.start()) && trains(call.scope, call.block) && given(call.call).any(|value| reads(call.scope, value))
        }) || model
            .assigns
            .iter()
            .any(|assign| after(assign.range.start()) && trains(assign.scope, assign.block) && reads(assign.scope, assign.value))
            || model
                .results
                .iter()
                .any(|result| is_of_object && trains(result.scope, result.block) && reads(result.scope, result.value)))
}

/// What is moved, as a whole or in parts, in a loop that trains.
fn moved_in_training<'p>(check: &Check<'_, 'p>) -> HashSet<Place<'p>> {
    let mut moved = HashSet::new();
    for (file, model) in check.files() {
        for call in &model.calls {
            let Expr::Attribute(method) = &*call.call.func else { continue };
            if matches!(method.attr.as_str(), "to" | "cuda")
                && loops_around(model, call.block).any(|round| check.trains_in(file, round))
            {
                moved.extend(check.flow.places(file, call.scope, &method.value).into_iter().map(|at| at.place));
            }
        }
    }
    moved
}
