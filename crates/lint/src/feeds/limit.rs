//! The number of elements that a container is limited to, where it stands in the source.
//!
//! A number that may be another one while the program runs is none: who trusts it waits for a container to be full.

use ruff_python_ast::{CmpOp, ExprCall};

use super::asked::Here;
use super::bounds::Bounds;
use super::ops::name_of;
use crate::model::{Bound as Way, Expr, ScopeId};
use crate::program::FileId;

impl<'p> Bounds<'_, 'p> {
    /// The number that a length is compared with, where the source tells it.
    pub(super) fn number_in(&self, here: Here<'p>, test: &'p Expr) -> Option<u64> {
        match test {
            Expr::Compare(each) => {
                let [other] = &*each.comparators else { return None };
                let sides = [(&*each.left, other), (other, &*each.left)];
                let is_length = |side| self.is_length(here.file, here.scope, side);
                match sides.into_iter().find(|(length, _)| is_length(length)) {
                    Some((_, number)) => self.number(here.file, here.scope, number),
                    // `excess > 0`
                    None => {
                        let (length, number) = self.difference(here, &each.left)?;
                        let is_excess = matches!(&*each.ops, [CmpOp::Gt]) && literal(other) == Some(0) && is_length(length);
                        is_excess.then(|| self.number(here.file, here.scope, number))?
                    }
                }
            }
            Expr::BoolOp(each) => each.values.iter().find_map(|value| self.number_in(here, value)),
            Expr::UnaryOp(each) if each.op.is_not() => self.number_in(here, &each.operand),
            test => {
                let (here, test) = self.predicate(here, test)?;
                self.number_in(here, test)
            }
        }
    }

    /// The same for `range(len(xs) - 100)`.
    pub(super) fn number_of_rounds(&self, here: Here<'p>, iterable: &'p Expr) -> Option<u64> {
        let (length, number) = self.excess(here, iterable)?;
        self.is_length(here.file, here.scope, length).then(|| self.number(here.file, here.scope, number))?
    }

    /// What a number is: written out, or a name that is only ever given one that is.
    pub(super) fn number(&self, file: FileId, scope: ScopeId, expr: &'p Expr) -> Option<u64> {
        if let Some(number) = literal(expr) {
            return Some(number);
        }
        let places = self.flow.places(file, scope, expr);
        let [place] = &*places else { return None };
        let mut given = self.flow.assigned(place.place);
        let first = given.next().filter(|(_, assign)| place.depth == 0 && assign.how == Way::Whole)?;
        let first = literal(first.1.value)?;
        // Given anew elsewhere, by an argument or another file, it may be another one.
        given.next().is_none().then_some(first)
    }
}

/// The number that a container is made with: `maxlen=100`.
pub(super) fn limit(call: &ExprCall) -> Option<&Expr> {
    let arguments = &call.arguments;
    let named = arguments.keywords.iter().find(|keyword| {
        keyword.arg.as_ref().is_some_and(|name| matches!(name.as_str(), "maxlen" | "maxsize" | "max_size" | "capacity"))
            && !keyword.value.is_none_literal_expr()
    });
    let positional = match name_of(call) {
        Some("deque") => arguments.args.get(1),
        Some("Queue" | "LifoQueue" | "PriorityQueue" | "LRUCache" | "LFUCache" | "RRCache") => arguments.args.first(),
        _ => None,
    };
    named.map(|keyword| &keyword.value).or(positional)
}

/// A whole number that is written out.
pub(super) fn literal(expr: &Expr) -> Option<u64> {
    match expr {
        Expr::NumberLiteral(each) => each.value.as_int()?.as_u64(),
        _ => None,
    }
}
