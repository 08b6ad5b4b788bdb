//! LT102: A running average is updated with the graph.

use std::collections::HashSet;

use crate::{Cause, Fix, Language, Live, Memory, Severity};
use lowtide_lint::autograd::{is_plain, mentions};
use lowtide_lint::check::{Check, Hit};
use lowtide_lint::feeds::{Kind, innermost_loop, is_inside};
use lowtide_lint::flow::Place;
use lowtide_lint::model::{Assign, BlockId, Bound, Expr, ExprCall, Item, Operator, Ranged, ScopeId};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT102",
    name: "running-average-with-graph",
    title: "A running average is updated with the graph",
    severity: Severity::Leak,
    happens: "An exponential average of losses, features or embeddings is computed from its last value and a \
                  tensor that requires gradients.",
    keeps: "Each value hangs on the one before it. The chain of nodes, with what they saved, reaches back to the \
                first step.",
    shows: "Steady growth per step that no epoch ends, and that goes on through validation where the average is \
                updated there. Later, `backward` through the average gets slower and slower.",
    fix: Fix {
        text: "Detach what goes into the average, or update it in place under `no_grad`.",
        language: Language::Python,
        before: r#"ema = 0.99 * ema + 0.01 * features"#,
        after: r#"ema = 0.99 * ema + 0.01 * features.detach()"#,
    },
    harmless: "An average of plain numbers, or of tensors that were made under `no_grad`.",
    sources: &["https://docs.pytorch.org/docs/stable/notes/faq.html", "zoo/08_text_embed_ema.py"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.kind == Memory::Graph && live.statement == Some(Kind::Averaged)).then_some(90)
}

/// `ema = a * ema + b * x` where `x` has a graph; `ema.lerp(x, w)` too, and what changes a buffer in place.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        for assign in model.assigns.iter().filter(|assign| matches!(assign.how, Bound::Whole | Bound::Part)) {
            let (scope, block) = (assign.scope, assign.block);
            if !matches!(assign.value, Expr::BinOp(_) | Expr::Call(_) | Expr::If(_))
                || !check.containers.is_repeated(file, scope, block)
            {
                continue;
            }
            let target: HashSet<_> = check.flow.places(file, scope, assign.target).into_iter().map(|at| at.place).collect();
            let kept = target.iter().any(|place| matches!(place, Place::Attribute(..)));
            let new = |expr| comes_with_graph(check, file, scope, block, expr, kept);
            let mixed = if assign.how == Bound::Whole { mixed(check, file, scope, assign.value, &target) } else { None };
            let averages = mixed.filter(|mixed| new(mixed));
            if (averages.is_some() || kept && is_mixed_by_helper(check, file, assign, &target))
                && check.outlives(file, scope, block, assign.target)
                && !check.autograd.reaches_backward(file, assign)
                && !is_of_this_step(check, file, assign)
            {
                let fix = averages.and_then(|added| check.detach(file, scope, block, added, assign.target));
                hits.push(Hit::new(file, assign.target.start()).fixed(fix));
            }
        }
        for call in &model.calls {
            if call.statement == call.call.range()
                && let Some((buffer, added)) = mixed_in_place(call.call)
                && check.flow.places(file, call.scope, buffer).iter().any(|at| matches!(at.place, Place::Attribute(..)))
                && check.containers.is_repeated(file, call.scope, call.block)
                && comes_with_graph(check, file, call.scope, call.block, added, true)
                && check.outlives(file, call.scope, call.block, buffer)
            {
                hits.push(Hit::new(file, call.call.start()));
            }
        }
    }
    hits
}

/// Whether a value has a graph. What an object keeps may also be given to it, or be an activation of the module that it is.
fn comes_with_graph<'p>(
    check: &Check<'_, 'p>,
    file: FileId,
    scope: ScopeId,
    block: BlockId,
    expr: &'p Expr,
    is_kept: bool,
) -> bool {
    check.autograd.carries(file, scope, block, expr)
        || is_kept && (check.is_handed(file, scope, block, expr) || check.autograd.is_activation(file, scope, block, expr))
}

