//! Objects that hold something of the operating system's: what they cost is not in their bytes.

use crate::budget::bases;
use crate::census::Census;
use crate::types::{Kind, Type, flags};
use crate::visit::{self, Label, Sink};
use crate::walk::ObjectId;
use std::collections::VecDeque;

/// Elements of a container that are looked at, the last ones.
const ELEMENTS: usize = 8;

/// Classes, by the names that CPython gives them, and what their instances hold.
const CLASSES: [(&str, &str); 9] = [
    ("threading.Thread", "threads"),
    ("multiprocessing.process.BaseProcess", "processes"),
    ("subprocess.Popen", "processes"),
    ("_socket.socket", "sockets"),
    ("_io.FileIO", "files"),
    ("_io.BufferedReader", "files"),
    ("_io.BufferedWriter", "files"),
    ("_io.TextIOWrapper", "files"),
    ("mmap.mmap", "maps of files"),
];

impl Census {
    /// What the last elements of a container hold of the operating system's, in a word; looked for in the elements themselves
    /// and in tuples, lists and dicts among them.
    #[must_use]
    pub fn opens(&self, container: ObjectId) -> Option<&'static str> {
        let (kind, address) = self.met(container)?;
        kind.kind.is_container().then_some(())?;
        self.last_held(kind, address).into_iter().find_map(|(kind, address)| {
            let inside = || self.last_held(kind, address).into_iter().find_map(|(kind, _)| self.resource(kind));
            self.resource(kind).or_else(|| if is_plain(kind) { inside() } else { None })
        })
    }

    fn resource(&self, class: &Type) -> Option<&'static str> {
        let bases = bases(self, class);
        CLASSES.iter().find(|(name, _)| bases.iter().any(|base| base == name)).map(|(_, what)| *what)
    }

    /// The last objects that an object refers to.
    fn last_held(&self, kind: &Type, address: u64) -> Vec<(&Type, u64)> {
        let mut last = Last(VecDeque::new());
        visit::visit(self.reader(), kind, address, &mut last);
        let class = |object: u64| self.types().get(self.types().find(self.reader().type_of(object)?)?);
        last.0.into_iter().filter_map(|object| Some((class(object)?, object))).collect()
    }
}

fn is_plain(kind: &Type) -> bool {
    matches!(kind.kind, Kind::Tuple | Kind::List | Kind::Dict) && !kind.has(flags::HEAPTYPE)
}

struct Last(VecDeque<u64>);

impl Sink for Last {
    fn edge(&mut self, target: u64, label: Label) {
        if label != Label::Key {
            self.0.truncate(ELEMENTS - 1);
            self.0.push_front(target);
        }
    }

    fn guess(&mut self, _: u64, _: Label) {}
}
