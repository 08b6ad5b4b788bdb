//! Holders that no name leads to, but a statement of a known form does: caches by decorator, hooks, gradients, a collector
//! that is off.

use ruff_python_ast::ExprCall;

use super::bounds::site;
use super::find::{Finder, Ranked, users};
use super::holder::{ClassRef, FunctionRef, Grows, Holder, Root, Step};
use super::ops::{Op, name_of};
use super::target::{Target, function_ref};
use super::{Bound, Certainty, Kind};
use crate::flow::{At, Place, Places};
use crate::model::{BlockId, Call, Expr, Model, Ranged, ScopeId, ScopeKind, TextSize};
use crate::program::FileId;

/// The answer for a holder of such a form; none for all others.
pub(super) fn find(finder: &Finder, holder: &Holder) -> Option<Result<Vec<Ranked>, String>> {
    match (&holder.root, &holder.grows) {
        (Root::LruCache(function), _) => Some(cached(finder, function)),
        (Root::Garbage, _) => Some(Ok(collector(finder))),
        (_, Grows::Gradients) => Some(Ok(zeroed(finder))),
        (Root::Module { file, .. }, _) if holder.path.first() == Some(&Step::Name(WARNED.to_owned())) => {
            Some(Ok(warned(finder, file.as_deref())))
        }
        // A class without instances may be known as its module's variable only.
        (Root::Class(ClassRef { module, .. }) | Root::Module { name: module, .. }, _) if module.ends_with(PYPLOTS) => {
            Some(Ok(figures(finder)))
        }
        (_, Grows::Container { kind, .. }) if kind == CYCLE => Some(Ok(kept_to_give(finder, holder, CYCLE, Kind::Cycle))),
        (_, Grows::Container { kind, .. }) if kind == TEE => Some(Ok(kept_to_give(finder, holder, "itertools.tee", Kind::Split))),
        _ => hooks(finder, holder).or_else(|| parameters(finder, holder)).or_else(|| managed(finder, holder)).map(Ok),
    }
}

/// One call somewhere, as a statement.
fn statement(finder: &Finder, kind: Kind, file: FileId, scope: ScopeId, block: BlockId, offset: TextSize) -> Ranked {
    let nowhere = At { place: Place::Unknown(""), depth: 0 };
    finder.described(&Op { at: nowhere, what: kind, file, scope, block, offset, key: None, container: None }, Certainty::Traced)
}

/// `@lru_cache(maxsize=None)`: the decorator, and where the function is called.
fn cached<'p>(finder: &Finder<'_, 'p>, function: &FunctionRef) -> Result<Vec<Ranked>, String> {
    let (file, scope) = function_ref(finder.flow, function)?;
    let model = finder.flow.models.of(file);
    let here = model.scope(scope);
    let ScopeKind::Function(definition) = here.kind else { return Err("no function with a cache".to_owned()) };
    let outer = here.parent.unwrap_or(ScopeId::MODULE);
    let decorators = definition.decorator_list.iter().filter_map(|decorator| {
        let limit = cache_limit(&decorator.expression)?;
        Some((decorator.expression.start(), limit))
    });
    let wrapped = model.calls.iter().filter_map(|call| {
        let argument = call.call.arguments.args.first()?;
        let limit = cache_limit(&call.call.func)
            .filter(|_| finder.flow.models.function(file, call.scope, argument) == Some((file, scope)))?;
        Some((call.call.start(), limit))
    });
    let bounds = finder.bounds(&[]);
    let mut found = Vec::new();
    for (offset, limit) in decorators.chain(wrapped) {
        let mut ranked = statement(finder, Kind::Cache, file, outer, here.block, offset);
        ranked.statement.class = model.scope(outer).is_class().then(|| model.qualified_name(outer));
        let calls = finder.flow.models.iter().flat_map(|(from, model)| {
            let calls = model.calls.iter().filter(move |call| name_of(call.call) == Some(definition.name.as_str()));
            calls.map(move |call| (from, call))
        });
        let calls: Vec<_> = calls.collect();
        ranked.statement.repeated = calls
            .iter()
            .any(|(from, call)| finder.contexts.is_repeated(finder.flow.models.of(*from), *from, call.scope, call.block));
        ranked.statement.via = calls.iter().take(8).map(|(from, call)| site(finder.flow, *from, call.call.start())).collect();
        // Of a method each object is a key, too.
        let are_all = |is_one: &dyn Fn(FileId, ScopeId, &'p Expr) -> bool| {
            let given = |(from, call): &(FileId, &Call<'p>)| {
                let arguments = &call.call.arguments;
                let values = arguments.args.iter().chain(arguments.keywords.iter().map(|keyword| &keyword.value));
                let mut values = values.filter(|value| !value.is_literal_expr()).peekable();
                values.peek().is_some() && values.all(|value| is_one(*from, call.scope, value))
            };
            !model.scope(outer).is_class() && !calls.is_empty() && calls.iter().all(given)
        };
        ranked.statement.bound = match limit {
            true => Some(Bound::Ceiling(site(finder.flow, file, offset), None)),
            // There is one way to call it.
            false if definition.parameters.is_empty() => Some(Bound::Ceiling(site(finder.flow, file, offset), Some(1))),
            false if are_all(&|file, scope, value| bounds.is_size(file, scope, value)) => Some(Bound::Sizes),
            false if are_all(&|file, scope, value| bounds.is_sample_number(file, scope, value)) => Some(Bound::Samples),
            false => None,
        };
        found.push(ranked);
    }
    Ok(found)
}

