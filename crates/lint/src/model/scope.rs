//! Scopes, what is bound in them, and which scope a name belongs to (the language reference, section 4.2).

use ruff_python_ast::{Expr, ExprLambda, Parameters, StmtClassDef, StmtFunctionDef};
use ruff_text_size::TextRange;

use super::{BlockId, Model, Result};
use crate::table::HashMap;

/// Scopes that bind one name, more than which are not gone through one by one.
const MANY: usize = 16;

/// Index of a scope in its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScopeId(pub u32);

impl ScopeId {
    /// The module's own scope.
    pub const MODULE: Self = Self(0);
}

/// A region of names.
#[derive(Debug)]
pub struct Scope<'a> {
    /// What makes it.
    pub kind: ScopeKind<'a>,
    /// The scope around it.
    pub parent: Option<ScopeId>,
    /// The block that its definition stands in.
    pub block: BlockId,
    /// What is bound here, by name, in the order of the text.
    pub names: HashMap<&'a str, Vec<Binding<'a>>>,
    /// Names said to be the module's (`global`).
    pub globals: Vec<&'a str>,
    /// Names said to be an outer function's (`nonlocal`).
    pub nonlocals: Vec<&'a str>,
}

/// What makes a scope.
#[derive(Clone, Copy, Debug)]
pub enum ScopeKind<'a> {
    /// The file.
    Module,
    /// A class.
    Class(&'a StmtClassDef),
    /// A function.
    Function(&'a StmtFunctionDef),
    /// A lambda.
    Lambda(&'a ExprLambda),
    /// A comprehension or a generator expression.
    Comprehension(&'a Expr),
}

/// A name gets a meaning.
#[derive(Clone, Debug)]
pub struct Binding<'a> {
    /// Which.
    pub kind: BindingKind<'a>,
    /// The name's place.
    pub range: TextRange,
    /// The block that it stands in.
    pub block: BlockId,
}

/// What a name is bound to.
#[derive(Clone, Debug)]
pub enum BindingKind<'a> {
    /// A value; see the model's `assigns`.
    Value,
    /// An import: the dotted path that the name stands for, and how many packages up a relative one begins (0: absolute).
    Import {
        /// Path, empty for `from . import x` before `x`.
        path: String,
        /// Leading dots.
        level: u32,
    },
    /// A parameter, with its place in the list (`*` and `**` after all others).
    Parameter {
        /// From 0.
        index: usize,
        /// Its annotation.
        annotation: Option<&'a Expr>,
        /// Its default value.
        default: Option<&'a Expr>,
    },
    /// A function.
    Function(ScopeId),
    /// A class.
    Class(ScopeId),
    /// Something else: a caught exception, a captured pattern, a type variable.
    Other,
}

impl<'a> Scope<'a> {
    /// The name of the function or class.
    #[must_use]
    pub fn name(&self) -> &'a str {
        match self.kind {
            ScopeKind::Module => "<module>",
            ScopeKind::Class(class) => class.name.as_str(),
            ScopeKind::Function(function) => function.name.as_str(),
            ScopeKind::Lambda(_) => "<lambda>",
            ScopeKind::Comprehension(_) => "<comprehension>",
        }
    }

    /// The parameters of a function or lambda.
    #[must_use]
    pub fn parameters(&self) -> Option<&'a Parameters> {
        match self.kind {
            ScopeKind::Function(function) => Some(&function.parameters),
            ScopeKind::Lambda(lambda) => lambda.parameters.as_deref(),
            _ => None,
        }
    }

    /// Whether it is a class.
    #[must_use]
    pub fn is_class(&self) -> bool {
        matches!(self.kind, ScopeKind::Class(_))
    }

    /// The bindings of a name, in the order of the text.
    #[must_use]
    pub fn bindings(&self, name: &str) -> &[Binding<'a>] {
        self.names.get(name).map_or(&[], Vec::as_slice)
    }
}

