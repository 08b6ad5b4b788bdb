//! Whether code runs again and again, by the calls that the source shows. Stricter than what is asked where a holder is known
//! to grow: there it is only about the most telling line.

use super::Check;
use crate::flow::ClassId;
use crate::model::{BlockId, BlockKind, Call, Model, ScopeId};
use crate::program::FileId;

/// Callers of callers that are looked at.
const MAX_CALLERS: usize = 6;

/// Methods that frameworks call for every batch or every epoch.
const EACH_ROUND: &[&str] = &[
    "__getitem__",
    "compute_loss",
    "forward",
    "prediction_step",
    "predict_step",
    "test_step",
    "test_epoch_end",
    "training_epoch_end",
    "training_step",
    "validation_epoch_end",
    "validation_step",
];

impl<'p> Check<'_, 'p> {
    /// The calls of a function. One that does not tell which function it means counts where only one has that name.
    #[must_use]
    pub fn callers(&self, file: FileId, function: ScopeId) -> Vec<(FileId, Call<'p>)> {
        self.flow.callers(file, function)
    }

    /// Whether code at a block runs again and again: in a loop, in a method that a framework calls for each batch, in a
    /// function that is called so.
    #[must_use]
    pub fn runs_again(&self, file: FileId, scope: ScopeId, block: BlockId) -> bool {
        self.again(file, scope, block, MAX_CALLERS)
    }

    fn again(&self, file: FileId, scope: ScopeId, block: BlockId, left: usize) -> bool {
        let model = self.flow.models.of(file);
        loops_around(model, block).next().is_some()
            || model.function_of(scope).is_some_and(|function| self.called_again(file, function, left))
    }

    /// Whether a function is called again and again.
    #[must_use]
    pub fn is_called_again(&self, file: FileId, function: ScopeId) -> bool {
        self.called_again(file, function, MAX_CALLERS)
    }

    fn called_again(&self, file: FileId, function: ScopeId, left: usize) -> bool {
        let Some(left) = left.checked_sub(1) else { return false };
        if let Some(known) = self.again.borrow().get(&(file, function)) {
            return *known;
        }
        // While it is looked for, a function that calls itself does not make itself run again.
        self.again.borrow_mut().insert((file, function), false);
        let found = self.is_each_round(file, function)
            || self.autograd.is_hook(file, function)
            || self.containers.is_step(file, function)
            || self.callers(file, function).iter().any(|(from, call)| self.again(*from, call.scope, call.block, left));
        self.again.borrow_mut().insert((file, function), found);
        found
    }

    /// A method that a framework calls for each batch or epoch.
    #[must_use]
    pub fn is_each_round(&self, file: FileId, function: ScopeId) -> bool {
        let model = self.flow.models.of(file);
        let scope = model.scope(function);
        let Some(class) = scope.parent.filter(|parent| model.scope(*parent).is_class()) else { return false };
        is_each_round(scope.name()) && self.containers.is_foreign(ClassId { file, scope: class })
    }
}

fn is_each_round(name: &str) -> bool {
    let of_callback = name.starts_with("on_")
        && name.split('_').any(|part| matches!(part, "batch" | "epoch" | "step" | "backward"))
        || matches!(name, "on_validation_end" | "on_validation_start" | "on_evaluate" | "on_log");
    EACH_ROUND.contains(&name) || of_callback
}

/// The loops around a block inside its function, the innermost first; comprehensions are none.
pub fn loops_around<'m>(model: &'m Model, block: BlockId) -> impl Iterator<Item = BlockId> + use<'m> {
    let mut next = Some(block);
    std::iter::from_fn(move || {
        loop {
            let id = next?;
            let here = model.block(id);
            next = if here.kind.is_scope() { None } else { here.parent };
            if matches!(here.kind, BlockKind::For(_) | BlockKind::While(_)) {
                return Some(id);
            }
        }
    })
}
