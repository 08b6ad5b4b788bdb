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
mod arguments;
mod callers;
mod classes;
mod edges;
mod items;
mod place;

pub use aliases::{Alias, Reach};
pub use arguments::Given;
pub use classes::{ClassId, Classes};
pub use edges::Edge;
pub use items::ItemPut;
pub use place::{At, Place, Places};

use std::cell::{OnceCell, RefCell};

use smallvec::SmallVec;

use crate::model::{Assign, Expr, ScopeId};
use crate::program::{FileId, Models};
use crate::table::{HashMap, HashSet};

/// Assignments and the files that they stand in: rarely more than one.
type Assigns<'p> = SmallVec<[(FileId, &'p Assign<'p>); 1]>;

/// A program's places and what flows between them.
#[derive(Debug)]
pub struct Flow<'p> {
    /// The program.
    pub models: &'p Models<'p>,
    /// Its classes.
    pub classes: Classes,
    /// Whether any of them says what its objects do when they are called.
    has_called_objects: bool,
    /// The assignments to each variable, by the scope that owns it.
    variables: HashMap<(FileId, ScopeId, &'p str), Assigns<'p>>,
    /// The assignments to each attribute through `self`, by the class.
    attributes: HashMap<(ClassId, &'p str), Assigns<'p>>,
    /// Every name of an attribute in the program.
    attribute_names: HashSet<&'p str>,
    /// The assignments to attributes of whatever is not `self`, by the attribute's name.
    elsewhere: HashMap<&'p str, Assigns<'p>>,
    /// What flows where. Few programs are asked: it is read when one is.
    edges: OnceCell<edges::Edges<'p>>,
    /// What is put into containers; the same.
    items: OnceCell<items::Items<'p>>,
    /// Who calls whom; the same.
    calls: OnceCell<callers::Calls<'p>>,
    calls_by_name: OnceCell<callers::CallsByName<'p>>,
    /// What was asked before.
    asked: Asked<'p>,
}

/// What was asked of expressions, by their address in the tree and the scope: many rules ask the same of the same.
#[derive(Debug, Default)]
struct Asked<'p> {
    places: RefCell<HashMap<Asker, Places<'p>>>,
    callees: RefCell<HashMap<Asker, Option<(FileId, ScopeId)>>>,
    /// The classes of what the parameters of functions are given.
    given: RefCell<HashMap<Parameter<'p>, Option<ClassId>>>,
}

/// A parameter of a function, by its name.
type Parameter<'p> = (FileId, ScopeId, &'p str);

/// An expression's address in its tree, and the scope that it is read in.
type Asker = (usize, ScopeId);

impl<'p> Flow<'p> {
    /// Reads a program.
    #[must_use]
    pub fn new(models: &'p Models<'p>) -> Self {
        let mut flow = Self {
            models,
            classes: Classes::new(models),
            has_called_objects: models
                .iter()
                .any(|(_, model)| model.classes().any(|(scope, _)| model.scope(scope).names.contains_key("__call__"))),
            variables: HashMap::default(),
            attributes: HashMap::default(),
            attribute_names: HashSet::default(),
            elsewhere: HashMap::default(),
            edges: OnceCell::new(),
            items: OnceCell::new(),
            calls: OnceCell::new(),
            calls_by_name: OnceCell::new(),
            asked: Asked::default(),
        };
        flow.index_assigns();
        flow
    }

    fn edges(&self) -> &edges::Edges<'p> {
        self.edges.get_or_init(|| edges::Edges::of(self))
    }

    /// The assignments to a place itself, wherever in the program; none for what is no variable and no attribute.
    pub fn assigned(&self, place: Place<'p>) -> impl Iterator<Item = &(FileId, &'p Assign<'p>)> {
        let (own, named, others) = match place {
            Place::Variable(file, owner, name) => {
                let others = if owner == ScopeId::MODULE { self.elsewhere.get(name) } else { None };
                (self.variables.get(&(file, owner, name)), None, others)
            }
            Place::Attribute(class, name) => (
                self.attributes.get(&(class, name)),
                self.variables.get(&(class.file, class.scope, name)),
                self.elsewhere.get(name),
            ),
            _ => (None, None, None),
        };
        let is_there = move |each: &&(FileId, &'p Assign<'p>)| {
            self.places(each.0, each.1.scope, each.1.target).contains(&At { place, depth: 0 })
        };
        let sure = own.into_iter().chain(named).flatten();
        sure.chain(others.into_iter().flatten().filter(is_there))
    }

    /// The attributes that classes assign through `self`, each with its assignments.
    pub fn attributes(&self) -> impl Iterator<Item = ((ClassId, &'p str), &[(FileId, &'p Assign<'p>)])> {
        self.attributes.iter().map(|(key, assigns)| (*key, assigns.as_slice()))
    }

    fn index_assigns(&mut self) {
        for (file, model) in self.models.iter() {
            for assign in &model.assigns {
                match assign.target {
                    Expr::Name(name) => {
                        if let Some(owner) = model.owner(assign.scope, name.id.as_str()) {
                            self.variables.entry((file, owner, name.id.as_str())).or_default().push((file, assign));
                        }
                    }
                    Expr::Attribute(attribute) => {
                        let name = attribute.attr.as_str();
                        match self.own_class(file, assign.scope, &attribute.value) {
                            Some(class) => self.attributes.entry((class, name)).or_default().push((file, assign)),
                            None => self.elsewhere.entry(name).or_default().push((file, assign)),
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
