//! What is filled once, before it is used: the images that a data set reads in its `__init__`.

use super::bounds::{Bounds, MADE_BY};
use super::ops::{Op, name_of};
use super::{Bound, Kind};
use crate::ask::last_name;
use crate::flow::Place;
use crate::model::{BindingKind, BlockKind, Call, Expr, Model, ScopeId};

impl<'p> Bounds<'_, 'p> {
    /// Whether it is an attribute of a data set (a class with `__getitem__` or `__iter__`) that only its constructor fills, or a private
    /// helper of that: it has all when there is something to train with. Where the source shows loops that need not end, constructors
    /// that run again and again, or models that are asked, that is not so.
    pub(super) fn is_being_made(&self, added: &Op<'p, Kind>) -> Option<Bound> {
        let Op { file, scope, block, .. } = *added;
        let model = self.flow.models.of(file);
        let (class, function) = model.method_of(scope)?;
        let has = |name: &str| !model.scope(class).bindings(name).is_empty();
        let is_its_own = |place: Place<'p>| matches!(place, Place::Attribute(of, _) if (of.file, of.scope) == (file, class));
        let asks = |call: &Call| {
            model.function_of(call.scope) == Some(function) && model.loops(call.block) > 0 && may_be_a_model(model, call)
        };
        let is_made = (has("__getitem__") || has("__iter__"))
            && self.aliases.iter().any(|alias| is_its_own(alias.at.place))
            && !self.contexts.is_called_repeatedly(file, function)
            && self.is_for_making(file, function, MADE_BY)
            && model.blocks_within(block).all(|block| ends(block.kind))
            && !model.calls.iter().any(asks);
        is_made.then_some(Bound::Making)
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
        Expr::Attribute(each) => matches!(each.attr.as_str(), "forward" | "backward" | "generate" | "predict"),
        _ => true,
    }
}
