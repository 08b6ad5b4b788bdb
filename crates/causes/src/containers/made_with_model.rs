//! Objects that are made again and again, each with a model of its own, by functions that let go of them.

use crate::let_go::{is_let_go, keeps_parameter, runs_more_than_once};
use lowtide_lint::ask::{method, receiver};
use lowtide_lint::check::Check;
use lowtide_lint::flow::{ClassId, Place};
use lowtide_lint::model::{Assign, Bound, Call, Expr, ExprCall, Model, Ranged, ScopeId};
use lowtide_lint::program::FileId;

/// Objects in objects that are looked into for a model.
const MAX_LOOKS: usize = 4;

/// What model each instance of a class comes with, where a function makes them more than once and lets go of each.
pub(super) fn made_with_model(check: &Check, class: ClassId) -> Option<String> {
    let line = check.flow.classes.descendants(class).iter();
    let names: Vec<&str> = line.map(|class| check.flow.models.of(class.file).scope(class.scope).name()).collect();
    check.flow.models.iter().find_map(|(file, model)| {
        model.calls_named(&names).into_iter().find_map(|call| {
            let made = made_class(check, file, call.scope, call.call)?;
            let constructs = || model.function_of(call.scope).is_none_or(|function| model.scope(function).name() == "__init__");
            let goes = check.flow.classes.ancestors(made).contains(&class)
                && !constructs()
                && is_let_go(check, file, model, call)
                && runs_more_than_once(check, file, model, call);
            if goes { model_of(check, file, model, call, made, MAX_LOOKS) } else { None }
        })
    })
}

fn made_class(check: &Check, file: FileId, scope: ScopeId, call: &ExprCall) -> Option<ClassId> {
    check.flow.models.class(file, scope, &call.func).map(|(file, scope)| ClassId { file, scope })
}

/// The model that an object has which a call makes: its own, or that of an object that it is given and keeps.
fn model_of<'p>(
    check: &Check<'_, 'p>,
    file: FileId,
    model: &Model<'p>,
    call: &Call<'p>,
    made: ClassId,
    looks: usize,
) -> Option<String> {
    let looks = looks.checked_sub(1)?;
    let (to, constructor) = check.flow.method(made, "__init__")?;
    if let Some(own) = own_model(check, made, to, constructor) {
        return Some(own);
    }
    check.flow.given(file, call, to, constructor).into_iter().filter(|one| one.depth == 0).find_map(|one| {
        if !keeps_parameter(check, to, constructor, one.parameter) {
            return None;
        }
        let value = match one.value {
            // A local of the function that makes both.
            Expr::Name(_) => check.only_value(file, call.scope, one.value).filter(|(of, _)| *of == file)?.1,
            value => value,
        };
        let inner = model.calls.iter().find(|each| each.call.range() == value.range())?;
        if model.function_of(inner.scope) != model.function_of(call.scope) {
            return None;
        }
        let inside = made_class(check, file, inner.scope, inner.call)?;
        if check.autograd.is_module(inside) {
            return Some(format!("a `{}`", check.flow.models.of(inside.file).qualified_name(inside.scope)));
        }
        model_of(check, file, model, inner, inside, looks)
    })
}

/// A model that a constructor makes or loads.
fn own_model(check: &Check, class: ClassId, file: FileId, constructor: ScopeId) -> Option<String> {
    let model = check.flow.models.of(file);
    let is_one = |assign: &&Assign| {
        let Expr::Attribute(target) = assign.target else { return false };
        let is_used = || {
            let name = check.flow.attribute_name(target.attr.as_str());
            name.is_some_and(|name| check.autograd.is_model(Place::Attribute(class, name)))
        };
        assign.scope == constructor
            && assign.how == Bound::Whole
            && check.flow.own_class(file, constructor, &target.value).is_some()
            && makes_anew(check, file, constructor, assign.value).is_some_and(|loads| loads || is_used())
    };
    let found = model.assigns.iter().find(is_one)?;
    let owner = check.flow.models.of(class.file).qualified_name(class.scope);
    Some(format!("the {} of a `{owner}`", crate::words::code(check, file, found.target)))
}

/// Whether a value is made anew where it stands, by a class or a function of a library, and whether it is loaded from a file:
/// `Net().to(device)`, `torch.load(path)`. A function of the program may give the same each time.
fn makes_anew(check: &Check, file: FileId, scope: ScopeId, value: &Expr) -> Option<bool> {
    let Expr::Call(call) = value else { return None };
    match method(call) {
        Some("to" | "cuda" | "eval" | "train" | "half" | "requires_grad_") => makes_anew(check, file, scope, receiver(call)?),
        _ => {
            let name = check.flow.models.of(file).full_name(scope, &call.func)?;
            let makes =
                made_class(check, file, scope, call).is_some() || check.flow.models.defined(file, scope, &call.func).is_none();
            makes.then_some(name == "torch.load")
        }
    }
}
