//! Whether the source proves that something lives through the steps of a run, and not through the parts of one forward pass.

use std::collections::HashSet;

use super::Check;
use super::again::loops_around;
use super::here::is_taken_off;
use crate::ask::{is_backward, last_name, method, names_in};
use crate::autograd::mentions;
use crate::feeds::is_inside;
use crate::flow::Place;
use crate::model::{Binding, BindingKind, BlockId, BlockKind, Bound, Expr, ScopeId};
use crate::program::FileId;

/// Calls that give files, or the lines of one: a sample each.
const FILES: &[&str] = &["glob", "iglob", "iterdir", "listdir", "open", "rglob", "scandir"];
/// Callers of a function that are asked what they give.
const MAX_CALLERS: usize = 4;
/// Nested expressions that are looked into.
const MAX_NESTING: usize = 12;

impl<'p> Check<'_, 'p> {
    /// Whether what outlives the rounds of a loop here is proven to outlive steps of a run.
    ///
    /// What an object, a module or the function around keeps is there at the next call. A local of a function, or of an object
    /// made in it, is so only where one of the loops around, before which it is there, trains or goes over what loads data.
    /// Other loops may go over the layers, chunks or frames of one forward pass.
    #[must_use]
    pub fn spans_steps(&self, file: FileId, scope: ScopeId, block: BlockId, kept: &'p Expr, value: &'p Expr) -> bool {
        let model = self.flow.models.of(file);
        let Some(base) = self.local_base(file, scope, kept) else {
            return self.may_be_older(file, scope, kept)
                || loops_around(model, block).any(|round| self.goes_over_loader(file, round));
        };
        let places = self.flow.places(file, scope, base);
        loops_around(model, block).any(|round| {
            let is_older = places.iter().all(|at| {
                let itself = HashSet::from([at.place]);
                !self.flow.assigned(at.place).any(|(of, assign)| {
                    *of == file
                        && assign.how == Bound::Whole
                        && is_inside(model, assign.block, round)
                        && !mentions(self.flow, file, assign.scope, assign.value, &itself, MAX_NESTING)
                })
            });
            let proven = || {
                self.steps_in(file, round, block, value)
                    || self.goes_over_loader(file, round)
                    || self.runs_given_model(file, scope, round)
            };
            is_older && proven()
        })
    }

    /// Whether what a function is given to keep something in may be there before its call, as far as its callers tell.
    fn may_be_older(&self, file: FileId, scope: ScopeId, kept: &'p Expr) -> bool {
        let mut base = kept;
        while let Expr::Subscript(item) = base {
            base = &item.value;
        }
        let model = self.flow.models.of(file);
        let (Expr::Name(name), Some(function)) = (base, model.function_of(scope)) else { return true };
        let bindings = model.bindings(scope, name.id.as_str());
        let is_parameter = |binding: &Binding| matches!(binding.kind, BindingKind::Parameter { .. });
        if model.owner(scope, name.id.as_str()) != Some(function) || !bindings.iter().all(is_parameter) {
            return true;
        }
        let callers = self.flow.sure_callers(file, function);
        callers.is_empty()
            || callers.iter().any(|(from, call)| {
                let given = self.flow.given(*from, call, file, function).into_iter();
                let mut given = given.filter(|one| one.parameter == name.id.as_str() && one.depth == 0).peekable();
                given.peek().is_none() || given.any(|one| self.containers.outlives(*from, call.scope, call.block, one.value))
            })
    }

    /// The variable of this function that a container is, or is a part of; none where the function got it from outside.
    fn local_base(&self, file: FileId, scope: ScopeId, kept: &'p Expr) -> Option<&'p Expr> {
        let model = self.flow.models.of(file);
        let function = model.function_of(scope)?;
        let mut base = kept;
        let name = loop {
            match base {
                Expr::Subscript(item) => base = &item.value,
                Expr::Attribute(attribute) => base = &attribute.value,
                Expr::Name(name) => break name.id.as_str(),
                _ => return None,
            }
        };
        let own = |binding: &Binding| matches!(binding.kind, BindingKind::Value);
        let is_own = model.owner(scope, name) == Some(function) && model.bindings(scope, name).iter().all(own);
        let places = self.flow.places(file, scope, base);
        let is_made = places.iter().flat_map(|at| self.flow.assigned(at.place)).all(|(_, assign)| match assign.value {
            // A part of something, or what was filed before.
            Expr::Name(_) | Expr::Attribute(_) | Expr::Subscript(_) => assign.how != Bound::Whole,
            Expr::Call(call) => !matches!(method(call), Some("setdefault" | "get")),
            _ => assign.how != Bound::Element,
        });
        (is_own && is_made && places.iter().all(|at| matches!(at.place, Place::Variable(..)))).then_some(base)
    }

    /// Whether a loop trains with what is computed in each round: not where `backward` is called under a condition that also takes
    /// the graph off.
    fn steps_in(&self, file: FileId, round: BlockId, block: BlockId, value: &'p Expr) -> bool {
        let model = self.flow.models.of(file);
        let begins = model.calls.iter().any(|call| {
            is_inside(model, call.block, round) && last_name(&call.call.func).is_some_and(|name| name == "zero_grad")
        });
        if !begins && !self.trains_in(file, round) {
            return false;
        }
        let Expr::Name(name) = value else { return true };
        let is_it = |target: &Expr| matches!(target, Expr::Name(each) if each.id == name.id);
        let freed = model.assigns.iter().filter(|assign| {
            is_it(assign.target)
                && is_inside(model, assign.block, round)
                && !is_inside(model, block, assign.block)
                && is_taken_off(assign.value, 12)
        });
        let mut passes =
            model.calls.iter().filter(|call| is_backward(call.call) && is_inside(model, call.block, round)).peekable();
        let freed: Vec<BlockId> = freed.map(|assign| assign.block).collect();
        passes.peek().is_none() || !passes.all(|pass| freed.iter().any(|freed| is_inside(model, pass.block, *freed)))
    }

    /// Whether a loop gives each element of what a function was given to a model that it was given, too: the elements are samples
    /// or batches, not parts of one.
    fn runs_given_model(&self, file: FileId, scope: ScopeId, round: BlockId) -> bool {
        let model = self.flow.models.of(file);
        let is_given = |expr: &Expr| {
            let Expr::Name(name) = expr else { return false };
            let mut bindings = model.bindings(scope, name.id.as_str()).iter().peekable();
            bindings.peek().is_some() && bindings.all(|binding| matches!(binding.kind, BindingKind::Parameter { .. }))
        };
        let BlockKind::For(each) = model.block(round).kind else { return false };
        let over = match &*each.iter {
            Expr::Call(call) if matches!(last_name(&call.func), Some("enumerate" | "tqdm")) => call.arguments.args.first(),
            other => Some(other),
        };
        let elements = names_in(&each.target);
        over.is_some_and(is_given)
            && model.calls.iter().filter(|call| is_inside(model, call.block, round)).any(|call| {
                let of_element = |value: &Expr| matches!(value, Expr::Name(name) if elements.contains(name.id.as_str()));
                is_given(&call.call.func)
                    && call.call.arguments.args.iter().any(of_element)
                    && self.autograd.calls_model(file, call.scope, &call.call.func)
            })
    }

    /// Whether a loop goes over a loader of data: one that the program makes, or what is called one.
    #[must_use]
    pub fn goes_over_loader(&self, file: FileId, round: BlockId) -> bool {
        let model = self.flow.models.of(file);
        let block = model.block(round);
        match block.kind {
            BlockKind::For(each) => self.is_loader(file, block.scope, &each.iter, MAX_CALLERS),
            _ => false,
        }
    }

    /// Whether an expression is a loader of data: one that the program makes, or what is called one.
    #[must_use]
    pub fn is_loader_of(&self, file: FileId, scope: ScopeId, expr: &'p Expr) -> bool {
        self.is_loader(file, scope, expr, MAX_CALLERS)
    }

    fn is_loader(&self, file: FileId, scope: ScopeId, expr: &'p Expr, left: usize) -> bool {
        let Some(left) = left.checked_sub(1) else { return false };
        let inner = |expr: &'p Expr| self.is_loader(file, scope, expr, left);
        let is_named = |name: &str| name.to_ascii_lowercase().contains("loader");
        match expr {
            Expr::Call(call) => {
                last_name(&call.func).is_some_and(|name| is_named(name) || FILES.contains(&name))
                    || matches!(
                        last_name(&call.func),
                        Some("enumerate" | "iter" | "islice" | "sorted" | "tqdm" | "track" | "zip")
                    ) && call.arguments.args.iter().any(inner)
            }
            Expr::Subscript(item) => inner(&item.value),
            Expr::Attribute(attribute) if is_named(attribute.attr.as_str()) => true,
            Expr::Name(name) if is_named(name.id.as_str()) => true,
            Expr::Name(_) | Expr::Attribute(_) => {
                let given = self.flow.places(file, scope, expr).into_iter().filter(|at| at.depth == 0);
                let given = given.flat_map(|at| self.given_to(at)).take(MAX_CALLERS);
                self.values(file, scope, expr)
                    .into_iter()
                    .chain(given)
                    .any(|(of, scope, value)| self.is_loader(of, scope, value, left))
            }
            _ => false,
        }
    }
}
