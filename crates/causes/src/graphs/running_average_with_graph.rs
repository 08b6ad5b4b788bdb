//! LT102: A running average is updated with the graph.

use std::collections::HashSet;

use crate::{Cause, Fix, Language, Live, Memory, Severity};
use lowtide_lint::autograd::mentions;
use lowtide_lint::check::{Check, Hit};
use lowtide_lint::feeds::{Kind, innermost_loop, is_inside};
use lowtide_lint::model::{Assign, Bound, Expr, Operator, Ranged};
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
    (live.kind == Memory::Graph && live.statement == Some(Kind::Accumulated)).then_some(80)
}

/// `ema = a * ema + b * x` where `x` has a graph; `ema.lerp(x, w)` too.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        for assign in model.assigns.iter().filter(|assign| assign.how == Bound::Whole) {
            let (scope, block) = (assign.scope, assign.block);
            if !matches!(assign.value, Expr::BinOp(_) | Expr::Call(_)) || !check.containers.is_repeated(file, scope, block) {
                continue;
            }
            let target: HashSet<_> = check.flow.places(file, scope, assign.target).into_iter().map(|at| at.place).collect();
            let old = |expr| mentions(check.flow, file, scope, expr, &target, 12);
            let new = |expr| check.autograd.carries(file, scope, block, expr);
            let averages = match assign.value {
                Expr::BinOp(sum) if sum.op == Operator::Add => {
                    let scaled = |expr: &Expr| matches!(expr, Expr::BinOp(product) if matches!(product.op, Operator::Mult | Operator::Div));
                    scaled(&sum.left) && old(&sum.left) && new(&sum.right)
                        || scaled(&sum.right) && old(&sum.right) && new(&sum.left)
                }
                Expr::Call(call) => {
                    let lerp = matches!(&*call.func, Expr::Attribute(method) if method.attr.as_str() == "lerp");
                    lerp && old(assign.value) && call.arguments.args.iter().any(new)
                }
                _ => false,
            };
            if averages
                && check.outlives(file, scope, block, assign.target)
                && !check.autograd.reaches_backward(file, assign)
                && !is_of_this_step(check, file, assign)
            {
                let added = match assign.value {
                    Expr::BinOp(sum) if new(&sum.right) && old(&sum.left) => Some(&*sum.right),
                    Expr::BinOp(sum) => Some(&*sum.left),
                    Expr::Call(call) => call.arguments.args.iter().find(|argument| new(argument)),
                    _ => None,
                };
                let fix = added.and_then(|added| check.detach(file, scope, block, added, assign.target));
                hits.push(Hit::new(file, assign.target.start()).fixed(fix));
            }
        }
    }
    hits
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
