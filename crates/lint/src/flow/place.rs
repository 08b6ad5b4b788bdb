//! Places, and which of them an expression reads or writes.

use smallvec::SmallVec;

use super::{ClassId, Flow};
use crate::model::{BindingKind, Expr, ExprCall, ScopeId};
use crate::program::FileId;

/// Something that can hold an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place<'p> {
    /// A variable of a module or a function.
    Variable(FileId, ScopeId, &'p str),
    /// An attribute of a class or of its instances.
    Attribute(ClassId, &'p str),
    /// An attribute of an object whose class is not known.
    Unknown(&'p str),
    /// What a function returns.
    Result(FileId, ScopeId),
    /// An instance of a class itself.
    Instance(ClassId),
}

/// An object at a place, or so many items below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct At<'p> {
    /// The place.
    pub place: Place<'p>,
    /// 0: the object that it holds; 1: an item of that; and so on.
    pub depth: u32,
}

/// Places of one expression: rarely more than one.
pub type Places<'p> = SmallVec<[At<'p>; 1]>;

/// How many items below a place objects are followed.
pub const MAX_DEPTH: u32 = 4;
/// Nested expressions that are looked into: `a if b else c or d`.
const MAX_NESTING: usize = 24;

impl<'p> Flow<'p> {
    /// Where the value of an expression may lie. More than one for `a or b`; none for what is computed anew.
    #[must_use]
    pub fn places(&self, file: FileId, scope: ScopeId, expr: &'p Expr) -> Places<'p> {
        if expr.is_literal_expr() {
            return Places::new();
        }
        let key = (std::ptr::from_ref(expr).addr(), scope);
        if let Some(known) = self.asked.places.borrow().get(&key) {
            return known.clone();
        }
        let mut found = Places::new();
        self.collect(file, scope, expr, 0, MAX_NESTING, &mut found);
        self.asked.places.borrow_mut().insert(key, found.clone());
        found
    }

    fn collect(&self, file: FileId, scope: ScopeId, expr: &'p Expr, below: u32, nesting: usize, found: &mut Places<'p>) {
        let Some(nesting) = nesting.checked_sub(1) else { return };
        if below > MAX_DEPTH {
            return;
        }
        match expr {
            Expr::Subscript(each) => {
                if !each.slice.is_slice_expr() {
                    self.collect(file, scope, &each.value, below + 1, nesting, found);
                }
            }
            Expr::If(each) => {
                self.collect(file, scope, &each.body, below, nesting, found);
                self.collect(file, scope, &each.orelse, below, nesting, found);
            }
            Expr::BoolOp(each) => each.values.iter().for_each(|value| self.collect(file, scope, value, below, nesting, found)),
            Expr::Named(each) => self.collect(file, scope, &each.value, below, nesting, found),
            Expr::Await(each) => self.collect(file, scope, &each.value, below, nesting, found),
            Expr::Starred(each) => self.collect(file, scope, &each.value, below, nesting, found),
            Expr::Call(call) => self.collect_call(file, scope, call, below, nesting, found),
            _ => found.extend(self.named_place(file, scope, expr).map(|place| At { place, depth: below })),
        }
    }

    fn collect_call(&self, file: FileId, scope: ScopeId, call: &'p ExprCall, below: u32, nesting: usize, found: &mut Places<'p>) {
        if let Expr::Attribute(attribute) = &*call.func {
            if matches!(attribute.attr.as_str(), "get" | "setdefault" | "pop" | "__getitem__" | "popitem" | "popleft") {
                let own = self.callee(file, scope, &call.func);
                if own.is_none() {
                    return self.collect(file, scope, &attribute.value, below + 1, nesting, found);
                }
            }
        } else if let Expr::Name(name) = &*call.func {
            let arguments = &call.arguments.args;
            match (name.id.as_str(), arguments.first(), arguments.get(1)) {
                ("getattr", Some(object), Some(Expr::StringLiteral(text))) => {
                    if let Some(name) = plain(text) {
                        found.extend(self.attribute(file, scope, object, name).map(|place| At { place, depth: below }));
                    }
                    return;
                }
                ("cast", _, Some(value)) => return self.collect(file, scope, value, below, nesting, found),
                ("next" | "iter", Some(value), _) => return self.collect(file, scope, value, below, nesting, found),
                _ => {}
            }
        }
        if let Some(class) = self.super_class(file, scope, call) {
            found.push(At { place: Place::Instance(class), depth: below });
        } else if self.models.class(file, scope, &call.func).is_none()
            && let Some((file, function)) = self.callee(file, scope, &call.func)
        {
            found.push(At { place: Place::Result(file, function), depth: below });
        }
    }

    /// The place that a name or an attribute is.
    fn named_place(&self, file: FileId, scope: ScopeId, expr: &'p Expr) -> Option<Place<'p>> {
        match expr {
            Expr::Name(name) => {
                if let Some(class) = self.own_class(file, scope, expr) {
                    return Some(Place::Instance(class));
                }
                let model = self.models.of(file);
                let Some(owner) = model.owner(scope, name.id.as_str()) else { return self.defined(file, scope, expr) };
                let imported = model
                    .scope(owner)
                    .bindings(name.id.as_str())
                    .iter()
                    .any(|each| matches!(each.kind, BindingKind::Import { .. }));
                if imported { self.defined(file, scope, expr) } else { Some(self.variable(file, owner, name.id.as_str())) }
            }
            Expr::Attribute(attribute) => {
                if let Some(place) = self.defined(file, scope, expr) {
                    return Some(place);
                }
                self.attribute(file, scope, &attribute.value, attribute.attr.as_str())
            }
            _ => None,
        }
    }

    fn attribute(&self, file: FileId, scope: ScopeId, object: &'p Expr, name: &'p str) -> Option<Place<'p>> {
        if let Some(class) = self.class_of(file, scope, object) {
            return Some(Place::Attribute(class, name));
        }
        // What an imported module holds is nobody's attribute.
        let is_module = object.as_name_expr().is_some_and(|name| {
            let mut bindings = self.models.of(file).bindings(scope, name.id.as_str()).iter();
            bindings.any(|binding| matches!(binding.kind, BindingKind::Import { .. }))
        });
        (!is_module || self.is_imported_object(file, scope, object)).then_some(Place::Unknown(name))
    }

    /// Whether an imported name is an object of another file of the program, not a module.
    fn is_imported_object(&self, file: FileId, scope: ScopeId, object: &Expr) -> bool {
        self.models.definition(file, scope, object).is_some()
    }

    /// The place of what an import or a class's name leads to.
    fn defined(&self, file: FileId, scope: ScopeId, expr: &Expr) -> Option<Place<'p>> {
        let (file, owner, name) = self.models.definition(file, scope, expr)?;
        Some(self.variable(file, owner, name))
    }

    /// The place of a variable by the scope that owns it; a class's variables are its attributes.
    #[must_use]
    pub fn variable(&self, file: FileId, owner: ScopeId, name: &'p str) -> Place<'p> {
        if self.models.of(file).scope(owner).is_class() {
            Place::Attribute(ClassId { file, scope: owner }, name)
        } else {
            Place::Variable(file, owner, name)
        }
    }
}

/// The text of a string literal of one piece.
fn plain(text: &ruff_python_ast::ExprStringLiteral) -> Option<&str> {
    text.as_single_part_string().map(|part| &*part.value)
}
