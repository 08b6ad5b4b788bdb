//! What flows from place to place: the edges of [`super::Flow`].

use ruff_python_ast::ExprCall;

use super::classes::{decorated, is_static};
use super::{At, ClassId, Flow, Place};
use crate::model::{BindingKind, Bound, Call, Expr, Model, Ranged, ScopeId, ScopeKind, TextSize};
use crate::program::FileId;

/// An object at `from` is also at `to`.
#[derive(Clone, Copy, Debug)]
pub struct Edge<'p> {
    /// Where it comes from.
    pub from: At<'p>,
    /// Where it gets to.
    pub to: At<'p>,
    /// The file and place of what moves it.
    pub site: (FileId, TextSize),
}

/// Calls that start a function given as an argument, with the arguments after it.
const STARTERS: &[&str] =
    &["partial", "submit", "apply_async", "apply", "call_soon", "call_later", "run_in_executor", "register"];

pub(super) fn all<'p>(flow: &Flow<'p>) -> Vec<Edge<'p>> {
    let mut edges = Edges { flow, edges: Vec::new() };
    for (file, model) in flow.models.iter() {
        edges.assigns(file, model);
        edges.results(file, model);
        edges.definitions(file, model);
        for call in &model.calls {
            edges.call(file, call);
        }
    }
    edges.edges
}

struct Edges<'f, 'p> {
    flow: &'f Flow<'p>,
    edges: Vec<Edge<'p>>,
}

