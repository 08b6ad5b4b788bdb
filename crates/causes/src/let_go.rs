//! Whether what a function makes is gone when the function ends.

use lowtide_lint::check::{Check, loops_around};
use lowtide_lint::model::{Assign, Bound, Call, Expr, Model, Ranged, ScopeId};
use lowtide_lint::program::FileId;

/// Whether what a call makes is a local of its function that is neither returned nor put anywhere.
pub(crate) fn is_let_go<'p>(check: &Check<'_, 'p>, file: FileId, model: &Model<'p>, call: &Call<'p>) -> bool {
    let Some(function) = model.function_of(call.scope) else { return false };
    let holds = |assign: &&Assign<'p>| assign.scope == function && assign.value.range().contains_range(call.call.range());
    let Some(name) = model.assigns.iter().find(holds).and_then(|assign| assign.target.as_name_expr()) else { return false };
    let is_it = |value: &Expr| match value {
        Expr::Tuple(each) => each.elts.iter().any(|part| is_name(part, name.id.as_str())),
        Expr::List(each) => each.elts.iter().any(|part| is_name(part, name.id.as_str())),
        Expr::Dict(each) => each.items.iter().any(|item| is_name(&item.value, name.id.as_str())),
        value => is_name(value, name.id.as_str()),
    };
    let inside = |scope| model.function_of(scope) == Some(function);
    model.owner(function, name.id.as_str()) == Some(function)
        && !model.returned(function).any(|result| is_it(result.value))
        && !check.puts(file, model).iter().any(|put| inside(put.scope) && is_it(put.value))
        && !model.assigns.iter().any(|assign| inside(assign.scope) && assign.target.is_attribute_expr() && is_it(assign.value))
}

/// Whether a call runs more than once: in a loop, however short, or in a function that is called in one or from several places.
pub(crate) fn runs_more_than_once(check: &Check, file: FileId, model: &Model, call: &Call) -> bool {
    loops_around(model, call.block).next().is_some()
        || model.function_of(call.scope).is_some_and(|function| {
            let callers = check.callers(file, function);
            let in_loop = |(from, call): &(FileId, Call)| loops_around(check.flow.models.of(*from), call.block).next().is_some();
            callers.len() > 1 || callers.iter().any(in_loop) || check.is_called_again(file, function)
        })
}

/// Whether a constructor puts a parameter as it is into an attribute.
pub(crate) fn keeps_parameter(check: &Check, file: FileId, constructor: ScopeId, parameter: &str) -> bool {
    let is_kept = |assign: &Assign| {
        assign.scope == constructor
            && assign.how == Bound::Whole
            && matches!(assign.target, Expr::Attribute(target) if check.flow.own_class(file, constructor, &target.value).is_some())
            && matches!(assign.value, Expr::Name(name) if name.id.as_str() == parameter)
    };
    check.flow.models.of(file).assigns.iter().any(is_kept)
}

fn is_name(value: &Expr, name: &str) -> bool {
    matches!(value, Expr::Name(each) if each.id.as_str() == name)
}