impl<'a> Model<'a> {
    /// The scope that a name used in `scope` belongs to; none for built-ins and what is unknown.
    #[must_use]
    pub fn owner(&self, scope: ScopeId, name: &str) -> Option<ScopeId> {
        let binders = self.binders.get(name);
        // One look at a table for all scopes; but a name like `self` is bound by every method of a file.
        let binds = |at: ScopeId, here: &Scope| {
            binders.is_some_and(|binders| match binders.more.len() {
                MANY.. => here.names.contains_key(name),
                _ => binders.first == at || binders.more.contains(&at),
            })
        };
        let mut at = scope;
        let mut own = true;
        loop {
            let here = self.scope(at);
            if here.globals.contains(&name) {
                return Some(ScopeId::MODULE);
            }
            // Names of a class are not seen by the functions inside it.
            let seen = own || !here.is_class();
            if seen && !here.nonlocals.contains(&name) && binds(at, here) {
                return Some(at);
            }
            own &= matches!(here.kind, ScopeKind::Comprehension(_));
            at = here.parent?;
        }
    }

    /// What a function returns, in the order of the text; what it yields is not among it.
    pub fn returned(&self, function: ScopeId) -> impl Iterator<Item = &Result<'a>> + Clone {
        self.results.iter().filter(move |result| result.scope == function && !result.yielded)
    }

    /// The bindings of a name as it is used in `scope`.
    #[must_use]
    pub fn bindings(&self, scope: ScopeId, name: &str) -> &[Binding<'a>] {
        self.owner(scope, name).map_or(&[], |owner| self.scope(owner).bindings(name))
    }

    /// The function or lambda that a scope is a part of, itself included; none at the level of the module or a class.
    #[must_use]
    pub fn function_of(&self, scope: ScopeId) -> Option<ScopeId> {
        let here = self.scope(scope);
        match here.kind {
            ScopeKind::Function(_) | ScopeKind::Lambda(_) => Some(scope),
            ScopeKind::Comprehension(_) => self.function_of(here.parent?),
            ScopeKind::Module | ScopeKind::Class(_) => None,
        }
    }

    /// The class whose method this scope is (or is inside of), and the method.
    #[must_use]
    pub fn method_of(&self, scope: ScopeId) -> Option<(ScopeId, ScopeId)> {
        let mut at = scope;
        loop {
            let parent = self.scope(at).parent?;
            if self.scope(parent).is_class() && matches!(self.scope(at).kind, ScopeKind::Function(_)) {
                return Some((parent, at));
            }
            at = parent;
        }
    }

    /// The dotted name of a function or class inside its file, as in `Trainer.fit.<locals>.hook`.
    #[must_use]
    pub fn qualified_name(&self, scope: ScopeId) -> String {
        let here = self.scope(scope);
        match here.parent {
            None => String::new(),
            Some(ScopeId::MODULE) => here.name().to_owned(),
            Some(parent) => {
                let outer = self.qualified_name(parent);
                let between = if self.scope(parent).is_class() { "." } else { ".<locals>." };
                format!("{outer}{between}{}", here.name())
            }
        }
    }

    /// The scopes that are classes.
    pub fn classes(&self) -> impl Iterator<Item = (ScopeId, &'a StmtClassDef)> {
        self.scopes.iter().zip(0..).filter_map(|(scope, id)| match scope.kind {
            ScopeKind::Class(class) => Some((ScopeId(id), class)),
            _ => None,
        })
    }

    /// The scope that a lambda is.
    #[must_use]
    pub fn scope_of_lambda(&self, lambda: &ExprLambda) -> Option<ScopeId> {
        self.scopes.iter().zip(0..).find_map(|(scope, id)| {
            matches!(scope.kind, ScopeKind::Lambda(each) if std::ptr::eq(each, lambda)).then_some(ScopeId(id))
        })
    }

    /// The scopes that are functions with a name.
    pub fn functions(&self) -> impl Iterator<Item = (ScopeId, &'a StmtFunctionDef)> {
        self.scopes.iter().zip(0..).filter_map(|(scope, id)| match scope.kind {
            ScopeKind::Function(function) => Some((ScopeId(id), function)),
            _ => None,
        })
    }
}
