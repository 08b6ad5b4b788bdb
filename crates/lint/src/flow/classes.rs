//! The classes of a program: who inherits from whom, and what class an expression's value has.

use std::cell::Cell;

use super::arguments::matched;
use super::{Flow, ItemPut, Place};
use crate::ask::last_name;
use crate::model::{Assign, Binding, BindingKind, Bound, Call, Expr, ExprCall, Item, Model, ScopeId, ScopeKind, dotted};
use crate::program::{Defined, FileId, Models};
use crate::table::HashMap;

/// A class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId {
    /// The file it is defined in.
    pub file: FileId,
    /// Its scope.
    pub scope: ScopeId,
}

/// How far types are followed: `a = b; b = c(); def c(): return D()` are three steps.
const MAX_STEPS: usize = 6;
/// Expressions that are looked at for one type. Without it a program that assigns each of many attributes from each of
/// the others would be followed for ever.
const MAX_LOOKS: usize = 200;

/// Calls of a function, at most, that tell what its parameters are.
const MAX_CALLS: usize = 24;

/// What is left of both.
#[derive(Clone, Copy)]
struct Budget<'b> {
    steps: usize,
    looks: &'b Cell<usize>,
}

impl Budget<'_> {
    /// One step further; none where the budget is used up.
    fn step(self) -> Option<Self> {
        self.looks.set(self.looks.get().checked_sub(1)?);
        Some(Self { steps: self.steps.checked_sub(1)?, ..self })
    }
}

/// Who inherits from whom.
#[derive(Debug, Default)]
pub struct Classes {
    ancestors: HashMap<ClassId, Vec<ClassId>>,
    descendants: HashMap<ClassId, Vec<ClassId>>,
}

impl Classes {
    pub(super) fn new(models: &Models) -> Self {
        let mut bases: HashMap<ClassId, Vec<ClassId>> = HashMap::default();
        for (file, model) in models.iter() {
            for (scope, class) in model.classes() {
                let outer = model.scope(scope).parent.unwrap_or(ScopeId::MODULE);
                let named = class.arguments.iter().flat_map(|arguments| &arguments.args);
                let found = named.filter_map(|base| {
                    let base = if let Expr::Subscript(generic) = base { &generic.value } else { base };
                    models.class(file, outer, base)
                });
                bases.insert(ClassId { file, scope }, found.map(|(file, scope)| ClassId { file, scope }).collect());
            }
        }
        let mut classes = Self::default();
        for class in bases.keys() {
            let mut line = vec![*class];
            let mut at = 0;
            while let Some(next) = line.get(at) {
                for base in &bases[next] {
                    if !line.contains(base) && bases.contains_key(base) {
                        line.push(*base);
                    }
                }
                at += 1;
            }
            for ancestor in &line {
                classes.descendants.entry(*ancestor).or_default().push(*class);
            }
            classes.ancestors.insert(*class, line);
        }
        classes
    }

    /// The class itself and all that it inherits from, nearest first.
    #[must_use]
    pub fn ancestors(&self, class: ClassId) -> &[ClassId] {
        self.ancestors.get(&class).map_or(&[], Vec::as_slice)
    }

    /// The class itself and all that inherit from it.
    #[must_use]
    pub fn descendants(&self, class: ClassId) -> &[ClassId] {
        self.descendants.get(&class).map_or(&[], Vec::as_slice)
    }

    /// All classes.
    pub fn iter(&self) -> impl Iterator<Item = ClassId> {
        self.ancestors.keys().copied()
    }
}

impl<'p> Flow<'p> {
    /// The class whose instance (or itself) `self`, `cls`, `super()`, `type(self)` or `self.__class__` stands for.
    #[must_use]
    pub fn own_class(&self, file: FileId, scope: ScopeId, expr: &Expr) -> Option<ClassId> {
        let model = self.models.of(file);
        match expr {
            Expr::Name(name) => {
                let (class, method) = model.method_of(scope)?;
                let owner = model.owner(scope, name.id.as_str())?;
                (owner == method && is_self(model, method, name.id.as_str())).then_some(ClassId { file, scope: class })
            }
            Expr::Call(call) => match (&*call.func, call.arguments.args.first()) {
                (Expr::Name(name), Some(first)) if name.id.as_str() == "type" => self.own_class(file, scope, first),
                _ => self.super_class(file, scope, call),
            },
            Expr::Attribute(attribute) if attribute.attr.as_str() == "__class__" => self.own_class(file, scope, &attribute.value),
            _ => None,
        }
    }

