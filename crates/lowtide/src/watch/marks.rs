//! Marks from inside the run's processes: whose they are, when they were by our clock, and how many of them are kept.

use std::collections::BTreeMap;

use lowtide_marks::{RawMark, Rings};
use lowtide_model::{Event, Mark, MarkKind, ProcId, Role};

/// For so long all marks are kept, within reason; afterwards a recording must not grow by them. Seconds.
const DENSE_S: f64 = 600.0;
/// Time between two marks of steps that are kept, before and after that. Their count is exact all the same. Seconds.
const STEPS_S: [f64; 2] = [0.95, 10.0];
/// Other marks of a process that are kept per second, before and after that, and how many more at once.
const OTHERS: [f64; 2] = [20.0, 0.3];
const AT_ONCE: f64 = 200.0;

/// The marks of a run.
pub struct Marks {
    rings: Rings,
    /// CLOCK_MONOTONIC at the run's start, nanoseconds.
    start_ns: u64,
    processes: BTreeMap<u32, ProcId>,
    kept: BTreeMap<u32, Kept>,
    gone: Vec<u32>,
    /// Whether any came.
    any: bool,
    /// There is a process that trains.
    trains: bool,
    /// Why a Python of the run cannot have marks.
    deaf: Option<String>,
}

/// What was kept of one process.
#[derive(Default)]
struct Kept {
    step_s: f64,
    /// Marks that may still be kept, as of this moment.
    allowed: f64,
    as_of_s: f64,
    dropped: u64,
}

impl Marks {
    /// Listens to a folder.
    pub fn new(folder: std::path::PathBuf, start_ns: u64) -> Self {
        let (processes, kept, gone) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        Self { rings: Rings::new(folder), start_ns, processes, kept, gone, any: false, trains: false, deaf: None }
    }

    /// Takes note of who is who.
    pub fn know(&mut self, event: &Event) {
        match event {
            Event::Process(process) => {
                self.processes.insert(process.pid, process.id);
                self.trains |= process.role == Role::Trainer;
                if self.deaf.is_none() {
                    self.deaf = deaf(&process.command).map(|flag| format!("python {flag} leaves them out (pid {})", process.pid));
                }
            }
            Event::Exit(exit) => {
                self.gone.extend(self.processes.iter().find(|(_, id)| **id == exit.id).map(|(pid, _)| *pid));
            }
            _ => {}
        }
    }

    /// Why a run that trains has no steps, where it has none.
    pub fn missing(&self) -> Option<String> {
        let why = || "no torch optimizer stepped in a Python that reads PYTHONPATH".to_owned();
        (self.trains && !self.any).then(|| format!("steps and phases: {}", self.deaf.clone().unwrap_or_else(why)))
    }

    /// What is new. `last`: nothing comes after this, so that the newest mark of a step is kept whatever it costs.
    pub fn poll(&mut self, last: bool) -> Vec<Event> {
        let raw = self.rings.poll();
        let mut events = Vec::with_capacity(raw.len().min(64));
        // Of marks of steps only the newest of a look can be of interest.
        let newest: BTreeMap<u32, usize> =
            raw.iter().enumerate().filter(|(_, mark)| mark.what == MarkKind::Step).map(|(i, mark)| (mark.pid, i)).collect();
        for (i, mark) in raw.into_iter().enumerate() {
            let passed_over = mark.what == MarkKind::Step && newest.get(&mark.pid) != Some(&i);
            // Nor does anything come after the last look at a process that is gone.
            let last = last || self.gone.contains(&mark.pid);
            if !passed_over && let Some(mark) = self.keep(mark, last) {
                events.push(Event::Mark(mark));
            }
        }
        for pid in self.gone.drain(..) {
            self.rings.forget(pid);
            self.kept.remove(&pid);
        }
        events
    }

    fn keep(&mut self, raw: RawMark, last: bool) -> Option<Mark> {
        let id = *self.processes.get(&raw.pid)?;
        self.any = true;
        let t_s = (raw.t_ns as i128 - i128::from(self.start_ns)) as f64 * 1e-9;
        let late = usize::from(t_s > DENSE_S);
        let kept = self.kept.entry(raw.pid).or_insert_with(|| Kept { step_s: f64::NEG_INFINITY, ..Kept::default() });
        let mut what = raw.what;
        match what {
            MarkKind::Step if t_s - kept.step_s < STEPS_S[late] && !last => return None,
            MarkKind::Step => kept.step_s = t_s,
            MarkKind::Begin(_) | MarkKind::End(_) => {
                kept.allowed = (kept.allowed + OTHERS[late] * (t_s - kept.as_of_s).max(0.0)).min(AT_ONCE);
                kept.as_of_s = t_s.max(kept.as_of_s);
                if kept.allowed < 1.0 {
                    kept.dropped += 1;
                    return None;
                }
                kept.allowed -= 1.0;
            }
            MarkKind::Lost(ref mut lost) => *lost += std::mem::take(&mut kept.dropped),
            MarkKind::On(_) | MarkKind::Off(_) => kept.allowed = AT_ONCE,
        }
        Some(Mark { t_s, id, what, steps: raw.steps, facts: raw.facts })
    }
}

/// The option of a Python's command line that keeps it from reading PYTHONPATH or a sitecustomize.
fn deaf(command: &str) -> Option<&str> {
    let mut words = command.split_whitespace();
    let program = words.next()?;
    program.rsplit('/').next().filter(|name| name.starts_with("python"))?;
    // Options end at the script, at -c and at -m.
    let options = words.take_while(|word| word.starts_with('-') && !matches!(*word, "-" | "-c" | "-m"));
    options.into_iter().find(|word| !word.starts_with("--") && word.contains(['I', 'E', 'S']))
}

#[cfg(test)]
mod tests {
    use super::deaf;

    #[test]
    fn a_python_that_reads_no_pythonpath_is_told() {
        assert_eq!(deaf("/usr/bin/python3 -u -I train.py"), Some("-I"));
        assert_eq!(deaf("python -BE -m train"), Some("-BE"));
        assert_eq!(deaf("python3 -u train.py -I"), None);
        assert_eq!(deaf("python3 -c 'print()' -S"), None);
        assert_eq!(deaf("perl -I lib train.pl"), None);
        assert_eq!(deaf(""), None);
    }
}
