//! Which parameter of a function gets which value of a call.

use ruff_python_ast::{Keyword, Parameters};

use super::Flow;
use super::classes::{decorated, is_static};
use crate::model::{BindingKind, Call, Expr, Model, ScopeId, ScopeKind};
use crate::program::FileId;

/// A value that a call gives to a parameter.
#[derive(Clone, Copy, Debug)]
pub struct Given<'p> {
    /// The parameter.
    pub parameter: &'p str,
    /// The value.
    pub value: &'p Expr,
    /// 0: the parameter is the value; 1: the value is one of its items (`*args`, `**options`).
    pub depth: u32,
}

impl<'p> Flow<'p> {
    /// What a call gives to the parameters of the function that it calls.
    #[must_use]
    pub fn given(&self, file: FileId, call: &Call<'p>, to: FileId, function: ScopeId) -> Vec<Given<'p>> {
        let skip = usize::from(self.is_bound(file, call, to, function));
        let arguments = &call.call.arguments;
        matched(self.models.of(to), function, skip, &arguments.args, &arguments.keywords)
    }

    /// Whether the first parameter gets the object that the function is called on, or the one that is made: `object.method(x)`,
    /// `Class(x)`, but not `Class.method(object, x)`.
    #[must_use]
    pub fn is_bound(&self, file: FileId, call: &Call<'p>, to: FileId, function: ScopeId) -> bool {
        let callee = self.models.of(to);
        let Some(definition) = method(callee, function) else { return false };
        match &*call.call.func {
            Expr::Attribute(attribute) if self.models.class(file, call.scope, &attribute.value).is_some() => {
                // `Outer.Class(x)` makes one.
                let makes = definition.name.as_str() == "__init__" && attribute.attr.as_str() != "__init__";
                makes || decorated(definition, "classmethod")
            }
            _ => true,
        }
    }
}

/// The definition of a function that is a method and gets an object.
pub(super) fn method<'m>(model: &'m Model, function: ScopeId) -> Option<&'m ruff_python_ast::StmtFunctionDef> {
    let scope = model.scope(function);
    let ScopeKind::Function(definition) = scope.kind else { return None };
    let of_class = scope.parent.is_some_and(|parent| model.scope(parent).is_class());
    (of_class && !is_static(definition)).then_some(definition)
}

/// Arguments by parameter, the first `skip` of which get none of them. What `*values` and `**options` of the call hold is not
/// told apart, so that what stands behind a `*values` may go anywhere.
pub(super) fn matched<'p>(
    callee: &Model<'p>,
    function: ScopeId,
    skip: usize,
    args: &'p [Expr],
    keywords: &'p [Keyword],
) -> Vec<Given<'p>> {
    let scope = callee.scope(function);
    let Some(parameters) = scope.parameters() else { return Vec::new() };
    let mut positional = by_place(parameters).skip(skip);
    let mut given = Vec::new();
    for value in args {
        let next = positional.next();
        match (next, &parameters.vararg) {
            (Some(_), _) if value.is_starred_expr() => break,
            (Some(parameter), _) => given.push(Given { parameter, value, depth: 0 }),
            (None, Some(rest)) => {
                given.push(Given { parameter: rest.name.as_str(), value, depth: u32::from(!value.is_starred_expr()) });
            }
            (None, None) => break,
        }
    }
    for keyword in keywords {
        let Some(name) = &keyword.arg else { continue };
        let own = scope.names.get_key_value(name.as_str());
        let own = own.filter(|(_, bindings)| bindings.iter().any(|each| matches!(each.kind, BindingKind::Parameter { .. })));
        match (own, &parameters.kwarg) {
            (Some((parameter, _)), _) => given.push(Given { parameter, value: &keyword.value, depth: 0 }),
            (None, Some(rest)) => given.push(Given { parameter: rest.name.as_str(), value: &keyword.value, depth: 1 }),
            (None, None) => {}
        }
    }
    given
}

/// The parameters that are given by place, in order.
fn by_place(parameters: &Parameters) -> impl Iterator<Item = &str> {
    parameters.posonlyargs.iter().chain(&parameters.args).map(|each| each.parameter.name.as_str())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::path::PathBuf;

    use ruff_text_size::Ranged;

    use crate::flow::Flow;
    use crate::program::{FileId, InMemory, Models, Program};

    /// What the last call of a program gives, as `parameter=value`, with a star for an item.
    fn given(text: &str) -> Vec<String> {
        let path = PathBuf::from("/a.py");
        let files = InMemory([(path.clone(), text.as_bytes().to_vec())].into());
        let program = Program::load(&files, &[path], &[]);
        let models = Models::new(&program);
        let flow = Flow::new(&models);
        let file = FileId(0);
        let model = models.of(file);
        let call = model.calls.iter().max_by_key(|call| call.call.range().start()).unwrap();
        let (to, function) = flow.callee(file, call.scope, &call.call.func).unwrap();
        let all = flow.given(file, call, to, function).into_iter();
        all.map(|one| format!("{}{}={}", "*".repeat(one.depth as usize), one.parameter, model.source.slice(one.value.range())))
            .collect()
    }

    #[test]
    fn each_value_gets_to_its_parameter() {
        assert_eq!(given("def f(a, b=1, *, c=2): ...\nf(1, c=3, b=4)"), ["a=1", "c=3", "b=4"]);
        assert_eq!(
            given("def f(a, /, b, *rest, **more): ...\nf(1, 2, 3, 4, d=5)"),
            ["a=1", "b=2", "*rest=3", "*rest=4", "*more=5"]
        );
        assert_eq!(given("def f(a, b): ...\nf(1, 2, 3, c=4)"), ["a=1", "b=2"]);
    }

    #[test]
    fn the_object_is_the_first_parameter() {
        let class = "class A:\n    def __init__(self, a): ...\n    def m(self, a, b): ...\n    @staticmethod\n    def s(a): ...\n    @classmethod\n    def c(cls, a): ...\n    class B:\n        def __init__(self, a): ...\n";
        assert_eq!(given(&format!("{class}A(1)")), ["a=1"]);
        assert_eq!(given(&format!("{class}o = A(0)\no.m(1, b=2)")), ["a=1", "b=2"]);
        assert_eq!(given(&format!("{class}o = A(0)\nA.m(o, 1, 2)")), ["self=o", "a=1", "b=2"]);
        assert_eq!(given(&format!("{class}A.s(1)")), ["a=1"]);
        assert_eq!(given(&format!("{class}o = A(0)\no.s(1)")), ["a=1"]);
        assert_eq!(given(&format!("{class}A.c(1)")), ["a=1"]);
    }

    #[test]
    fn what_is_spread_is_not_told_apart() {
        assert_eq!(given("def f(a, b, c): ...\nf(1, *xs, 2, c=3)"), ["a=1", "c=3"]);
        assert_eq!(given("def f(a, *rest): ...\nf(1, *xs, **more)"), ["a=1", "rest=*xs"]);
    }
}
