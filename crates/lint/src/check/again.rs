//! Whether code runs again and again, by the calls that the source shows. Stricter than what is asked where a holder is known
//! to grow: there it is only about the most telling line.

use std::collections::HashMap;

use super::Check;
use crate::ask::last_name;
use crate::flow::ClassId;
use crate::model::{BlockId, BlockKind, Call, Model, ScopeId};
use crate::program::FileId;

/// Callers of callers that are looked at.
const MAX_CALLERS: usize = 6;
/// Calls of one name, at most: a name that everything has tells nothing.
const MAX_CALLS: usize = 200;

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

/// Calls of a program by the last name of what is called, and how many functions have each name.
#[derive(Debug, Default)]
pub(super) struct Calls<'p> {
    by_name: HashMap<&'p str, Vec<(FileId, Call<'p>)>>,
    functions: HashMap<&'p str, usize>,
}

impl<'p> Check<'_, 'p> {
    fn calls(&self) -> &Calls<'p> {
        self.calls.get_or_init(|| {
            let mut calls = Calls::default();
            for (file, model) in self.flow.models.iter() {
                for call in &model.calls {
                    if let Some(name) = last_name(&call.call.func) {
                        calls.by_name.entry(name).or_default().push((file, *call));
                    }
                }
                for (_, function) in model.functions() {
                    *calls.functions.entry(function.name.as_str()).or_default() += 1;
                }
            }
            calls
        })
    }

    /// The calls of a function. One that does not tell which function it means counts where only one has that name.
    #[must_use]
    pub fn callers(&self, file: FileId, function: ScopeId) -> Vec<(FileId, Call<'p>)> {
        let model = self.flow.models.of(file);
        let scope = model.scope(function);
        let class = scope.parent.map(|parent| model.scope(parent)).filter(|parent| parent.is_class());
        let name = match (scope.name(), class) {
            ("__init__", Some(class)) => class.name(),
            (name, _) => name,
        };
        let calls = self.calls();
        let only = calls.functions.get(name).is_some_and(|count| *count == 1);
        let found = calls.by_name.get(name).into_iter().flatten().take(MAX_CALLS);
        found
            .filter(|(from, call)| match self.flow.callee(*from, call.scope, &call.call.func) {
                Some(callee) => callee == (file, function),
                // What an import leads to is a library's.
                None => {
                    only && class.is_some() == call.call.func.is_attribute_expr()
                        && self.flow.models.of(*from).full_name(call.scope, &call.call.func).is_none()
                }
            })
            .copied()
            .collect()
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
