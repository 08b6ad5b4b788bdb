//! Which places of a program can hold the same object.
//!
//! A *place* is a variable, an attribute of a class's instances, what a function returns. An object at a place may also be
//! an item of the container there, or an item of an item: that is the *depth*. Assignments, loops, calls, returns and
//! displays are edges between places. From a place, [`Flow::aliases`] first goes back to where its object can come from,
//! then forward to everywhere that it can get to; never forward and then back, so that two lists given to the same helper
//! do not become one.
//!
//! The order of statements is not looked at: what may hold an object at any time does.

mod aliases;
mod classes;
mod edges;
mod place;

pub use aliases::{Alias, Reach};
pub use classes::{ClassId, Classes};
pub use edges::Edge;
pub use place::{At, Place};

use std::collections::{HashMap, HashSet};

use crate::model::{Assign, Expr, ScopeId};
use crate::program::{FileId, Models};

/// Assignments and the files that they stand in.
type Assigns<'p> = Vec<(FileId, Assign<'p>)>;

/// A program's places and what flows between them.
#[derive(Debug)]
pub struct Flow<'p> {
    /// The program.
    pub models: &'p Models<'p>,
    /// Its classes.
    pub classes: Classes,
    /// The assignments to each variable, by the scope that owns it.
    variables: HashMap<(FileId, ScopeId, &'p str), Assigns<'p>>,
    /// The assignments to each attribute through `self`, by the class.
    attributes: HashMap<(ClassId, &'p str), Assigns<'p>>,
    /// Every name of an attribute in the program.
    attribute_names: HashSet<&'p str>,
    /// By the place that a value comes from.
    forward: HashMap<Place<'p>, Vec<Edge<'p>>>,
    /// By the place that a value gets to.
    back: HashMap<Place<'p>, Vec<Edge<'p>>>,
}

impl<'p> Flow<'p> {
    /// Reads a program's edges.
    #[must_use]
    pub fn new(models: &'p Models<'p>) -> Self {
        let mut flow = Self {
            models,
            classes: Classes::new(models),
            variables: HashMap::new(),
            attributes: HashMap::new(),
            attribute_names: HashSet::new(),
            forward: HashMap::new(),
            back: HashMap::new(),
        };
        flow.index_assigns();
        for edge in edges::all(&flow) {
            flow.forward.entry(edge.from.place).or_default().push(edge);
            flow.back.entry(edge.to.place).or_default().push(edge);
        }
        flow
    }

    fn index_assigns(&mut self) {
        for (file, model) in self.models.iter() {
            for assign in &model.assigns {
                match assign.target {
                    Expr::Name(name) => {
                        if let Some(owner) = model.owner(assign.scope, name.id.as_str()) {
                            self.variables.entry((file, owner, name.id.as_str())).or_default().push((file, *assign));
                        }
                    }
                    Expr::Attribute(attribute) => {
                        if let Some(class) = self.own_class(file, assign.scope, &attribute.value) {
                            self.attributes.entry((class, attribute.attr.as_str())).or_default().push((file, *assign));
                        }
                    }
                    _ => {}
                }
            }
            self.attribute_names.extend(&model.attributes);
            for scope in model.scopes.iter().filter(|scope| scope.is_class()) {
                self.attribute_names.extend(scope.names.keys());
            }
        }
    }

    /// An attribute's name as it stands in the source, where any class assigns it.
    #[must_use]
    pub fn attribute_name(&self, name: &str) -> Option<&'p str> {
        self.attribute_names.get(name).copied()
    }

    /// Every assignment to a variable or to an attribute.
    pub fn assigned(&self, place: Place<'p>) -> impl Iterator<Item = &(FileId, Assign<'p>)> {
        let (variable, attribute) = match place {
            Place::Variable(file, owner, name) => (self.variables.get(&(file, owner, name)), None),
            Place::Attribute(class, name) => {
                (self.variables.get(&(class.file, class.scope, name)), self.attributes.get(&(class, name)))
            }
            Place::Unknown(_) | Place::Result(..) | Place::Instance(_) => (None, None),
        };
        variable.into_iter().chain(attribute).flatten()
    }

    /// The classes that assign an attribute of this name, to themselves or in their body.
    #[must_use]
    pub fn classes_with(&self, name: &str) -> Vec<ClassId> {
        let by_self = self.attributes.keys().filter(|(_, attribute)| *attribute == name).map(|(class, _)| *class);
        let named = |class: &ClassId| self.models.of(class.file).scope(class.scope).names.contains_key(name);
        let mut found: Vec<ClassId> = by_self.chain(self.classes.iter().filter(named)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

#[cfg(test)]
mod tests;
