//! Conditions that stand in a function of their own, and lengths that are compared by way of a local.

use ruff_python_ast::{CmpOp, Operator};

use super::Kind;
use super::bounds::Bounds;
use super::ops::{Loss, Op, name_of};
use crate::ask::last_name;
use crate::flow::{At, Place};
use crate::model::{BlockId, Bound as Way, Expr, Ranged, ScopeId, ScopeKind};
use crate::program::FileId;

/// What adds to a container and what takes from it.
pub(super) type Both<'o, 'p> = (&'o Op<'p, Loss>, &'o Op<'p, Kind>);

/// Where a condition is read.
#[derive(Clone, Copy)]
pub(super) struct Here<'p> {
    pub file: FileId,
    pub scope: ScopeId,
    /// The block that is under the condition; none in a function that does nothing but ask.
    pub block: Option<BlockId>,
    /// Whom that function is asked of: `self.budget` of `self.budget.is_over()`.
    pub of: Option<(FileId, ScopeId, &'p Expr)>,
}

impl<'p> Here<'p> {
    /// At a block that is under the condition.
    pub fn at(file: FileId, scope: ScopeId, block: BlockId) -> Self {
        Self { file, scope, block: Some(block), of: None }
    }
}

impl<'p> Bounds<'_, 'p> {
    /// The condition that a function without arguments, or a property, gives: `return len(self.rows) > self.room` for
    /// `self.is_full()`. One level of calls.
    pub(super) fn predicate(&self, here: Here<'p>, test: &'p Expr) -> Option<(Here<'p>, &'p Expr)> {
        here.block?;
        let (of, (file, function), decorators) = match test {
            Expr::Call(call) if call.arguments.is_empty() => {
                let of = call.func.as_attribute_expr().map(|each| &*each.value);
                (of, self.flow.likely_callee(here.file, here.scope, &call.func)?, 0)
            }
            Expr::Attribute(each) => {
                let class = self.flow.class_of(here.file, here.scope, &each.value)?;
                (Some(&*each.value), self.flow.method(class, each.attr.as_str())?, 1)
            }
            _ => return None,
        };
        let model = self.flow.models.of(file);
        let ScopeKind::Function(definition) = model.scope(function).kind else { return None };
        // `@property` and no other: one that is cached is asked once.
        let plain = definition.decorator_list.len() == decorators
            && definition.decorator_list.iter().all(|each| last_name(&each.expression) == Some("property"));
        let of_class = model.scope(function).parent.is_some_and(|parent| model.scope(parent).is_class());
        if !plain || definition.is_async || definition.parameters.len() > usize::from(of_class) {
            return None;
        }
        let mut returned = model.returned(function);
        let (result, None) = (returned.next()?, returned.next()) else { return None };
        if model.blocks_within(result.block).any(|block| block.kind.is_conditional() || block.kind.is_loop()) {
            return None;
        }
        let of = of.map(|of| (here.file, here.scope, of));
        Some((Here { file, scope: function, block: None, of }, result.value))
    }

    /// Whether one side of a comparison is a measure of the container, by itself, with something added or taken away, or by way of
    /// a local.
    pub(super) fn is_measured(&self, here: Here<'p>, side: &'p Expr, is_measure: &dyn Fn(Here<'p>, &'p Expr) -> bool) -> bool {
        is_measure(here, side) || self.is_of_measure(here, self.given_before(here, side).unwrap_or(side), is_measure)
    }

    fn is_of_measure(&self, here: Here<'p>, side: &'p Expr, is_measure: &dyn Fn(Here<'p>, &'p Expr) -> bool) -> bool {
        match not_negative(side) {
            // `self.held + new.nbytes > self.room`
            Expr::BinOp(sum) if sum.op == Operator::Add => is_measure(here, &sum.left) || is_measure(here, &sum.right),
            // `len(xs) - self.room > 0`
            Expr::BinOp(sum) if sum.op == Operator::Sub => is_measure(here, &sum.left) && !has_length(&sum.right),
            side => is_measure(here, side),
        }
    }

    /// Whether a loop has a round for each that is too many: `for _ in range(len(xs) - room)`, `for key in list(xs)[:excess]`.
    pub(super) fn is_each_too_many(
        &self,
        here: Here<'p>,
        iterable: &'p Expr,
        is_measure: &dyn Fn(Here<'p>, &'p Expr) -> bool,
    ) -> bool {
        self.excess(here, iterable).is_some_and(|(length, limit)| is_measure(here, length) && !has_length(limit))
    }

    /// `len(xs)` and `room` of `range(len(xs) - room)`.
    pub(super) fn excess(&self, here: Here<'p>, iterable: &'p Expr) -> Option<(&'p Expr, &'p Expr)> {
        let rounds = match iterable {
            Expr::Call(call) if name_of(call) == Some("range") && call.arguments.keywords.is_empty() => {
                match &*call.arguments.args {
                    [rounds] => rounds,
                    [Expr::NumberLiteral(_), rounds] => rounds,
                    _ => return None,
                }
            }
            Expr::Subscript(each) => match &*each.slice {
                Expr::Slice(slice) if slice.lower.is_none() && slice.step.is_none() => slice.upper.as_deref()?,
                _ => return None,
            },
            _ => return None,
        };
        self.difference(here, rounds)
    }

    /// The two sides of `len(xs) - room`, or of what a local was given so.
    pub(super) fn difference(&self, here: Here<'p>, expr: &'p Expr) -> Option<(&'p Expr, &'p Expr)> {
        match not_negative(self.given_before(here, expr).unwrap_or(expr)) {
            Expr::BinOp(each) if each.op == Operator::Sub => Some((&*each.left, &*each.right)),
            _ => None,
        }
    }

    /// What a local was given in the same round, before the condition is asked: nothing else is ever given to it, but it may be
    /// counted down.
    fn given_before(&self, here: Here<'p>, name: &'p Expr) -> Option<&'p Expr> {
        if let Expr::Named(each) = name {
            return Some(&each.value);
        }
        let block = name.is_name_expr().then_some(here.block?)?;
        let model = self.flow.models.of(here.file);
        let places = self.flow.places(here.file, here.scope, name);
        let [At { place, depth: 0 }] = places[..] else { return None };
        let Place::Variable(file, owner, _) = place else { return None };
        if file != here.file || owner != model.function_of(here.scope).unwrap_or(ScopeId::MODULE) {
            return None;
        }
        let mut found = None;
        for (_, assign) in self.flow.assigned(place) {
            match assign.how {
                Way::Whole if found.is_none() => found = Some(assign),
                Way::Augmented(Operator::Sub) => {}
                _ => return None,
            }
        }
        let assign = found.filter(|assign| assign.range.end() <= name.start())?;
        // No loop between the two: in its next round the length is another one.
        let mut at = model.block(block).parent;
        while let Some(id) = at.filter(|id| *id != assign.block) {
            let around = model.block(id);
            at = if around.kind.is_loop() || around.kind.is_scope() { None } else { around.parent };
        }
        at.map(|_| assign.value)
    }
}