    /// The class that `super()` is called in.
    pub(super) fn super_class(&self, file: FileId, scope: ScopeId, call: &ExprCall) -> Option<ClassId> {
        let named = matches!(&*call.func, Expr::Name(name) if name.id.as_str() == "super");
        let (class, _) = self.models.of(file).method_of(scope).filter(|_| named)?;
        Some(ClassId { file, scope: class })
    }

    /// The class of an expression's value, where the program says so.
    #[must_use]
    pub fn class_of(&self, file: FileId, scope: ScopeId, expr: &Expr) -> Option<ClassId> {
        self.class_within(file, scope, expr, Budget { steps: MAX_STEPS, looks: &Cell::new(MAX_LOOKS) })
    }

    fn class_within(&self, file: FileId, scope: ScopeId, expr: &Expr, budget: Budget) -> Option<ClassId> {
        let budget = budget.step()?;
        if let Some(class) = self.own_class(file, scope, expr) {
            return Some(class);
        }
        match expr {
            Expr::Name(name) => {
                let (file, owner, name) = self.models.definition(file, scope, expr).or_else(|| {
                    let owner = self.models.of(file).owner(scope, name.id.as_str())?;
                    Some((file, owner, name.id.as_str()))
                })?;
                self.class_of_variable(file, owner, name, budget)
            }
            Expr::Attribute(attribute) => {
                if let Some((file, owner, name)) = self.models.definition(file, scope, expr)
                    && !self.models.of(file).scope(owner).is_class()
                {
                    return self.class_of_variable(file, owner, name, budget);
                }
                let class = self.class_within(file, scope, &attribute.value, budget)?;
                self.class_of_attribute(class, attribute.attr.as_str(), budget)
            }
            Expr::Call(call) => {
                if let Some((file, scope)) = self.models.class(file, scope, &call.func) {
                    return Some(ClassId { file, scope });
                }
                let (file, function) = self.callee_within(file, scope, &call.func, budget)?;
                self.class_of_result(file, function, budget)
            }
            Expr::If(each) => self
                .class_within(file, scope, &each.body, budget)
                .or_else(|| self.class_within(file, scope, &each.orelse, budget)),
            Expr::BoolOp(each) => each.values.iter().find_map(|value| self.class_within(file, scope, value, budget)),
            Expr::Named(each) => self.class_within(file, scope, &each.value, budget),
            Expr::Await(each) => self.class_within(file, scope, &each.value, budget),
            Expr::Subscript(each) => self.class_of_elements(file, scope, &each.value, budget),
            _ => None,
        }
    }

    fn class_of_variable(&self, file: FileId, owner: ScopeId, name: &str, budget: Budget) -> Option<ClassId> {
        let model = self.models.of(file);
        let bindings = model.scope(owner).bindings(name);
        if let Some(class) = bindings.iter().find_map(|binding| self.class_of_parameter(file, owner, binding)) {
            return Some(class);
        }
        let Some(assigned) = self.variables.get(&(file, owner, name)) else {
            let is_parameter = |binding: &Binding| matches!(binding.kind, BindingKind::Parameter { annotation: None, .. });
            let given = matches!(bindings, [binding] if is_parameter(binding));
            return if given { self.class_given(file, owner, name, budget) } else { None };
        };
        assigned.iter().find_map(|(file, assign)| match assign.how {
            Bound::Whole | Bound::Entered => self.class_within(*file, assign.scope, assign.value, budget),
            Bound::Element => self.class_of_elements(*file, assign.scope, assign.value, budget),
            Bound::Part => self.class_of_part(*file, assign, budget),
            Bound::Augmented(_) => None,
        })
    }

