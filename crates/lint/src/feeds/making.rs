//! What is filled once, by loops that end: the images that a data set reads in its `__init__`, the list that `load_images()` gives back.

use super::bounds::Bounds;
use super::ops::{Op, name_of};
use super::{Bound, Kind};
use crate::ask::last_name;
use crate::flow::Place;
use crate::model::{BindingKind, BlockKind, Call, Expr, Model, ScopeId};

/// Calls that are followed from what fills up to what makes the object.
const MADE_BY: usize = 2;

impl<'p> Bounds<'_, 'p> {
    /// Whether it grows only while it is made, which happens once: in its object's constructor and the private helpers of that, or in
    /// a function that gives it back. A part of a training is no making, nor is what a model gives, nor are loops of which the source
    /// does not show that they end.
    pub(super) fn is_being_made(&self, added: &Op<'p, Kind>) -> Option<Bound> {
        let Op { file, scope, block, .. } = *added;
        let model = self.flow.models.of(file);
        let function = model.function_of(scope)?;
        let once =
            !self.contexts.is_called_repeatedly(file, function) && self.contexts.phase(model, file, scope, block).is_none();
        let computes = |call: &&Call| model.function_of(call.scope) == Some(function) && model.loops(call.block) > 0;
        if model.calls.iter().filter(computes).any(|call| may_be_a_model(model, call)) {
            return None;
        }
        let ends = model.blocks_within(block).all(|block| ends(block.kind));
        let is_given_back = || {
            self.local_of == Some((file, function))
                && self.aliases.iter().any(|alias| alias.at.place == Place::Result(file, function))
        };
        (once && ends && (self.is_for_making(file, function, MADE_BY) || is_given_back())).then_some(Bound::Making)
    }
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
