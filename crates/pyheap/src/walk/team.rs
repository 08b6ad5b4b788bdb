//! The other threads of a walk. They are started when the first level is worth it and wait for the next one from then on: to start one
//! for each level takes as long as a few hundred objects.

use super::objects::{Found, Objects};
use super::worker::{Manner, Output, SPARE, Shared, Worker};
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
    tasks: Sender<Task>,
    outputs: Receiver<Outputs>,
    /// Outputs whose memory it may use again.
    spare: Vec<Output>,
    thread: Option<ScopedJoinHandle<'scope, ()>>,
}

/// Where the objects of a level are.
#[derive(Clone)]
pub enum Level {
    /// Among all others.
    Numbered,
    /// In what the visit of the level before found.
    Fresh(Arc<Fresh>),
}

/// What a visit found: objects that have numbers, but stand nowhere else yet.
pub struct Fresh {
    /// What each stretch of that visit gave, in their order.
    pub outputs: Vec<Output>,
    /// The number of the first object that each of them found.
    firsts: Vec<u32>,
}

impl Fresh {
    /// The first object has the number `first`.
    pub fn new(outputs: Vec<Output>, first: u32) -> Self {
        let count = |next: &mut u32, output: &Output| Some(std::mem::replace(next, *next + output.found.len() as u32));
        let firsts = outputs.iter().scan(first, count).collect();
        Self { outputs, firsts }
    }

    /// Adds those with these numbers, all of which must be among them.
    fn put_in(&self, into: &mut Vec<Found>, range: &Range<u32>) {
        let mut at = range.start;
        // The last that begins there: those before it that begin at the same place found nothing.
        let first = self.firsts.partition_point(|first| *first <= at).saturating_sub(1);
        for (output, first) in self.outputs.iter().zip(&self.firsts).skip(first) {
            let found = output.found.get((at - first) as usize..).unwrap_or_default();
            let found = &found[..found.len().min((range.end - at) as usize)];
            into.extend_from_slice(found);
            at += found.len() as u32;
            if at == range.end {
                return;
            }
        }
    }
}

/// A level that is visited by all: whoever is done with a stretch takes the next one.
struct Task {
    level: Level,
    next: Arc<AtomicU32>,
    end: u32,
    manner: Manner,
    spare: Vec<Output>,
}

impl Task {
    fn done(&self, worker: &mut Worker<'_>, objects: &RwLock<Objects>) -> Outputs {
        let (mut outputs, mut stretch) = (Outputs::new(), Vec::new());
        let Manner { claiming, len } = self.manner;
        loop {
            let start = self.next.fetch_add(len, Ordering::Relaxed);
            if start >= self.end {
                return outputs;
            }
            let range = start..self.end.min(start + len);
            stretch.clear();
            match &self.level {
                Level::Numbered => {
                    objects.read().unwrap_or_else(PoisonError::into_inner).put_in(&mut stretch, range);
                }
                Level::Fresh(fresh) => fresh.put_in(&mut stretch, &range),
            }
            outputs.push((start, worker.expand(&stretch, start, claiming)));
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

    /// Visits the objects of a level that have these numbers, with `own` as one more of them, once that is done with what is to be done
    /// `meanwhile`; what each stretch gave, in order. `meanwhile` may add to all objects where the level is a [`Level::Fresh`]: what is
    /// [`Level::Numbered`] must be there before.
    pub fn visit(
        &mut self,
        level: &Level,
        range: Range<u32>,
        manner: Manner,
        own: &mut Worker<'a>,
        meanwhile: impl FnOnce(),
    ) -> Vec<Output> {
        while self.members.len() < self.len {
            self.members.push(Member::start(self.scope, self.shared, self.objects));
        }
        let next = Arc::new(AtomicU32::new(range.start));
        let task = |spare| Task { level: level.clone(), next: Arc::clone(&next), end: range.end, manner, spare };
        for member in &mut self.members {
            // Whether one has ended is seen when it is to say what it found.
            let _ = member.tasks.send(task(std::mem::take(&mut member.spare)));
        }
        meanwhile();
        let mut outputs = task(Vec::new()).done(own, self.objects);
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
        let (tasks, to_do) = channel::<Task>();
        let (done, outputs) = channel();
        let thread = scope.spawn(move || {
            let mut worker = Worker::new(shared);
            for mut task in to_do {
                std::mem::take(&mut task.spare).into_iter().for_each(|output| worker.reuse(output));
                let outputs = task.done(&mut worker, objects);
                // What was visited is to be had again by whoever gave it, as soon as all have answered.
                drop(task);
                if done.send(outputs).is_err() {
                    return;
                }
            }
        });
        Self { tasks, outputs, spare: Vec::new(), thread: Some(thread) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::TypeId;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_stretch_has_its_objects_however_they_were_found(
            found in prop::collection::vec(prop_oneof![Just(0_usize), 0_usize..20], 1..30),
            first in prop_oneof![Just(0_u32), Just((1 << 31) - 600)],
            len in 1_u32..40,
        ) {
            let mut addresses = 0..;
            let output = |count: &usize| Output {
                found: addresses.by_ref().take(*count).map(|at| Found::by_object(at, TypeId(3), 7, 0)).collect(),
                ..Output::default()
            };
            let fresh = Fresh::new(found.iter().map(output).collect(), first);
            let end = first + found.iter().sum::<usize>() as u32;
            let mut visited = Vec::new();
            for start in (first..end).step_by(len as usize) {
                let (mut stretch, before) = (Vec::new(), visited.len());
                fresh.put_in(&mut stretch, &(start..end.min(start + len)));
                visited.extend(stretch.iter().map(Found::address));
                prop_assert_eq!(visited.len() - before, end.min(start + len).abs_diff(start) as usize);
            }
            prop_assert!(visited.iter().copied().eq(0..u64::from(end - first)));
        }
    }
}
