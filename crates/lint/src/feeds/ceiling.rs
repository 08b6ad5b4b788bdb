//! What takes elements out of a container as soon as there are too many: there, or in a helper that is called then.

use ruff_python_ast::CmpOp;

use super::Kind;
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
        ops: (&Op<'p, Loss>, &Op<'p, Kind>),
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

    fn around(&self, file: FileId, scope: ScopeId, block: BlockId, ops: (&Op<'p, Loss>, &Op<'p, Kind>)) -> Around {
        let (model, added) = (self.flow.models.of(file), ops.1);
        let is_around =
            |block: &Block| file == added.file && model.blocks_within(added.block).any(|other| std::ptr::eq(other, block));
        let mut found = Around::Nothing;
        for block in model.blocks_within(block) {
            let test = match block.kind {
                BlockKind::If(test) => Some(test),
                BlockKind::While(each) => Some(&*each.test),
                _ => None,
            };
            if let Some(test) = test.filter(|test| self.is_too_much(file, scope, ops, test)) {
                found = Around::Limit(self.number_in(file, scope, test));
            } else if block.kind.is_conditional() && !is_around(block) {
                return Around::Condition;
            }
        }
        found
    }

    /// `len(xs) > n`, alone or with nothing more than `n` itself: `n and len(xs) > n`; or so of what is counted beside it.
    fn is_too_much(&self, file: FileId, scope: ScopeId, (loss, added): (&Op<'p, Loss>, &Op<'p, Kind>), test: &'p Expr) -> bool {
        const OPS: &[CmpOp] = &[CmpOp::Gt, CmpOp::GtE, CmpOp::Eq];
        let is_measure = |expr| {
            self.is_length(file, scope, expr)
                || self.is_sum(file, scope, expr)
                || self.is_counted(file, scope, (loss, added), expr)
                || self.is_length_of_pair(file, scope, (loss, added), expr)
        };
        let is_more = |test| self.compares(file, scope, test, OPS, &is_measure);
        let Expr::BoolOp(each) = test else { return is_more(test) };
        let Some(limit) = each.values.iter().find(|value| is_more(value)) else { return false };
        let source = self.flow.models.of(file).source;
        let sides: Vec<&str> = match limit {
            Expr::Compare(limit) => {
                std::iter::once(&*limit.left).chain(&*limit.comparators).map(|side| source.slice(side.range())).collect()
            }
            _ => Vec::new(),
        };
        let is_limit = |value: &'p Expr| match value {
            Expr::Compare(value) => sides.contains(&source.slice(value.left.range())),
            // `while self.kept and self.total > self.room:`
            value => sides.contains(&source.slice(value.range())) || self.is_alias(file, scope, value),
        };
        each.op.is_and() && each.values.iter().all(is_limit)
    }
}
