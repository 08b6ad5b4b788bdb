//! Who calls whom, where the call itself does not tell.

use super::{At, Flow, Place};
use crate::ask::last_name;
use crate::model::{BindingKind, Bound, Call, Expr, ScopeId};
use crate::program::FileId;
use crate::table::HashMap;

/// Calls of one name, at most: a name that everything has tells nothing.
const MAX_CALLS: usize = 200;

/// Calls of a program by the last name of what is called.
pub(super) type CallsByName<'p> = HashMap<&'p str, Vec<(FileId, Call<'p>)>>;

/// Functions by name, and calls of objects.
#[derive(Debug, Default)]
pub(super) struct Calls<'p> {
    /// Calls of objects by the `__call__` that they mean.
    objects: HashMap<(FileId, ScopeId), Vec<(FileId, Call<'p>)>>,
    /// How many functions have a name, and the first of them.
    functions: HashMap<&'p str, (usize, (FileId, ScopeId))>,
}

impl<'p> Calls<'p> {
    /// `self.mean(loss)` has no name to be found by.
    fn find_objects(&mut self, flow: &Flow<'p>) {
        for (file, model) in flow.models.iter() {
            for call in &model.calls {
                let Some(name) = last_name(&call.call.func).filter(|name| !self.functions.contains_key(name)) else { continue };
                if let Some(callee) = flow.callee(file, call.scope, &call.call.func)
                    && name != "__call__"
                    && flow.models.of(callee.0).scope(callee.1).name() == "__call__"
                {
                    self.objects.entry(callee).or_default().push((file, *call));
                }
            }
        }
    }
}

impl<'p> Flow<'p> {
    /// The calls of whatever has a name.
    pub(super) fn calls_by_name(&self, name: &str) -> &[(FileId, Call<'p>)] {
        let calls = self.calls_by_name.get_or_init(|| {
            let mut calls = CallsByName::default();
            for (file, model) in self.models.iter() {
                for call in &model.calls {
                    if let Some(name) = last_name(&call.call.func) {
                        calls.entry(name).or_default().push((file, *call));
                    }
                }
            }
            calls
        });
        calls.get(name).map_or(&[], Vec::as_slice)
    }

    fn calls(&self) -> &Calls<'p> {
        self.calls.get_or_init(|| {
            let mut calls = Calls::default();
            for (file, model) in self.models.iter() {
                for (scope, function) in model.functions() {
                    calls.functions.entry(function.name.as_str()).or_insert((0, (file, scope))).0 += 1;
                }
            }
            if self.has_called_objects {
                calls.find_objects(self);
            }
            calls
        })
    }

    /// The calls of a function. One that does not tell which function it means counts where only one has that name.
    #[must_use]
    pub fn callers(&self, file: FileId, function: ScopeId) -> Vec<(FileId, Call<'p>)> {
        let model = self.models.of(file);
        let scope = model.scope(function);
        let class = scope.parent.map(|parent| model.scope(parent)).filter(|parent| parent.is_class());
        let name = match (scope.name(), class) {
            ("__init__", Some(class)) => class.name(),
            (name, _) => name,
        };
        let calls = self.calls();
        let only = calls.functions.get(name).is_some_and(|(count, _)| *count == 1);
        let objects = calls.objects.get(&(file, function)).into_iter().flatten().take(MAX_CALLS).copied();
        let found = self.calls_by_name(name).iter().take(MAX_CALLS);
        found
            .filter(|(from, call)| match self.callee(*from, call.scope, &call.call.func) {
                Some(callee) => callee == (file, function),
                // What an import leads to is a library's.
                None => {
                    only && class.is_some() == call.call.func.is_attribute_expr()
                        && self.models.of(*from).full_name(call.scope, &call.call.func).is_none()
                }
            })
            .copied()
            .chain(objects)
            .collect()
    }

    /// The calls that surely mean a function, or whose name nothing else that programs have to do with has.
    #[must_use]
    pub fn sure_callers(&self, file: FileId, function: ScopeId) -> Vec<(FileId, Call<'p>)> {
        let mut callers = self.callers(file, function);
        callers.retain(|(from, call)| {
            let common = || last_name(&call.call.func).is_some_and(|name| COMMON.binary_search(&name).is_ok());
            self.callee(*from, call.scope, &call.call.func).is_some() || !common()
        });
        callers
    }

    /// The function that a call surely calls; else the only method of that name in the program, where nothing else that
    /// programs have to do with has a method of that name.
    #[must_use]
    pub fn likely_callee(&self, file: FileId, scope: ScopeId, func: &'p Expr) -> Option<(FileId, ScopeId)> {
        self.callee(file, scope, func)
            .or_else(|| self.only_method(file, scope, func))
            .or_else(|| self.only_called_object(file, scope, func))
    }

    /// `__call__` of the only class that has one, where an attribute is called that holds what an object was made with.
    fn only_called_object(&self, file: FileId, scope: ScopeId, func: &'p Expr) -> Option<(FileId, ScopeId)> {
        let (1, (of, function)) = *self.calls().functions.get("__call__")? else { return None };
        let model = self.models.of(of);
        let of_class = model.scope(function).parent.is_some_and(|parent| model.scope(parent).is_class());
        let places = self.places(file, scope, func);
        let is_given = |at: &At<'p>| {
            at.depth == 0
                && match at.place {
                    // `self.criterion = criterion`
                    Place::Attribute(..) => {
                        let mut assigned = self.assigned(at.place).peekable();
                        assigned.peek().is_some()
                            && assigned.all(|(of, assign)| {
                                assign.how == Bound::Whole
                                    && assign.value.as_name_expr().is_some_and(|name| {
                                        let mut bindings = self.models.of(*of).bindings(assign.scope, name.id.as_str()).iter();
                                        bindings.all(|binding| matches!(binding.kind, BindingKind::Parameter { .. }))
                                    })
                            })
                    }
                    _ => false,
                }
        };
        (of_class && !places.is_empty() && places.iter().all(is_given)).then_some((of, function))
    }

    fn only_method(&self, file: FileId, scope: ScopeId, func: &'p Expr) -> Option<(FileId, ScopeId)> {
        let Expr::Attribute(method) = func else { return None };
        let name = method.attr.as_str();
        let (1, (of, function)) = *self.calls().functions.get(name)? else { return None };
        let model = self.models.of(of);
        let of_class = model.scope(function).parent.is_some_and(|parent| model.scope(parent).is_class());
        let is_known = || {
            self.models.of(file).full_name(scope, func).is_some()
                || method.value.is_literal_expr()
                || self.class_of(file, scope, &method.value).is_some()
        };
        (of_class && COMMON.binary_search(&name).is_err() && !is_known()).then_some((of, function))
    }
}

