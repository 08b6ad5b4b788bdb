//! The thread beside the one that counts objects. It is there before the process is held: one that is started then, while the other gets
//! memory by the megabyte, begins a millisecond later.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;

use lowtide_pyheap::memory::{self, Memory};
use lowtide_pyheap::torch::Layout;
use lowtide_remote::{Error, Hurry, Image, Process};

use super::look::Extent;
use crate::exit::Failure;

/// What memory is for; `None` where it was not asked for, or not wanted any more.
type Answer = Result<Option<Memory>, Error>;

/// The thread, as the other sees it. It ends when this is dropped.
pub struct Beside {
    room: Receiver<Result<u64, Failure>>,
    tasks: Sender<Task>,
}

/// Memory to be gone through.
struct Task {
    image: Arc<Image>,
    known: Vec<Layout>,
    wanted: Arc<AtomicBool>,
    answer: Sender<Answer>,
}

/// A task that was given. Who drops it wants no answer: nobody is held until there is one.
pub struct Given {
    wanted: Arc<AtomicBool>,
    answer: Receiver<Answer>,
}

impl Beside {
    /// Starts it; before all else it asks for the `room`.
    pub fn start<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        process: &'env Process,
        extent: Extent,
        room: fn() -> Result<u64, Failure>,
    ) -> Self {
        let (tasks, to_do) = channel::<Task>();
        let (say, said) = channel();
        scope.spawn(move || {
            // Who does not listen any more has ended.
            let _ = say.send(room());
            for task in to_do {
                let _ = task.answer.send(task.done(process, extent));
            }
        });
        Self { room: said, tasks }
    }

    /// Bytes that a look may keep; `None` where it panicked.
    pub fn room(&self) -> Option<Result<u64, Failure>> {
        self.room.recv().ok()
    }

    /// Has it read ahead for a census of this image, and tell what memory is for.
    pub fn give(&self, image: &Arc<Image>, known: &[Layout]) -> Given {
        let wanted = Arc::new(AtomicBool::new(true));
        let (send, answer) = channel();
        let (image, known) = (Arc::clone(image), known.to_vec());
        let _ = self.tasks.send(Task { image, known, wanted: Arc::clone(&wanted), answer: send });
        Given { wanted, answer }
    }
}

impl Task {
    fn done(&self, process: &Process, extent: Extent) -> Answer {
        // The process is held.
        let _hurry = Hurry::begin();
        match extent {
            Extent::All => Memory::look_beside(process, &self.image, &self.known, &self.wanted),
            // What could not be read ahead is read when it is asked for.
            Extent::Objects => {
                let _ = memory::read_ahead(process, &self.image, &self.wanted);
                Ok(None)
            }
        }
    }
}

impl Given {
    /// What it says, when it is done with it; `None` where that is nothing.
    pub fn answer(self) -> Option<Result<Memory, Error>> {
        self.answer.recv().ok()?.transpose()
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        self.wanted.store(false, Ordering::Relaxed);
    }
}
