//! What objects do with what they are made with, when such objects are made again and again.

use super::Check;
use super::again::loops_around;
use crate::ask::{last_name, names_in};
use crate::flow::{ClassId, Place};
use crate::model::{BindingKind, BlockId, BlockKind, Bound, Expr, ScopeId};
use crate::program::FileId;

/// Variables and calls that are followed to a parameter.
const MAX_DEPTH: usize = 8;
/// Calls by which a model gives its parts, or that hand on what they are given.
const PASS_ON: &[&str] = &[
    "children",
    "dict",
    "enumerate",
    "get_submodule",
    "items",
    "list",
    "modules",
    "named_children",
    "named_modules",
    "reversed",
    "values",
    "zip",
];

impl<'p> Check<'_, 'p> {
    /// Whether code at a block belongs to the making of an object, and an expression there means something that the object is
    /// given by who makes it, who makes one after the other with the same thing.
    #[must_use]
    pub fn is_given_to_one_after_the_other(&self, file: FileId, scope: ScopeId, block: BlockId, expr: &'p Expr) -> bool {
        let model = self.flow.models.of(file);
        let Some((class, method)) = model.method_of(scope).filter(|(_, method)| model.function_of(scope) == Some(*method)) else {
            return false;
        };
        let class = ClassId { file, scope: class };
        let Some(init) = self.flow.method(class, "__init__") else { return false };
        // A method that the constructor calls, and nobody else.
        let of_making = (file, method) == init || {
            let callers = self.callers(file, method);
            !callers.is_empty()
                && callers.iter().all(|(from, call)| {
                    (*from, self.flow.models.of(*from).function_of(call.scope)) == (init.0, Some(init.1))
                        && !self.is_chosen(*from, call.block)
                })
        };
        of_making
            && !self.is_chosen(file, block)
            && self.root(file, scope, expr, MAX_DEPTH).is_some_and(|(of, function, name)| {
                (of, function) == init && self.argument_is_steady(of, function, name, MAX_DEPTH)
            })
    }

    /// Whether a block runs under a condition that is about something else than the elements of a loop around it.
    fn is_chosen(&self, file: FileId, block: BlockId) -> bool {
        let model = self.flow.models.of(file);
        let elements: Vec<&str> = loops_around(model, block)
            .flat_map(|round| match model.block(round).kind {
                BlockKind::For(each) => names_in(&each.target),
                _ => Default::default(),
            })
            .collect();
        model.blocks_within(block).any(|block| match block.kind {
            BlockKind::If(test) => !names_in(test).iter().any(|name| elements.contains(name)),
            kind => kind.is_conditional(),
        })
    }

    /// The parameter that an expression is, or is a part of: of the function around, or of the constructor through an attribute.
    fn root(&self, file: FileId, scope: ScopeId, expr: &'p Expr, left: usize) -> Option<(FileId, ScopeId, &'p str)> {
        let left = left.checked_sub(1)?;
        match expr {
            Expr::Name(_) | Expr::Attribute(_) => {
                let places = self.flow.places(file, scope, expr);
                let own = places.iter().filter(|at| at.depth == 0).find_map(|at| {
                    if let Place::Variable(of, owner, name) = at.place {
                        let is_parameter = |kind: &BindingKind| matches!(kind, BindingKind::Parameter { .. });
                        let bindings = self.flow.models.of(of).scope(owner).bindings(name);
                        if !bindings.is_empty() && bindings.iter().all(|binding| is_parameter(&binding.kind)) {
                            return Some((of, owner, name));
                        }
                    }
                    let mut assigned =
                        self.flow.assigned(at.place).filter(|(_, assign)| !matches!(assign.how, Bound::Augmented(_)));
                    let (of, first) = assigned.next()?;
                    // One that is given something else as well may be anything.
                    if assigned.next().is_some() {
                        return None;
                    }
                    self.root(*of, first.scope, first.value, left)
                });
                own.or_else(|| match expr {
                    Expr::Attribute(each) => self.root(file, scope, &each.value, left),
                    _ => None,
                })
            }
            Expr::Subscript(each) => self.root(file, scope, &each.value, left),
            Expr::Call(call) if last_name(&call.func).is_some_and(|name| PASS_ON.contains(&name)) => match &*call.func {
                Expr::Attribute(method) => self.root(file, scope, &method.value, left),
                _ => self.root(file, scope, call.arguments.args.first()?, left),
            },
            _ => None,
        }
    }
}
