//! LT106: The graph is retained on purpose, in a loop.

use crate::{Cause, Fix, Language, Live, Memory, Severity};
use lowtide_lint::ask::{is_backward, keyword, last_name};
use lowtide_lint::check::{Check, Confidence, Hit, loops_around};
use lowtide_lint::feeds::Kind;
use lowtide_lint::feeds::is_inside;
use lowtide_lint::model::{Call, Expr, Model, Ranged};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT106",
    name: "graph-retained",
    title: "The graph is retained on purpose, in a loop",
    severity: Severity::Leak,
    happens: "`backward(retain_graph=True)` or `create_graph=True` runs in every step.",
    keeps: "`backward` then does not free what the graph saved. It stays as long as anything points at the graph: \
                the loss, an output, or with `create_graph` the gradients themselves, in a circle that only the \
                collector breaks.",
    shows: "Activations of the last step live through the next; with a reference kept anywhere, growth by one \
                batch's activations per step.",
    fix: Fix {
        text: "Add the losses and call `backward` once. For second derivatives use `torch.autograd.grad`, and drop \
                   the gradients by `zero_grad(set_to_none=True)`.",
        language: Language::Python,
        before: r#"loss_a.backward(retain_graph=True)
loss_b.backward()"#,
        after: r#"(loss_a + loss_b).backward()"#,
    },
    harmless: "Two backward passes through one graph in the same step, when nothing of it is kept afterwards.",
    sources: &["https://docs.pytorch.org/docs/stable/notes/autograd.html"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.kind == Memory::Graph && live.statement == Some(Kind::Retained)).then_some(95)
}

/// `backward(retain_graph=True)` that runs again and again, with no later `backward` in the same step that frees the graph.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        let passes: Vec<_> = model.calls.iter().filter(|call| is_backward(call.call)).collect();
        for pass in &passes {
            let says = |name: &str| {
                keyword(pass.call, name).is_some_and(|value| matches!(value, Expr::BooleanLiteral(yes) if yes.value))
            };
            let after = |call: &Call| {
                call.scope == pass.scope && call.call.start() > pass.call.start() && is_inside(model, pass.block, call.block)
            };
            let retains = |call: &Call| {
                call.call
                    .arguments
                    .keywords
                    .iter()
                    .any(|keyword| keyword.arg.as_ref().is_some_and(|arg| arg.as_str() == "retain_graph"))
            };
            let freed = passes.iter().any(|later| after(later) && !retains(later))
                || model.calls.iter().any(|later| after(later) && goes_back_otherwise(&later.call.func, retains(later)));
            // A part of somebody's own backward pass: `output.backward(gradient, retain_graph=True)`.
            let manual = matches!(&*pass.call.func, Expr::Attribute(method) if method.attr.as_str() == "manual_backward");
            let own = !manual
                && !pass.call.arguments.args.is_empty()
                && model.method_of(pass.scope).is_some_and(|(_, method)| model.scope(method).name().starts_with("backward"));
            if !own
                && (says("retain_graph") && !freed || says("create_graph"))
                && check.containers.is_repeated(file, pass.scope, pass.block)
            {
                // Somebody's own backward pass may be one of several.
                let is_hook = model.method_of(pass.scope).is_some_and(|(_, method)| model.scope(method).name() == "backward");
                let proven = says("create_graph") || !is_hook && !is_before_step(model, pass);
                let confidence = if proven { Confidence::High } else { Confidence::Low };
                hits.push(Hit::new(file, pass.call.start()).with(confidence));
            }
        }
    }
    hits
}

/// Whether the loop around has no step of an optimizer in it: its losses may belong to one step, and share a graph.
fn is_before_step(model: &Model, pass: &Call) -> bool {
    let steps = |name: &str| name == "step" || name.starts_with("zero_grad");
    loops_around(model, pass.block).next().is_some_and(|round| {
        !model.calls.iter().any(|call| is_inside(model, call.block, round) && last_name(&call.call.func).is_some_and(steps))
    })
}

/// Whether a call goes back through a graph in another way than by `backward`: `autograd.grad`, or what takes `retain_graph` itself.
fn goes_back_otherwise(func: &Expr, retains: bool) -> bool {
    matches!(func, Expr::Attribute(method) if method.attr.as_str() == "grad" || retains && method.attr.as_str() != "backward")
}