/// Whether an expression is a caching decorator, and whether it has a limit (128 by default; `cache` has none).
#[must_use]
pub fn cache_limit(expr: &Expr) -> Option<bool> {
    let (name, call) = match expr {
        Expr::Call(call) => (name_of(call)?, Some(call)),
        Expr::Name(name) => (name.id.as_str(), None),
        Expr::Attribute(attribute) => (attribute.attr.as_str(), None),
        _ => return None,
    };
    match name {
        "cache" | "memoize" => Some(false),
        "lru_cache" | "cached" | "ttl_cache" | "alru_cache" => {
            let keyword =
                call.and_then(|call| argument(call, "maxsize")).or_else(|| call.and_then(|call| call.arguments.args.first()));
            Some(keyword.is_none_or(|size| !size.is_none_literal_expr()))
        }
        _ => None,
    }
}

fn argument<'e>(call: &'e ExprCall, name: &str) -> Option<&'e Expr> {
    call.arguments
        .keywords
        .iter()
        .find(|keyword| keyword.arg.as_ref().is_some_and(|arg| arg.as_str() == name))
        .map(|keyword| &keyword.value)
}

/// What goes over something again and again, and keeps it for that.
pub const CYCLE: &str = "itertools.cycle";
/// One of several iterators over the same, as `itertools.tee` makes them.
pub const TEE: &str = "itertools._tee";

/// The call that makes what keeps elements to give them later: one that the holder's name is given, else the only one of the program.
fn kept_to_give(finder: &Finder, holder: &Holder, function: &str, kind: Kind) -> Vec<Ranked> {
    let seeds = Target::of(finder.flow, holder).map(|target| target.seeds).unwrap_or_default();
    let aliases = finder.flow.aliases(&seeds, true);
    let given: Vec<&Expr> =
        aliases.iter().flat_map(|alias| super::bounds::at(&finder.ops.assigned, alias.at)).map(|op| op.what).collect();
    let mut all = Vec::new();
    for (file, model) in users(finder.flow) {
        let makes = |call: &&Call| model.full_name(call.scope, &call.call.func).is_some_and(|name| name == function);
        all.extend(model.calls.iter().filter(makes).map(|call| (file, call)));
    }
    let is_given = |call: &Call| given.iter().any(|value| matches!(value, Expr::Call(value) if std::ptr::eq(value, call.call)));
    let own: Vec<_> = all.iter().filter(|(_, call)| is_given(call)).copied().collect();
    let chosen = if own.is_empty() && all.len() == 1 { all } else { own };
    let made = chosen.into_iter().map(|(file, call)| {
        let mut ranked = statement(finder, kind, file, call.scope, call.block, call.call.start());
        // It is made once, and gets more whenever it is asked for the next element.
        ranked.statement.repeated = true;
        ranked
    });
    made.collect()
}

/// The variable in which `warnings` keeps, for a module, every text that it was warned of there.
const WARNED: &str = "__warningregistry__";

/// The calls that warn in a file.
fn warned(finder: &Finder, wanted: Option<&std::path::Path>) -> Vec<Ranked> {
    let mut found = Vec::new();
    for (file, model) in finder.flow.models.iter().filter(|(_, model)| Some(model.source.path()) == wanted) {
        let warns = |call: &&Call| model.full_name(call.scope, &call.call.func).is_some_and(|name| name == "warnings.warn");
        let calls = model.calls.iter().filter(warns);
        found.extend(calls.map(|call| statement(finder, Kind::Item, file, call.scope, call.block, call.call.start())));
    }
    found
}

/// The module in which pyplot keeps its figures.
const PYPLOTS: &str = "matplotlib._pylab_helpers";
/// Functions of pyplot that make a figure, which pyplot keeps until it is closed.
const FIGURE_MAKERS: &[&str] = &["figure", "subplots", "subplot_mosaic"];

