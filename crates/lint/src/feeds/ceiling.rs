//! What takes elements out of a container as soon as there are too many: there, or in a helper that is called then.

use ruff_python_ast::CmpOp;

use super::Kind;
use super::asked::{Both, Here};
use super::bounds::Bounds;
use super::ops::{Loss, Op};
use crate::model::{Block, BlockId, BlockKind, Expr, Ranged, ScopeId};
use crate::program::FileId;

/// Helpers of helpers that are followed to where the container is found to be too long.
const MAX_HELPERS: usize = 2;

/// What stands around something.
enum Around {
    /// A comparison that there are too many, and with which number, where the source tells it.
    Limit(Option<u64>),
    /// Another condition.
    Condition,
    Nothing,
}

impl<'p> Bounds<'_, 'p> {
    /// Whether elements are taken out as soon as there are too many: under a comparison with the length, and under no other
    /// condition that what adds is not under as well. The number, where the source tells it.
    #[allow(clippy::option_option)]
    pub(super) fn ceiling(&self, loss: &Op<'p, Loss>, added: &Op<'p, Kind>) -> Option<Option<u64>> {
        self.ceiling_around(loss.file, loss.scope, loss.block, (loss, added), MAX_HELPERS)
    }

    #[allow(clippy::option_option)]
    fn ceiling_around(
        &self,
        file: FileId,
        scope: ScopeId,
        block: BlockId,
        ops: Both<'_, 'p>,
        helpers: usize,
    ) -> Option<Option<u64>> {
        match self.around(file, scope, block, ops) {
            Around::Limit(number) => Some(number),
            Around::Condition => None,
            Around::Nothing => {
                let helpers = helpers.checked_sub(1)?;
                let function = self.flow.models.of(file).function_of(scope)?;
                let callers = self.flow.callers(file, function);
                callers.iter().find_map(|(from, call)| self.ceiling_around(*from, call.scope, call.block, ops, helpers))
            }
        }
    }

    fn around(&self, file: FileId, scope: ScopeId, block: BlockId, ops: Both<'_, 'p>) -> Around {
        let (model, added) = (self.flow.models.of(file), ops.1);
        let is_around =
            |block: &Block| file == added.file && model.blocks_within(added.block).any(|other| std::ptr::eq(other, block));
        let mut found = Around::Nothing;
        for (id, block) in model.with_blocks_within(block) {
            let here = Here::at(file, scope, id);
            let limit = match block.kind {
                BlockKind::If(test) => self.is_too_much(here, ops, test).then(|| self.number_in(here, test)),
                BlockKind::While(each) => self.is_too_much(here, ops, &each.test).then(|| self.number_in(here, &each.test)),
                BlockKind::For(each) => {
                    let is_measure = |here, expr| self.is_measure(here, ops, expr);
                    self.is_each_too_many(here, &each.iter, &is_measure).then(|| self.number_of_rounds(here, &each.iter))
                }
                _ => None,
            };
            if let Some(number) = limit {
                found = Around::Limit(number);
            } else if block.kind.is_conditional() && !is_around(block) {
                return Around::Condition;
            }
        }
        found
    }

    /// What tells how much there is: its length, or what is counted beside it.
    fn is_measure(&self, here: Here<'p>, ops: Both<'_, 'p>, expr: &'p Expr) -> bool {
        let Here { file, scope, .. } = here;
        self.is_length(file, scope, expr)
            || self.is_sum(file, scope, expr)
            || self.is_counted(here, ops, expr)
            || self.is_length_of_pair(file, scope, ops, expr)
    }

    /// `len(xs) > n`, alone or with nothing more than `n` itself: `n and len(xs) > n`; or so of what is counted beside it.
    fn is_too_much(&self, here: Here<'p>, ops: Both<'_, 'p>, test: &'p Expr) -> bool {
        const OPS: &[CmpOp] = &[CmpOp::Gt, CmpOp::GtE, CmpOp::Eq];
        let is_measure = |here, expr| self.is_measure(here, ops, expr);
        let is_more = |test| self.compares(here, test, OPS, &is_measure);
        let Expr::BoolOp(each) = test else {
            let asked = || self.predicate(here, test).filter(|(_, test)| test.is_bool_op_expr());
            return is_more(test) || asked().is_some_and(|(here, test)| self.is_too_much(here, ops, test));
        };
        let Some(limit) = each.values.iter().find(|value| is_more(value)) else { return false };
        let source = self.flow.models.of(here.file).source;
        let sides: Vec<&str> = match limit {
            Expr::Compare(limit) => {
                std::iter::once(&*limit.left).chain(&*limit.comparators).map(|side| source.slice(side.range())).collect()
            }
            _ => Vec::new(),
        };
        let is_limit = |value: &'p Expr| match value {
            Expr::Compare(value) => sides.contains(&source.slice(value.left.range())),
            // `while self.kept and self.total > self.room:`
            value => sides.contains(&source.slice(value.range())) || self.is_alias(here.file, here.scope, value),
        };
        each.op.is_and() && each.values.iter().all(is_limit)
    }
}