/// What says the opposite.
pub(super) fn invert(op: CmpOp) -> CmpOp {
    match op {
        CmpOp::Lt => CmpOp::GtE,
        CmpOp::LtE => CmpOp::Gt,
        CmpOp::Gt => CmpOp::LtE,
        CmpOp::GtE => CmpOp::Lt,
        CmpOp::Eq => CmpOp::NotEq,
        CmpOp::NotEq => CmpOp::Eq,
        other => other,
    }
}

/// `x` of `max(0, x)`.
fn not_negative(expr: &Expr) -> &Expr {
    let Expr::Call(call) = expr else { return expr };
    match (name_of(call), &*call.arguments.args) {
        (Some("max"), [Expr::NumberLiteral(_), other] | [other, Expr::NumberLiteral(_)]) => other,
        _ => expr,
    }
}

/// Whether a number is one of elements that something has: it may grow as the other one does.
fn has_length(number: &Expr) -> bool {
    match number {
        Expr::Call(call) => {
            matches!(name_of(call), Some("len" | "sum" | "qsize" | "__len__")) || call.arguments.args.iter().any(has_length)
        }
        Expr::BinOp(each) => has_length(&each.left) || has_length(&each.right),
        Expr::UnaryOp(each) => has_length(&each.operand),
        _ => false,
    }
}
