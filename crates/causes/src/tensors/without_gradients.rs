//! The fix for an evaluation that records graphs: `@torch.no_grad()` in front of its function.

use std::collections::HashSet;

use lowtide_lint::ask::{last_name, method, receiver};
use lowtide_lint::check::Check;
use lowtide_lint::fix::{Edit, Fix, Safety};
use lowtide_lint::flow::Place;
use lowtide_lint::model::{BindingKind, Bound, Call, Expr, Model, Ranged, ScopeId, ScopeKind, TextRange, TextSize, dotted};
use lowtide_lint::program::FileId;

/// Expressions that are looked into for one number.
const MAX_NESTING: usize = 12;
/// Functions that keep nothing of what they are given.
const PLAIN: &[&str] = &[
    "enumerate",
    "float",
    "int",
    "isinstance",
    "len",
    "max",
    "min",
    "print",
    "range",
    "round",
    "str",
    "sum",
    "time.time",
    "tqdm",
    "tqdm.tqdm",
    "zip",
];
/// Methods of tensors, models, loaders and texts that keep nothing either.
const KEEP_NOTHING: &[&str] = &[
    "argmax",
    "cpu",
    "cuda",
    "detach",
    "eq",
    "eval",
    "float",
    "flatten",
    "format",
    "item",
    "items",
    "keys",
    "long",
    "max",
    "mean",
    "min",
    "numel",
    "size",
    "softmax",
    "squeeze",
    "sum",
    "to",
    "tolist",
    "train",
    "unsqueeze",
    "values",
    "view",
];

/// The decorator, in front of a function that runs `net` in an evaluation; none where the file has no plain `torch`, or the
/// function is a generator or a coroutine, which a decorator does not reach.
///
/// Safe where nothing that is computed in the function leaves it but numbers: it gives only such, puts nothing anywhere else, and
/// calls only what is known to keep nothing.
pub(super) fn no_grad(check: &Check, file: FileId, function: ScopeId, net: &Expr) -> Option<Fix> {
    let model = check.flow.models.of(file);
    let ScopeKind::Function(definition) = model.scope(function).kind else { return None };
    let torch = model.scope(ScopeId::MODULE).bindings("torch");
    let is_torch = |kind: &BindingKind| matches!(kind, BindingKind::Import { path, level: 0 } if path == "torch");
    let own = model.scope(function).names.contains_key("torch");
    let yields = model.results.iter().any(|result| result.yielded && result.scope == function);
    if torch.is_empty() || !torch.iter().all(|binding| is_torch(&binding.kind)) || own || yields || definition.is_async {
        return None;
    }
    // Behind the other decorators, on the line of the `def`.
    let text = model.source.text();
    let name = usize::from(definition.name.start());
    let line = text[..name].rfind('\n').map_or(0, |at| at + 1);
    let indent: String = text[line..name].chars().take_while(|letter| letter.is_whitespace()).collect();
    if !text[line + indent.len()..].starts_with("def ") {
        return None;
    }
    let end = if text[line..].lines().next().is_some_and(|first| text[line + first.len()..].starts_with("\r\n")) {
        "\r\n"
    } else {
        "\n"
    };
    let at = TextSize::try_from(line + indent.len()).ok()?;
    let plain = |decorator: &Expr| last_name(decorator).is_some_and(|name| matches!(name, "staticmethod" | "classmethod"));
    let safe =
        definition.decorator_list.iter().all(|each| plain(&each.expression)) && keeps_to_itself(check, file, function, net);
    let safety = if safe { Safety::Safe } else { Safety::Unsafe };
    Some(Fix { safety, edits: vec![Edit::replace(TextRange::empty(at), format!("@torch.no_grad(){end}{indent}"))] })
}

fn keeps_to_itself(check: &Check, file: FileId, function: ScopeId, net: &Expr) -> bool {
    let model = check.flow.models.of(file);
    let here = |scope: ScopeId| model.function_of(scope) == Some(function);
    // Functions and classes in it may do anything.
    let inner =
        model.scopes.iter().any(|scope| scope.parent == Some(function) && !matches!(scope.kind, ScopeKind::Comprehension(_)));
    let numbers = model
        .results
        .iter()
        .filter(|result| here(result.scope))
        .all(|result| is_number(check, file, result.scope, result.value, MAX_NESTING));
    let stays = model.assigns.iter().filter(|assign| here(assign.scope)).all(|assign| match assign.target {
        Expr::Name(name) => model.owner(assign.scope, name.id.as_str()).is_some_and(here),
        _ => is_number(check, file, assign.scope, assign.value, MAX_NESTING),
    });
    let calls = model.calls.iter().filter(|call| here(call.scope)).all(|call| keeps_nothing(check, file, model, call, net));
    !inner && numbers && stays && calls
}

