//! LT705: A model is traced or compiled in a loop.

use crate::{Cause, Fix, Language, Severity};
use lowtide_lint::ask::given;
use lowtide_lint::check::{Check, Confidence, Hit};
use lowtide_lint::feeds::is_inside;
use lowtide_lint::model::{BindingKind, BlockId, Call, Expr, Ranged, ScopeId};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT705",
    name: "compile-in-loop",
    title: "A model is traced or compiled in a loop",
    severity: Severity::Leak,
    happens: "`torch.jit.trace` or `torch.compile` stands inside the training loop, or in a method that runs at every batch.",
    keeps: "Every trace makes a graph with functions that stay to the end of the run, used or not: 0.17 MiB for a model \
                of one layer (torch 2.15). `torch.compile` finds what it has compiled by the function's code: code that \
                is new each time (`exec`), or a backend that is, is compiled and kept again.",
    shows: "Growth of native memory per call, with no Python object that explains it, and pauses.",
    fix: Fix {
        text: "Trace and compile once, outside.",
        language: Language::Python,
        before: r#"for batch in loader:
    scores = torch.jit.trace(model, batch)(batch)"#,
        after: r#"traced = torch.jit.trace(model, next(iter(loader)))
for batch in loader:
    scores = traced(batch)"#,
    },
    harmless: "`torch.compile` of the same function, lambda or model in each round only costs time (60 rounds, torch 2.15: \
                   one compilation, no growth): that is a hint, which `lowtide check` gives only with `--select LT705`.",
    sources: &["https://docs.pytorch.org/docs/stable/user_guide/torch_compiler/torch.compiler_troubleshooting.html"],
    signature: None,
    rule: Some(rule),
};

/// What compiles, and how sure it is that every call keeps something of its own.
const COMPILERS: &[(&str, Confidence)] = &[
    ("torch.jit.trace", Confidence::High),
    ("torch.jit.trace_module", Confidence::High),
    ("torch.compile", Confidence::Low),
    ("torch.jit.script", Confidence::Low),
];
/// Methods that run at every batch.
const PER_BATCH: &[&str] =
    &["forward", "__getitem__", "training_step", "validation_step", "test_step", "on_train_batch_start", "on_train_batch_end"];

/// `torch.jit.trace(...)` that runs in every round of a training loop, or at every batch.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model, call) in check.calls_of(&["compile", "script", "trace", "trace_module"]) {
        let Some(name) = check.called(file, call) else { continue };
        let Some((_, confidence)) = COMPILERS.iter().find(|(compiler, _)| *compiler == name) else { continue };
        let Some(compiled) = call.call.arguments.args.first() else { continue };
        if is_in_every_round(check, file, call, compiled) || is_at_every_batch(check, file, call) {
            let text = model.source.slice(compiled.range());
            let text = if text.contains('\n') { "a function" } else { text };
            let what = format!("`{name}` runs again in each round, and what it makes of `{text}` stays each time");
            hits.push(Hit::new(file, call.call.start()).saying(what).with(*confidence));
        }
    }
    hits.extend(by_decorator(check));
    hits
}

/// `@torch.compile` on a function that is defined in each round of a training loop. With arguments it is a call.
fn by_decorator(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        for (scope, definition) in model.functions().filter(|(_, definition)| !definition.decorator_list.is_empty()) {
            let outer = model.scope(scope).parent.unwrap_or(ScopeId::MODULE);
            let bound = model.bindings(outer, definition.name.as_str()).iter();
            let mut bound = bound.filter(|each| matches!(each.kind, BindingKind::Function(of) if of == scope));
            let again = bound.any(|each| {
                check.training_loop(file, each.block).is_some_and(|round| !check.is_conditional(file, each.block, round))
            });
            if !again {
                continue;
            }
            for decorator in &definition.decorator_list {
                let Some(name) = model.full_name(outer, &decorator.expression) else { continue };
                let Some((_, confidence)) = COMPILERS.iter().find(|(compiler, _)| *compiler == name) else { continue };
                let what =
                    format!("`{name}` runs again in each round, and what it makes of `{}` stays each time", definition.name);
                hits.push(Hit::new(file, decorator.expression.start()).saying(what).with(*confidence));
            }
        }
    }
    hits
}

/// In a loop that trains, under no condition: the same thing again, or a function made there. In a loop over layers each is
/// compiled once.
fn is_in_every_round<'p>(check: &Check<'_, 'p>, file: FileId, call: &Call<'p>, compiled: &'p Expr) -> bool {
    check.training_loop(file, call.block).is_some_and(|round| {
        let differs = given(call.call).take(1).any(|value| check.changes_in(file, call.scope, round, value));
        !check.is_conditional(file, call.block, round) && (!differs || is_made_in(check, file, call.scope, compiled, round))
    })
}

/// A lambda, or a function defined in the loop.
fn is_made_in(check: &Check, file: FileId, scope: ScopeId, compiled: &Expr, round: BlockId) -> bool {
    let model = check.flow.models.of(file);
    match compiled {
        Expr::Lambda(_) => true,
        Expr::Name(name) => model
            .bindings(scope, name.id.as_str())
            .iter()
            .any(|binding| matches!(binding.kind, BindingKind::Function(_)) && is_inside(model, binding.block, round)),
        _ => false,
    }
}

/// In a method that runs at every batch, or in a function that a training loop calls, under no condition.
fn is_at_every_batch<'p>(check: &Check<'_, 'p>, file: FileId, call: &Call<'p>) -> bool {
    let model = check.flow.models.of(file);
    let Some(function) = model.function_of(call.scope) else { return false };
    if model.blocks_within(call.block).any(|block| block.kind.is_conditional() || block.kind.is_loop()) {
        return false;
    }
    let per_batch = check.method_at(file, call.scope).is_some_and(|(class, name)| {
        PER_BATCH.contains(&name)
            && (check.autograd.is_module(class) || check.is_dataset(class) || check.containers.is_foreign(class))
    });
    per_batch || check.is_called_in_training_loop(file, function)
}
