//! LT206: Evaluation runs without `no_grad`.

use crate::words::code;
use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::ask::given;
use lowtide_lint::check::{Check, Confidence, Hit};
use lowtide_lint::feeds::Phase;
use lowtide_lint::model::{BlockKind, Bound, Call, Expr, Model, Ranged, ScopeId, ScopeKind, dotted};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT206",
    name: "evaluation-with-gradients",
    title: "Evaluation runs without `no_grad`",
    severity: Severity::Spike,
    happens: "The validation calls the model as training does; `model.eval()` changes layers, not the recording of \
                  gradients.",
    keeps: "Each batch records a graph, and so holds all activations until its output goes. With outputs that are \
                kept it is LT103.",
    shows: "Peaks in validation as high as in training, at a batch size that should fit easily.",
    fix: Fix {
        text: "Put it under `torch.no_grad()` or `torch.inference_mode()`.",
        language: Language::Python,
        before: r#"model.eval()
for x in loader:
    score(model(x))"#,
        after: r#"model.eval()
with torch.inference_mode():
    for x in loader:
        score(model(x))"#,
    },
    harmless: "Where gradients are what is evaluated: adversarial examples, saliency maps.",
    sources: &["https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.phase == Some(Phase::Validation) && live.has_graph()).then_some(88)
}

/// `model.eval()`, and then the model is called in a loop, where nothing switches gradients off and nothing asks for them.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files().filter(|(_, model)| model.source.text().contains("torch")) {
        for eval in &model.calls {
            let Some(switched) = switched(eval, "eval") else { continue };
            let function = model.function_of(eval.scope);
            // A layer that is switched in a forward pass: dropout that is off for good, say.
            let is_forward = function.is_some_and(|function| model.scope(function).name() == "forward");
            if is_forward || wants_gradients(model, function) || is_called_without(check, file, function, 4) {
                continue;
            }
            let back = model.calls.iter().filter(|call| model.function_of(call.scope) == function);
            let back: Vec<_> = back.filter(|call| self::switched(call, "train").is_some_and(|of| same(of, switched))).collect();
            let first = model.calls.iter().find(|call| {
                let trains_again =
                    back.iter().any(|back| back.call.start() > eval.call.start() && back.call.start() < call.call.start());
                model.function_of(call.scope) == function
                    && call.call.start() > eval.call.start()
                    && same(&call.call.func, switched)
                    && !trains_again
                    && check.long_loop(file, call.block).is_some()
                    && follows(model, eval, call)
                    && !check.autograd.is_without(file, call.scope, call.block)
                    && !may_be_without(model, call)
            });
            if let Some(call) = first {
                let fix = function.and_then(|function| super::without_gradients::no_grad(check, file, function, switched));
                let what = format!(
                    "{} records a graph for each batch of an evaluation, which nothing needs",
                    code(check, file, &call.call.func)
                );
                hits.push(Hit::new(file, call.call.start()).saying(what).fixed(fix));
            }
        }
    }
    hits.extend(teachers(check));
    hits
}

/// A model that a training only asks: it is switched to evaluation where another is switched to training, nobody trains or freezes
/// it, and what it is given has no graph. Its own graph is recorded for every batch, and not wanted.
fn teachers(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    // Who freezes a model somewhere may mean this one.
    let freezes = |model: &Model| model.source.text().contains("requires_grad") || model.source.text().contains("freeze");
    if check.flow.models.iter().any(|(_, model)| freezes(model)) {
        return hits;
    }
    for (file, model) in check.files().filter(|(_, model)| model.source.text().contains(".eval()")) {
        for eval in &model.calls {
            let Some(asked) = switched(eval, "eval").filter(|asked| dotted(asked).is_some()) else { continue };
            let function = model.function_of(eval.scope);
            let trained = |call: &Call<'_>| switched(call, "train").is_some_and(|of| dotted(of).is_some() && !same(of, asked));
            let here = || model.calls.iter().filter(|call| model.function_of(call.scope) == function);
            if function.is_none()
                || !here().any(trained)
                || model.calls.iter().any(|call| switched(call, "train").is_some_and(|of| same(of, asked)))
                || model.calls.iter().any(|call| gives_parameters(call, asked))
                || is_called_without(check, file, function, 4)
            {
                continue;
            }
            let asks = here().find(|call| {
                same(&call.call.func, asked)
                    && follows(model, eval, call)
                    && check.training_loop(file, call.block).is_some()
                    && !check.autograd.is_without(file, call.scope, call.block)
                    && !may_be_without(model, call)
                    && given(call.call).all(|value| is_of_batch(model, call.scope, value, 4))
            });
            if let Some(call) = asks {
                hits.push(Hit::new(file, call.call.start()).with(Confidence::Medium).saying(format!(
                    "{} only answers in this training, and records a graph for each batch, which nothing needs",
                    code(check, file, &call.call.func)
                )));
            }
        }
    }
    hits
}

