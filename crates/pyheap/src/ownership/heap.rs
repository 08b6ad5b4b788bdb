//! The heap of a census as the solver wants it.

use super::solve::{Graph, Hold};
use crate::census::Census;
use crate::offsets::Frames;
use crate::types::{Cache, Kind, Type, flags};
use crate::visit::{self, Frame, Label, Sink};
use crate::walk::{ObjectId, Parent, Root};
use std::collections::{HashMap, HashSet};

/// Memory that several objects share and that is no object of Python's: the storage of tensors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shared {
    /// Where it is.
    pub address: u64,
    /// Its bytes, which are counted to the first of those that share it.
    pub bytes: u64,
    /// Objects that share it.
    pub by: Vec<u64>,
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
    /// What objects share, numbered behind them, with the object that it is counted to.
    shared: Vec<(u64, u64, ObjectId)>,
    /// Their addresses.
    behind: HashSet<u64>,
    /// Who shares what.
    sharers: HashMap<u64, Vec<u64>>,
}

impl<'a> Heap<'a> {
    /// Gathers the roots.
    pub fn new(census: &'a Census, shared: &[Shared]) -> Self {
        let mut heap = Self {
            census,
            cache: Cache::new(census.types(), census.reader()),
            garbage: garbage(census),
            roots: Vec::new(),
            held: Vec::new(),
            running: Vec::new(),
            shared: Vec::new(),
            behind: HashSet::new(),
            sharers: HashMap::new(),
        };
        heap.gather();
        heap.share(shared);
        heap
    }

    fn share(&mut self, shared: &[Shared]) {
        for one in shared {
            one.by.iter().for_each(|object| self.sharers.entry(*object).or_default().push(one.address));
        }
        if self.sharers.is_empty() {
            return;
        }
        let bytes: HashMap<u64, u64> = shared.iter().map(|one| (one.address, one.bytes)).collect();
        for id in self.census.objects().ids() {
            for address in self.sharers.get(&self.census.objects().address(id)).into_iter().flatten() {
                if self.behind.insert(*address) {
                    self.shared.push((*address, bytes.get(address).copied().unwrap_or(0), id));
                }
            }
        }
    }

    /// What is shared: its bytes, and the object that they are counted to.
    pub fn shared(&self) -> impl Iterator<Item = (u64, u64, ObjectId)> + use<'_> {
        self.shared.iter().copied()
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
        (self.census.objects().len() + self.shared.len()) as u32
    }

    #[inline]
    fn address(&self, number: u32) -> u64 {
        match (number as usize).checked_sub(self.census.objects().len()) {
            None => self.census.objects().address(ObjectId(number)),
            Some(behind) => self.shared.get(behind).map_or(0, |(address, ..)| *address),
        }
    }

    #[inline]
    fn parent(&self, number: u32) -> Option<u32> {
        if let Some(behind) = (number as usize).checked_sub(self.census.objects().len()) {
            return self.shared.get(behind).map(|(.., first)| first.0);
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
        if !self.behind.is_empty() && self.behind.contains(&object) {
            return Some(0);
        }
        let references = self.census.image().u64(object)? & self.census.python().layout.reference_mask;
        (references & IMMORTAL == 0).then_some(references)
    }

    fn edges(&mut self, object: u64, each: &mut impl FnMut(u64, Hold)) {
        let Some(kind) = self.kind(object) else { return };
        let read = self.census.reader();
        // An instance holds its class, if that was made at run time.
        if kind.has(flags::HEAPTYPE) {
            each(kind.address, Hold::Certain);
        }
        // What our own marks are at work on is theirs for a moment.
        let is_ours = kind.kind == Kind::Frame && self.is_ours(object);
        if kind.kind == Kind::Other && !self.sharers.is_empty() {
            self.sharers.get(&object).into_iter().flatten().for_each(|shared| each(*shared, Hold::Certain));
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
