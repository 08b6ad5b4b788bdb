//! Holders inside a library's objects: what the user's program calls that makes them grow.

use std::collections::HashSet;

use super::bounds::{at, site};
use super::find::{Finder, Ranked, is_users, users};
use super::holder::Holder;
use super::ops::{Op, is_hook, name_of};
use super::target::{Library, find_class};
use super::{Certainty, Kind};
use crate::flow::{At, ClassId, Place};
use crate::model::{Bound, Expr, Ranged};
use crate::program::FileId;

/// Methods that give or take, and never make an object larger.
const READERS: &[&str] = &[
    "get",
    "keys",
    "values",
    "items",
    "state_dict",
    "parameters",
    "named_parameters",
    "modules",
    "children",
    "eval",
    "train",
    "to",
    "cuda",
    "cpu",
    "close",
    "clear",
    "pop",
    "remove",
    "reset",
    "flush",
    "copy",
    "detach",
    "item",
    "join",
    "start",
    "finish",
    "shape",
    "size",
    "zero_grad",
];

/// Callers of callers inside a library that are looked at.
const MAX_CALLERS: usize = 3;

/// Adds the user's calls: to the library's own statements where its source was read, else as statements of their own.
pub(super) fn reach<'p>(finder: &Finder<'_, 'p>, holder: &Holder, object: &Library<'p>, found: &mut Vec<Ranked>) {
    let own: HashSet<String> = found
        .iter()
        .filter(|each| each.statement.library)
        .filter_map(|each| each.statement.function.as_ref()?.rsplit('.').next().map(str::to_owned))
        .collect();
    let mut names = own.clone();
    add_callers(finder, &mut names);
    let through: Vec<ClassId> = holder.through.iter().filter_map(|class| find_class(finder.flow, class)).collect();
    // The call that is nearest to what adds tells most.
    let mut calls = user_calls(finder, object, &own, &through);
    let further = user_calls(finder, object, &names, &through);
    calls.extend(further.into_iter().filter(|_| names != own));
    // `table[key] = value` is a call of `__setitem__`.
    if names.contains("__setitem__") {
        calls.extend(user_items(finder, object));
    }
    let mut seen = HashSet::new();
    calls.retain(|call| seen.insert(call.statement.site.clone()));
    if found.is_empty() {
        *found = own_attribute(finder, object);
    }
    if found.is_empty() {
        *found = calls;
        return;
    }
    if calls.is_empty() && found.iter().all(|each| each.statement.library && each.statement.via.is_empty()) {
        // Only the library fills it, again and again, as it has grown: whoever makes it for that is the program's part in it.
        lead(found, &makers(finder, object));
        found.iter_mut().filter(|each| !each.statement.via.is_empty()).for_each(|each| each.statement.repeated = true);
        return;
    }
    lead(found, &calls);
}

/// The user's calls that make objects of its class: `logging.handlers.MemoryHandler(10000)`.
fn makers(finder: &Finder, object: &Library) -> Vec<Ranked> {
    let Some(class) = &object.class else { return Vec::new() };
    let first = |path: &str| path.split('.').next().map(str::to_owned);
    let mut makers = Vec::new();
    for (file, model) in users(finder.flow) {
        let made = model.calls.iter().filter(|call| {
            name_of(call.call) == Some(class.name.as_str())
                && model.full_name(call.scope, &call.call.func).is_some_and(|full| first(&full) == first(&class.module))
        });
        makers.extend(made.map(|call| described(finder, call, file, At { place: Place::Unknown(""), depth: 0 })));
    }
    makers
}

/// Adds the user's calls to statements of a library that nothing else of the program leads to: calls of its functions by name, and
/// what makes objects that a class of it keeps all of (`weakref.finalize(model, clean_up)`).
pub(super) fn called(finder: &Finder, module: &str, found: &mut [Ranked]) {
    if found.is_empty() || found.iter().any(|each| !each.statement.library || !each.statement.via.is_empty()) {
        return;
    }
    let name = |each: &Ranked| {
        let function = each.statement.function.as_deref()?;
        match (&each.statement.class, function.rsplit('.').next()?) {
            (Some(class), "__init__" | "__new__") => class.rsplit('.').next().map(str::to_owned),
            // `_active[get_ident()] = self`: whoever made the object is why it stands there.
            (Some(class), _) if files_itself(&each.statement.site.text) => class.rsplit('.').next().map(str::to_owned),
            (Some(_), _) => None,
            (None, function) => Some(function.to_owned()),
        }
    };
    let mut names: HashSet<String> = found.iter().filter_map(name).collect();
    add_callers(finder, &mut names);
    let first = |path: &str| path.split('.').next().map(str::to_owned);
    let mut calls = Vec::new();
    for (file, model) in users(finder.flow) {
        for call in &model.calls {
            let is_its = name_of(call.call).is_some_and(|name| names.contains(name))
                && model.full_name(call.scope, &call.call.func).is_some_and(|full| first(&full) == first(module));
            if is_its {
                calls.push(described(finder, call, file, At { place: Place::Unknown(""), depth: 0 }));
            }
        }
    }
    lead(found, &calls);
}

/// Whether a statement adds the object whose method it stands in: `table[key] = self`, `all.add(self)`.
fn files_itself(text: &str) -> bool {
    let text = text.split('#').next().unwrap_or(text).trim_end();
    text.ends_with("= self") || text.ends_with("(self)")
}

/// Says of a library's statements which calls of the user's lead there.
fn lead(found: &mut [Ranked], calls: &[Ranked]) {
    let sites: Vec<_> = calls.iter().map(|call| call.statement.site.clone()).collect();
    for each in found.iter_mut().filter(|each| each.statement.library) {
        each.statement.via.clone_from(&sites);
        each.statement.repeated |= calls.iter().any(|call| call.statement.repeated);
    }
}

