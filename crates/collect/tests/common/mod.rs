//! What the tests of the collector share.
#![allow(clippy::unwrap_used, clippy::print_stderr, dead_code, reason = "test code; not every test uses all of it")]

use std::path::Path;
use std::time::{Duration, Instant};

use lowtide_collect::{Collector, GpuSource, Options};
use lowtide_model::{Event, Exit, Note, NoteKind, ProcSample, Process, Tick};

/// A collector and all that it has said so far.
pub struct Watch {
    pub collector: Collector,
    pub events: Vec<Event>,
    ticks: u32,
}

impl Watch {
    pub fn real(pid: u32) -> Self {
        Self::with(pid, Path::new("/"), false)
    }

    pub fn with(pid: u32, root: &Path, own_child: bool) -> Self {
        let options = Options { root: root.to_owned(), interval_s: 1.0, own_child, rollup: true, gpu: GpuSource::default() };
        Self::of(Collector::new(pid, options).unwrap())
    }

    pub fn of(collector: Collector) -> Self {
        Self { collector, events: Vec::new(), ticks: 0 }
    }

    /// One tick; returns what it said. The run's clock goes on by a second however fast the test is, so that budgets
    /// do not depend on the machine.
    pub fn tick(&mut self) -> Vec<Event> {
        self.ticks += 1;
        self.tick_at(f64::from(self.ticks))
    }

    /// One tick at a time of the test's choice, for fake roots.
    pub fn tick_at(&mut self, now_s: f64) -> Vec<Event> {
        let mut new = Vec::new();
        self.collector.tick(now_s, &mut new);
        self.events.extend(new.iter().cloned());
        new
    }

    /// Ticks until something is seen, for at most a minute: slow machines are slow, broken code is never done.
    pub fn until(&mut self, what: &str, mut seen: impl FnMut(&Self) -> bool) {
        let limit = Instant::now() + Duration::from_secs(60);
        loop {
            self.tick();
            if seen(self) {
                return;
            }
            assert!(Instant::now() < limit, "never seen: {what}; processes {:#?}, notes {:?}", self.processes(), self.notes());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The last known state of each process, in order of first sight.
    pub fn processes(&self) -> Vec<Process> {
        let mut known: Vec<Process> = Vec::new();
        for event in &self.events {
            if let Event::Process(process) = event {
                match known.iter_mut().find(|other| other.id == process.id) {
                    Some(other) => *other = process.clone(),
                    None => known.push(process.clone()),
                }
            }
        }
        known
    }

    pub fn process(&self, pid: u32) -> Option<Process> {
        self.processes().into_iter().find(|process| process.pid == pid)
    }

    pub fn exits(&self) -> Vec<Exit> {
        self.events.iter().filter_map(|event| if let Event::Exit(exit) = event { Some(*exit) } else { None }).collect()
    }

    pub fn exited(&self, pid: u32) -> bool {
        self.process(pid).is_some_and(|process| self.exits().iter().any(|exit| exit.id == process.id))
    }

    pub fn notes(&self) -> Vec<Note> {
        self.events.iter().filter_map(|event| if let Event::Note(note) = event { Some(note.clone()) } else { None }).collect()
    }

    pub fn notes_of(&self, kind: NoteKind) -> Vec<Note> {
        self.notes().into_iter().filter(|note| note.kind == kind).collect()
    }

    pub fn ticks(&self) -> Vec<Tick> {
        self.events.iter().filter_map(|event| if let Event::Tick(tick) = event { Some(tick.clone()) } else { None }).collect()
    }

    /// The last sample of a process, from the last tick.
    pub fn sample(&self, pid: u32) -> Option<ProcSample> {
        let id = self.process(pid)?.id;
        self.ticks().last()?.procs.iter().find(|sample| sample.id == id).copied()
    }

    /// What a reader of a recording relies on: a process is announced before anything is said of it, and nothing is
    /// said of it after its exit.
    pub fn assert_in_order(&self) {
        let (mut known, mut gone) = (std::collections::HashSet::new(), std::collections::HashSet::new());
        for event in &self.events {
            match event {
                Event::Process(process) => {
                    assert!(process.parent.is_none_or(|parent| known.contains(&parent)), "parent after child: {process:?}");
                    known.insert(process.id);
                }
                Event::Exit(exit) => {
                    assert!(known.contains(&exit.id) && gone.insert(exit.id), "exit without a process, or twice: {exit:?}");
                }
                Event::Tick(tick) => {
                    for sample in &tick.procs {
                        assert!(known.contains(&sample.id) && !gone.contains(&sample.id), "{sample:?}");
                    }
                }
                _ => {}
            }
        }
    }
}
