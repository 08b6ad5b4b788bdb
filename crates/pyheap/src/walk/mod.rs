//! The walk: every live object once, from ranked roots, nearest first, so that the way that led to an object is the
//! shortest that a program's author would recognise.
//!
//! Breadth first. All objects found are a queue of their own; what a level of it refers to is the next level. Large levels
//! are visited by several threads, which share the set of what was seen. A rank of roots begins when the ranks before it
//! have been followed to the end: first modules and the locals of frames, then stacks, thread states, types, interpreters, and at
//! last what only the collector's lists know.

mod claims;
mod garbage;
mod lists;
mod objects;
mod roots;
mod seen;
mod team;
mod worker;

pub use objects::{ObjectId, Objects, Parent};
pub use roots::Root;

use crate::error::Error;
use crate::python::Python;
use crate::read::Reader;
use crate::types::{Types, flags};
use crate::visit::{Frame, Label, Sink};
use claims::Claims;
use lowtide_remote::Image;
pub(crate) use objects::Found;
use seen::Seen;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use team::{Fresh, Level, Team};
use worker::{Claiming, Manner, Output, Shared, Worker};

/// Objects that a thread visits at a time, and of a level that is given out in order, whose objects may have many references each.
const STRETCH: u32 = 512;
const SHORT_STRETCH: u32 = 32;
/// Levels smaller than this are not worth a second thread (one needs some 50 µs to begin): one of modules' dicts has a few thousand
/// objects, and many times as many references.
const WORTH_A_THREAD: u32 = 512;
/// Levels smaller than this are given out in order: what modules name is found there, and has its name by the first of them however
/// many threads look.
const IN_ORDER: u32 = 16 * 1024;
/// Objects that are looked at for places in the collector's lists.
const AMID: usize = 256;
/// With so many objects the lists are gone through by two threads.
const MANY: usize = 64 * 1024;
/// Objects that several threads visit before what they found is put in order: it waits in memory until then, and a level may
/// have half of all objects. What they found of a level waits until the next has been visited.
const TOGETHER: u32 = 256 * 1024;

/// What a walk gives.
#[derive(Debug)]
pub struct Walked {
    /// Types of all objects.
    pub types: Types,
    /// All objects.
    pub objects: Objects,
    /// The roots that led to objects.
    pub roots: Vec<Root>,
    /// Objects in the collector's lists.
    pub tracked: usize,
}

/// Walks all objects of a target that is still, and whose collector is not running. Of one that goes on, those that names lead to:
/// what the collector's lists lead to meanwhile is not to be told from what has been freed.
///
/// # Errors
/// Where the target is still, and the collector's lists are broken or objects claim more memory than there is.
pub fn walk(image: &Image, python: &Python, threads: usize, is_still: bool) -> Result<Walked, Error> {
    let read = Reader { image, layout: &python.layout };
    let (types, seen, claims) = (Types::default(), Seen::new(), Claims::new(image));
    let shared = Shared { read, types: &types, seen: &seen, claims: &claims };
    let objects = RwLock::new(Objects::default());
    let (roots, tracked) = std::thread::scope(|scope| {
        let mut walk = Walk {
            shared,
            python,
            worker: Worker::new(shared),
            team: Team::new(scope, threads.saturating_sub(1), shared, &objects),
            objects: &objects,
            done: 0,
            roots: Vec::new(),
        };
        walk.all(is_still).map(|tracked| (walk.roots, tracked))
    })?;
    let objects = objects.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Walked { types, objects, roots, tracked })
}

/// All frames with the position of their thread, of each thread the outermost first: `trainer` of main() says more than
/// `self` of whatever runs at the moment.
fn frames(python: &Python) -> impl Iterator<Item = (u32, Frame)> {
    let threads = python.interpreters.iter().flat_map(|interpreter| &interpreter.threads);
    (0..).zip(threads).flat_map(|(index, thread)| thread.frames.iter().rev().map(move |frame| (index, *frame)))
}

struct Walk<'scope, 'a> {
    shared: Shared<'a>,
    python: &'a Python,
    worker: Worker<'a>,
    /// The other threads.
    team: Team<'scope, 'a>,
    /// Read by all threads while they visit a level of it ([`Level::Numbered`]), and written to only when they don't.
    objects: &'a RwLock<Objects>,
    /// Objects that have been visited.
    done: u32,
    roots: Vec<Root>,
}