    /// The one class of what all calls of a function by its name give for a parameter that says nothing of itself.
    fn class_given(&self, file: FileId, function: ScopeId, name: &str, budget: Budget) -> Option<ClassId> {
        let model = self.models.of(file);
        let scope = model.scope(function);
        let of_class = scope.parent.is_none_or(|parent| model.scope(parent).is_class());
        if of_class || !matches!(scope.kind, ScopeKind::Function(_)) {
            return None;
        }
        let (name, _) = scope.names.get_key_value(name)?;
        if let Some(known) = self.asked.given.borrow().get(&(file, function, *name)) {
            return *known;
        }
        // A function that calls itself tells nothing of it.
        self.asked.given.borrow_mut().insert((file, function, name), None);
        let own = |(from, call): &&(FileId, Call<'p>)| {
            self.models.defined(*from, call.scope, &call.call.func) == Some(Defined::Function(file, function))
        };
        let calls = self.calls_by_name(scope.name());
        let calls = if calls.len() > MAX_CALLS { &[] } else { calls };
        let mut classes = calls.iter().filter(own).map(|(from, call)| {
            let arguments = &call.call.arguments;
            let given = matched(model, function, 0, &arguments.args, &arguments.keywords);
            let value = given.into_iter().find(|one| one.parameter == *name && one.depth == 0)?.value;
            self.class_within(*from, call.scope, value, budget)
        });
        let first = classes.next().flatten();
        let found = first.filter(|_| classes.all(|other| other == first));
        self.asked.given.borrow_mut().insert((file, function, name), found);
        found
    }

    /// The class of one of several values that a function of the program gives: `model, optimizer = build()`.
    fn class_of_part(&self, file: FileId, assign: &Assign, budget: Budget) -> Option<ClassId> {
        let budget = budget.step()?;
        let (&[Item::At(at)], Expr::Call(call)) = (assign.part.items(), assign.value) else { return None };
        let (file, function) = self.callee_within(file, assign.scope, &call.func, budget)?;
        let model = self.models.of(file);
        let results = model.returned(function);
        results.take(8).find_map(|result| match result.value {
            Expr::Tuple(all) => self.class_within(file, result.scope, all.elts.get(usize::from(at))?, budget),
            _ => None,
        })
    }

    fn class_of_parameter(&self, file: FileId, owner: ScopeId, binding: &Binding<'p>) -> Option<ClassId> {
        let BindingKind::Parameter { annotation: Some(annotation), .. } = binding.kind else { return None };
        self.class_named(file, owner, annotation)
    }

    /// The class that an annotation names: `Trainer`, `"Trainer"`, `Trainer | None`, `Optional[Trainer]`.
    fn class_named(&self, file: FileId, scope: ScopeId, annotation: &Expr) -> Option<ClassId> {
        match annotation {
            Expr::StringLiteral(text) => {
                let name = text.value.to_str();
                let owner = self.models.of(file).owner(scope, name)?;
                self.models.of(file).scope(owner).bindings(name).iter().find_map(|binding| match binding.kind {
                    BindingKind::Class(class) => Some(ClassId { file, scope: class }),
                    _ => None,
                })
            }
            Expr::BinOp(either) => {
                self.class_named(file, scope, &either.left).or_else(|| self.class_named(file, scope, &either.right))
            }
            Expr::Subscript(generic) if dotted(&generic.value).is_some_and(|parts| parts.last() == Some(&"Optional")) => {
                self.class_named(file, scope, &generic.slice)
            }
            _ => self.models.class(file, scope, annotation).map(|(file, scope)| ClassId { file, scope }),
        }
    }

    fn class_of_attribute(&self, class: ClassId, name: &str, budget: Budget) -> Option<ClassId> {
        self.classes.ancestors(class).iter().find_map(|class| {
            let assigned = self.attributes.get(&(*class, name)).into_iter().flatten();
            let found = assigned
                .filter(|(_, assign)| assign.how == Bound::Whole)
                .find_map(|(file, assign)| self.class_within(*file, assign.scope, assign.value, budget));
            found.or_else(|| self.class_of_variable(class.file, class.scope, name, budget))
        })
    }

    fn class_of_result(&self, file: FileId, function: ScopeId, budget: Budget) -> Option<ClassId> {
        let model = self.models.of(file);
        if let ScopeKind::Function(definition) = model.scope(function).kind
            && let Some(annotation) = &definition.returns
            && let Some(class) = self.class_named(file, function, annotation)
        {
            return Some(class);
        }
        let results = model.returned(function);
        results.take(8).find_map(|result| self.class_within(file, result.scope, result.value, budget))
    }