/// What pyplot keeps by number: the program's calls that make figures.
fn figures(finder: &Finder) -> Vec<Ranked> {
    let models = || users(finder.flow);
    let of_pyplot = |model: &Model<'_>, call: &Call<'_>| {
        let name = model.full_name(call.scope, &call.call.func)?;
        name.strip_prefix("matplotlib.pyplot.").map(str::to_owned)
    };
    let mut closed = models().flat_map(|(file, model)| {
        let closing = model.calls.iter().filter(move |call| of_pyplot(model, call).is_some_and(|name| name == "close"));
        closing.map(move |call| site(finder.flow, file, call.call.start()))
    });
    // Which of them it closes is not followed.
    let bound = closed.next().map(Bound::EmptiedIf);
    let mut found = Vec::new();
    for (file, model) in models() {
        for call in &model.calls {
            if of_pyplot(model, call).is_some_and(|name| FIGURE_MAKERS.contains(&name.as_str())) {
                let mut ranked = statement(finder, Kind::Call, file, call.scope, call.block, call.call.start());
                ranked.statement.bound.clone_from(&bound);
                found.push(ranked);
            }
        }
    }
    found
}

/// A dictionary of hooks, as `_forward_hooks` of a module: the calls that register such hooks.
fn hooks(finder: &Finder, holder: &Holder) -> Option<Vec<Ranked>> {
    let at = holder.path.iter().rposition(|step| *step != Step::Item)?;
    let Step::Attribute { name, owner } = &holder.path[at] else { return None };
    let own = owner.as_ref().and_then(|owner| super::target::find_class(finder.flow, owner));
    // A list of hooks of the program's own is a list like any other.
    if !name.starts_with('_') || !name.contains("hook") || own.is_some_and(|_| finder.flow.attribute_name(name).is_some()) {
        return None;
    }
    let plain = name.trim_start_matches('_').trim_end_matches('s');
    let plain =
        ["global_", "optimizer_", "module_"].iter().fold(plain, |plain, prefix| plain.strip_prefix(prefix).unwrap_or(plain));
    let before = holder.before(at);
    let seeds = Target::of(finder.flow, &before).map(|target| target.seeds).unwrap_or_default();
    let aliases = finder.flow.aliases(&seeds, true);
    let mut found = Vec::new();
    for (file, model) in finder.flow.models.iter() {
        for call in &model.calls {
            let Some(method) = name_of(call.call).filter(|method| method.starts_with("register_") && method.ends_with(plain))
            else {
                continue;
            };
            let mut ranked = statement(finder, Kind::Hook, file, call.scope, call.block, call.call.start());
            let places = match &*call.call.func {
                Expr::Attribute(attribute) => finder.flow.places(file, call.scope, &attribute.value),
                _ => Places::new(),
            };
            // Another module may be meant.
            let same = aliases.iter().any(|alias| places.contains(&alias.at));
            ranked.statement.certainty = if same || method.contains("module") { Certainty::Traced } else { Certainty::ByName };
            ranked.statement.bound = removed(finder, file, call.call);
            found.push(ranked);
        }
    }
    Some(found)
}

/// The state of one of torch's optimizers has an entry for each parameter that it was given, made when it first takes a step: the
/// calls that give it more of them.
fn parameters(finder: &Finder, holder: &Holder) -> Option<Vec<Ranked>> {
    let at = holder.path.iter().rposition(|step| *step != Step::Item)?;
    let Step::Attribute { name, owner: Some(owner) } = &holder.path[at] else { return None };
    if name != "state" || !owner.module.starts_with("torch.optim") {
        return None;
    }
    let seeds = Target::of(finder.flow, &holder.before(at)).map(|target| target.seeds).unwrap_or_default();
    let aliases = finder.flow.aliases(&seeds, true);
    let mut found = Vec::new();
    for (file, model) in users(finder.flow) {
        for call in &model.calls {
            let Expr::Attribute(method) = &*call.call.func else { continue };
            let places = finder.flow.places(file, call.scope, &method.value);
            if method.attr.as_str() == "add_param_group" && aliases.iter().any(|alias| places.contains(&alias.at)) {
                found.push(statement(finder, Kind::Item, file, call.scope, call.block, call.call.start()));
            }
        }
    }
    (!found.is_empty()).then_some(found)
}

/// Where the server of a `multiprocessing.Manager` keeps what it was asked to make.
const SERVED: &str = "id_to_obj";
/// What it is asked for.
const MANAGED: &[&str] = &["Namespace", "Queue", "deque", "dict", "list", "set"];

