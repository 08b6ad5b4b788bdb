//! What is cut of each of the values that a dictionary has, while it keeps its entries.

use crate::ask::receiver;
use crate::flow::Flow;
use crate::model::{Assign, BlockId, BlockKind, Bound, Delete, Expr, Model, Ranged, ScopeId};
use crate::program::FileId;

use super::ops::name_of;

/// What a loop over all that a dictionary has gives in each round.
struct Each<'p> {
    container: &'p Expr,
    key: Option<&'p Expr>,
    value: Option<&'p Expr>,
}

/// The dictionary each of whose values an assignment cuts: `for key, kept in d.items(): d[key] = kept[:quota]`.
pub(super) fn by_loop<'p>(flow: &Flow<'p>, file: FileId, assign: &Assign<'p>) -> Option<&'p Expr> {
    let Expr::Subscript(item) = assign.target else { return None };
    let whole = cut(assign.value).filter(|_| assign.how == Bound::Whole)?;
    let model = flow.models.of(file);
    loops(model, assign.block).find_map(|each| {
        let by_key = each.key.is_some_and(|key| is_same_name(key, &item.slice));
        let of_value = each.value.is_some_and(|value| is_same_name(value, whole)) || is_same_text(model, whole, assign.target);
        (by_key && of_value && is_same_place(flow, file, assign.scope, (each.container, &item.value))).then_some(each.container)
    })
}

/// Whether it does so with all of them at once: `d = {key: kept[:quota] for key, kept in d.items()}`.
pub(super) fn by_comprehension<'p>(flow: &Flow<'p>, file: FileId, assign: &Assign<'p>) -> bool {
    let Expr::DictComp(each) = assign.value else { return false };
    let ([generator], Bound::Whole) = (&*each.generators, assign.how) else { return false };
    let Some(round) = each_of(&generator.iter, &generator.target) else { return false };
    let of_value = cut(&each.value).zip(round.value).is_some_and(|(whole, value)| is_same_name(whole, value));
    of_value && is_same_place(flow, file, assign.scope, (round.container, assign.target))
}

/// The dictionary each of whose values a `del` cuts: `for kept in d.values(): del kept[quota:]`.
pub(super) fn by_delete<'p>(model: &Model<'p>, delete: &Delete<'p>) -> Option<&'p Expr> {
    let whole = cut(delete.target)?;
    loops(model, delete.block).find_map(|each| {
        let of_value = each.value.is_some_and(|value| is_same_name(value, whole));
        let of_key = || match whole {
            Expr::Subscript(item) => {
                is_same_text(model, &item.value, each.container) && each.key.is_some_and(|key| is_same_name(key, &item.slice))
            }
            _ => false,
        };
        (of_value || of_key()).then_some(each.container)
    })
}

/// The loops around a block that go over all that something has, the innermost first.
fn loops<'m, 'p>(model: &'m Model<'p>, block: BlockId) -> impl Iterator<Item = Each<'p>> + use<'m, 'p> {
    model.blocks_within(block).filter_map(|block| match block.kind {
        BlockKind::For(each) => each_of(&each.iter, &each.target),
        _ => None,
    })
}

/// `for key, value in d.items()`, `for value in list(d.values())`, `for key in d`.
fn each_of<'p>(iterable: &'p Expr, target: &'p Expr) -> Option<Each<'p>> {
    let Expr::Call(call) = iterable else { return Some(Each { container: iterable, key: Some(target), value: None }) };
    match (name_of(call)?, &*call.arguments.args) {
        ("list" | "tuple" | "sorted", [of]) => each_of(of, target),
        ("keys", []) => Some(Each { container: receiver(call)?, key: Some(target), value: None }),
        ("values", []) => Some(Each { container: receiver(call)?, key: None, value: Some(target) }),
        ("items", []) => {
            let Expr::Tuple(pair) = target else { return None };
            let [key, value] = &*pair.elts else { return None };
            Some(Each { container: receiver(call)?, key: Some(key), value: Some(value) })
        }
        _ => None,
    }
}

/// `xs` of `xs[:quota]` and of `list(xs)[-quota:]`: a slice that has an end.
fn cut(expr: &Expr) -> Option<&Expr> {
    let Expr::Subscript(each) = expr else { return None };
    let Expr::Slice(slice) = &*each.slice else { return None };
    let has_end = slice.upper.is_some() || slice.lower.is_some();
    match &*each.value {
        _ if !has_end => None,
        Expr::Call(call) => match (name_of(call), &*call.arguments.args) {
            (Some("list" | "tuple" | "sorted"), [of]) => Some(of),
            _ => None,
        },
        whole => Some(whole),
    }
}

fn is_same_name(one: &Expr, other: &Expr) -> bool {
    matches!((one, other), (Expr::Name(one), Expr::Name(other)) if one.id == other.id)
}

fn is_same_text(model: &Model, one: &Expr, other: &Expr) -> bool {
    model.source.slice(one.range()) == model.source.slice(other.range())
}

fn is_same_place<'p>(flow: &Flow<'p>, file: FileId, scope: ScopeId, (one, other): (&'p Expr, &'p Expr)) -> bool {
    let places = flow.places(file, scope, other);
    flow.places(file, scope, one).iter().any(|at| places.contains(at))
}
