//! LT702: The optimizer is built anew in the loop.

use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::ask::{keyword, method, receiver};
use lowtide_lint::check::{Check, Confidence, Hit};
use lowtide_lint::model::{BlockId, Call, Expr, ExprCall, Ranged, ScopeId};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT702",
    name: "optimizer-rebuilt",
    title: "The optimizer is built anew in the loop",
    severity: Severity::Habit,
    happens: "A new optimizer is made per epoch or round, and the old one is still referred to: by a scheduler, a \
                  list, a closure.",
    keeps: "Adam keeps two tensors per parameter: each old optimizer has twice the model's size.",
    shows: "Jumps of twice the model's size at the moments when it is rebuilt.",
    fix: Fix {
        text: "Build it once; to start over, clear its state.",
        language: Language::Python,
        before: r#"for stage in stages:
    optimizer = torch.optim.Adam(model.parameters())
    optimizers.append(optimizer)"#,
        after: r#"optimizer = torch.optim.Adam(model.parameters())
for stage in stages:
    optimizer.state.clear()"#,
    },
    harmless: "If nothing refers to the old one, it goes.",
    sources: &["https://docs.pytorch.org/docs/stable/optim.html"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.objects_named(&["Adam", "AdamW", "SGD", "Optimizer"]) && live.adds_to_container()).then_some(85)
}

/// Functions that are followed to where `backward` is called.
const MAX_HOPS: usize = 3;

/// An optimizer that is kept each time; one that is made anew for the same model at every step or epoch; models and optimizers
/// that `Accelerator.prepare` keeps.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        let optimizers: Vec<_> = model.calls.iter().filter(|call| is_optimizer(check, file, call.scope, call.call)).collect();
        for call in &optimizers {
            if is_made_for_each_epoch(check, file, call) {
                let of = call.call.arguments.args.first().map(|of| crate::words::code(check, file, of)).unwrap_or_default();
                let what = format!(
                    "each epoch makes a new optimizer for {of}: its state, two tensors per parameter with Adam, is lost and allocated again"
                );
                hits.push(Hit::new(file, call.call.start()).saying(what).with(Confidence::Medium));
            }
        }
        if optimizers.is_empty() {
            continue;
        }
        for put in check.puts(file, model) {
            if is_one(check, file, put.scope, put.value)
                && check.long_loop(file, put.block).is_some()
                && check.training_loop(file, put.block).is_some()
                && check.containers.outlives(file, put.scope, put.block, put.container)
                && check.containers.bound(file, put.scope, put.block, put.container, put.key).is_none()
                && check.containers.is_never_emptied(file, put.scope, put.container)
            {
                let container = crate::words::code(check, file, put.container);
                let what = format!("{container} keeps the optimizer of every round with its state");
                hits.push(Hit::new(file, put.offset).saying(what));
            }
        }
    }
    hits.extend(prepared(check));
    hits
}

fn is_optimizer(check: &Check, file: FileId, scope: ScopeId, call: &ExprCall) -> bool {
    check.flow.models.of(file).full_name(scope, &call.func).is_some_and(|name| {
        let last = name.rsplit('.').next().unwrap_or(&name);
        (name.starts_with("torch.optim.") && !name.contains("lr_scheduler") || name.starts_with("bitsandbytes.optim."))
            && last.starts_with(|letter: char| letter.is_ascii_uppercase())
            && !matches!(last, "Optimizer")
    })
}

fn is_one<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, value: &'p Expr) -> bool {
    match value {
        Expr::Call(call) => is_optimizer(check, file, scope, call),
        Expr::Name(_) => check
            .values(file, scope, value)
            .into_iter()
            .any(|(file, scope, value)| matches!(value, Expr::Call(call) if is_optimizer(check, file, scope, call))),
        _ => false,
    }
}

