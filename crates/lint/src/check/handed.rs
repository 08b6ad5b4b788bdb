//! What functions are given together with its graph: `meter.update(loss)`.

use super::Check;
use crate::flow::ClassId;
use crate::model::{BlockId, Expr, ScopeId};
use crate::program::FileId;

impl<'p> Check<'_, 'p> {
    /// Whether a value comes from a parameter that some caller gives something with a graph, itself or through others. Models hand
    /// activations to their own methods all the time; objects that keep something are others.
    #[must_use]
    pub fn is_handed(&self, file: FileId, scope: ScopeId, block: BlockId, expr: &'p Expr) -> bool {
        let method = self.flow.models.of(file).method_of(scope);
        method.is_some_and(|(class, method)| {
            !self.autograd.is_module(ClassId { file, scope: class }) && self.is_called_again(file, method)
        }) && self.autograd.is_handed(file, scope, block, expr)
    }
}