/// What adds to an attribute that the user's program itself put on the library's object: `model.history.append(x)`.
fn own_attribute<'p>(finder: &Finder<'_, 'p>, object: &Library<'p>) -> Vec<Ranked> {
    let Some(name) = finder.flow.attribute_name(&object.attribute) else { return Vec::new() };
    let aliases = finder.flow.aliases(&object.seeds, false);
    let wanted = At { place: Place::Unknown(name), depth: object.depth };
    let ops = at(&finder.ops.adds, wanted).filter(|op| {
        let Some(owner) = op.container.and_then(owner_of) else { return false };
        let places = finder.flow.places(op.file, op.scope, owner);
        aliases.iter().any(|alias| places.contains(&alias.at))
    });
    ops.filter(|op| op.what != Kind::Item || op.key.is_some()).map(|op| finder.described(op, Certainty::Traced)).collect()
}

/// The object whose attribute an expression reads, below items: `m` of `m.rows[k].get(0)`.
fn owner_of(expr: &Expr) -> Option<&Expr> {
    let mut at = expr;
    for _ in 0..8 {
        at = match at {
            Expr::Subscript(each) => &each.value,
            Expr::Call(call) => match &*call.func {
                Expr::Attribute(method) => &method.value,
                _ => return None,
            },
            Expr::Attribute(each) => return Some(&each.value),
            _ => return None,
        };
    }
    None
}

/// The methods of the library that call those which add.
fn add_callers(finder: &Finder, names: &mut HashSet<String>) {
    for _ in 0..MAX_CALLERS {
        let before = names.len();
        for (file, model) in finder.flow.models.iter().filter(|(file, _)| !is_users(finder.flow, *file)) {
            let _ = file;
            for call in &model.calls {
                if name_of(call.call).is_some_and(|name| names.contains(name))
                    && let Some(function) = model.function_of(call.scope)
                {
                    names.insert(model.scope(function).name().to_owned());
                }
            }
        }
        if names.len() == before {
            return;
        }
    }
}

/// The user's calls of methods of the object. Without names, every method counts that is given something.
/// `through`: the program's own classes of objects that hold it, whose methods may call what they inherit.
fn user_calls<'p>(finder: &Finder<'_, 'p>, object: &Library<'p>, names: &HashSet<String>, through: &[ClassId]) -> Vec<Ranked> {
    let mut seeds = object.seeds.clone();
    if seeds.is_empty() {
        seeds = made(finder, object);
    }
    let aliases = finder.flow.aliases(&seeds, false);
    let mut found = Vec::new();
    for (file, model) in users(finder.flow) {
        for call in &model.calls {
            let Expr::Attribute(attribute) = &*call.call.func else { continue };
            let name = attribute.attr.as_str();
            let arguments = &call.call.arguments;
            let hook = object.attribute.contains("hook");
            let counts = match () {
                () if hook => is_hook(name),
                () if names.is_empty() => {
                    !(READERS.contains(&name) || arguments.args.is_empty() && arguments.keywords.is_empty())
                }
                () => names.contains(name),
            };
            if !counts {
                continue;
            }
            let places = finder.flow.places(file, call.scope, &attribute.value);
            let by_alias =
                aliases.iter().find(|alias| places.contains(&alias.at)).map(|alias| (alias.at, alias.steps, alias.site));
            let inherited = || {
                let class = finder.flow.own_class(file, call.scope, &attribute.value).filter(|_| !names.is_empty())?;
                through.contains(&class).then_some((At { place: Place::Instance(class), depth: 0 }, 0, None))
            };
            let Some((at, steps, by)) = by_alias.or_else(inherited) else { continue };
            let mut ranked = described(finder, call, file, at);
            ranked.steps = steps;
            ranked.statement.via = by.iter().map(|(file, offset)| site(finder.flow, *file, *offset)).collect();
            found.push(ranked);
        }
    }
    found
}

/// The user's statements that set an item of the object.
fn user_items<'p>(finder: &Finder<'_, 'p>, object: &Library<'p>) -> Vec<Ranked> {
    let seeds = if object.seeds.is_empty() { made(finder, object) } else { object.seeds.clone() };
    let aliases = finder.flow.aliases(&seeds, false);
    let set = aliases.iter().flat_map(|alias| {
        let ops = at(&finder.ops.adds, alias.at).filter(|op| op.what == Kind::Item && op.key.is_some());
        ops.filter(|op| is_users(finder.flow, op.file)).map(move |op| finder.ranked(op, alias, Certainty::Traced))
    });
    set.collect()
}

fn described<'p>(finder: &Finder<'_, 'p>, call: &crate::model::Call<'p>, file: FileId, at: At<'p>) -> Ranked {
    let op = Op {
        at,
        what: Kind::Call,
        file,
        scope: call.scope,
        block: call.block,
        offset: call.call.start(),
        key: None,
        container: None,
    };
    finder.described(&op, Certainty::Traced)
}

/// The places that are given a new object of the class.
fn made<'p>(finder: &Finder<'_, 'p>, object: &Library<'p>) -> Vec<At<'p>> {
    let Some(class) = &object.class else { return Vec::new() };
    let mut seeds = Vec::new();
    for (file, model) in users(finder.flow) {
        for assign in model.assigns.iter().filter(|assign| matches!(assign.how, Bound::Whole | Bound::Entered)) {
            let Expr::Call(call) = assign.value else { continue };
            if name_of(call) == Some(class.name.as_str()) {
                seeds.extend(finder.flow.places(file, assign.scope, assign.target));
            }
        }
    }
    seeds
}
