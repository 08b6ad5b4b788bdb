//! LT204: A small view keeps a large storage.

use crate::kept::{Sort, sort};
use crate::keys::is_added;
use crate::words::code;
use crate::{Cause, Fix as Mend, Language, Live, Severity};
use lowtide_lint::ask::{method, receiver};
use lowtide_lint::check::{Check, Confidence, Hit, Put};
use lowtide_lint::feeds::{innermost_loop, is_inside};
use lowtide_lint::fix::{Edit, Fix, Safety};
use lowtide_lint::flow::{At, Place};
use lowtide_lint::model::{Bound, Expr, Ranged, ScopeId};
use lowtide_lint::program::FileId;

/// Functions that are followed to what they give.
const MAX_HOPS: usize = 4;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT204",
    name: "view-keeps-storage",
    title: "A small view keeps a large storage",
    severity: Severity::Leak,
    happens: "One row, one pixel or one element of a batch is kept as a slice.",
    keeps: "A slice shares the storage of the whole: as long as the one element lives, so does the batch. The same \
                holds for numpy.",
    shows: "The kept tensors are tiny, the memory is not: growth of a batch's size per step.",
    fix: Mend {
        text: "Clone what is kept.",
        language: Language::Python,
        before: r#"examples.append(batch[0])"#,
        after: r#"examples.append(batch[0].clone())"#,
    },
    harmless: "Views that go with their step.",
    sources: &["https://docs.pytorch.org/docs/stable/tensor_view.html"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    // What carries a graph is let go of by detaching it, whatever it is a part of.
    (live.views && live.adds_to_container() && !live.has_graph()).then_some(94)
}

/// A part of a tensor, without a copy, is put somewhere for good; or one of each batch is gathered over a whole evaluation.
fn rule(check: &Check) -> Vec<Hit> {
    let puts = check.kept_for_good().iter().filter(|put| is_added(check, put) && sort(check, put) == Sort::View);
    let mut hits: Vec<Hit> = puts
        .map(|put| {
            let what = format!(
                "{} keeps {}, and with it all of the tensor that this is a part of",
                code(check, put.file, put.container),
                code(check, put.file, put.value)
            );
            Hit::new(put.file, put.offset).saying(what).fixed(copied(check, put))
        })
        .collect();
    for (file, model) in check.files().filter(|(_, model)| model.source.text().contains("torch")) {
        for put in check.puts(file, model).iter().filter(|put| is_gathered(check, put)) {
            let what = format!(
                "{} keeps {} of each batch, and with it all of the tensor that this is a part of, until the loop is over",
                code(check, file, put.container),
                code(check, file, put.value)
            );
            hits.push(Hit::new(file, put.offset).with(Confidence::Medium).saying(what).fixed(copied(check, put)));
        }
    }
    hits
}

/// `.clone()` behind the part. Safe where the whole is surely a tensor, and nothing in the file writes into one: the copy would
/// not see it.
fn copied<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> Option<Fix> {
    let Expr::Subscript(part) = put.value else { return None };
    let model = check.flow.models.of(put.file);
    let is_it = |target: &'p Expr, scope| check.same(put.file, scope, target, &part.value);
    let written = model.assigns.iter().any(|assign| match (assign.how, assign.target) {
        (Bound::Augmented(_), target) => is_it(target, assign.scope),
        (_, Expr::Subscript(item)) => is_it(&item.value, assign.scope),
        _ => false,
    }) || model.calls.iter().any(|call| {
        let in_place = method(call.call).is_some_and(|name| name.ends_with('_') && !name.ends_with("__"));
        in_place && receiver(call.call).is_some_and(|on| is_it(on, call.scope))
    });
    let safe = !written && check.is_tensor(put.file, put.scope, &part.value);
    Some(Fix { safety: if safe { Safety::Safe } else { Safety::Unsafe }, edits: Edit::behind(put.value, ".clone()") })
}

/// Whether one of many along a dimension is put into a list around a loop that runs a model without gradients.
fn is_gathered<'p>(check: &Check<'_, 'p>, put: &Put<'p>) -> bool {
    let Put { file, scope, block, container, value, key, .. } = *put;
    let model = check.flow.models.of(file);
    let Some(round) = check.long_loop(file, block).filter(|round| innermost_loop(model, block) == Some(*round)) else {
        return false;
    };
    key.is_none()
        && picks_one(check, file, scope, value, MAX_HOPS)
        && check.autograd.is_without(file, scope, block)
        && check.outlives(file, scope, block, container)
        && model.calls.iter().filter(|call| is_inside(model, call.block, round)).any(|call| check.call_runs_model(file, call))
}

/// Whether a value is `x[:, 0]`, directly or as the last that a variable or a function of the program gives: one of many along a
/// dimension, which shares the storage of all.
fn picks_one<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, value: &'p Expr, left: usize) -> bool {
    let Some(left) = left.checked_sub(1) else { return false };
    match value {
        Expr::Subscript(part) => match &*part.slice {
            Expr::Tuple(parts) => {
                parts.elts.iter().any(Expr::is_number_literal_expr)
                    && parts.elts.iter().any(Expr::is_slice_expr)
                    && parts.elts.iter().all(|part| {
                        part.is_number_literal_expr()
                            || matches!(part, Expr::Slice(all) if all.lower.is_none() && all.upper.is_none())
                    })
            }
            _ => false,
        },
        Expr::Name(_) => {
            let model = check.flow.models.of(file);
            let own = |at: &At<'p>| matches!(at.place, Place::Variable(of, owner, _) if of == file && model.function_of(scope) == Some(owner));
            let places = check.flow.places(file, scope, value);
            let given = places.iter().filter(|at| own(at)).flat_map(|at| check.flow.assigned(at.place));
            let last =
                given.filter(|(_, assign)| assign.target.start() < value.start()).max_by_key(|(_, assign)| assign.target.start());
            last.is_some_and(|(_, assign)| assign.how == Bound::Whole && picks_one(check, file, assign.scope, assign.value, left))
        }
        Expr::Call(call) => check.flow.callee(file, scope, &call.func).is_some_and(|(of, function)| {
            let model = check.flow.models.of(of);
            let mut results = model.returned(function);
            results.any(|result| picks_one(check, of, result.scope, result.value, left))
        }),
        _ => false,
    }
}