/// What is mixed with the old value of a place.
fn mixed<'p>(
    check: &Check<'_, 'p>,
    file: FileId,
    scope: ScopeId,
    value: &'p Expr,
    target: &HashSet<Place<'p>>,
) -> Option<&'p Expr> {
    let old = |expr| mentions(check.flow, file, scope, expr, target, 12);
    match value {
        Expr::BinOp(sum) if sum.op == Operator::Add => {
            let scaled =
                |expr: &Expr| matches!(expr, Expr::BinOp(product) if matches!(product.op, Operator::Mult | Operator::Div));
            match () {
                () if scaled(&sum.left) && old(&sum.left) && !old(&sum.right) => Some(&sum.right),
                () if scaled(&sum.right) && old(&sum.right) && !old(&sum.left) => Some(&sum.left),
                () => None,
            }
        }
        // `loss if ema is None else 0.9 * ema + 0.1 * loss`
        Expr::If(each) => [&*each.body, &*each.orelse].into_iter().find_map(|one| mixed(check, file, scope, one, target)),
        Expr::Call(call) => {
            let Expr::Attribute(method) = &*call.func else { return None };
            (method.attr.as_str() == "lerp" && old(&method.value)).then(|| call.arguments.args.first()).flatten()
        }
        _ => None,
    }
}

/// Whether a place gets back what a function of the program made of its old value: a mix of it and of something with a graph.
fn is_mixed_by_helper<'p>(check: &Check<'_, 'p>, file: FileId, assign: &Assign<'p>, target: &HashSet<Place<'p>>) -> bool {
    let Expr::Call(call) = assign.value else { return false };
    let Some((of, function)) = check.flow.callee(file, assign.scope, &call.func) else { return false };
    let callers = check.flow.callers(of, function);
    let Some((_, site)) = callers.iter().find(|(from, site)| *from == file && std::ptr::eq(site.call, call)) else {
        return false;
    };
    let helper = check.flow.models.of(of);
    let gives = helper.returned(function).filter_map(|result| match (result.value, assign.part.items()) {
        (Expr::Tuple(all), &[Item::At(at)]) => all.elts.get(usize::from(at)),
        (value, []) => Some(value),
        _ => None,
    });
    let given = check.flow.given(file, site, of, function);
    let mut gives = gives.filter_map(Expr::as_name_expr);
    gives.any(|name| {
        let Some(one) = given.iter().find(|one| one.parameter == name.id.as_str() && one.depth == 0) else { return false };
        let is_old = check.flow.places(file, assign.scope, one.value).iter().any(|at| target.contains(&at.place));
        let parameter = Place::Variable(of, function, one.parameter);
        is_old
            && check.flow.assigned(parameter).filter(|(_, mix)| mix.how == Bound::Whole).any(|(_, mix)| {
                mixed(check, of, mix.scope, mix.value, &HashSet::from([parameter]))
                    .is_some_and(|added| comes_with_graph(check, of, mix.scope, mix.block, added, true))
            })
    })
}

/// `buffer.mul_(0.9).add_(x)`, `buffer.lerp_(x, 0.1)`: the buffer and what is mixed in. Not through `data`.
fn mixed_in_place(call: &ExprCall) -> Option<(&Expr, &Expr)> {
    let Expr::Attribute(last) = &*call.func else { return None };
    let added = call.arguments.args.first()?;
    let mut buffer = &*last.value;
    let mut scaled = last.attr.as_str() == "lerp_";
    while let Expr::Call(before) = buffer {
        let Expr::Attribute(method) = &*before.func else { return None };
        scaled |= matches!(method.attr.as_str(), "mul_" | "div_");
        buffer = &method.value;
    }
    let plain = buffer.as_attribute_expr().is_none_or(|attribute| is_plain(attribute.attr.as_str()));
    (scaled && !plain && matches!(last.attr.as_str(), "lerp_" | "add_")).then_some((buffer, added))
}

/// Whether the same round, or the same call, has set the place before: what is mixed in then is no average of former steps.
fn is_of_this_step<'p>(check: &Check<'_, 'p>, file: FileId, mix: &Assign<'p>) -> bool {
    let model = check.flow.models.of(file);
    let round = innermost_loop(model, mix.block);
    let target: HashSet<_> = check.flow.places(file, mix.scope, mix.target).into_iter().map(|at| at.place).collect();
    target.iter().any(|place| {
        check.flow.assigned(*place).any(|(of, first)| {
            *of == file
                && first.scope == mix.scope
                && first.how == Bound::Whole
                && first.target.start() < mix.target.start()
                && is_inside(model, mix.block, first.block)
                && round.is_none_or(|round| is_inside(model, first.block, round))
                && !mentions(check.flow, file, first.scope, first.value, &target, 4)
        })
    })
}
