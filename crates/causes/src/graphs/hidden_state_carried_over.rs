//! LT105: A hidden state is carried over with its graph.

use std::collections::HashSet;

use crate::{Cause, Fix, Language, Live, Memory, Severity};
use lowtide_lint::ask::given;
use lowtide_lint::autograd::mentions;
use lowtide_lint::check::{Check, Hit};
use lowtide_lint::feeds::Kind;
use lowtide_lint::feeds::{innermost_loop, is_inside};
use lowtide_lint::flow::Place;
use lowtide_lint::model::{Assign, Bound, Call, Expr, ExprCall, Ranged};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT105",
    name: "hidden-state-carried-over",
    title: "A hidden state is carried over with its graph",
    severity: Severity::Leak,
    happens: "A recurrent model's hidden state, a memory bank or a key-value state of one batch is given to the next.",
    keeps: "The state of every batch hangs on that of the batch before: the graph spans the whole epoch.",
    shows: "Growth and step time rise together, step by step, until the state is reset.",
    fix: Fix {
        text: "Detach the state between batches (truncated back-propagation through time).",
        language: Language::Python,
        before: r#"out, hidden = model(x, hidden)"#,
        after: r#"hidden = hidden.detach()
out, hidden = model(x, hidden)"#,
    },
    harmless: "A state that is carried over a few steps on purpose and then detached.",
    sources: &["https://docs.pytorch.org/docs/stable/notes/faq.html"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.kind == Memory::Graph && live.statement == Some(Kind::Carried)).then_some(90)
}

/// `out, hidden = model(x, hidden)` in a loop that takes a step of a training in each round, or goes over a loader, and nothing sets
/// `hidden` anew; the same with what an object keeps.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        for assign in model.assigns.iter().filter(|assign| matches!(assign.how, Bound::Whole | Bound::Part)) {
            let (scope, block) = (assign.scope, assign.block);
            let Expr::Call(call) = assign.value else { continue };
            let Some(round) = innermost_loop(model, block) else {
                if is_kept_by_object(check, file, assign, call) {
                    hits.push(Hit::new(file, assign.target.start()));
                }
                continue;
            };
            let site = Call { call, statement: assign.range, block, scope };
            let target: HashSet<_> = check.flow.places(file, scope, assign.target).into_iter().map(|at| at.place).collect();
            let given = given(call);
            // Without a backward pass it is the same: over the batches of a loader nothing takes the graph off.
            let trains = check.trains_in(file, round)
                || check.goes_over_loader(file, round) && !check.autograd.reaches_backward(file, assign);
            let detached = model.calls.iter().any(|call| {
                matches!(&*call.call.func, Expr::Attribute(method) if method.attr.as_str() == "detach_"
                    && mentions(check.flow, file, call.scope, &method.value, &target, 12))
                    && is_inside(model, call.block, round)
            });
            if trains
                && !detached
                && given.into_iter().any(|value| mentions(check.flow, file, scope, value, &target, 12))
                && check.call_runs_model(file, &site)
                && check.autograd.carries(file, scope, block, assign.value)
                && !check.containers.is_renewed(file, scope, block, assign.target, assign.target.start())
                && check.outlives(file, scope, block, assign.target)
            {
                hits.push(Hit::new(file, assign.target.start()));
            }
        }
    }
    hits
}

/// `out, self.state = self.cell(x, self.state)` in the forward pass of a model that is trained, or in a method that takes one step of
/// a training, and nothing sets it anew.
fn is_kept_by_object<'p>(check: &Check<'_, 'p>, file: FileId, assign: &Assign<'p>, call: &'p ExprCall) -> bool {
    let model = check.flow.models.of(file);
    let (scope, block) = (assign.scope, assign.block);
    let Some((_, method)) = model.method_of(scope) else { return false };
    let target: HashSet<_> = check.flow.places(file, scope, assign.target).into_iter().map(|at| at.place).collect();
    let site = Call { call, statement: assign.range, block, scope };
    let is_made = |of: FileId, made: &Assign| {
        let model = check.flow.models.of(of);
        made.range == assign.range
            || model.function_of(made.scope).is_none_or(|function| model.scope(function).name() == "__init__")
    };
    let in_training = || match model.scope(method).name() {
        "forward" => check.autograd.is_in_module(file, scope) && model.source.text().contains(".backward("),
        "training_step" => check.is_each_round(file, method),
        _ => check.containers.is_step(file, method),
    };
    !target.is_empty()
        && target.iter().all(|place| matches!(place, Place::Attribute(..)))
        && given(call).any(|value| mentions(check.flow, file, scope, value, &target, 12))
        && in_training()
        && check.call_runs_model(file, &site)
        && check.autograd.carries(file, scope, block, assign.value)
        && target.iter().all(|place| check.flow.assigned(*place).all(|(of, made)| is_made(*of, made)))
}
