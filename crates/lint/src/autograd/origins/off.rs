//! What takes a graph off a value, and where.

use crate::ask::last_name;
use crate::autograd::is_plain;
use crate::feeds::is_inside;
use crate::flow::ItemPut;
use crate::model::{BlockId, BlockKind, Bound, Expr, Model, dotted};

/// Whether a condition holds for tensors (or for nothing else): `torch.is_tensor(x)`, `isinstance(x, torch.Tensor)`,
/// `hasattr(x, "item")`.
pub(super) fn tells_tensors(test: &Expr) -> Option<bool> {
    match test {
        Expr::UnaryOp(each) if each.op.is_not() => tells_tensors(&each.operand).map(|tensors| !tensors),
        Expr::Call(call) => {
            let second = call.arguments.args.get(1);
            let tells = match last_name(&call.func)? {
                "is_tensor" => true,
                "isinstance" => match second? {
                    Expr::Tuple(all) => all.elts.iter().any(|one| last_name(one) == Some("Tensor")),
                    one => last_name(one) == Some("Tensor"),
                },
                "hasattr" => second.and_then(Expr::as_string_literal_expr).is_some_and(|name| is_plain(name.value.to_str())),
                _ => false,
            };
            tells.then_some(true)
        }
        _ => None,
    }
}

/// Whether something is put where it was taken from, or by a loop over the container: `outputs[key] = outputs[key].item()`.
pub(super) fn is_item_of(model: &Model, put: &ItemPut) -> bool {
    let is_it = |expr: &Expr| dotted(expr).is_some_and(|parts| dotted(put.base).is_some_and(|base| base == parts));
    match source(put.value) {
        Expr::Subscript(item) => is_it(&item.value),
        Expr::Name(name) => model.assigns.iter().any(|assign| {
            assign.how == Bound::Element
                && assign.scope == put.scope
                && assign.target.as_name_expr().is_some_and(|target| target.id == name.id)
                && is_it(assign.value)
        }),
        _ => false,
    }
}

/// What a value is computed from, behind what is done to it.
pub(super) fn source(expr: &Expr) -> &Expr {
    match expr {
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) => source(&method.value),
            _ => call.arguments.args.first().map_or(expr, source),
        },
        Expr::Attribute(each) if is_plain(each.attr.as_str()) => source(&each.value),
        _ => expr,
    }
}

/// Whether a value has no graph whatever it is computed from: `x.item()`, `x.detach().cpu()`, `x.data`.
pub(crate) fn is_taken_off(value: &Expr, left: usize) -> bool {
    let Some(left) = left.checked_sub(1) else { return false };
    match value {
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) => is_plain(method.attr.as_str()) || is_taken_off(&method.value, left),
            Expr::Name(name) => is_plain(name.id.as_str()),
            _ => false,
        },
        Expr::Attribute(each) => is_plain(each.attr.as_str()),
        Expr::NumberLiteral(_) | Expr::NoneLiteral(_) => true,
        Expr::BinOp(each) => is_taken_off(&each.left, left) && is_taken_off(&each.right, left),
        _ => false,
    }
}

/// Whether who comes to a block has been in another one, as far as it matters for tensors: what is done under
/// `if torch.is_tensor(x):` is done for all of them. Nobody passes by the body of a `with`.
pub(crate) fn is_passed(model: &Model, passed: BlockId, block: BlockId) -> bool {
    if let (BlockKind::With(_), Some(around)) = (model.block(passed).kind, model.block(passed).parent) {
        return is_passed(model, around, block);
    }
    is_inside(model, block, passed)
        || matches!(model.block(passed).kind, BlockKind::If(test) if tells_tensors(test) == Some(true))
            && model.block(passed).parent.is_some_and(|around| is_inside(model, block, around))
}
