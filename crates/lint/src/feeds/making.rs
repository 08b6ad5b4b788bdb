//! What is filled once, by loops that end, before it is used: the images that a data set reads in its `__init__`, the list that
//! `load_images()` gives back, the rows that a program reads before it trains.

use super::bounds::Bounds;
use super::containers::is_inside;
use super::ops::{Op, name_of};
use super::{Bound, Kind};
use crate::ask::last_name;
use crate::flow::Place;
use crate::model::{BindingKind, BlockId, BlockKind, Call, Expr, Model, Ranged, ScopeId};
use crate::program::FileId;

/// Calls that are followed from what fills up to what makes the object.
const MADE_BY: usize = 2;

impl<'p> Bounds<'_, 'p> {
    /// Whether it grows only while it is made, which happens once: in its object's constructor and the private helpers of that, in a
    /// function that gives it back, or before the training that the same function goes on to. A part of a training is no making, nor
    /// is what a model gives, nor are loops of which the source does not show that they end.
    pub(super) fn is_being_made(&self, added: &Op<'p, Kind>) -> Option<Bound> {
        let Op { file, scope, block, .. } = *added;
        let function = self.flow.models.of(file).function_of(scope);
        let by_constructor = || function.is_some_and(|function| self.is_made_once(file, function, MADE_BY));
        let is_made = by_constructor()
            || function.is_some_and(|function| self.is_given_back(added, function))
            || self.is_before_training(added);
        (self.only_fills(file, block) && is_made).then_some(Bound::Making)
    }

    /// Whether a method runs once, when its object is made, and that object is made once.
    fn is_made_once(&self, file: FileId, function: ScopeId, depth: usize) -> bool {
        let name = self.flow.models.of(file).scope(function).name();
        if matches!(name, "__init__" | "__post_init__") {
            return !self.contexts.is_called_repeatedly(file, function);
        }
        let callers = if depth == 0 || !name.starts_with('_') { Vec::new() } else { self.flow.callers(file, function) };
        let by_one = |(from, call): &(FileId, Call<'p>)| {
            let caller = self.flow.models.of(*from).function_of(call.scope);
            self.only_fills(*from, call.block) && caller.is_some_and(|caller| self.is_made_once(*from, caller, depth - 1))
        };
        !callers.is_empty() && callers.iter().all(by_one)
    }

    /// Whether a local of a function that is called once is what it returns, and that is no part of a training.
    fn is_given_back(&self, added: &Op<'p, Kind>, function: ScopeId) -> bool {
        let Op { file, scope, block, .. } = *added;
        self.local_of == Some((file, function))
            && !self.contexts.is_called_repeatedly(file, function)
            && self.contexts.phase(self.flow.models.of(file), file, scope, block).is_none()
            && self.aliases.iter().any(|alias| alias.at.place == Place::Result(file, function))
    }

    /// Whether what runs once goes on to a training when it has filled it.
    fn is_before_training(&self, added: &Op<'p, Kind>) -> bool {
        let Op { file, scope, block, offset, .. } = *added;
        let model = self.flow.models.of(file);
        let function = model.function_of(scope);
        let once = function.is_none_or(|function| !self.contexts.is_called_repeatedly(file, function));
        let filling = outermost_loop(model, block);
        let comes_after = |call: &Call| {
            call.call.start() > offset
                && model.function_of(call.scope) == function
                && filling.is_some_and(|filling| !is_inside(model, call.block, filling))
        };
        let trains = |call: &Call| self.contexts.is_in_training(model, file, call.block) || self.contexts.is_training(call);
        once && model.calls.iter().any(|call| comes_after(call) && trains(call))
    }

    /// Whether the loops around a block end, and neither train nor ask a model.
    fn only_fills(&self, file: FileId, block: BlockId) -> bool {
        let model = self.flow.models.of(file);
        let filling = outermost_loop(model, block);
        let inside = |call: &&Call| filling.is_some_and(|filling| is_inside(model, call.block, filling));
        model.blocks_within(block).all(|block| ends(block.kind))
            && !self.contexts.is_in_training(model, file, block)
            && !model.calls.iter().filter(inside).any(|call| may_be_a_model(model, call) || self.contexts.is_training(call))
    }
}

/// The outermost loop around a block, inside its function.
fn outermost_loop(model: &Model, block: BlockId) -> Option<BlockId> {
    let (mut at, mut found) = (Some(block), None);
    while let Some(id) = at {
        let here = model.block(id);
        found = if here.kind.is_loop() { Some(id) } else { found };
        at = here.parent.filter(|_| !here.kind.is_scope());
    }
    found
}

/// Whether it is no loop, or one over what has an end, as far as its form shows.
fn ends(kind: BlockKind) -> bool {
    match kind {
        BlockKind::While(_) => false,
        BlockKind::For(each) => !each.is_async && !is_endless(&each.iter),
        _ => true,
    }
}

/// `itertools.count()`, `iter(queue.get, None)`, with a number to each or not.
fn is_endless(values: &Expr) -> bool {
    let Expr::Call(call) = values else { return false };
    match name_of(call) {
        Some("count" | "cycle" | "repeat") => true,
        Some("iter") => call.arguments.args.len() > 1,
        _ => call.arguments.args.iter().any(is_endless),
    }
}

/// Whether it is not a function, a class or a module that is called, but a value that was made or given: `model(x)`, `self.encoder(x)`.
fn may_be_a_model(model: &Model, call: &Call) -> bool {
    let is_value = |scope: ScopeId, name: &str| {
        let bindings = model.bindings(scope, name);
        !bindings.is_empty()
            && bindings.iter().all(|binding| matches!(binding.kind, BindingKind::Value | BindingKind::Parameter { .. }))
    };
    match &*call.call.func {
        Expr::Name(name) => is_value(call.scope, name.id.as_str()),
        Expr::Attribute(each) if last_name(&each.value) == Some("self") => {
            model.method_of(call.scope).is_none_or(|(class, _)| model.scope(class).bindings(each.attr.as_str()).is_empty())
        }
        Expr::Attribute(each) => matches!(each.attr.as_str(), "forward" | "generate" | "predict"),
        _ => true,
    }
}
