//! What a program counts beside a container, since its length is not what matters: bytes of a cache, transitions of a replay of
//! episodes.

use ruff_python_ast::Operator;

use super::Kind;
use super::bounds::{Bounds, at};
use super::ops::{Loss, Op, name_of};
use crate::flow::Place;
use crate::model::{Bound as Way, Expr, ScopeId};
use crate::program::FileId;

impl<'p> Bounds<'_, 'p> {
    /// Whether a number gets larger with what is added, and smaller with what is taken out:
    /// `while self.total > self.room: self.total -= len(self.episodes.popleft())`.
    pub(super) fn is_counted(
        &self,
        file: FileId,
        scope: ScopeId,
        (loss, added): (&Op<'p, Loss>, &Op<'p, Kind>),
        number: &'p Expr,
    ) -> bool {
        self.numbers(file, scope, number).into_iter().any(|number| {
            self.changes(number, Operator::Add, added.file, added.scope)
                && self.changes(number, Operator::Sub, loss.file, loss.scope)
        })
    }

    /// `len(self.order)` of what gets an element and loses one where the container does: both have as many.
    pub(super) fn is_length_of_pair(
        &self,
        file: FileId,
        scope: ScopeId,
        (loss, added): (&Op<'p, Loss>, &Op<'p, Kind>),
        length: &'p Expr,
    ) -> bool {
        let Expr::Call(call) = length else { return false };
        let (Some("len"), [of]) = (name_of(call), &*call.arguments.args) else { return false };
        let same = |one: (FileId, ScopeId), other: (FileId, ScopeId)| {
            let function = |(file, scope)| self.flow.models.of(file).function_of(scope);
            one.0 == other.0 && function(one) == function(other)
        };
        let places = self.flow.places(file, scope, of);
        places.iter().any(|place| {
            let gets = |op: &Op<'p, Kind>| same((op.file, op.scope), (added.file, added.scope));
            let loses = |op: &Op<'p, Loss>| op.what == Loss::Some && same((op.file, op.scope), (loss.file, loss.scope));
            at(&self.ops.adds, *place).any(gets) && at(&self.ops.losses, *place).any(loses)
        })
    }

    /// `sum(len(part) for part in self.parts)`: of all that it has.
    pub(super) fn is_sum(&self, file: FileId, scope: ScopeId, sum: &'p Expr) -> bool {
        let Expr::Call(call) = sum else { return false };
        let (Some("sum"), Some(of)) = (name_of(call), call.arguments.args.first()) else { return false };
        let values = match of {
            Expr::Generator(each) => each.generators.first().map(|each| &each.iter),
            Expr::ListComp(each) => each.generators.first().map(|each| &each.iter),
            // `map(len, parts)`
            Expr::Call(map) if name_of(map) == Some("map") => map.arguments.args.get(1),
            of => Some(of),
        };
        let values = match values {
            Some(Expr::Call(call)) => crate::ask::receiver(call).filter(|_| matches!(name_of(call), Some("values" | "items"))),
            values => values,
        };
        values.is_some_and(|values| self.is_alias(file, scope, values))
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
