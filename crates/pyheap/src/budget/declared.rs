//! Tensors that the program itself calls parameters, and what optimizers keep for each.
//!
//! The class tells of most parameters. Of others it is told by who has them as such: a module's `_parameters`, an optimizer's groups,
//! the keys of its `state`, and the flag that torch puts on parameters of other classes. Optimizer state is what lies in that
//! `state`, whatever its shape, and whoever else refers to it. A tensor that only wraps others (DTensor, quantized ones) has no memory
//! of its own: what it is for, those are.

use std::collections::HashSet;

use super::role::bases;
use crate::census::Census;
use crate::types::{Kind, Type, TypeId, flags};
use crate::visit::{Label, Sink, attribute, visit};

/// Optimizers put their state into dicts of dicts, in lists, in objects: so far below a parameter is looked, and at so many objects
/// of an optimizer.
const DEPTH: usize = 6;
const MOST: usize = 1 << 20;
/// Of a wrapper, and the tensors in it.
const WRAPPED: usize = 8;
const MOST_WRAPPED: usize = 64;

const MODULE: &str = "torch.nn.modules.module.Module";
const OPTIMIZER: &str = "torch.optim.optimizer.Optimizer";
/// What torch says of a parameter whose class is another one.
const FLAG: &str = "_is_param";

/// Python objects of tensors, by their addresses.
#[derive(Debug, Default)]
pub struct Declared {
    pub parameters: HashSet<u64>,
    pub state: HashSet<u64>,
    /// Those that gradients wrap.
    pub gradients: HashSet<u64>,
}

/// What is known of tensors before. All of them by their Python objects.
#[derive(Debug, Default)]
pub struct Known {
    pub all: HashSet<u64>,
    /// Those that have no memory of their own.
    pub hollow: HashSet<u64>,
    pub gradients: HashSet<u64>,
}

impl Declared {
    pub fn of(census: &Census, known: &Known) -> Self {
        let mut out = Self::default();
        let classes = classes(census, known);
        for id in census.objects().ids() {
            let kind = census.objects().kind(id);
            let Some(Some(what)) = classes.get(kind.0 as usize) else { continue };
            let Some(class) = census.types().get(kind) else { continue };
            let address = census.objects().address(id);
            if known.all.contains(&address) {
                if attribute(census.reader(), class, address, &[FLAG]).is_some() {
                    out.parameters.insert(address);
                }
                continue;
            }
            match what {
                Class::Module => out.parameters.extend(values(census, class, address, "_parameters")),
                Class::Optimizer => out.optimizer(census, known, class, address),
                Class::Other => {}
            }
        }
        out.parameters.retain(|object| known.all.contains(object));
        for (objects, gradients) in [(out.parameters.clone(), false), (known.gradients.clone(), true)] {
            let wrapped: Vec<u64> = objects.iter().filter(|object| known.hollow.contains(object)).copied().collect();
            let wrapped = wrapped.into_iter().flat_map(|object| tensors(census, known, vec![object], WRAPPED, MOST_WRAPPED));
            if gradients { out.gradients.extend(wrapped) } else { out.parameters.extend(wrapped) }
        }
        out.state.retain(|object| !out.parameters.contains(object));
        out
    }

    /// What modules have in their `_parameters`, by addresses.
    pub fn of_modules(census: &Census) -> HashSet<u64> {
        let classes = classes(census, &Known::default());
        let modules = census.objects().ids().filter_map(|id| {
            let kind = census.objects().kind(id);
            let is_module = matches!(classes.get(kind.0 as usize), Some(Some(Class::Module)));
            census.types().get(kind).filter(|_| is_module).map(|class| (class, census.objects().address(id)))
        });
        modules.flat_map(|(class, address)| values(census, class, address, "_parameters")).collect()
    }

    fn optimizer(&mut self, census: &Census, known: &Known, class: &Type, address: u64) {
        for group in values(census, class, address, "param_groups") {
            let found = census.class_at(group).and_then(|_| census.reader().dict_get(group, "params"));
            self.parameters.extend(found.into_iter().flat_map(|list| held(census, list, |label| label != Label::Key)));
        }
        let state = attribute(census.reader(), class, address, &["state"]);
        let keys = |key| held(census, key, |label| label == Label::Key);
        self.parameters.extend(state.into_iter().flat_map(keys));
        let below = state.into_iter().flat_map(|state| held(census, state, |label| label != Label::Key)).collect();
        self.state.extend(tensors(census, known, below, DEPTH, MOST));
    }
}

/// What instances of a class may say of tensors.
#[derive(Clone, Copy)]
enum Class {
    Module,
    Optimizer,
    /// Some are tensors themselves.
    Other,
}

/// By the number of a type; `None` for most, whose objects need no look.
fn classes(census: &Census, known: &Known) -> Vec<Option<Class>> {
    let tensors = census.types_of(known.all.iter().copied());
    let class = |(number, class): (TypeId, &Type)| {
        let names = if class.has(flags::HEAPTYPE) { bases(census, class) } else { Vec::new() };
        let by_name = [(MODULE, Class::Module), (OPTIMIZER, Class::Optimizer)];
        let named = by_name.into_iter().find(|(name, _)| names.iter().any(|one| one == name)).map(|(_, class)| class);
        named.or((tensors.get(number.0 as usize) == Some(&true)).then_some(Class::Other))
    };
    census.types().iter().map(class).collect()
}

/// What an attribute of an object has in it.
fn values(census: &Census, class: &Type, object: u64, name: &str) -> Vec<u64> {
    let attribute = attribute(census.reader(), class, object, &[name]);
    attribute.into_iter().flat_map(|container| held(census, container, |label| label != Label::Key)).collect()
}

/// Tensors among objects and in what these hold: in plain containers, in instances of classes, in tensors that only wrap others.
fn tensors(census: &Census, known: &Known, mut next: Vec<u64>, depth: usize, most: usize) -> Vec<u64> {
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    for _ in 0..depth {
        let mut below = Vec::new();
        for object in next {
            if seen.len() >= most || !seen.insert(object) {
                continue;
            }
            let is_tensor = known.all.contains(&object);
            if is_tensor {
                found.push(object);
            }
            let goes_on = if is_tensor { known.hollow.contains(&object) } else { census.class_at(object).is_some_and(may_hold) };
            if goes_on {
                below.extend(held(census, object, |label| label != Label::Key));
            }
        }
        next = below;
    }
    found
}

fn may_hold(class: &Type) -> bool {
    matches!(class.kind, Kind::Tuple | Kind::List | Kind::Dict | Kind::OrderedDict) || class.has_attributes_alone()
}

/// What an object refers to by labels of this sort.
fn held(census: &Census, object: u64, by: impl Fn(Label) -> bool) -> Vec<u64> {
    let mut held = Held { by, held: Vec::new() };
    if let Some(class) = census.class_at(object) {
        visit(census.reader(), class, object, &mut held);
    }
    held.held
}

struct Held<F> {
    by: F,
    held: Vec<u64>,
}

impl<F: Fn(Label) -> bool> Sink for Held<F> {
    fn edge(&mut self, target: u64, label: Label) {
        if self.held.len() < MOST && (self.by)(label) {
            self.held.push(target);
        }
    }

    fn guess(&mut self, _: u64, _: Label) {}
}
