//! LT101: A loss is summed up together with its graph.

use std::collections::HashSet;

use crate::words::code;
use crate::{Cause, Fix, Language, Live, Memory, Severity};
use lowtide_lint::autograd::mentions;
use lowtide_lint::check::{Check, Confidence, Hit};
use lowtide_lint::feeds::{Kind, innermost_loop, is_inside};
use lowtide_lint::flow::Place;
use lowtide_lint::model::{Assign, BlockId, BlockKind, Bound, Expr, Operator, Ranged};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT101",
    name: "loss-summed-with-graph",
    title: "A loss is summed up together with its graph",
    severity: Severity::Leak,
    happens: "A running total adds the loss tensor of every step. The sum is a tensor, too, and remembers how it \
                  was computed.",
    keeps: "The total's autograd graph has one addition more after every step, and each holds the whole graph of \
                its step: the activations, until `backward` frees them, and the nodes in any case. Nothing goes before \
                the total does.",
    shows: "Memory climbs by the same amount at every step and falls back where the total is set to zero, mostly \
                at the epoch's end. The nodes are C++ objects: a count of Python objects stays flat.",
    fix: Fix {
        text: "Add the value without its graph: `detach()`, or `item()` where the wait for the GPU does not matter.",
        language: Language::Python,
        before: r#"total = 0
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    total += loss"#,
        after: r#"total = 0.0
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    total += loss.detach()"#,
    },
    harmless: "Losses of one step that are added before `backward` belong together and go with it. Under `no_grad` \
                   there is no graph.",
    sources: &["https://docs.pytorch.org/docs/stable/notes/faq.html"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.kind == Memory::Graph && live.statement == Some(Kind::Accumulated)).then_some(90)
}

/// A sum over the rounds of a loop, of values with a graph, that no `backward` is called on.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        for assign in &model.assigns {
            let (scope, block, target) = (assign.scope, assign.block, assign.target);
            if !check.containers.is_repeated(file, scope, block) {
                continue;
            }
            let Some(added) = added(check, file, assign) else { continue };
            // What a function is given may be anything; what an object sums up stays with it.
            let is_attribute =
                || check.flow.places(file, scope, target).iter().any(|at| matches!(at.place, Place::Attribute(..)));
            if check.outlives(file, scope, block, target)
                && (check.carries(file, scope, block, target.start(), added)
                    || is_attribute() && check.is_handed(file, scope, block, added))
                && !check.autograd.reaches_backward(file, assign)
                && !begins_with_graph(check, file, assign)
                && !is_begun_anew(check, file, assign)
                && !is_models_term(check, file, assign)
            {
                let what =
                    format!("{} sums up {} with the graph of each step", code(check, file, target), code(check, file, added));
                let proven = check.spans_steps(file, scope, block, target, added) && !is_beside_loss(check, file, assign, added);
                let confidence = if proven { Confidence::High } else { Confidence::Low };
                let hit = Hit::new(file, target.start()).saying(what).with(confidence);
                hits.push(hit.fixed(check.detach(file, scope, block, added, target)));
            }
        }
    }
    hits
}

/// Whether a value came together with the loss that `backward` is called on (`loss, count = step(x)`): mostly a count, then.
fn is_beside_loss<'p>(check: &Check<'_, 'p>, file: FileId, sum: &Assign<'p>, added: &'p Expr) -> bool {
    let model = check.flow.models.of(file);
    let is_loss =
        |value, scope| check.flow.places(file, scope, value).iter().any(|at| at.depth == 0 && check.autograd.is_scalar(at.place));
    let places = check.flow.places(file, sum.scope, added);
    let mut given = places.iter().filter(|at| at.depth == 0).flat_map(|at| check.flow.assigned(at.place)).peekable();
    given.peek().is_some()
        && !is_loss(added, sum.scope)
        && given.all(|(of, own)| {
            *of == file
                && own.how == Bound::Part
                && model
                    .assigns
                    .iter()
                    .any(|other| other.how == Bound::Part && other.range == own.range && is_loss(other.target, other.scope))
        })
}