/// For all parameters of the same model, in every round of a loop that trains, with at most the loop over batches below it: where
/// more is below, each round may be a training of its own (tasks, folds).
fn is_made_for_each_epoch<'p>(check: &Check<'_, 'p>, file: FileId, call: &Call<'p>) -> bool {
    let model = check.flow.models.of(file);
    let Some(Expr::Call(parameters)) = call.call.arguments.args.first() else { return false };
    let Some(net) = receiver(parameters).filter(|_| method(parameters) == Some("parameters")) else { return false };
    let has_state =
        !check.called(file, call).is_some_and(|name| name.ends_with(".SGD")) || keyword(call.call, "momentum").is_some();
    if !has_state || model.blocks_within(call.block).any(|block| block.kind.is_conditional()) {
        return false;
    }
    match check.training_loop(file, call.block) {
        Some(round) => {
            !check.changes_in(file, call.scope, round, net)
                && depth_below(check, file, round, MAX_HOPS).is_some_and(|depth| depth <= 1)
                && check.is_steady(file, call.scope, net, Some(round))
        }
        None => model.function_of(call.scope).is_some_and(|function| {
            model.loops(call.block) == 0
                && check.trains(file, function)
                && check.is_called_in_training_loop(file, function)
                && depth_in(check, file, function, MAX_HOPS).is_some_and(|depth| depth <= 1)
                && check.is_steady(file, call.scope, net, None)
        }),
    }
}

/// How many loops lie between a block and the deepest `backward` inside of it.
fn depth_below(check: &Check, file: FileId, outer: BlockId, hops: usize) -> Option<usize> {
    let model = check.flow.models.of(file);
    let inside = model.calls.iter().filter(|call| check.is_within(file, call.block, outer));
    let base = model.loops(outer);
    inside.filter_map(|call| Some(model.loops(call.block).saturating_sub(base) + depth_of(check, file, call, hops)?)).max()
}

fn depth_in(check: &Check, file: FileId, function: ScopeId, hops: usize) -> Option<usize> {
    let model = check.flow.models.of(file);
    let inside = model.calls.iter().filter(|call| model.function_of(call.scope) == Some(function));
    inside.filter_map(|call| Some(model.loops(call.block) + depth_of(check, file, call, hops)?)).max()
}

fn depth_of<'p>(check: &Check<'_, 'p>, file: FileId, call: &Call<'p>, hops: usize) -> Option<usize> {
    if lowtide_lint::ask::is_backward(call.call) {
        return Some(0);
    }
    let hops = hops.checked_sub(1)?;
    let (of, function) = check.flow.callee(file, call.scope, &call.call.func)?;
    if check.trains(of, function) { depth_in(check, of, function, hops) } else { None }
}

/// `accelerator.prepare(...)` in a loop, and nothing that makes it let go.
fn prepared(check: &Check) -> Vec<Hit> {
    let released = check.calls_of(&["free_memory", "clear"]).any(|(file, _, call)| is_accelerator(check, file, call));
    if released {
        return Vec::new();
    }
    let calls = check.calls_of(&["prepare"]).filter(|(file, _, call)| {
        check.training_loop(*file, call.block).is_some_and(|round| !check.is_conditional(*file, call.block, round))
            && is_accelerator(check, *file, call)
    });
    calls
        .map(|(file, _, call)| {
            Hit::new(file, call.call.start())
                .saying("the accelerator keeps every model and optimizer that it has prepared: call its `free_memory` at the end of the round")
        })
        .collect()
}

fn is_accelerator<'p>(check: &Check<'_, 'p>, file: FileId, call: &Call<'p>) -> bool {
    receiver(call.call).is_some_and(|on| {
        check.values(file, call.scope, on).into_iter().any(|(file, scope, value)| match value {
            Expr::Call(made) => check
                .flow
                .models
                .of(file)
                .full_name(scope, &made.func)
                .is_some_and(|name| matches!(&*name, "accelerate.Accelerator" | "accelerate.accelerator.Accelerator")),
            _ => false,
        })
    })
}