    /// The class of the object at a variable, or of its elements.
    #[must_use]
    pub fn class_at(&self, place: Place<'p>, elements: bool) -> Option<ClassId> {
        let Place::Variable(file, owner, name) = place else { return None };
        let budget = Budget { steps: MAX_STEPS, looks: &Cell::new(MAX_LOOKS) };
        if !elements {
            return self.class_of_variable(file, owner, name, budget);
        }
        let assigned = self.variables.get(&(file, owner, name))?.iter().filter(|(_, assign)| assign.how == Bound::Whole);
        assigned.take(4).find_map(|(file, assign)| self.class_of_elements(*file, assign.scope, assign.value, budget))
    }

    /// The class of an attribute's value.
    #[must_use]
    pub fn class_of_attribute_of(&self, class: ClassId, name: &str) -> Option<ClassId> {
        self.class_of_attribute(class, name, Budget { steps: MAX_STEPS, looks: &Cell::new(MAX_LOOKS) })
    }

    /// The class of the elements of a display or a comprehension, through a variable or an attribute.
    fn class_of_elements(&self, file: FileId, scope: ScopeId, container: &Expr, budget: Budget) -> Option<ClassId> {
        let budget = budget.step()?;
        let of = |expr: &Expr| self.class_within(file, scope, expr, budget);
        match container {
            Expr::List(list) => list.elts.iter().find_map(of),
            Expr::Tuple(tuple) => tuple.elts.iter().find_map(of),
            Expr::Set(set) => set.elts.iter().find_map(of),
            Expr::Dict(dict) => dict.items.iter().find_map(|item| of(&item.value)),
            Expr::ListComp(each) => of(&each.elt),
            Expr::SetComp(each) => of(&each.elt),
            Expr::Generator(each) => of(&each.elt),
            Expr::DictComp(each) => of(&each.value),
            Expr::Call(call) => {
                let first = call.arguments.args.first()?;
                match (last_name(&call.func), first) {
                    (Some("defaultdict"), Expr::Lambda(lambda)) => {
                        let scope = self.models.of(file).scope_of_lambda(lambda)?;
                        self.class_within(file, scope, &lambda.body, budget)
                    }
                    (Some("defaultdict"), made) => {
                        self.models.class(file, scope, made).map(|(file, scope)| ClassId { file, scope })
                    }
                    _ => self.class_of_elements(file, scope, first, budget),
                }
            }
            Expr::Name(name) => {
                let name = name.id.as_str();
                let owner = self.models.of(file).owner(scope, name)?;
                let annotated = self.models.of(file).scope(owner).bindings(name).iter().find_map(|binding| match binding.kind {
                    BindingKind::Parameter { annotation: Some(annotation), .. } => element_of(annotation),
                    _ => None,
                });
                if let Some(class) = annotated.and_then(|annotation| self.class_named(file, owner, annotation)) {
                    return Some(class);
                }
                let assigned = self.variables.get(&(file, owner, name))?;
                let whole = assigned.iter().filter(|(_, assign)| assign.how == Bound::Whole);
                let made =
                    whole.take(4).find_map(|(file, assign)| self.class_of_elements(*file, assign.scope, assign.value, budget));
                made.or_else(|| {
                    let is_it = |put: &ItemPut| {
                        put.file == file && put.base.is_name_expr() && self.models.of(file).owner(put.scope, name) == Some(owner)
                    };
                    self.class_put(name, is_it, budget)
                })
            }
            Expr::Attribute(attribute) => {
                let name = attribute.attr.as_str();
                let class = self.class_within(file, scope, &attribute.value, budget)?;
                let line = self.classes.ancestors(class);
                let made = line.iter().find_map(|class| {
                    let assigned = self.attributes.get(&(*class, name))?;
                    let whole = assigned.iter().filter(|(_, assign)| assign.how == Bound::Whole);
                    whole.take(4).find_map(|(file, assign)| self.class_of_elements(*file, assign.scope, assign.value, budget))
                });
                made.or_else(|| {
                    let is_it = |put: &ItemPut| match put.base {
                        Expr::Attribute(base) => {
                            self.own_class(put.file, put.scope, &base.value).is_some_and(|owner| line.contains(&owner))
                        }
                        _ => false,
                    };
                    self.class_put(name, is_it, budget)
                })
            }
            _ => None,
        }
    }

