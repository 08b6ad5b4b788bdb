//! What is filled once, before it is used: the images that a data set reads in its `__init__`.

use super::bounds::{Bounds, at};
use super::fresh::is_fresh;
use super::ops::{Op, name_of};
use super::{Bound, Kind};
use crate::ask::last_name;
use crate::flow::{At, Place};
use crate::model::{BindingKind, BlockKind, Call, Expr, Model, ScopeId};

/// Words in the names of functions that ask a model or train one, or are nothing that a data set is read by.
const NO_READING: &[&str] = &[
    "act", "backward", "embed", "encode", "episode", "fit", "forward", "generate", "infer", "learn", "loss", "model", "predict",
    "rollout", "sample", "step", "train", "training", "update",
];
/// Calls that give what has an end.
const WITH_END: &[&str] = &[
    "DictReader",
    "enumerate",
    "glob",
    "items",
    "iglob",
    "iterdir",
    "iterrows",
    "itertuples",
    "keys",
    "list",
    "listdir",
    "namelist",
    "open",
    "range",
    "reader",
    "readlines",
    "reversed",
    "rglob",
    "scandir",
    "sorted",
    "split",
    "splitlines",
    "tqdm",
    "trange",
    "values",
    "walk",
    "zip",
];

impl<'p> Bounds<'_, 'p> {
    /// Whether it is an attribute of a data set (a class with `__getitem__` or `__iter__`) that its constructor makes and fills, by this
    /// statement: there is nothing to train with before that is done. Where the source shows loops that need not end, constructors that
    /// run again and again, or models that are asked, that is not so.
    pub(super) fn is_being_made(&self, added: &Op<'p, Kind>) -> Option<Bound> {
        let Op { file, scope, block, .. } = *added;
        let model = self.flow.models.of(file);
        let (class, function) = model.method_of(scope)?;
        let is_here = |scope: ScopeId| model.function_of(scope) == Some(function);
        let has = |name: &str| !model.scope(class).bindings(name).is_empty();
        let is_its_own = |at: &At<'p>| matches!(at.place, Place::Attribute(of, _) if (of.file, of.scope) == (file, class));
        let is_made_here = |place: At<'p>| {
            let mut made = at(&self.ops.assigned, place).peekable();
            made.peek().is_some() && made.all(|op| op.file == file && is_here(op.scope) && is_fresh(op.what))
        };
        let asks = |call: &Call| is_here(call.scope) && model.loops(call.block) > 0 && may_be_no_reading(model, call);
        let is_made = matches!(model.scope(function).name(), "__init__" | "__post_init__")
            && is_here(scope)
            && (has("__getitem__") || has("__iter__"))
            && self.aliases.iter().map(|alias| alias.at).any(|at| is_its_own(&at) && is_made_here(at))
            && !self.contexts.is_called_repeatedly(file, function)
            && model.blocks_within(block).all(|block| ends(block.kind))
            && !model.calls.iter().any(asks);
        is_made.then_some(Bound::Making)
    }
}

/// Whether it is no loop, or one over what has an end, as far as its form shows.
fn ends(kind: BlockKind) -> bool {
    match kind {
        BlockKind::While(_) => false,
        BlockKind::For(each) => !each.is_async && has_end(&each.iter),
        _ => true,
    }
}

/// A name, or what such a call gives, with a number to each or not: `enumerate(sorted(paths))`.
fn has_end(values: &Expr) -> bool {
    let Expr::Call(call) = values else { return true };
    name_of(call).is_some_and(|name| WITH_END.contains(&name)) && call.arguments.args.iter().all(has_end)
}

/// Whether what is called has such a name, or is not a function, a class or a module but a value that was made or given: `model(x)`,
/// `self.encoder(x)`.
fn may_be_no_reading(model: &Model, call: &Call) -> bool {
    let is_value = |scope: ScopeId, name: &str| {
        let bindings = model.bindings(scope, name);
        !bindings.is_empty()
            && bindings.iter().all(|binding| matches!(binding.kind, BindingKind::Value | BindingKind::Parameter { .. }))
    };
    let has_name = |name: &str| name.to_ascii_lowercase().split('_').any(|part| NO_READING.contains(&part));
    if name_of(call.call).is_none_or(has_name) {
        return true;
    }
    match &*call.call.func {
        Expr::Name(name) => is_value(call.scope, name.id.as_str()),
        Expr::Attribute(each) if last_name(&each.value) == Some("self") => {
            model.method_of(call.scope).is_none_or(|(class, _)| model.scope(class).bindings(each.attr.as_str()).is_empty())
        }
        _ => false,
    }
}
