//! What a program counts beside a container, since its length is not what matters: bytes of a cache, transitions of a replay of
//! episodes.

use ruff_python_ast::Operator;

use super::Kind;
use super::bounds::{Bounds, at};
use super::ops::{Loss, Op};
use crate::flow::Place;
use crate::model::{Bound as Way, Expr, ScopeId};
use crate::program::FileId;

impl<'p> Bounds<'_, 'p> {
    /// Whether a number gets larger with what is added, and smaller with what is taken out:
    /// `while self.total > self.room: self.total -= len(self.episodes.popleft())`.
    pub(super) fn is_counted(&self, loss: &Op<'p, Loss>, added: &Op<'p, Kind>, number: &'p Expr) -> bool {
        self.numbers(loss.file, loss.scope, number).into_iter().any(|number| {
            self.changes(number, Operator::Add, added.file, added.scope)
                && self.changes(number, Operator::Sub, loss.file, loss.scope)
        })
    }

    /// Whether a number gets larger with what is added, and never begins anew while the container does not:
    /// `if self.held < self.room: self.samples[name] = image; self.held += image.nbytes`.
    pub(super) fn is_filled_up(&self, added: &Op<'p, Kind>, number: &'p Expr) -> bool {
        self.numbers(added.file, added.scope, number).into_iter().any(|number| {
            self.changes(number, Operator::Add, added.file, added.scope)
                && self.flow.assigned(number).all(|(file, assign)| match assign.how {
                    Way::Augmented(_) => true,
                    Way::Whole => {
                        let model = self.flow.models.of(*file);
                        let function = model.function_of(assign.scope);
                        function.is_some_and(|function| self.is_for_making(*file, function, 1))
                            || !self.contexts.is_repeated(model, *file, assign.scope, assign.block)
                            || self.is_emptied_in(*file, function)
                    }
                    _ => false,
                })
        })
    }

    /// The variables or attributes that an expression is.
    fn numbers(&self, file: FileId, scope: ScopeId, number: &'p Expr) -> Vec<Place<'p>> {
        if !matches!(number, Expr::Name(_) | Expr::Attribute(_)) {
            return Vec::new();
        }
        self.flow.places(file, scope, number).iter().filter(|at| at.depth == 0).map(|at| at.place).collect()
    }

    /// Whether a function adds to a number, or takes from it.
    fn changes(&self, number: Place<'p>, how: Operator, file: FileId, scope: ScopeId) -> bool {
        let model = self.flow.models.of(file);
        self.flow.assigned(number).any(|(of, assign)| {
            *of == file && assign.how == Way::Augmented(how) && model.function_of(assign.scope) == model.function_of(scope)
        })
    }

    /// Whether a function empties the container.
    fn is_emptied_in(&self, file: FileId, function: Option<ScopeId>) -> bool {
        let mut losses = self.aliases.iter().flat_map(|alias| at(&self.ops.losses, alias.at));
        losses.any(|loss| {
            loss.what != Loss::Some && loss.file == file && self.flow.models.of(file).function_of(loss.scope) == function
        })
    }
}
