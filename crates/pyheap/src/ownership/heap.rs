//! The heap of a census as the solver wants it.

use super::solve::{Graph, Hold};
use crate::census::Census;
use crate::offsets::Frames;
use crate::types::{Cache, Kind, Type, flags};
use crate::visit::{self, Frame, Label, Sink};
use crate::walk::{ObjectId, Parent, Root};
use std::collections::{HashMap, HashSet};

/// What lies beyond Python's objects, and is kept by them: storages of tensors, nodes of graphs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beyond {
    /// Bytes of each, by its address.
    pub bytes: HashMap<u64, u64>,
    /// Who keeps what: objects and these by their addresses. What one of these refers to may be an object.
    pub edges: HashMap<u64, Vec<u64>>,
    /// References of these to objects that may be there: where an object has more than are accounted for otherwise.
    pub likely: HashMap<u64, Vec<u64>>,
    /// Bytes of them that a census has counted to objects, by the objects' addresses.
    pub counted: HashMap<u64, u64>,
}

/// Immortal objects have this bit in their count of references (3.12 and newer); no other has as many.
const IMMORTAL: u64 = 1 << 31;

/// A census, with what its roots refer to.
pub struct Heap<'a> {
    census: &'a Census,
    cache: Cache<'a>,
    /// Objects from here on, up to there, were found from cycles that wait for the collector.
    garbage: std::ops::Range<u32>,
    /// All roots, those too that led to nothing new.
    pub roots: Vec<Root>,
    /// What they may refer to.
    held: Vec<(u64, u32, Hold)>,
    /// Frames that are running: their locals are those of roots.
    running: Vec<u64>,
    beyond: &'a Beyond,
    /// What lies beyond, numbered behind the objects: its address, who leads to it, and the object at the beginning of that.
    behind: Vec<(u64, u32, ObjectId)>,
}

impl<'a> Heap<'a> {
    /// Gathers the roots.
    pub fn new(census: &'a Census, beyond: &'a Beyond) -> Self {
        let mut heap = Self {
            census,
            cache: Cache::new(census.types(), census.reader()),
            garbage: garbage(census),
            roots: Vec::new(),
            held: Vec::new(),
            running: Vec::new(),
            beyond,
            behind: Vec::new(),
        };
        heap.gather();
        heap.go_beyond();
        heap
    }

    /// Numbers what lies beyond, what leads to it first.
    fn go_beyond(&mut self) {
        if self.beyond.edges.is_empty() {
            return;
        }
        let mut known = HashSet::new();
        let objects = self.census.objects();
        for id in objects.ids() {
            let first = self.behind.len();
            self.follow(objects.address(id), id.0, id, &mut known);
            let mut next = first;
            while let Some((address, ..)) = self.behind.get(next).copied() {
                self.follow(address, (objects.len() + next) as u32, id, &mut known);
                next += 1;
            }
        }
    }

    fn follow(&mut self, address: u64, number: u32, first: ObjectId, known: &mut HashSet<u64>) {
        for target in self.beyond.edges.get(&address).into_iter().flatten() {
            if self.beyond.bytes.contains_key(target) && known.insert(*target) {
                self.behind.push((*target, number, first));
            }
        }
    }

    /// What lies beyond: where, its bytes, and the object that it was met from.
    pub fn behind(&self) -> impl Iterator<Item = (u64, u64, ObjectId)> + use<'_> {
        self.behind.iter().map(|(address, _, id)| (*address, self.beyond.bytes.get(address).copied().unwrap_or(0), *id))
    }

    /// Bytes of an object without what lies beyond.
    pub fn size(&self, id: ObjectId) -> u64 {
        let objects = self.census.objects();
        let size = objects.size(id);
        if self.beyond.counted.is_empty() {
            return size;
        }
        size.saturating_sub(self.beyond.counted.get(&objects.address(id)).copied().unwrap_or(0))
    }

    fn gather(&mut self) {
        let (census, read) = (self.census, self.census.reader());
        for interpreter in &census.python().interpreters {
            read.dict(interpreter.modules, |_, entry| self.root(Root::Module { name: entry.key }, entry.value, Hold::Likely));
            self.root(Root::Interpreter, interpreter.modules, Hold::Likely);
            self.words(interpreter.address, census.python().layout.interp_size, Root::Interpreter);
        }
        let threads = census.python().interpreters.iter().flat_map(|interpreter| &interpreter.threads);
        for (index, thread) in (0..).zip(threads) {
            self.words(thread.address, census.python().layout.thread_size, Root::Thread { thread: index });
            for frame in &thread.frames {
                self.running.push(frame.address);
                let is_ours = frame.is_ours(read);
                let mut edges = Edges::default();
                frame.locals(read, &mut edges);
                frame.rest(read, &mut edges);
                for (target, label) in edges.0 {
                    let hold = match label {
                        _ if is_ours => Hold::Passing,
                        // A running frame does not say how much of its stack is in use.
                        Label::Stack => Hold::Doubtful,
                        _ => Hold::Likely,
                    };
                    self.root(Root::Frame { thread: index, frame: *frame, label }, target, hold);
                }
            }
        }
    }

    fn root(&mut self, root: Root, target: u64, hold: Hold) {
        if self.roots.last() != Some(&root) {
            self.roots.push(root);
        }
        self.held.push((target, (self.roots.len() - 1) as u32, hold));
    }

    fn words(&mut self, address: u64, len: u64, root: Root) {
        self.census.reader().words(address, len / 8, |_, word| {
            if word > 4096 && word % 8 == 0 {
                self.root(root, word, Hold::Doubtful);
            }
        });
    }

    /// Whether an object is a frame that is running.
    pub fn is_running(&self, object: u64) -> bool {
        self.running.contains(&object)
    }

    fn is_ours(&self, object: u64) -> bool {
        let read = self.census.reader();
        let frame = match read.layout.frame {
            Frames::Object { .. } => Some(object),
            Frames::Interpreter { object_frame, .. } => object.checked_add(object_frame).and_then(|at| read.pointer(at)),
        };
        frame.and_then(|frame| Frame::read(read, frame)).is_some_and(|frame| frame.is_ours(read))
    }

    fn kind(&mut self, object: u64) -> Option<&'a Type> {
        let id = self.cache.look(self.census.reader().type_of(object)?)?;
        self.census.types().get(id)
    }
}