/// Whether a value is made of what a loop goes over and of nothing else, so that it has no graph: `x`, `batch["x"].to(device)`.
fn is_of_batch(model: &Model, scope: ScopeId, value: &Expr, left: usize) -> bool {
    let Some(left) = left.checked_sub(1) else { return false };
    match value {
        Expr::NumberLiteral(_) | Expr::StringLiteral(_) | Expr::BooleanLiteral(_) | Expr::NoneLiteral(_) => true,
        Expr::Subscript(item) => is_of_batch(model, scope, &item.value, left),
        Expr::Attribute(each) => is_of_batch(model, scope, &each.value, left),
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method)
                if matches!(
                    method.attr.as_str(),
                    "to" | "cuda" | "float" | "half" | "long" | "squeeze" | "unsqueeze" | "view"
                ) =>
            {
                is_of_batch(model, scope, &method.value, left)
            }
            _ => false,
        },
        Expr::Name(name) => {
            let Some(owner) = model.owner(scope, name.id.as_str()) else { return false };
            let mut given = model
                .assigns
                .iter()
                .filter(|assign| {
                    matches!(assign.target, Expr::Name(target) if target.id == name.id)
                        && model.owner(assign.scope, name.id.as_str()) == Some(owner)
                })
                .peekable();
            given.peek().is_some()
                && given.all(|assign| match assign.how {
                    Bound::Element => true,
                    Bound::Part => {
                        model.block(assign.block).kind.is_loop() || is_of_batch(model, assign.scope, assign.value, left)
                    }
                    Bound::Whole => is_of_batch(model, assign.scope, assign.value, left),
                    _ => false,
                })
        }
        _ => false,
    }
}

/// `teacher.parameters()`: for an optimizer, or to be frozen.
fn gives_parameters(call: &Call, of: &Expr) -> bool {
    matches!(&*call.call.func, Expr::Attribute(method)
        if matches!(method.attr.as_str(), "parameters" | "named_parameters" | "modules") && same(&method.value, of))
}

/// The model of `model.eval()`.
fn switched<'p>(call: &Call<'p>, to: &str) -> Option<&'p Expr> {
    match &*call.call.func {
        Expr::Attribute(method) if method.attr.as_str() == to && call.call.arguments.is_empty() => Some(&method.value),
        _ => None,
    }
}

fn same(one: &Expr, other: &Expr) -> bool {
    dotted(one).is_some_and(|one| dotted(other).is_some_and(|other| one == other))
}

/// Whether the call runs whenever the model was switched: not in the other branch of a condition.
fn follows(model: &Model, eval: &Call, call: &Call) -> bool {
    let around: Vec<_> = model.blocks_within(eval.block).filter(|block| block.kind.is_conditional()).collect();
    around.iter().all(|outer| model.blocks_within(call.block).any(|block| std::ptr::eq(block, *outer)))
}

/// Whether a function, or one inside of it, uses gradients: attacks, saliency maps; or switches them off by itself.
fn wants_gradients(model: &Model, function: Option<ScopeId>) -> bool {
    model.calls.iter().filter(|call| is_within(model, call.scope, function)).any(|call| match &*call.call.func {
        Expr::Attribute(method) => matches!(
            method.attr.as_str(),
            "backward"
                | "manual_backward"
                | "requires_grad_"
                | "set_grad_enabled"
                | "grad"
                | "jacobian"
                | "hessian"
                | "_set_grad_enabled"
        ),
        Expr::Name(name) => matches!(name.id.as_str(), "grad" | "set_grad_enabled" | "jacobian" | "hessian"),
        _ => false,
    }) || model
        .assigns
        .iter()
        .filter(|assign| is_within(model, assign.scope, function))
        .any(|assign| matches!(assign.target, Expr::Attribute(each) if each.attr.as_str() == "requires_grad"))
}

fn is_within(model: &Model, scope: ScopeId, function: Option<ScopeId>) -> bool {
    let mut at = Some(scope);
    while let Some(id) = at {
        if Some(id) == function || function.is_none() && id == ScopeId::MODULE {
            return true;
        }
        at = model.scope(id).parent;
    }
    false
}

/// Whether somebody calls a function without gradients.
fn is_called_without(check: &Check, file: FileId, function: Option<ScopeId>, left: usize) -> bool {
    let (Some(function), Some(left)) = (function, left.checked_sub(1)) else { return false };
    check.callers(file, function).iter().any(|(from, call)| {
        let caller = check.flow.models.of(*from);
        check.autograd.is_without(*from, call.scope, call.block)
            || may_be_without(caller, call)
            || is_called_without(check, *from, caller.function_of(call.scope), left)
    })
}

/// Whether a `with` around a call may switch gradients off in a way that is not seen: by a context that came from somewhere.
fn may_be_without(model: &Model, call: &Call) -> bool {
    model.blocks_within(call.block).any(|block| match block.kind {
        BlockKind::With(with) => with.items.iter().any(|item| {
            let named = if let Expr::Call(call) = &item.context_expr { &*call.func } else { return true };
            let name = dotted(named).and_then(|parts| parts.last().map(|last| last.to_ascii_lowercase()));
            name.is_none_or(|name| {
                ["grad", "eval", "infer", "context", "ctx", "mode", "stack"].iter().any(|part| name.contains(part))
            })
        }),
        _ => false,
    }) || decorated(model, call)
}

/// Whether a decorator of the program's own, or one that is not known, is around it.
fn decorated(model: &Model, call: &Call) -> bool {
    let Some(function) = model.function_of(call.scope) else { return false };
    let ScopeKind::Function(definition) = model.scope(function).kind else { return false };
    definition.decorator_list.iter().any(|decorator| {
        let named = if let Expr::Call(call) = &decorator.expression { &*call.func } else { &decorator.expression };
        dotted(named).is_none_or(|parts| {
            let name = parts.join(".").to_ascii_lowercase();
            ["grad", "infer", "eval", "torch"].iter().any(|part| name.contains(part))
        })
    })
}