impl<'p> Edges<'_, 'p> {
    fn add(&mut self, from: At<'p>, to: At<'p>, file: FileId, at: TextSize) {
        if from != to {
            self.edges.push(Edge { from, to, site: (file, at) });
        }
    }

    /// From every place of a value, `deeper` items below it, to a place.
    fn value(&mut self, file: FileId, scope: ScopeId, value: &'p Expr, deeper: u32, to: At<'p>) {
        for from in self.flow.places(file, scope, value) {
            self.add(At { depth: from.depth + deeper, ..from }, to, file, value.start());
        }
        // What a display holds lies one item below the place that gets the display.
        let inside = At { depth: to.depth + 1, ..to };
        let (list, dict): (&[Expr], &[ruff_python_ast::DictItem]) = match value {
            Expr::List(each) => (&each.elts, &[]),
            Expr::Tuple(each) => (&each.elts, &[]),
            Expr::Set(each) => (&each.elts, &[]),
            Expr::Dict(each) => (&[], &each.items),
            _ => return,
        };
        // A display of many values is data.
        if deeper == 0 && to.depth < super::place::MAX_DEPTH && list.len() + dict.len() <= 64 {
            list.iter().for_each(|element| self.value(file, scope, element, 0, inside));
            dict.iter().filter(|item| item.key.is_some()).for_each(|item| self.value(file, scope, &item.value, 0, inside));
        }
    }

    fn assigns(&mut self, file: FileId, model: &Model<'p>) {
        for assign in &model.assigns {
            let deeper = match assign.how {
                Bound::Whole | Bound::Entered => 0,
                Bound::Element => 1,
                Bound::Part | Bound::Augmented(_) => continue,
            };
            for to in self.flow.places(file, assign.scope, assign.target) {
                self.value(file, assign.scope, assign.value, deeper, to);
            }
        }
    }

    fn results(&mut self, file: FileId, model: &Model<'p>) {
        for result in &model.results {
            let to = At { place: Place::Result(file, result.scope), depth: u32::from(result.yielded) };
            self.value(file, result.scope, result.value, 0, to);
        }
    }

    /// Properties are attributes that are results; defaults are values of parameters.
    fn definitions(&mut self, file: FileId, model: &Model<'p>) {
        for (scope, function) in model.functions() {
            let outer = model.scope(scope).parent.unwrap_or(ScopeId::MODULE);
            if model.scope(outer).is_class() && (decorated(function, "property") || decorated(function, "cached_property")) {
                let attribute = Place::Attribute(ClassId { file, scope: outer }, function.name.as_str());
                let from = At { place: Place::Result(file, scope), depth: 0 };
                self.add(from, At { place: attribute, depth: 0 }, file, function.name.start());
            }
            for parameter in function.parameters.iter_non_variadic_params() {
                if let Some(default) = parameter.default.as_deref() {
                    let to = At { place: Place::Variable(file, scope, parameter.parameter.name.as_str()), depth: 0 };
                    self.value(file, outer, default, 0, to);
                }
            }
        }
    }

    fn call(&mut self, file: FileId, call: &Call<'p>) {
        self.put_into(file, call);
        let arguments = &call.call.arguments;
        if let Some((to, function)) = self.flow.callee(file, call.scope, &call.call.func) {
            let bound = self.receiver(file, call, to, function);
            self.arguments(file, call.scope, &arguments.args, to, function, usize::from(bound));
            self.keywords(file, call, to, function);
        } else if let Some((to, class)) = self.flow.models.class(file, call.scope, &call.call.func) {
            // No `__init__`: a dataclass or a named tuple, whose keywords are its attributes.
            for keyword in &arguments.keywords {
                if let Some(name) = &keyword.arg {
                    let place = Place::Attribute(ClassId { file: to, scope: class }, name.as_str());
                    self.value(file, call.scope, &keyword.value, 0, At { place, depth: 0 });
                }
            }
        } else {
            self.started(file, call);
        }
    }

    /// Whether the callee gets its first parameter from the call's receiver; the receiver then is an instance.
    fn receiver(&mut self, file: FileId, call: &Call<'p>, to: FileId, function: ScopeId) -> bool {
        let model = self.flow.models.of(to);
        let scope = model.scope(function);
        let Some(class) = scope.parent.filter(|parent| model.scope(*parent).is_class()) else { return false };
        let ScopeKind::Function(definition) = scope.kind else { return false };
        if is_static(definition) {
            return false;
        }
        let class = ClassId { file: to, scope: class };
        match &*call.call.func {
            // `Class.method(object, ...)`
            Expr::Attribute(attribute) if self.flow.models.class(file, call.scope, &attribute.value).is_some() => {
                decorated(definition, "classmethod")
            }
            Expr::Attribute(attribute) => {
                for from in self.flow.places(file, call.scope, &attribute.value) {
                    self.add(from, At { place: Place::Instance(class), depth: 0 }, file, call.call.range().start());
                }
                true
            }
            _ => true,
        }
    }

    fn arguments(&mut self, file: FileId, scope: ScopeId, values: &'p [Expr], to: FileId, function: ScopeId, skip: usize) {
        let Some(parameters) = self.flow.models.of(to).scope(function).parameters() else { return };
        let positional: Vec<_> = parameters.posonlyargs.iter().chain(&parameters.args).skip(skip).collect();
        for (parameter, value) in positional.iter().zip(values) {
            if value.is_starred_expr() {
                return;
            }
            let place = Place::Variable(to, function, parameter.parameter.name.as_str());
            self.value(file, scope, value, 0, At { place, depth: 0 });
        }
        if let Some(vararg) = &parameters.vararg {
            let place = Place::Variable(to, function, vararg.name.as_str());
            values.iter().skip(positional.len()).for_each(|value| self.value(file, scope, value, 0, At { place, depth: 1 }));
        }
    }

    fn keywords(&mut self, file: FileId, call: &Call<'p>, to: FileId, function: ScopeId) {
        let scope = self.flow.models.of(to).scope(function);
        for keyword in &call.call.arguments.keywords {
            let Some(name) = &keyword.arg else { continue };
            let bound = scope.bindings(name.as_str()).iter().any(|each| matches!(each.kind, BindingKind::Parameter { .. }));
            let place = if bound {
                At { place: Place::Variable(to, function, name.as_str()), depth: 0 }
            } else if let Some(kwarg) = scope.parameters().and_then(|parameters| parameters.kwarg.as_deref()) {
                At { place: Place::Variable(to, function, kwarg.name.as_str()), depth: 1 }
            } else {
                continue;
            };
            self.value(file, call.scope, &keyword.value, 0, place);
        }
    }

    /// `Thread(target=f, args=(a, b))`, `partial(f, a)`, `pool.submit(f, a)`.
    fn started(&mut self, file: FileId, call: &Call<'p>) {
        let arguments = &call.call.arguments;
        if let (Some(target), Some(Expr::Tuple(args))) = (keyword(call.call, "target"), keyword(call.call, "args")) {
            if let Some((to, function)) = self.flow.callee(file, call.scope, target) {
                let skip = self.is_method(to, function);
                self.arguments(file, call.scope, &args.elts, to, function, skip);
            }
            return;
        }
        let name = match &*call.call.func {
            Expr::Name(name) => name.id.as_str(),
            Expr::Attribute(attribute) => attribute.attr.as_str(),
            _ => return,
        };
        if let Some((first, rest)) = arguments.args.split_first().filter(|_| STARTERS.contains(&name))
            && let Some((to, function)) = self.flow.callee(file, call.scope, first)
        {
            let skip = self.is_method(to, function);
            self.arguments(file, call.scope, rest, to, function, skip);
            self.keywords(file, call, to, function);
        }
    }

    fn is_method(&self, file: FileId, function: ScopeId) -> usize {
        let model = self.flow.models.of(file);
        let parent = model.scope(function).parent;
        usize::from(parent.is_some_and(|parent| model.scope(parent).is_class()))
    }

    /// What is put into a container lies one item below it.
    fn put_into(&mut self, file: FileId, call: &Call<'p>) {
        let Expr::Attribute(attribute) = &*call.call.func else { return };
        let at = match attribute.attr.as_str() {
            "append" | "appendleft" | "add" | "put" | "put_nowait" => 0,
            "insert" | "setdefault" => 1,
            _ => return,
        };
        let Some(value) = call.call.arguments.args.get(at) else { return };
        for container in self.flow.places(file, call.scope, &attribute.value) {
            self.value(file, call.scope, value, 0, At { depth: container.depth + 1, ..container });
        }
    }
}

fn keyword<'p>(call: &'p ExprCall, name: &str) -> Option<&'p Expr> {
    call.arguments
        .keywords
        .iter()
        .find(|keyword| keyword.arg.as_ref().is_some_and(|arg| arg.as_str() == name))
        .map(|keyword| &keyword.value)
}
