//! LT704: The compile cache grows as shapes change.

use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::ask::{given, keyword, last_name, says, truth};
use lowtide_lint::check::{Check, Confidence, Hit};
use lowtide_lint::model::{BlockId, Call, Expr, ExprCall, Ranged, ScopeId};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT704",
    name: "recompilation",
    title: "The compile cache grows as shapes change",
    severity: Severity::Leak,
    happens: "A compiled model sees shapes, flags or modules that it has not seen, and is compiled again.",
    keeps: "Each version stays, with its guards, graph and code. The limit on recompilations (8 per function) does \
                not hold for new functions and new objects.",
    shows: "Growth by megabytes at each recompilation, and pauses of seconds. `TORCH_LOGS=recompiles` names the \
                reason.",
    fix: Fix {
        text: "Mark dimensions dynamic, pad to a few shapes, compile outside of the loop.",
        language: Language::Python,
        before: r#"model = torch.compile(model)"#,
        after: r#"model = torch.compile(model, dynamic=True)"#,
    },
    harmless: "A few compilations at the start.",
    sources: &[
        "https://docs.pytorch.org/docs/stable/user_guide/torch_compiler/torch.compiler_troubleshooting.html",
        "zoo/42_recompile.py",
    ],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.owner_contains("dynamo") || live.owner_contains("inductor")).then_some(89)
}

/// Settings that bound how often one function is compiled.
const LIMITS: &[&str] = &["cache_size_limit", "recompile_limit", "accumulated_cache_size_limit", "accumulated_recompile_limit"];
/// Functions of torch whose arguments are a shape.
const SHAPED: &[&str] = &["randn", "rand", "zeros", "ones", "empty", "full", "randint", "arange"];

/// What was compiled with `dynamic=False` is called in a loop with sizes that change, in a program that has raised the limit on
/// recompilations; with the limit it is a hint, since torch gives up after 8 versions.
fn rule(check: &Check) -> Vec<Hit> {
    let compiled: Vec<_> = check
        .calls_of(&["compile"])
        .filter(|(file, _, call)| {
            keyword(call.call, "dynamic").and_then(truth) == Some(false)
                && check.called(*file, call).as_deref() == Some("torch.compile")
        })
        .filter_map(|(file, _, call)| Some((file, check.assigned(file, call.call.range())?)))
        .collect();
    if compiled.is_empty() {
        return Vec::new();
    }
    let confidence = if raises_limit(check) { Confidence::High } else { Confidence::Low };
    let mut hits = Vec::new();
    for (file, made) in compiled {
        let model = check.flow.models.of(file);
        let places = check.flow.places(file, made.scope, made.target);
        for call in model.calls.iter().filter(|call| !call.call.arguments.is_empty()) {
            // A model has so many parameters, and each its own shape.
            let Some(round) = check.long_loop(file, call.block) else { continue };
            let is_it = check.flow.places(file, call.scope, &call.call.func).iter().any(|at| places.contains(at));
            let Some(value) =
                given(call.call).filter(|_| is_it).find(|value| size_changes(check, file, call.scope, round, value, 3))
            else {
                continue;
            };
            let what = format!(
                "each new size of {} is compiled anew (`dynamic=False`), and every version stays",
                crate::words::code(check, file, value)
            );
            hits.push(Hit::new(file, call.call.start()).saying(what).with(confidence));
        }
    }
    hits
}

/// A tensor made with, or cut to, a size that changes from round to round.
fn size_changes<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, round: BlockId, value: &'p Expr, looks: usize) -> bool {
    let Some(looks) = looks.checked_sub(1) else { return false };
    match value {
        Expr::Call(call) if is_shaped(check, file, scope, call) => {
            call.arguments.args.iter().any(|size| check.changes_in(file, scope, round, size))
        }
        Expr::Subscript(item) => {
            let parts: &'p [Expr] =
                if let Expr::Tuple(tuple) = &*item.slice { &tuple.elts } else { std::slice::from_ref(&*item.slice) };
            parts.iter().any(|part| match part {
                // `x[a : a + size]` is always as long.
                Expr::Slice(slice) if slice.lower.is_none() => {
                    slice.upper.as_deref().is_some_and(|upper| check.changes_in(file, scope, round, upper))
                }
                _ => false,
            })
        }
        Expr::Name(_) => check
            .values(file, scope, value)
            .into_iter()
            .any(|(of, scope, value)| of == file && size_changes(check, file, scope, round, value, looks)),
        _ => false,
    }
}

fn is_shaped(check: &Check, file: FileId, scope: ScopeId, call: &ExprCall) -> bool {
    last_name(&call.func).is_some_and(|name| SHAPED.contains(&name))
        && check.flow.models.of(file).full_name(scope, &call.func).is_some_and(|name| name.starts_with("torch."))
}

/// `torch._dynamo.config.cache_size_limit = 1000`, also by `setattr` and as an option.
fn raises_limit(check: &Check) -> bool {
    check.flow.models.iter().any(|(file, model)| {
        let by_attribute = model
            .assigns
            .iter()
            .any(|assign| matches!(assign.target, Expr::Attribute(each) if LIMITS.contains(&each.attr.as_str())));
        let names = |call: &Call| LIMITS.iter().any(|name| given(call.call).any(|value| says(value, name)));
        by_attribute
            || model.calls.iter().any(|call| {
                last_name(&call.call.func) == Some("setattr")
                    && (names(call)
                        || call.call.arguments.args.get(1).is_some_and(|name| {
                            // A loop over the names.
                            check.flow.places(file, call.scope, name).into_iter().any(|at| {
                                check.flow.assigned(at.place).any(|(_, assign)| match assign.value {
                                    Expr::Tuple(each) => each.elts.iter().any(|part| LIMITS.iter().any(|name| says(part, name))),
                                    Expr::List(each) => each.elts.iter().any(|part| LIMITS.iter().any(|name| says(part, name))),
                                    _ => false,
                                })
                            })
                        }))
            })
    })
}
