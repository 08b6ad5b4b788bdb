//! What a variable holds at one place of a function: the last assignment before it decides, where there is one that cannot be
//! passed by.

use super::Check;
use crate::autograd::is_passed;
pub(super) use crate::autograd::is_taken_off;
use crate::model::{BlockId, Bound, Expr, Ranged, ScopeId, TextSize};
use crate::program::FileId;

impl<'p> Check<'_, 'p> {
    /// Whether the value of an expression carries a graph at `offset`: `loss = loss.item()` before it takes it off.
    #[must_use]
    pub fn carries(&self, file: FileId, scope: ScopeId, block: BlockId, offset: TextSize, expr: &'p Expr) -> bool {
        self.autograd.carries(file, scope, block, expr) && self.carries_here(file, scope, block, offset, expr, 12)
    }

    fn carries_here(&self, file: FileId, scope: ScopeId, block: BlockId, offset: TextSize, expr: &'p Expr, left: usize) -> bool {
        let Some(left) = left.checked_sub(1) else { return true };
        let inner = |expr: &'p Expr| {
            self.autograd.carries(file, scope, block, expr) && self.carries_here(file, scope, block, offset, expr, left)
        };
        match expr {
            Expr::Name(name) => {
                let model = self.flow.models.of(file);
                let Some(owner) = model.owner(scope, name.id.as_str()) else { return true };
                let place = self.flow.variable(file, owner, name.id.as_str());
                let before = self.flow.assigned(place).filter(|(of, assign)| {
                    *of == file
                        && assign.scope == scope
                        && assign.range.end() <= offset
                        && is_passed(model, assign.block, block)
                        && matches!(assign.how, Bound::Whole | Bound::Part)
                });
                // `output["loss"] = output["loss"].detach()`
                let mut items = self.flow.put_into(place).filter(|put| put.file == file && put.scope == scope);
                if items.any(|put| put.value.range().end() <= offset && is_taken_off(put.value, 12)) {
                    return false;
                }
                let last = before.max_by_key(|(_, assign)| assign.range.start());
                last.is_none_or(|(_, assign)| match assign.value {
                    // `float(total) / count`
                    Expr::BinOp(each) => [&*each.left, &*each.right]
                        .into_iter()
                        .any(|side| !is_taken_off(side, 12) && self.autograd.carries(file, scope, assign.block, side)),
                    value => !is_taken_off(value, 12),
                })
            }
            Expr::BinOp(each) => inner(&each.left) || inner(&each.right),
            Expr::Tuple(each) => each.elts.iter().any(inner),
            Expr::List(each) => each.elts.iter().any(inner),
            Expr::Dict(each) => each.items.iter().any(|item| inner(&item.value)),
            _ => true,
        }
    }
}