impl<'a> Walk<'_, 'a> {
    /// All roots, the best first. Gives how many objects the collector's lists have.
    fn all(&mut self, is_still: bool) -> Result<usize, Error> {
        let (python, read) = (self.python, self.read());
        let (ours, others): (Vec<_>, Vec<_>) = frames(python).partition(|(_, frame)| frame.is_ours(read));
        let (libraries, programs): (Vec<_>, Vec<_>) = others.iter().copied().partition(|(_, frame)| frame.is_of_library(read));
        self.named(&programs);
        self.of_libraries(&libraries);
        self.unnamed(&others, &ours);
        self.types();
        self.interpreters();
        if !is_still {
            return Ok(0);
        }
        let tracked = self.tracked()?;
        self.shared.claims.check()?;
        Ok(tracked)
    }

    fn read(&self) -> Reader<'a> {
        self.shared.read
    }

    fn objects(&self) -> RwLockReadGuard<'a, Objects> {
        self.objects.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn objects_mut(&self) -> RwLockWriteGuard<'a, Objects> {
        self.objects.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Modules, and the locals of the program's frames.
    fn named(&mut self, frames: &[(u32, Frame)]) {
        let read = self.read();
        for interpreter in &self.python.interpreters {
            let mut modules = Vec::new();
            read.dict(interpreter.modules, |_, entry| modules.push((!read.is_text(entry.key, "__main__"), entry)));
            // The program's own file first: much of what it defines is known to others as well.
            modules.sort_by_key(|(is_other, _)| *is_other);
            for (_, entry) in modules {
                self.root(entry.value, Root::Module { name: entry.key });
            }
        }
        self.frames(frames, |frame, sink| frame.locals(read, sink));
        self.drain();
    }

    /// The locals of frames of libraries. They are nearest to what they work on at the moment, `self` of an optimizer's step, and
    /// say least of whose it is.
    fn of_libraries(&mut self, frames: &[(u32, Frame)]) {
        let read = self.read();
        self.frames(frames, |frame, sink| frame.locals(read, sink));
        self.drain();
    }

    /// What frames and threads hold without a name, and what those of our marks hold.
    fn unnamed(&mut self, frames: &[(u32, Frame)], ours: &[(u32, Frame)]) {
        let read = self.read();
        self.frames(frames, |frame, sink| frame.rest(read, sink));
        self.drain();
        self.frames(ours, |frame, sink| {
            frame.locals(read, sink);
            frame.rest(read, sink);
        });
        self.drain();
        let threads = self.python.interpreters.iter().flat_map(|interpreter| &interpreter.threads);
        for (index, thread) in (0..).zip(threads) {
            self.words(thread.address, self.python.layout.thread_size, Root::Thread { thread: index });
        }
        self.drain();
    }

    fn frames(&mut self, frames: &[(u32, Frame)], visit: impl Fn(&Frame, &mut Edges)) {
        for (thread, frame) in frames {
            let mut edges = Edges::default();
            visit(frame, &mut edges);
            for (target, label, is_guess) in edges.0 {
                let root = Root::Frame { thread: *thread, frame: *frame, label };
                if is_guess { self.guess(target, label, root) } else { self.root(target, root) }
            }
        }
    }

    /// Types that nothing else leads to, and what they lead to.
    fn types(&mut self) {
        let mut next = 0;
        while let Some(kind) = self.shared.types.get(crate::types::TypeId(next)) {
            let address = kind.address;
            self.root(address, Root::Type);
            self.drain();
            next += 1;
        }
    }

    fn interpreters(&mut self) {
        for interpreter in &self.python.interpreters {
            self.root(interpreter.modules, Root::Interpreter);
            self.words(interpreter.address, self.python.layout.interp_size, Root::Interpreter);
        }
        self.drain();
    }

    /// What only the collector knows: held by something that is not an object, or by nothing but itself.
    fn tracked(&mut self) -> Result<usize, Error> {
        let shared = self.shared;
        let (seen, objects) = (shared.seen, self.objects());
        // All over what was found, which is all over the lists.
        let apart = (objects.len() / AMID).max(1);
        let may_be_tracked = |id: &ObjectId| shared.types.get(objects.kind(*id)).is_some_and(|kind| kind.has(flags::HAVE_GC));
        let amid = objects.ids().step_by(apart).filter(may_be_tracked).map(|id| objects.address(id));
        let threads = if objects.len() < MANY { 1 } else { self.team.len() + 1 };
        let (soon, is_new) = (|object| seen.prefetch(object), |object| !seen.has(object));
        let lists::Tracked { count, new } = lists::tracked(self.python, shared.read.image, threads, amid, soon, is_new)?;
        drop(objects);
        let split = garbage::split(self.shared, new);
        for object in split.held {
            self.root(object, Root::Native);
        }
        self.drain();
        for object in split.cycles {
            self.root(object, Root::Garbage);
            self.drain();
        }
        self.types();
        Ok(count)
    }

    /// An object that a root holds.
    fn root(&mut self, address: u64, root: Root) {
        if let Some(kind) = self.worker.new_object(address) {
            self.push(address, kind, root);
        }
    }

    /// A word of a root that may be an object.
    fn guess(&mut self, address: u64, label: Label, root: Root) {
        if let Some(kind) = self.worker.likely_object(address, label == Label::Stack) {
            self.push(address, kind, root);
        }
    }

    fn push(&mut self, address: u64, kind: crate::types::TypeId, root: Root) {
        if !self.shared.seen.set(address) {
            return;
        }
        if self.roots.last() != Some(&root) {
            self.roots.push(root);
        }
        self.objects_mut().push(Found::by_root(address, kind, (self.roots.len() - 1) as u32));
    }

    /// All words of a struct of the interpreter.
    fn words(&mut self, address: u64, len: u64, root: Root) {
        let mut words = Vec::new();
        self.read().words(address, len / 8, |_, word| {
            if word > 4096 && word % 8 == 0 {
                words.push(word);
            }
        });
        for word in words {
            self.guess(word, Label::Item, root);
        }
    }

    /// Visits what has been found until nothing is new.
    fn drain(&mut self) {
        loop {
            let level = self.objects().len() as u32;
            if self.done == level {
                return;
            }
            while self.done < level {
                let left = level - self.done;
                if self.team.len() > 0 && left >= WORTH_A_THREAD {
                    self.together(self.done..self.done + left.min(TOGETHER), left);
                } else {
                    let range = self.done..self.done + left.min(STRETCH);
                    let mut stretch = Vec::new();
                    self.objects().put_in(&mut stretch, range.clone());
                    let output = self.worker.expand(&stretch, range.start, Claiming::AtOnce);
                    self.objects_mut().append(&output);
                    self.worker.reuse(output);
                    self.done = range.end;
                }
            }
        }
    }

    /// Objects of a level, of which so many are `left`, by several threads; and those of the next levels too, as long as these are large
    /// enough for it.
    fn together(&mut self, range: Range<u32>, left: u32) {
        // Of a level that is visited in parts, the first of them have led to the next already.
        let is_whole = range.end as usize == self.objects().len();
        let mut outputs = self.visit(&Level::Numbered, range, manner(left), || ());
        loop {
            let found: usize = outputs.iter().map(|output| output.found.len()).sum();
            let is_worth_it = is_whole && (WORTH_A_THREAD as usize..=TOGETHER as usize).contains(&found);
            let first = self.done;
            if !is_worth_it || first as usize + found > objects::LIMIT {
                break;
            }
            // They are visited as they were found, while they are put in order: it takes a tenth of the time of a walk.
            let fresh = Arc::new(Fresh::new(outputs, first));
            let (objects, range) = (self.objects, first..first + found as u32);
            let put_in_order = || append(objects, &fresh.outputs);
            outputs = self.visit(&Level::Fresh(Arc::clone(&fresh)), range, manner(found as u32), put_in_order);
            if let Ok(fresh) = Arc::try_unwrap(fresh) {
                self.reuse(fresh.outputs);
            }
        }
        append(self.objects, &outputs);
        self.reuse(outputs);
    }

    /// Visits these objects of a level by all threads; what each stretch found alone, in order.
    fn visit(&mut self, level: &Level, range: Range<u32>, manner: Manner, meanwhile: impl FnOnce()) -> Vec<Output> {
        self.done = range.end;
        let mut outputs = self.team.visit(level, range, manner, &mut self.worker, meanwhile);
        outputs.iter_mut().for_each(|output| self.worker.claim_left(output));
        outputs
    }

    fn reuse(&mut self, outputs: Vec<Output>) {
        for (turn, output) in outputs.into_iter().enumerate() {
            self.team.reuse(turn, output, &mut self.worker);
        }
    }
}

/// How a level of so many objects is given out.
fn manner(left: u32) -> Manner {
    let (claiming, len) = if left < IN_ORDER { (Claiming::InOrder, SHORT_STRETCH) } else { (Claiming::AtOnce, STRETCH) };
    Manner { claiming, len }
}

/// Puts what stretches found in order.
fn append(objects: &RwLock<Objects>, outputs: &[Output]) {
    let mut objects = objects.write().unwrap_or_else(PoisonError::into_inner);
    outputs.iter().for_each(|output| objects.append(output));
}

/// Gathers references, to be looked at later.
#[derive(Default)]
struct Edges(Vec<(u64, Label, bool)>);

impl Sink for Edges {
    fn edge(&mut self, target: u64, label: Label) {
        self.0.push((target, label, false));
    }

    fn guess(&mut self, word: u64, label: Label) {
        self.0.push((word, label, true));
    }
}