/// What a manager's process keeps is filled by the program, through the proxies that `manager.dict()` gives.
fn managed<'p>(finder: &Finder<'_, 'p>, holder: &Holder) -> Option<Vec<Ranked>> {
    holder.path.iter().find(|step| matches!(step, Step::Attribute { name, .. } if name == SERVED))?;
    let flow = finder.flow;
    let is_manager = |file: FileId, scope: ScopeId, expr: &'p Expr| {
        let places = flow.places(file, scope, expr);
        let mut given = places.iter().filter(|at| at.depth == 0).flat_map(|at| flow.assigned(at.place));
        given.any(
            |(_, assign)| matches!(assign.value, Expr::Call(call) if name_of(call).is_some_and(|name| name.ends_with("Manager"))),
        )
    };
    let mut seeds = Places::new();
    for (file, model) in users(flow) {
        for assign in &model.assigns {
            let Expr::Call(call) = assign.value else { continue };
            let Expr::Attribute(made) = &*call.func else { continue };
            if MANAGED.contains(&made.attr.as_str()) && is_manager(file, assign.scope, &made.value) {
                seeds.extend(flow.places(file, assign.scope, assign.target));
            }
        }
    }
    let aliases = flow.aliases(&seeds, true);
    let found = finder.adding(holder, &aliases, Certainty::Traced, &finder.bounds(&aliases));
    (!found.is_empty()).then_some(found)
}

/// Whether the handle that a registration gives is removed again.
fn removed(finder: &Finder, file: FileId, call: &ExprCall) -> Option<Bound> {
    let model = finder.flow.models.of(file);
    let assign = model.assigns.iter().find(|assign| assign.value.range() == call.range())?;
    let handle = finder.flow.places(file, assign.scope, assign.target);
    let aliases = finder.flow.aliases(&handle, false);
    let mut losses = aliases.iter().flat_map(|alias| super::bounds::at(&finder.ops.losses, alias.at));
    let loss = losses.find(|loss| {
        finder
            .flow
            .models
            .of(loss.file)
            .source
            .slice(finder.flow.models.of(loss.file).source.line_range(loss.offset))
            .contains(".remove")
    })?;
    let at = site(finder.flow, loss.file, loss.offset);
    let conditional = super::rounds::may_never_run(finder.flow, loss.file, loss.block);
    Some(if conditional { Bound::EmptiedIf(at) } else { Bound::Emptied(at) })
}

/// `zero_grad(set_to_none=False)`, `p.grad.zero_()`; a bare `zero_grad()` where there is nothing else (it kept them before
/// torch 2.0).
fn zeroed(finder: &Finder) -> Vec<Ranked> {
    let (mut sure, mut maybe) = (Vec::new(), Vec::new());
    for (file, model) in finder.flow.models.iter() {
        for call in &model.calls {
            let kept = argument(call.call, "set_to_none").or_else(|| call.call.arguments.args.first());
            let make = || statement(finder, Kind::Zeroed, file, call.scope, call.block, call.call.start());
            match (name_of(call.call), kept) {
                (Some("zero_grad"), Some(Expr::BooleanLiteral(yes))) if yes.value => {}
                (Some("zero_grad"), Some(_)) => sure.push(make()),
                (Some("zero_grad"), None) => maybe.push(make()),
                (Some("zero_"), _) => {
                    let of_grad = matches!(&*call.call.func, Expr::Attribute(each) if crate::model::dotted(&each.value).is_some_and(|parts| parts.contains(&"grad")));
                    if of_grad {
                        sure.push(make());
                    }
                }
                _ => {}
            }
        }
    }
    if sure.is_empty() { maybe } else { sure }
}

/// `gc.disable()`, `gc.set_threshold(0)`, `gc.freeze()`, and whether it is collected by hand.
fn collector(finder: &Finder) -> Vec<Ranked> {
    let mut found = Vec::new();
    let mut collected = None;
    for (file, model) in finder.flow.models.iter() {
        for call in &model.calls {
            let name = model.full_name(call.scope, &call.call.func);
            match name.as_deref() {
                Some("gc.disable" | "gc.freeze" | "gc.set_threshold") => {
                    found.push(statement(finder, Kind::CollectorOff, file, call.scope, call.block, call.call.start()));
                }
                Some("gc.collect" | "gc.enable") => {
                    // What is collected once, before the training, comes again after that; what is switched on at the end was off
                    // until then.
                    let again = finder.contexts.is_repeated(model, file, call.scope, call.block);
                    let firm = again && !super::rounds::may_never_run(finder.flow, file, call.block);
                    let at = site(finder.flow, file, call.call.start());
                    if firm || !collected.as_ref().is_some_and(Bound::is_firm) {
                        collected = Some(if firm { Bound::Emptied(at) } else { Bound::EmptiedIf(at) });
                    }
                }
                _ => {}
            }
        }
    }
    found.iter_mut().for_each(|each| each.statement.bound.clone_from(&collected));
    found
}