/// What a sum gets: `total += x`, `total = total + x`, `total = x + total`.
fn added<'p>(check: &Check<'_, 'p>, file: FileId, assign: &Assign<'p>) -> Option<&'p Expr> {
    match (assign.how, assign.value) {
        // `losses += [loss]` makes a list longer (LT103).
        (Bound::Augmented(Operator::Add), Expr::List(_) | Expr::ListComp(_) | Expr::Tuple(_)) => None,
        (Bound::Augmented(Operator::Add), value) => Some(value),
        (Bound::Whole, Expr::BinOp(sum)) if sum.op == Operator::Add => {
            let target = check.flow.places(file, assign.scope, assign.target);
            let same = |expr| check.flow.places(file, assign.scope, expr).iter().any(|at| target.contains(at));
            match () {
                () if same(&sum.left) => Some(&sum.right),
                () if same(&sum.right) => Some(&sum.left),
                () => None,
            }
        }
        _ => None,
    }
}

/// Whether what is added to begins as something else than nothing, before the loop: then the sum is a part of one forward pass.
fn begins_with_graph<'p>(check: &Check<'_, 'p>, file: FileId, sum: &Assign<'p>) -> bool {
    let model = check.flow.models.of(file);
    let Some(round) = innermost_loop(model, sum.block) else { return false };
    check.flow.places(file, sum.scope, sum.target).iter().any(|at| {
        at.depth == 0
            && matches!(at.place, Place::Variable(..))
            && check.flow.assigned(at.place).any(|(of, first)| {
                let calls = |value: &Expr| match value {
                    Expr::Call(call) => match &*call.func {
                        Expr::Attribute(method) => !NOTHING.contains(&method.attr.as_str()),
                        Expr::Name(name) => !NOTHING.contains(&name.id.as_str()),
                        _ => true,
                    },
                    _ => false,
                };
                *of == file
                    && first.how == Bound::Whole
                    && !is_inside(model, first.block, round)
                    && (calls(first.value) || check.autograd.carries(file, first.scope, first.block, first.value))
            })
    })
}

/// Calls that give something to sum up into.
const NOTHING: &[&str] = &[
    "as_tensor",
    "cpu",
    "cuda",
    "defaultdict",
    "dict",
    "double",
    "float",
    "int",
    "item",
    "list",
    "new_tensor",
    "new_zeros",
    "tensor",
    "to",
    "zeros",
    "zeros_like",
    "Counter",
    "FloatTensor",
    "Tensor",
];

/// Whether a model sums something up that its methods give to others: a term of the loss, most likely.
fn is_models_term<'p>(check: &Check<'_, 'p>, file: FileId, sum: &Assign<'p>) -> bool {
    let model = check.flow.models.of(file);
    let total: HashSet<_> = check.flow.places(file, sum.scope, sum.target).into_iter().map(|at| at.place).collect();
    check.autograd.is_in_module(file, sum.scope)
        && total.iter().all(|place| matches!(place, Place::Attribute(..)))
        && model.results.iter().any(|result| mentions(check.flow, file, result.scope, result.value, &total, 12))
}

/// Whether the same loop also sets the total to something else: at every optimizer step, say, when gradients are accumulated.
fn is_begun_anew<'p>(check: &Check<'_, 'p>, file: FileId, sum: &Assign<'p>) -> bool {
    let model = check.flow.models.of(file);
    let round = innermost_loop(model, sum.block);
    let totals: HashSet<_> = check.flow.places(file, sum.scope, sum.target).into_iter().map(|at| at.place).collect();
    totals.iter().any(|total| {
        check.flow.assigned(*total).any(|(of, other)| {
            *of == file
                && other.how == Bound::Whole
                // Without a loop: later in the same function, at the end of an episode.
                && match round {
                    Some(round) => is_inside(model, other.block, round) || sums_own_parts(check, file, sum, other, round),
                    None => other.scope == sum.scope && other.target.start() > sum.target.start(),
                }
                && !mentions(check.flow, file, other.scope, other.value, &totals, 4)
        })
    })
}

/// Whether a model goes over parts of its own, and sets the total to something else in the same pass before it does.
fn sums_own_parts<'p>(check: &Check<'_, 'p>, file: FileId, sum: &Assign<'p>, begun: &Assign<'p>, round: BlockId) -> bool {
    let model = check.flow.models.of(file);
    let own =
        |of: &Expr| matches!(of, Expr::Attribute(part) if matches!(&*part.value, Expr::Name(name) if name.id.as_str() == "self"));
    let over_own = matches!(model.block(round).kind, BlockKind::For(each) if own(&each.iter));
    over_own
        && check.autograd.is_in_module(file, sum.scope)
        && begun.scope == sum.scope
        && begun.target.start() < sum.target.start()
}
