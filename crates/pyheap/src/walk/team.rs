//! The other threads of a walk. They are started when the first level is worth it and wait for the next one from then on: to start one
//! for each level takes as long as a few hundred objects.

use super::objects::Objects;
use super::worker::{Claiming, Output, SPARE, Shared, Worker};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{Scope, ScopedJoinHandle};

/// What a thread gives: stretches by their first object.
type Outputs = Vec<(u32, Output)>;

/// The other threads.
pub struct Team<'scope, 'a> {
    scope: &'scope Scope<'scope, 'a>,
    /// How many there are, started or not.
    len: usize,
    shared: Shared<'a>,
    objects: &'a RwLock<Objects>,
    members: Vec<Member<'scope>>,
}

/// One of them.
struct Member<'scope> {
    levels: Sender<Level>,
    outputs: Receiver<Outputs>,
    /// Outputs whose memory it may use again.
    spare: Vec<Output>,
    thread: Option<ScopedJoinHandle<'scope, ()>>,
}

/// Objects that are to be visited by all: whoever is done with a stretch takes the next one.
struct Level {
    next: Arc<AtomicU32>,
    end: u32,
    /// Objects of a stretch.
    len: u32,
    claiming: Claiming,
    spare: Vec<Output>,
}

impl Level {
    fn visit(&self, worker: &mut Worker<'_>, objects: &Objects) -> Outputs {
        let mut outputs = Vec::new();
        loop {
            let start = self.next.fetch_add(self.len, Ordering::Relaxed);
            if start >= self.end {
                return outputs;
            }
            outputs.push((start, worker.expand(objects, start..(start + self.len).min(self.end), self.claiming)));
        }
    }
}

impl<'scope, 'a: 'scope> Team<'scope, 'a> {
    /// So many threads, of which none is started yet.
    pub fn new(scope: &'scope Scope<'scope, 'a>, len: usize, shared: Shared<'a>, objects: &'a RwLock<Objects>) -> Self {
        Self { scope, len, shared, objects, members: Vec::new() }
    }

    /// How many others there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Visits objects by stretches of `len`, with `own` as one more of them; what each stretch gave, in order.
    pub fn visit(&mut self, range: Range<u32>, len: u32, claiming: Claiming, own: &mut Worker<'a>) -> Vec<Output> {
        while self.members.len() < self.len {
            self.members.push(Member::start(self.scope, self.shared, self.objects));
        }
        let next = Arc::new(AtomicU32::new(range.start));
        let level = |spare| Level { next: Arc::clone(&next), end: range.end, len, claiming, spare };
        for member in &mut self.members {
            // Whether one has ended is seen when it is to say what it found.
            let _ = member.levels.send(level(std::mem::take(&mut member.spare)));
        }
        let mut outputs = level(Vec::new()).visit(own, &self.objects.read().unwrap_or_else(PoisonError::into_inner));
        outputs.extend(self.members.iter_mut().flat_map(Member::outputs));
        outputs.sort_unstable_by_key(|(start, _)| *start);
        outputs.into_iter().map(|(_, output)| output).collect()
    }

    /// Gives the memory of an output back, to all in turns.
    pub fn reuse(&mut self, turn: usize, output: Output, own: &mut Worker<'a>) {
        match self.members.get_mut(turn % (self.len + 1)) {
            Some(member) if member.spare.len() < SPARE => member.spare.push(output),
            Some(_) => {}
            None => own.reuse(output),
        }
    }
}

impl<'scope> Member<'scope> {
    fn start<'a: 'scope>(scope: &'scope Scope<'scope, 'a>, shared: Shared<'a>, objects: &'a RwLock<Objects>) -> Self {
        let (levels, to_do) = channel::<Level>();
        let (done, outputs) = channel();
        let thread = scope.spawn(move || {
            let mut worker = Worker::new(shared);
            for mut level in to_do {
                std::mem::take(&mut level.spare).into_iter().for_each(|output| worker.reuse(output));
                let outputs = level.visit(&mut worker, &objects.read().unwrap_or_else(PoisonError::into_inner));
                if done.send(outputs).is_err() {
                    return;
                }
            }
        });
        Self { levels, outputs, spare: Vec::new(), thread: Some(thread) }
    }

    /// What it found at a level. Its panic becomes ours: without its part the objects of the next level would have wrong numbers.
    fn outputs(&mut self) -> Outputs {
        let Ok(outputs) = self.outputs.recv() else {
            if let Some(Err(panic)) = self.thread.take().map(ScopedJoinHandle::join) {
                std::panic::resume_unwind(panic);
            }
            return Outputs::new();
        };
        outputs
    }
}