/// What nothing but itself holds was found last, all of it together.
fn garbage(census: &Census) -> std::ops::Range<u32> {
    let objects = census.objects();
    let is_garbage = |id: &ObjectId| match objects.parent(*id) {
        Parent::Root(root) => census.roots().get(root as usize) == Some(&Root::Garbage),
        Parent::Object(_) => false,
    };
    let end = objects.len() as u32;
    let first = objects.ids().find(is_garbage).map_or(end, |id| id.0);
    // What types lead to that only such objects have comes last.
    let is_type = |id: &ObjectId| match objects.parent(*id) {
        Parent::Root(root) => census.roots().get(root as usize) == Some(&Root::Type),
        Parent::Object(_) => false,
    };
    let last = (first..end).map(ObjectId).find(is_type).map_or(end, |id| id.0);
    first..last
}

impl Graph for Heap<'_> {
    fn len(&self) -> u32 {
        (self.census.objects().len() + self.behind.len()) as u32
    }

    #[inline]
    fn address(&self, number: u32) -> u64 {
        match (number as usize).checked_sub(self.census.objects().len()) {
            None => self.census.objects().address(ObjectId(number)),
            Some(behind) => self.behind.get(behind).map_or(0, |(address, ..)| *address),
        }
    }

    #[inline]
    fn parent(&self, number: u32) -> Option<u32> {
        if let Some(behind) = (number as usize).checked_sub(self.census.objects().len()) {
            return self.behind.get(behind).map(|(_, parent, _)| *parent);
        }
        match self.census.objects().parent(ObjectId(number)) {
            Parent::Object(parent) => Some(parent.0),
            Parent::Root(_) => None,
        }
    }

    fn is_garbage(&self, number: u32) -> bool {
        self.garbage.contains(&number)
    }

    fn references(&self, object: u64) -> Option<u64> {
        // Nobody has told how many there are to what lies beyond.
        if !self.behind.is_empty() && self.beyond.bytes.contains_key(&object) {
            return Some(0);
        }
        let references = self.census.image().u64(object)? & self.census.python().layout.reference_mask;
        (references & IMMORTAL == 0).then_some(references)
    }

    fn edges(&mut self, object: u64, each: &mut impl FnMut(u64, Hold)) {
        if !self.behind.is_empty() && self.beyond.bytes.contains_key(&object) {
            self.beyond.edges.get(&object).into_iter().flatten().for_each(|target| each(*target, Hold::Certain));
            self.beyond.likely.get(&object).into_iter().flatten().for_each(|target| each(*target, Hold::Likely));
            return;
        }
        let Some(kind) = self.kind(object) else { return };
        let read = self.census.reader();
        // An instance holds its class, if that was made at run time.
        if kind.has(flags::HEAPTYPE) {
            each(kind.address, Hold::Certain);
        }
        // What our own marks are at work on is theirs for a moment.
        let is_ours = kind.kind == Kind::Frame && self.is_ours(object);
        if kind.kind == Kind::Other && !self.behind.is_empty() {
            self.beyond.edges.get(&object).into_iter().flatten().for_each(|target| each(*target, Hold::Certain));
        }
        visit::visit(read, kind, object, &mut Pass { each, is_ours });
    }

    fn roots(&mut self, each: &mut impl FnMut(u64, u32, Hold)) {
        self.held.iter().for_each(|(target, root, hold)| each(*target, *root, *hold));
    }
}

struct Pass<'e, E> {
    each: &'e mut E,
    is_ours: bool,
}

impl<E: FnMut(u64, Hold)> Sink for Pass<'_, E> {
    #[inline]
    fn edge(&mut self, target: u64, _: Label) {
        (self.each)(target, if self.is_ours { Hold::Passing } else { Hold::Certain });
    }

    #[inline]
    fn guess(&mut self, word: u64, _: Label) {
        (self.each)(word, if self.is_ours { Hold::Passing } else { Hold::Likely });
    }
}

#[derive(Default)]
struct Edges(Vec<(u64, Label)>);

impl Sink for Edges {
    fn edge(&mut self, target: u64, label: Label) {
        self.0.push((target, label));
    }

    fn guess(&mut self, word: u64, label: Label) {
        self.0.push((word, label));
    }
}
