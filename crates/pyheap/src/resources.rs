//! Objects that hold something of the operating system's: what they cost is not in their bytes.

use crate::budget::bases;
use crate::census::Census;
use crate::paths::{Path, Place, StepName};
use crate::types::{Kind, Type};
use crate::visit::{self, Label, Sink};
use crate::walk::ObjectId;
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

/// Elements of a container that are looked at, the last ones.
const ELEMENTS: usize = 8;
/// References between an element and what it holds, and objects that are looked at on the way, of each.
const DEPTH: usize = 3;
const MOST: usize = 64;
/// References of one object on the way.
const ATTRIBUTES: usize = 64;

/// Classes, by the names that CPython gives them, and what their instances hold; what brings others of these with it goes first.
const CLASSES: [(&str, &str); 9] = [
    ("multiprocessing.process.BaseProcess", "processes"),
    ("subprocess.Popen", "processes"),
    ("threading.Thread", "threads"),
    ("_socket.socket", "sockets"),
    ("_io.FileIO", "files"),
    ("_io.BufferedReader", "files"),
    ("_io.BufferedWriter", "files"),
    ("_io.TextIOWrapper", "files"),
    ("mmap.mmap", "maps of files"),
];

/// Books of the standard library, by module and variable, in which all threads and processes stand for as long as they live: that one of
/// them stands there says of nobody that he keeps it.
const BOOKS: [(&str, &str); 4] =
    [("threading", "_active"), ("threading", "_limbo"), ("multiprocessing.process", "_children"), ("subprocess", "_active")];

impl Path {
    /// Whether it leads to a book of the standard library in which all threads or processes stand that live.
    #[must_use]
    pub fn is_book(&self) -> bool {
        match (&self.root, &*self.steps) {
            (Place::Module { name: module, .. }, [step]) => match &step.name {
                StepName::Variable(name) => BOOKS.contains(&(module.as_str(), name.as_str())),
                _ => false,
            },
            _ => false,
        }
    }
}

impl Census {
    /// What the last elements of a container hold of the operating system's, in a word for each sort, what brings others with it first;
    /// looked for in the elements themselves, in tuples, lists and dicts among them, and in the attributes of instances. What several
    /// of them share does not become more with them.
    #[must_use]
    pub fn opens(&self, container: ObjectId) -> Vec<&'static str> {
        let Some((kind, address)) = self.met(container).filter(|(kind, _)| kind.kind.is_container()) else { return Vec::new() };
        let mut holders: BTreeMap<(usize, u64), usize> = BTreeMap::new();
        let elements = self.last_held(kind, address, ELEMENTS);
        elements.into_iter().flat_map(|element| self.held_by(element)).for_each(|found| *holders.entry(found).or_default() += 1);
        let own = holders.into_iter().filter(|(_, holders)| *holders == 1);
        let mut words: Vec<&str> = own.filter_map(|((rank, _), _)| CLASSES.get(rank)).map(|(_, what)| *what).collect();
        words.dedup();
        words
    }

    /// What one element holds: the positions of the classes, and where each is.
    fn held_by(&self, element: (&Type, u64)) -> BTreeSet<(usize, u64)> {
        let (mut next, mut seen, mut found) = (VecDeque::from([(element, 0)]), HashSet::new(), BTreeSet::new());
        while let Some(((kind, address), depth)) = next.pop_front() {
            if let Some(rank) = self.resource(kind) {
                found.insert((rank, address));
            } else if depth < DEPTH && seen.len() < MOST && may_hold(kind) && seen.insert(address) {
                next.extend(self.last_held(kind, address, ATTRIBUTES).into_iter().map(|found| (found, depth + 1)));
            }
        }
        found
    }

    /// The position of its class.
    fn resource(&self, class: &Type) -> Option<usize> {
        let bases = bases(self, class);
        CLASSES.iter().position(|(name, _)| bases.iter().any(|base| base == name))
    }

    /// The last objects that an object refers to.
    fn last_held(&self, kind: &Type, address: u64, most: usize) -> Vec<(&Type, u64)> {
        let mut last = Last { held: VecDeque::new(), most };
        visit::visit(self.reader(), kind, address, &mut last);
        last.held.into_iter().filter_map(|object| Some((self.class_at(object)?, object))).collect()
    }
}

/// Whether what an object refers to is its own: of plain containers and of instances of classes. What a function, a module or a
/// class refers to is not.
fn may_hold(kind: &Type) -> bool {
    matches!(kind.kind, Kind::Tuple | Kind::List | Kind::Dict) || kind.has_attributes_alone()
}

struct Last {
    held: VecDeque<u64>,
    most: usize,
}

impl Sink for Last {
    fn edge(&mut self, target: u64, label: Label) {
        if label != Label::Key {
            self.held.truncate(self.most - 1);
            self.held.push_front(target);
        }
    }

    fn guess(&mut self, _: u64, _: Label) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::Step;

    #[test]
    fn books_of_all_that_lives_are_known_and_nothing_else() {
        let path = |module: &str, names: &[StepName]| Path {
            root: Place::Module { name: module.to_owned(), file: None },
            steps: names
                .iter()
                .map(|name| Step { name: name.clone(), kind: "dict".to_owned(), function: None, id: ObjectId(0) })
                .collect(),
            left_out: 0,
        };
        let variable = |name: &str| StepName::Variable(name.to_owned());
        assert!(path("threading", &[variable("_active")]).is_book());
        assert!(path("multiprocessing.process", &[variable("_children")]).is_book());
        assert!(!path("threading", &[variable("_active"), StepName::Key("7".to_owned())]).is_book());
        assert!(!path("train", &[variable("_active")]).is_book());
        assert!(!path("threading", &[variable("_shutdown_locks")]).is_book());
    }
}