/// Methods that objects of Python, of torch and of frameworks have.
const COMMON: &[&str] = &[
    "__call__",
    "__enter__",
    "__exit__",
    "__getitem__",
    "__init__",
    "__iter__",
    "__len__",
    "__next__",
    "__setitem__",
    "accumulate",
    "acquire",
    "add",
    "add_",
    "all",
    "any",
    "append",
    "apply",
    "backward",
    "build",
    "call",
    "cancel",
    "clear",
    "clone",
    "close",
    "collect",
    "compute",
    "connect",
    "copy",
    "count",
    "cpu",
    "create",
    "cuda",
    "debug",
    "decode",
    "delete",
    "detach",
    "double",
    "encode",
    "error",
    "eval",
    "evaluate",
    "execute",
    "exists",
    "expand",
    "extend",
    "fill",
    "filter",
    "find",
    "finish",
    "fit",
    "flatten",
    "float",
    "flush",
    "format",
    "forward",
    "gather",
    "generate",
    "get",
    "half",
    "index",
    "info",
    "init",
    "initialize",
    "insert",
    "item",
    "items",
    "join",
    "keys",
    "lerp",
    "load",
    "load_state_dict",
    "log",
    "log_prob",
    "long",
    "map",
    "max",
    "mean",
    "merge",
    "min",
    "mode",
    "modules",
    "named_modules",
    "named_parameters",
    "normalize",
    "notify",
    "numpy",
    "open",
    "parameters",
    "parse",
    "permute",
    "plot",
    "pop",
    "popleft",
    "predict",
    "prepare",
    "print",
    "process",
    "push",
    "put",
    "read",
    "record",
    "register",
    "release",
    "remove",
    "render",
    "repeat",
    "replace",
    "reset",
    "reshape",
    "resize",
    "result",
    "reverse",
    "round",
    "run",
    "sample",
    "save",
    "scale",
    "score",
    "search",
    "select",
    "send",
    "set",
    "setdefault",
    "setup",
    "shape",
    "show",
    "size",
    "sort",
    "split",
    "squeeze",
    "start",
    "state_dict",
    "status",
    "std",
    "step",
    "stop",
    "strip",
    "submit",
    "sum",
    "t",
    "test",
    "to",
    "tolist",
    "train",
    "transform",
    "transpose",
    "unsqueeze",
    "update",
    "validate",
    "values",
    "var",
    "view",
    "wait",
    "warning",
    "write",
    "zero_",
    "zero_grad",
];

#[cfg(test)]
mod tests {
    use super::COMMON;

    #[test]
    fn the_table_can_be_searched() {
        assert!(COMMON.is_sorted());
    }
}
