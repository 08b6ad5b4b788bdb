//! LT605: A function of one's own keeps its output on its context.

use crate::{Cause, Fix, Language, Live, RootKind, Severity};
use lowtide_lint::check::{Check, Hit};
use lowtide_lint::flow::ClassId;
use lowtide_lint::model::{Bound, Expr, Model, Ranged, ScopeId};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT605",
    name: "output-on-context",
    title: "A function of one's own keeps its output on its context",
    severity: Severity::Sawtooth,
    happens: "The `forward` of a `torch.autograd.Function` writes what it returns to an attribute: `ctx.y = y`.",
    keeps: "The output refers to its graph, the graph to the context, the context to the output: a circle that `backward` \
                does not break and only a full collection of Python's garbage collector does, one link of a chain of such \
                functions at a time. That comes when enough *objects* were made; a few with large outputs do not trigger it.",
    shows: "Growth by the size of the output (and of what hangs on it) per call, for minutes: an MLP with two such functions took \
                670 MiB in the 400 steps before its first full collection. With torch 1.13 and 2.15 all of it goes by some \
                calls of `gc.collect()`.",
    fix: Fix {
        text: "Hand it to `ctx.save_for_backward`, which knows outputs and makes no circle.",
        language: Language::Python,
        before: r#"y = x.exp()
ctx.y = y
return y"#,
        after: r#"y = x.exp()
ctx.save_for_backward(y)
return y"#,
    },
    harmless: "Attributes for numbers, shapes and other things that are no output.",
    sources: &["https://docs.pytorch.org/docs/stable/notes/extending.html"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100: no name leads to contexts, which keep tensors.
fn signature(live: &Live) -> Option<u8> {
    let is_context = live.owner.starts_with("torch.autograd.function.") && live.owner.ends_with("Backward");
    (live.root == Some(RootKind::Native) && is_context && live.holds_tensors()).then_some(95)
}

/// `ctx.y = y` in a `forward` that returns `y`, or `ctx.y = output` in `setup_context`.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        for assign in model.assigns.iter().filter(|assign| assign.how == Bound::Whole) {
            let (Expr::Attribute(target), Expr::Name(value)) = (assign.target, assign.value) else { continue };
            let (Expr::Name(context), Some((class, method))) = (&*target.value, model.method_of(assign.scope)) else { continue };
            let (context, value) = (context.id.as_str(), value.id.as_str());
            let output = match model.scope(method).name() {
                "forward" => parameter(model, method, 0) == Some(context) && is_returned(model, method, value),
                "setup_context" => parameter(model, method, 0) == Some(context) && parameter(model, method, 2) == Some(value),
                _ => false,
            };
            let is_function = |name: &str| {
                matches!(
                    name,
                    "torch.autograd.Function" | "torch.autograd.function.Function" | "torch.autograd.function.InplaceFunction"
                )
            };
            // `del ctx.y` in `backward` breaks the circle.
            let dropped = model.deletes.iter().any(|delete| {
                matches!(delete.target, Expr::Attribute(each) if each.attr.as_str() == target.attr.as_str())
                    && model.method_of(delete.scope).is_some_and(|(of, _)| of == class)
            });
            if output && !dropped && check.has_base(ClassId { file, scope: class }, is_function) {
                let what = format!(
                    "`{context}.{}` holds the output of its own graph: a circle that only a full collection frees",
                    target.attr
                );
                hits.push(Hit::new(file, assign.target.start()).saying(what));
            }
        }
    }
    hits
}

fn parameter<'a>(model: &Model<'a>, method: ScopeId, place: usize) -> Option<&'a str> {
    let parameters = model.scope(method).parameters()?;
    Some(parameters.posonlyargs.iter().chain(&parameters.args).nth(place)?.parameter.name.as_str())
}

/// Whether the function returns what a name holds, by itself or among others, and as it was when it was kept.
fn is_returned(model: &Model, method: ScopeId, name: &str) -> bool {
    let given_once = model
        .assigns
        .iter()
        .filter(|assign| assign.scope == method && matches!(assign.target, Expr::Name(target) if target.id.as_str() == name));
    let is_parameter = model
        .scope(method)
        .bindings(name)
        .iter()
        .any(|binding| matches!(binding.kind, lowtide_lint::model::BindingKind::Parameter { .. }));
    !is_parameter
        && given_once.count() == 1
        && model.results.iter().filter(|result| result.scope == method).any(|result| match result.value {
            Expr::Name(value) => value.id.as_str() == name,
            Expr::Tuple(each) => each.elts.iter().any(|part| matches!(part, Expr::Name(part) if part.id.as_str() == name)),
            _ => false,
        })
}