fn keeps_nothing<'p>(check: &Check<'_, 'p>, file: FileId, model: &Model<'p>, call: &Call<'p>, net: &Expr) -> bool {
    let func = &*call.call.func;
    let is_net = dotted(func).is_some_and(|one| dotted(net).is_some_and(|other| one == other));
    let by_name = model.full_name(call.scope, func).is_some_and(|name| {
        PLAIN.contains(&&*name)
            || name.starts_with("torch.") && !["torch.save", "torch.autograd"].iter().any(|one| name.starts_with(one))
    });
    // A loss of torch's own.
    let by_layer = || {
        let made = check.values(file, call.scope, func);
        !made.is_empty()
            && made.iter().all(|(of, scope, value)| {
                let Expr::Call(made) = value else { return false };
                let name = check.flow.models.of(*of).full_name(*scope, &made.func);
                name.is_some_and(|name| name.starts_with("torch.nn.") && name.ends_with("Loss"))
            })
    };
    let by_method = || {
        method(call.call).is_some_and(|name| KEEP_NOTHING.contains(&name)) && receiver(call.call).is_some()
            && check.flow.callee(file, call.scope, func).is_none()
            // A list of numbers of its own.
            || method(call.call) == Some("append")
                && call.call.arguments.args.iter().all(|value| is_number(check, file, call.scope, value, MAX_NESTING))
    };
    is_net && !forward_keeps(check, file, call.scope, func) || by_name || by_layer() || by_method()
}

/// Whether the forward pass of a model, where the program defines it, puts anything but numbers into the model: a training may use that
/// later, with its graph.
fn forward_keeps<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, net: &'p Expr) -> bool {
    let Some((of, forward)) = check.flow.class_of(file, scope, net).and_then(|class| check.flow.method(class, "forward")) else {
        return false;
    };
    let model = check.flow.models.of(of);
    let inside = |scope: ScopeId| model.function_of(scope) == Some(forward);
    let is_own = |target: &Expr| {
        let mut base = target;
        while let Expr::Subscript(item) = base {
            base = &item.value;
        }
        matches!(base, Expr::Attribute(each) if check.flow.own_class(of, forward, &each.value).is_some())
    };
    let assigned = model.assigns.iter().any(|assign| {
        inside(assign.scope) && is_own(assign.target) && !is_number(check, of, assign.scope, assign.value, MAX_NESTING)
    });
    assigned
        || check
            .puts(of, model)
            .iter()
            .any(|put| inside(put.scope) && is_own(put.container) && !is_number(check, of, put.scope, put.value, MAX_NESTING))
}

/// Whether a value is surely a number, a text or several of such.
fn is_number<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, value: &'p Expr, left: usize) -> bool {
    let Some(left) = left.checked_sub(1) else { return false };
    let inner = |value: &'p Expr| is_number(check, file, scope, value, left);
    match value {
        Expr::NumberLiteral(_) | Expr::StringLiteral(_) | Expr::NoneLiteral(_) | Expr::BooleanLiteral(_) | Expr::FString(_) => {
            true
        }
        Expr::BinOp(each) => inner(&each.left) && inner(&each.right),
        Expr::UnaryOp(each) => inner(&each.operand),
        Expr::Tuple(each) => each.elts.iter().all(inner),
        Expr::List(each) => each.elts.iter().all(inner),
        Expr::Dict(each) => each.items.iter().all(|item| inner(&item.value)),
        Expr::Call(call) => {
            let name = check.flow.models.of(file).full_name(scope, &call.func);
            matches!(method(call), Some("item" | "tolist"))
                || name.is_some_and(|name| matches!(&*name, "float" | "int" | "len" | "str"))
        }
        Expr::Name(name) => {
            let places = check.flow.places(file, scope, value);
            let mut seen = HashSet::new();
            !places.is_empty()
                && places.into_iter().all(|at| {
                    let Place::Variable(of, owner, _) = at.place else { return false };
                    let bindings = check.flow.models.of(of).scope(owner).bindings(name.id.as_str());
                    let assigned: Vec<_> = check.flow.assigned(at.place).collect();
                    // `total += loss.item()` is what `total = 0.0` has become.
                    at.depth == 0
                        && seen.insert(at.place)
                        && bindings.len() == assigned.len()
                        && assigned.iter().all(|(of, assign)| {
                            matches!(assign.how, Bound::Whole | Bound::Augmented(_))
                                && !mentions_itself(assign.value, name.id.as_str())
                                && is_number(check, *of, assign.scope, assign.value, left)
                        })
                })
        }
        _ => false,
    }
}

fn mentions_itself(value: &Expr, name: &str) -> bool {
    lowtide_lint::ask::names_in(value).contains(name)
}
