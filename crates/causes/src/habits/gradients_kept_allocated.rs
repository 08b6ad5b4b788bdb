//! LT701: `zero_grad` keeps the gradients allocated.

use crate::{Cause, Fix as Mend, Language, Live, Severity};
use lowtide_lint::ask::{argument, last_name, receiver, truth};
use lowtide_lint::check::{Check, Confidence, Hit};
use lowtide_lint::feeds::Kind;
use lowtide_lint::fix::{Edit, Fix, Safety};
use lowtide_lint::model::{BindingKind, BlockId, Bound, Expr, Ranged, ScopeId, dotted};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT701",
    name: "gradients-kept-allocated",
    title: "`zero_grad` keeps the gradients allocated",
    severity: Severity::Floor,
    happens: "`zero_grad(set_to_none=False)`, a hand-written `p.grad.zero_()`, or a torch older than 2.0, where \
                  that was the default.",
    keeps: "Gradients have the size of the parameters, and stay through validation and data loading.",
    shows: "A floor higher by one copy of the parameters, outside of `backward`.",
    fix: Mend {
        text: "`optimizer.zero_grad(set_to_none=True)`, which is the default from torch 2.0 on.",
        language: Language::Python,
        before: r#"optimizer.zero_grad(set_to_none=False)"#,
        after: r#"optimizer.zero_grad(set_to_none=True)"#,
    },
    harmless: "If the validation needs less than the backward pass does, the peak is the same.",
    sources: &[
        "https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html",
        "zoo/06_zero_grad_floor.py",
    ],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.statement == Some(Kind::Zeroed)).then_some(95)
}

/// Lists and variables that are looked through from a loop over parameters to where they come from.
const MAX_LOOKS: usize = 4;

/// `zero_grad(set_to_none=False)`, and `p.grad.zero_()` for all parameters, again and again.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model, call) in check.calls_of(&["zero_grad", "zero_", "fill_"]) {
        let Some(on) = receiver(call.call) else { continue };
        if !is_repeated(check, file, call.scope, call.block) {
            continue;
        }
        let text = model.source.slice(on.range());
        if last_name(&call.call.func) == Some("zero_grad") {
            let kept = argument(call.call, 0, "set_to_none").filter(|value| says_false(check, file, call.scope, value));
            if let Some(value) = kept {
                let what = format!("the gradients of `{text}` stay allocated from one step to the next, as zeros");
                // An optimizer leaves out parameters without a gradient, and moves those with a zero by their momentum.
                let fix = value
                    .is_boolean_literal_expr()
                    .then(|| Fix { safety: Safety::Unsafe, edits: vec![Edit::replace(value.range(), "True")] });
                hits.push(Hit::new(file, call.call.start()).saying(what).with(Confidence::Medium).fixed(fix));
            }
        } else if zeroes_parameters(check, file, call.scope, on) && !is_a_choice(check, file, call.scope, call.block) {
            let what = format!("every gradient stays allocated: `{text}` is set to zero instead of None");
            hits.push(Hit::new(file, call.call.start()).saying(what).with(Confidence::Medium));
        }
    }
    hits
}

/// In a loop, or in a function that is called in one; a loop over parameters is no such loop.
fn is_repeated(check: &Check, file: FileId, scope: ScopeId, block: BlockId) -> bool {
    let function = check.flow.models.of(file).function_of(scope);
    check.long_loop(file, block).is_some() || function.is_some_and(|function| check.is_called_in_loop(file, function))
}

fn says_false<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, value: &'p Expr) -> bool {
    truth(value).or_else(|| check.only_value(file, scope, value).and_then(|(_, value)| truth(value))) == Some(false)
}

/// `p.grad`, `p.grad.data`, where `p` is an element of a model's parameters.
fn zeroes_parameters<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, on: &'p Expr) -> bool {
    let Some(parts) = dotted(on) else { return false };
    let [name, "grad", rest @ ..] = &*parts else { return false };
    let model = check.flow.models.of(file);
    (rest.is_empty() || rest == ["data"])
        && model.assigns.iter().any(|assign| {
            matches!(assign.target, Expr::Name(each) if each.id.as_str() == *name)
                && matches!(assign.how, Bound::Element | Bound::Part)
                && model.owner(assign.scope, name) == model.owner(scope, name)
                && are_parameters(check, file, assign.scope, assign.value, MAX_LOOKS)
        })
}

fn are_parameters<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, value: &'p Expr, looks: usize) -> bool {
    let Some(looks) = looks.checked_sub(1) else { return false };
    match value {
        Expr::Call(call) => match last_name(&call.func) {
            Some("parameters" | "named_parameters") => true,
            Some("list" | "tuple" | "filter" | "chain" | "get_params" | "get_parameters") => {
                call.arguments.args.iter().any(|value| are_parameters(check, file, scope, value, looks))
            }
            _ => false,
        },
        Expr::Subscript(item) => matches!(&*item.slice, Expr::StringLiteral(key) if key.value.to_str() == "params"),
        Expr::ListComp(each) => {
            each.generators.iter().any(|generator| are_parameters(check, file, scope, &generator.iter, looks))
        }
        Expr::Name(_) | Expr::Attribute(_) => check
            .values(file, scope, value)
            .into_iter()
            .chain(check.flow.places(file, scope, value).into_iter().filter(|at| at.depth == 0).flat_map(|at| check.given_to(at)))
            .any(|(file, scope, value)| are_parameters(check, file, scope, value, looks)),
        _ => false,
    }
}

/// An optimizer's own `zero_grad(set_to_none)`, or any other condition that asks for it.
fn is_a_choice(check: &Check, file: FileId, scope: ScopeId, block: BlockId) -> bool {
    let model = check.flow.models.of(file);
    let asked = model.bindings(scope, "set_to_none").iter().any(|binding| matches!(binding.kind, BindingKind::Parameter { .. }));
    let own = model.method_of(scope).is_some_and(|(_, method)| model.scope(method).name() == "zero_grad");
    asked || own || model.blocks_within(block).any(|block| matches!(block.kind, lowtide_lint::model::BlockKind::Else))
}
