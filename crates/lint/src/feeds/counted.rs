//! What a program counts beside a container, since its length is not what matters: bytes of a cache, transitions of a replay of
//! episodes.

use ruff_python_ast::{Operator, UnaryOp};

use super::Kind;
use super::asked::{Both, Here};
use super::bounds::{Bounds, at};
use super::ops::{Loss, Op, name_of};
use crate::flow::Place;
use crate::model::{Assign, Bound as Way, Call, Expr, ScopeId};
use crate::program::FileId;

impl<'p> Bounds<'_, 'p> {
    /// Whether a number gets larger with what is added, and smaller with what is taken out:
    /// `while self.total > self.room: self.total -= len(self.episodes.popleft())`; also where an object counts that is told of both:
    /// `while self.budget.is_over(): self.budget.release(len(self.episodes.popleft()))`.
    pub(super) fn is_counted(&self, here: Here<'p>, (loss, added): Both<'_, 'p>, number: &'p Expr) -> bool {
        self.numbers(here.file, here.scope, number).into_iter().any(|place| {
            let changes = |how, file, scope| {
                self.changes(place, how, file, scope) || self.makes_change(here, number, place, how, file, scope)
            };
            changes(Operator::Add, added.file, added.scope) && changes(Operator::Sub, loss.file, loss.scope)
        })
    }

    /// `len(self.order)` of what gets an element and loses one where the container does: both have as many.
    pub(super) fn is_length_of_pair(&self, file: FileId, scope: ScopeId, (loss, added): Both<'_, 'p>, length: &'p Expr) -> bool {
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
    pub(super) fn is_filled_up(&self, here: Here<'p>, added: &Op<'p, Kind>, number: &'p Expr) -> bool {
        self.numbers(here.file, here.scope, number).into_iter().any(|number| {
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

    /// Whether a function tells the object that counts to do so: `self.budget.charge(size)`, `self.budget.charge(-size)`.
    fn makes_change(
        &self,
        here: Here<'p>,
        number: &'p Expr,
        place: Place<'p>,
        how: Operator,
        file: FileId,
        scope: ScopeId,
    ) -> bool {
        // Whoever is asked how much there is must be the one that is told.
        let Expr::Attribute(number) = number else { return false };
        let (of_file, of_scope, of) = here.of.unwrap_or((here.file, here.scope, &number.value));
        let asked = self.flow.places(of_file, of_scope, of);
        let model = self.flow.models.of(file);
        let function = model.function_of(scope);
        let mut calls = model.calls.iter().filter(|call| model.function_of(call.scope) == function);
        calls.any(|call| {
            let told = call
                .call
                .func
                .as_attribute_expr()
                .is_some_and(|method| self.flow.places(file, call.scope, &method.value).iter().any(|at| asked.contains(at)));
            told && self.flow.likely_callee(file, call.scope, &call.call.func).is_some_and(|(to, method)| {
                let callee = self.flow.models.of(to);
                let mut changed = self
                    .flow
                    .assigned(place)
                    .filter(|(of, assign)| *of == to && callee.function_of(assign.scope) == Some(method));
                changed.any(|(_, assign)| self.change_by((file, call), (to, method), assign) == Some(how))
            })
        })
    }

    /// Whether a number gets larger or smaller by a method, as it is called.
    fn change_by(
        &self,
        (file, call): (FileId, &Call<'p>),
        (to, method): (FileId, ScopeId),
        assign: &Assign<'p>,
    ) -> Option<Operator> {
        let Way::Augmented(how @ (Operator::Add | Operator::Sub)) = assign.how else { return None };
        let given = self.flow.given(file, call, to, method);
        let by = assign.value.as_name_expr().and_then(|name| given.iter().find(|each| each.parameter == name.id.as_str()));
        let is_less = by.is_some_and(|by| matches!(by.value, Expr::UnaryOp(each) if each.op == UnaryOp::USub));
        Some(match how {
            Operator::Add if is_less => Operator::Sub,
            Operator::Sub if is_less => Operator::Add,
            how => how,
        })
    }

    /// Whether a function empties the container.
    fn is_emptied_in(&self, file: FileId, function: Option<ScopeId>) -> bool {
        let mut losses = self.aliases.iter().flat_map(|alias| at(&self.ops.losses, alias.at));
        losses.any(|loss| {
            matches!(loss.what, Loss::All | Loss::Remade)
                && loss.file == file
                && self.flow.models.of(file).function_of(loss.scope) == function
        })
    }
}
