//! The fix for what is kept with its graph: the value without it.

use super::Check;
use crate::fix::{Edit, Fix, Safety};
use crate::model::{BlockId, Expr, Operator, ScopeId};
use crate::program::FileId;

/// Nested expressions that are looked into.
const MAX_NESTING: usize = 12;

impl<'p> Check<'_, 'p> {
    /// `.detach()` behind what carries the graph in an expression; none where no part of it is known to.
    ///
    /// Safe where each such part is surely a tensor, and its graph is gone once the step is over because `backward` has freed it:
    /// nobody can use what is taken away.
    #[must_use]
    pub fn detach(&self, file: FileId, scope: ScopeId, block: BlockId, expr: &'p Expr) -> Option<Fix> {
        let mut parts = Vec::new();
        self.parts(file, scope, block, expr, MAX_NESTING, &mut parts);
        if parts.is_empty() {
            return None;
        }
        let safe = !self.retains(file) && parts.iter().all(|part| self.is_spent(file, scope, block, part, MAX_NESTING));
        let edits = parts.iter().flat_map(|part| Edit::behind(part, ".detach()")).collect();
        Some(Fix { safety: if safe { Safety::Safe } else { Safety::Unsafe }, edits })
    }

    /// The parts of a display that carry a graph; of a scaled value the value.
    fn parts(&self, file: FileId, scope: ScopeId, block: BlockId, expr: &'p Expr, nesting: usize, found: &mut Vec<&'p Expr>) {
        let Some(nesting) = nesting.checked_sub(1) else { return };
        if !self.autograd.carries(file, scope, block, expr) {
            return;
        }
        match expr {
            Expr::Tuple(each) => each.elts.iter().for_each(|part| self.parts(file, scope, block, part, nesting, found)),
            Expr::List(each) => each.elts.iter().for_each(|part| self.parts(file, scope, block, part, nesting, found)),
            Expr::Dict(each) => {
                each.items.iter().for_each(|item| self.parts(file, scope, block, &item.value, nesting, found));
            }
            Expr::BinOp(each) if matches!(each.op, Operator::Mult | Operator::Div) => {
                let sides = [&*each.left, &*each.right];
                sides.into_iter().for_each(|side| self.parts(file, scope, block, side, nesting, found));
            }
            _ => found.push(expr),
        }
    }

    /// Whether a value is surely a tensor, computed from nothing with a graph but what `backward` is called on.
    fn is_spent(&self, file: FileId, scope: ScopeId, block: BlockId, expr: &'p Expr, nesting: usize) -> bool {
        let Some(nesting) = nesting.checked_sub(1) else { return false };
        match expr {
            Expr::BinOp(each) => [&*each.left, &*each.right]
                .into_iter()
                .all(|side| !self.autograd.carries(file, scope, block, side) || self.is_spent(file, scope, block, side, nesting)),
            _ => {
                let places = self.flow.places(file, scope, expr);
                !places.is_empty() && places.iter().all(|at| at.depth == 0 && self.autograd.is_scalar(at.place))
            }
        }
    }

    /// Whether a file keeps graphs beyond `backward` on purpose.
    fn retains(&self, file: FileId) -> bool {
        self.flow.models.of(file).calls.iter().any(|call| {
            call.call
                .arguments
                .keywords
                .iter()
                .any(|keyword| keyword.arg.as_ref().is_some_and(|arg| matches!(arg.as_str(), "retain_graph" | "create_graph")))
        })
    }
}