    /// The class of what is put into a container: `meters[name] = Meter()`.
    fn class_put(&self, name: &str, is_it: impl Fn(&ItemPut) -> bool, budget: Budget) -> Option<ClassId> {
        let puts = self.put_into_named(name).iter().filter(|put| put.way.items().len() == 1 && !put.spread && is_it(put));
        puts.take(4).find_map(|put| self.class_within(put.file, put.scope, put.value, budget))
    }

    /// The function or method that a call calls; a class gives its `__init__`.
    #[must_use]
    pub fn callee(&self, file: FileId, scope: ScopeId, func: &'p Expr) -> Option<(FileId, ScopeId)> {
        let key = (std::ptr::from_ref(func).addr(), scope);
        if let Some(known) = self.asked.callees.borrow().get(&key) {
            return *known;
        }
        let found = self.callee_within(file, scope, func, Budget { steps: MAX_STEPS, looks: &Cell::new(MAX_LOOKS) });
        self.asked.callees.borrow_mut().insert(key, found);
        found
    }

    fn callee_within(&self, file: FileId, scope: ScopeId, func: &Expr, budget: Budget) -> Option<(FileId, ScopeId)> {
        match self.models.defined(file, scope, func) {
            Some(Defined::Function(file, function)) => return Some((file, function)),
            Some(Defined::Class(file, class)) => return self.method(ClassId { file, scope: class }, "__init__"),
            None => {}
        }
        let Expr::Attribute(attribute) = func else { return self.called_instance(file, scope, func, budget) };
        let Some(class) = self.class_within(file, scope, &attribute.value, budget) else {
            return self.called_instance(file, scope, func, budget);
        };
        // `super().m` begins above the class.
        let skip = usize::from(
            matches!(&*attribute.value, Expr::Call(call) if matches!(&*call.func, Expr::Name(name) if name.id.as_str() == "super")),
        );
        let line = self.classes.ancestors(class);
        let method = line.get(skip..)?.iter().find_map(|class| self.own_method(*class, attribute.attr.as_str()));
        method.or_else(|| self.called_instance(file, scope, func, budget))
    }

    /// `__call__` of what is called like a function.
    fn called_instance(&self, file: FileId, scope: ScopeId, func: &Expr, budget: Budget) -> Option<(FileId, ScopeId)> {
        // Few programs have such objects, and every call is asked about.
        if !self.has_called_objects {
            return None;
        }
        let class = self.class_within(file, scope, func, budget).filter(|_| self.models.class(file, scope, func).is_none())?;
        self.method(class, "__call__")
    }

    /// A method of a class, its own or inherited.
    #[must_use]
    pub fn method(&self, class: ClassId, name: &str) -> Option<(FileId, ScopeId)> {
        self.classes.ancestors(class).iter().find_map(|class| self.own_method(*class, name))
    }

    fn own_method(&self, class: ClassId, name: &str) -> Option<(FileId, ScopeId)> {
        let bindings = self.models.of(class.file).scope(class.scope).bindings(name);
        bindings.iter().rev().find_map(|binding| match binding.kind {
            BindingKind::Function(function) => Some((class.file, function)),
            _ => None,
        })
    }
}

/// What an annotation says of the elements: `list[Client]`, `Sequence["Client"]`.
fn element_of(annotation: &Expr) -> Option<&Expr> {
    let Expr::Subscript(generic) = annotation else { return None };
    let name = last_name(&generic.value)?;
    matches!(name, "list" | "List" | "Sequence" | "Iterable" | "Collection" | "set" | "Set").then_some(&*generic.slice)
}

/// Whether a name is a method's first parameter, and the method no static one.
fn is_self(model: &Model, method: ScopeId, name: &str) -> bool {
    let ScopeKind::Function(function) = model.scope(method).kind else { return false };
    let first = function.parameters.posonlyargs.first().or_else(|| function.parameters.args.first());
    first.is_some_and(|first| first.parameter.name.as_str() == name) && !is_static(function)
}

/// Whether a method gets no instance.
pub(super) fn is_static(function: &ruff_python_ast::StmtFunctionDef) -> bool {
    decorated(function, "staticmethod")
}

/// Whether a function has a decorator whose last name this is.
pub(super) fn decorated(function: &ruff_python_ast::StmtFunctionDef, name: &str) -> bool {
    function.decorator_list.iter().any(|decorator| match &decorator.expression {
        Expr::Name(each) => each.id.as_str() == name,
        Expr::Attribute(each) => each.attr.as_str() == name,
        _ => false,
    })
}
