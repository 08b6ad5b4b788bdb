//! Retention paths: by which names an object is held, from what a program's author knows down to it.

mod keys;
mod lines;
mod names;
mod text;

pub use names::{Function, Place, Step, StepName};

use crate::census::Census;
use crate::types::{Kind, Type};
use crate::visit::{self, Label, Sink};
use crate::walk::{ObjectId, Parent, Root};
use names::Link;

/// Longest chain of references that is followed to the root. Longer ones (linked lists) are cut in the middle.
const DEPTH: usize = 1 << 20;
/// References of a longer chain that are named at each end.
const ENDS: usize = 64;
/// Names that one object has for another that are told.
const NAMES: usize = 8;

/// How an object is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Where it begins.
    pub root: Place,
    /// The names on the way, the object's own last.
    pub steps: Vec<Step>,
    /// References that were left out in the middle of a long chain.
    pub left_out: usize,
}

impl Census {
    /// The shortest way from the best root to an object.
    #[must_use]
    pub fn path(&self, id: ObjectId) -> Path {
        let (root, chain) = self.chain(id);
        self.path_of(root, chain)
    }

    /// The way to an object through another one that refers to it.
    pub(crate) fn path_through(&self, source: ObjectId, id: ObjectId) -> Path {
        let (root, mut chain) = self.chain(source);
        chain.push(id);
        self.path_of(root, chain)
    }

    /// The ways to an object by the other names under which the one that led to it has it.
    pub(crate) fn paths_beside(&self, id: ObjectId) -> Vec<Path> {
        let Parent::Object(parent) = self.objects().parent(id) else { return Vec::new() };
        let Some(kind) = self.kind(parent) else { return Vec::new() };
        let mut all = All { wanted: self.objects().address(id), found: Vec::new() };
        visit::visit(self.reader(), kind, self.objects().address(parent), &mut all);
        let first = self.label(parent, id);
        let others = all.found.into_iter().filter(|label| Some(*label) != first && *label != Label::Key);
        let path = |label: Label| {
            let (root, mut chain) = self.chain(id);
            let left_out = cut(&mut chain);
            let mut links = self.links(chain);
            if let Some(last) = links.last_mut() {
                last.label = Some(label);
            }
            let (root, steps) = names::name(self, root, &links);
            Path { root, steps, left_out }
        };
        others.map(path).collect()
    }

    /// The way from a root that refers to an object.
    pub(crate) fn path_from(&self, root: &Root, id: ObjectId) -> Path {
        self.path_of(Some(root), vec![id])
    }

    fn path_of(&self, root: Option<&Root>, mut chain: Vec<ObjectId>) -> Path {
        let left_out = cut(&mut chain);
        let (root, steps) = names::name(self, root, &self.links(chain));
        Path { root, steps, left_out }
    }

    /// By which names a chain of objects refers, each to the next.
    fn links(&self, chain: Vec<ObjectId>) -> Vec<Link> {
        let mut before = None;
        let link = |id| Link { id, label: before.replace(id).and_then(|before| self.label(before, id)) };
        chain.into_iter().map(link).collect()
    }

    /// The root that leads to an object, and the objects on the way.
    fn chain(&self, id: ObjectId) -> (Option<&Root>, Vec<ObjectId>) {
        let mut chain = vec![id];
        let mut at = id;
        let root = loop {
            match self.objects().parent(at) {
                Parent::Object(parent) if chain.len() < DEPTH => {
                    chain.push(parent);
                    at = parent;
                }
                Parent::Object(_) => break None,
                Parent::Root(root) => break self.roots().get(root as usize),
            }
        };
        chain.reverse();
        (root, chain)
    }

    /// By which name one object refers to another; the best one, where there are several.
    fn label(&self, holder: ObjectId, held: ObjectId) -> Option<Label> {
        let kind = self.kind(holder)?;
        let mut search = Search { wanted: self.objects().address(held), found: None };
        visit::visit(self.reader(), kind, self.objects().address(holder), &mut search);
        search.found
    }

    /// Whether a dict is where an instance, class or module keeps its attributes: what is in it has names of its own.
    pub(crate) fn is_attributes(&self, id: ObjectId) -> bool {
        let Parent::Object(parent) = self.objects().parent(id) else { return false };
        // Not to be asked of each dict in a list of millions: the answer would have to be looked for.
        if self.kind(parent).is_none_or(|kind| kind.kind.is_container() || kind.kind == Kind::Tuple) {
            return false;
        }
        self.label(parent, id) == Some(Label::Named("__dict__"))
    }

    /// Whom the walk met at an object: its type and its address.
    pub(crate) fn met(&self, id: ObjectId) -> Option<(&Type, u64)> {
        Some((self.kind(id)?, self.objects().address(id)))
    }
}

/// Cuts a long chain in the middle; by how many objects.
fn cut(chain: &mut Vec<ObjectId>) -> usize {
    let left_out = chain.len().saturating_sub(2 * ENDS);
    if left_out > 0 {
        chain.drain(ENDS..ENDS + left_out);
    }
    left_out
}

/// Looks for all references to one object.
struct All {
    wanted: u64,
    found: Vec<Label>,
}

impl Sink for All {
    fn edge(&mut self, target: u64, label: Label) {
        if target == self.wanted && self.found.len() < NAMES {
            self.found.push(label);
        }
    }

    fn guess(&mut self, word: u64, label: Label) {
        self.edge(word, label);
    }
}

/// Looks for one reference.
struct Search {
    wanted: u64,
    found: Option<Label>,
}

impl Sink for Search {
    fn edge(&mut self, target: u64, label: Label) {
        // A key of a dict may be a value as well, and then that says more.
        if target == self.wanted && matches!(self.found, None | Some(Label::Key)) {
            self.found = Some(label);
        }
    }

    fn guess(&mut self, word: u64, label: Label) {
        self.edge(word, label);
    }
}
