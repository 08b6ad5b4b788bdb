//! Keys that are positions in a data set: `self.cache[index] = sample` in `__getitem__` adds no more entries than it has samples.

use ruff_python_ast::Number;

use crate::model::{Assign, BindingKind, Bound as Way, Expr, Model, ScopeId, ScopeKind};

/// Assignments and calls that are followed from a key back to the position.
const STEPS: usize = 4;

/// Whether a key is the position that a data set is asked for, or what it has at that position: the program has a class with
/// `__getitem__` and `__len__`, and the key comes from what the former is given, there or in a method that it hands it to.
pub(super) fn is_position(model: &Model, scope: ScopeId, key: &Expr) -> bool {
    let Some((class, method)) = model.method_of(scope) else { return false };
    let defines = |name: &str| !model.scope(class).bindings(name).is_empty();
    defines("__getitem__") && defines("__len__") && comes_from(model, class, method, key, STEPS)
}

/// Whether a value in a method is a position, or made of one so that equal positions make equal values.
fn comes_from(model: &Model, class: ScopeId, method: ScopeId, value: &Expr, steps: usize) -> bool {
    let Some(steps) = steps.checked_sub(1) else { return false };
    let of = |each: &Expr| comes_from(model, class, method, each, steps);
    let few = |each: &Expr| of(each) || is_constant(each);
    match value {
        Expr::Name(name) => {
            let mut values = assigned(model, method, name.id.as_str()).peekable();
            let is_assigned = values.peek().is_some();
            if let Some(at) = parameter(model, method, name.id.as_str()) {
                return !is_assigned && is_given_positions(model, class, method, at, steps);
            }
            is_assigned && values.all(|assign| assign.how == Way::Whole && of(assign.value))
        }
        // The path of the sample, its own number, the two together.
        Expr::Subscript(each) => of(&each.slice),
        Expr::Call(call) => match (&*call.func, &*call.arguments.args) {
            (Expr::Name(name), [only]) => matches!(name.id.as_str(), "int" | "str" | "repr") && of(only),
            _ => false,
        },
        Expr::BinOp(each) => of(&each.left) && few(&each.right) || few(&each.left) && of(&each.right),
        Expr::Tuple(each) => each.elts.iter().any(of) && each.elts.iter().all(few),
        Expr::FString(each) => {
            let mut parts =
                each.value.elements().filter_map(|part| part.as_interpolation()).map(|part| &*part.expression).peekable();
            parts.peek().is_some() && parts.all(of)
        }
        _ => false,
    }
}

fn is_constant(value: &Expr) -> bool {
    match value {
        Expr::NumberLiteral(number) => matches!(number.value, Number::Int(_)),
        value => value.is_string_literal_expr(),
    }
}

/// Whether all that a method gets as its parameter `at` (without `self`) are positions.
fn is_given_positions(model: &Model, class: ScopeId, method: ScopeId, at: usize, steps: usize) -> bool {
    let ScopeKind::Function(function) = model.scope(method).kind else { return false };
    if function.name.as_str() == "__getitem__" {
        return at == 0;
    }
    // Whoever else calls a method of this name may hand it anything; `np.load()` is another.
    let of_module = |call: &&crate::model::Call| {
        let receiver = call.call.func.as_attribute_expr().and_then(|each| each.value.as_name_expr());
        receiver.is_some_and(|name| {
            let bindings = model.bindings(call.scope, name.id.as_str());
            bindings.iter().any(|binding| matches!(binding.kind, BindingKind::Import { .. }))
        })
    };
    let calls: Vec<_> = model.calls_named(&[function.name.as_str()]).into_iter().filter(|call| !of_module(call)).collect();
    let hands_one = |call: &&crate::model::Call| {
        let own = call
            .call
            .func
            .as_attribute_expr()
            .is_some_and(|each| each.value.as_name_expr().is_some_and(|name| name.id == "self"));
        let inside = model.method_of(call.scope).filter(|(around, _)| *around == class && own);
        let keyword = || {
            let name = model.scope(method).parameters()?.args.get(at + 1)?.parameter.name.as_str();
            call.call
                .arguments
                .keywords
                .iter()
                .find(|each| each.arg.as_ref().is_some_and(|arg| arg == name))
                .map(|each| &each.value)
        };
        let handed = call.call.arguments.args.get(at).or_else(keyword);
        inside.zip(handed).is_some_and(|((_, from), value)| comes_from(model, class, from, value, steps))
    };
    !calls.is_empty() && calls.iter().all(hands_one)
}

/// The number of a parameter after `self`.
fn parameter(model: &Model, method: ScopeId, name: &str) -> Option<usize> {
    let parameters = model.scope(method).parameters()?;
    let mut all = parameters.posonlyargs.iter().chain(&parameters.args);
    all.position(|each| each.parameter.name.as_str() == name)?.checked_sub(1)
}

fn assigned<'m>(model: &'m Model, method: ScopeId, name: &str) -> impl Iterator<Item = &'m Assign<'m>> {
    model
        .assigns
        .iter()
        .filter(move |assign| assign.scope == method && assign.target.as_name_expr().is_some_and(|target| target.id == *name))
}
