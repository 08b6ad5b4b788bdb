//! What functions are given together with its graph: `meter.update(loss)`.

use std::collections::HashSet;

use super::Check;
use crate::autograd::mentions;
use crate::flow::{ClassId, Place};
use crate::model::{BlockId, Bound, Call, Expr, Model, ScopeId};
use crate::program::FileId;

/// Rounds of following values from variable to variable.
const MAX_ROUNDS: usize = 4;
/// Nested expressions that are looked into.
const MAX_NESTING: usize = 12;

impl<'p> Check<'_, 'p> {
    /// Whether a value comes from a parameter that some caller gives something with a graph.
    #[must_use]
    pub fn is_handed(&self, file: FileId, scope: ScopeId, block: BlockId, expr: &'p Expr) -> bool {
        let handed = self.handed.get_or_init(|| self.find_handed());
        !handed.is_empty()
            && mentions(self.flow, file, scope, expr, handed, MAX_NESTING)
            && !self.autograd.is_without(file, scope, block)
    }

    fn find_handed(&self) -> HashSet<Place<'p>> {
        let models = self.flow.models;
        // Models hand activations to their own methods all the time; objects that keep something are others.
        let modules: HashSet<ClassId> = self.flow.classes.iter().filter(|class| self.autograd.is_module(*class)).collect();
        let mut names: HashSet<&str> = HashSet::new();
        for (file, model) in models.iter() {
            let functions = model.functions().filter(|(scope, _)| is_method_of_other(model, file, *scope, &modules));
            names.extend(functions.map(|(_, function)| function.name.as_str()));
        }
        let mut handed = HashSet::new();
        for (file, model) in models.iter() {
            for call in &model.calls {
                let name = match &*call.call.func {
                    Expr::Name(name) => name.id.as_str(),
                    Expr::Attribute(attribute) => attribute.attr.as_str(),
                    _ => continue,
                };
                if names.contains(name)
                    && !call.call.arguments.is_empty()
                    && let Some((to, function)) = self.flow.callee(file, call.scope, &call.call.func)
                    && is_method_of_other(models.of(to), to, function, &modules)
                {
                    self.parameters(file, call, to, function, &mut handed);
                }
            }
        }
        handed.retain(|place| !self.is_taken_off(*place));
        for _ in 0..MAX_ROUNDS {
            if handed.is_empty() {
                break;
            }
            let before = handed.len();
            let named = Named::of(&handed);
            for (file, model) in models.iter().filter(|(file, _)| named.is_in(*file)) {
                for assign in model.assigns.iter().filter(|assign| !matches!(assign.how, Bound::Entered)) {
                    if mentions(self.flow, file, assign.scope, assign.value, &handed, MAX_NESTING) {
                        let places = self.flow.places(file, assign.scope, assign.target).into_iter();
                        handed.extend(places.map(|at| at.place).filter(|place| matches!(place, Place::Variable(..))));
                    }
                }
            }
            if handed.len() == before {
                break;
            }
        }
        handed
    }

    /// `value = value.item()` takes the graph off.
    fn is_taken_off(&self, parameter: Place<'p>) -> bool {
        let given = HashSet::from([parameter]);
        let mut again = self.flow.assigned(parameter).filter(|(_, assign)| assign.how == Bound::Whole);
        again.any(|(file, assign)| !mentions(self.flow, *file, assign.scope, assign.value, &given, MAX_NESTING))
    }

    /// The parameters that get an argument with a graph.
    fn parameters(&self, file: FileId, call: &Call<'p>, to: FileId, function: ScopeId, handed: &mut HashSet<Place<'p>>) {
        for given in self.flow.given(file, call, to, function) {
            if self.autograd.carries(file, call.scope, call.block, given.value) {
                handed.insert(Place::Variable(to, function, given.parameter));
            }
        }
    }
}

/// Where places can be named: a function's variables in its own file, a module's in every one that imports it.
struct Named(Option<HashSet<FileId>>);

impl Named {
    fn of(places: &HashSet<Place>) -> Self {
        let file = |place: &Place| match place {
            Place::Variable(file, owner, _) if *owner != ScopeId::MODULE => Some(*file),
            _ => None,
        };
        Self(places.iter().map(file).collect())
    }

    fn is_in(&self, file: FileId) -> bool {
        self.0.as_ref().is_none_or(|files| files.contains(&file))
    }
}

/// Whether a function is a method of a class that is no model.
fn is_method_of_other(model: &Model, file: FileId, function: ScopeId, modules: &HashSet<ClassId>) -> bool {
    let class = model.scope(function).parent.filter(|parent| model.scope(*parent).is_class());
    class.is_some_and(|class| !modules.contains(&ClassId { file, scope: class }))
}
