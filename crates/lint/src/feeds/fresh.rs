//! Containers as they are written out: which have nothing in them, and what others have.

use super::ops::name_of;
use crate::model::Expr;

/// A constant, or a container that is written out and has nothing else in it, empty or not.
pub(super) fn is_new(value: &Expr) -> bool {
    let is_constant = |value: &Expr| {
        matches!(value, Expr::StringLiteral(_) | Expr::NumberLiteral(_) | Expr::BooleanLiteral(_) | Expr::NoneLiteral(_))
    };
    is_fresh(value) || items(value).is_some_and(|mut items| items.all(|item| is_constant(item) || is_new(item)))
}

/// What a container that is written out has in it; nothing of one that spreads another: `[*xs]`, `{**xs}`.
pub(super) fn items(value: &Expr) -> Option<Box<dyn Iterator<Item = &Expr> + '_>> {
    match value {
        Expr::List(each) => Some(Box::new(each.elts.iter())),
        Expr::Tuple(each) => Some(Box::new(each.elts.iter())),
        Expr::Set(each) => Some(Box::new(each.elts.iter())),
        Expr::Dict(each) if each.items.iter().all(|item| item.key.is_some()) => {
            Some(Box::new(each.items.iter().map(|item| &item.value)))
        }
        _ => None,
    }
}

/// A new, empty container.
pub(super) fn is_fresh(value: &Expr) -> bool {
    match value {
        Expr::List(each) => each.elts.is_empty(),
        Expr::Tuple(each) => each.elts.is_empty(),
        Expr::Dict(each) => each.items.is_empty(),
        Expr::NoneLiteral(_) => true,
        Expr::Call(call) => {
            let empty = call.arguments.args.is_empty();
            match name_of(call) {
                Some("list" | "dict" | "set" | "OrderedDict" | "Counter" | "bytearray" | "WeakValueDictionary") => {
                    empty && call.arguments.keywords.is_empty()
                }
                Some("deque" | "Queue") => empty,
                Some("defaultdict") => call.arguments.args.len() <= 1,
                _ => false,
            }
        }
        _ => false,
    }
}
