//! One look: announce the pause, hold the process still, count, let it go on.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lowtide_pyheap::memory::Memory;
use lowtide_pyheap::torch::{self, find};
use lowtide_pyheap::{Census, Error, Python, Summary};
use lowtide_remote::{Core, Process};

use super::beside::Beside;
use super::tide::Between;
use crate::exit::Failure;
use crate::layouts;
use crate::patience::{ATTEMPTS, Patience};
use crate::terminal;

/// Expected pause per MiB of private memory. Measured on heaps of 0.1 to 10 million objects: 0.2 s per million, which have some
/// 75 MiB; what lies in large blocks (arrays, tensors) is not read and makes it shorter.
const PER_MIB: Duration = Duration::from_micros(3000);
/// What a pause has beside that, whatever the size: threads to stop, frames, modules, the start of our own threads (measured: 65 to 98
/// ms in all for 18 MiB on a machine that did other things too).
const BESIDE: Duration = Duration::from_millis(40);
/// Allowed at least, whatever is expected.
const ALLOWED: Duration = Duration::from_secs(2);
/// Allowed at most without being asked for.
const MOST: Duration = Duration::from_secs(60);
/// Halves of what is read that a look needs at most, tables and the answer included (measured on 1 and 10 million objects: 1.4 and
/// 1.6 times what is read).
const MADE: u64 = 4;
/// No Python can be looked into with less, in bytes.
const FEWEST: u64 = 24 << 20;
/// How often one is tried that finds a list torn: the process was held between the two writes that put an object in. Lists that
/// are torn again and again are damaged.
const TORN: u32 = 5;

/// A look, and what it cost.
pub struct Look {
    /// The process; 0 where a core file does not say it.
    pub pid: u32,
    /// The core file that was read in its place.
    pub core: Option<String>,
    pub start_ticks: u64,
    pub census: Census,
    /// All private memory; `None` where it could not be read.
    pub memory: Option<Memory>,
    /// How long the process was held, at all attempts together.
    pub pause: Duration,
    /// What lies between it and the look before, where that was taken just now.
    pub between: Option<Between>,
    /// Whether the data of tensors is counted to their objects: see [`Look::count_tensors`].
    pub tensors: bool,
    /// What has to be said about it.
    pub notes: Vec<String>,
}

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Python's objects, tensors, and what all memory is for.
    All,
    /// Python's objects alone.
    Objects,
}

/// What `--save` keeps.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub struct Saved {
    /// Names the form of the file.
    pub schema: String,
    pub pid: u32,
    pub start_ticks: u64,
    /// Tells what a process ran before it became another program; 0 in older files.
    #[serde(default)]
    pub program: u64,
    /// Whether the data of tensors is counted to their objects.
    pub tensors: bool,
    pub summary: Summary,
}

/// Opens the process.
pub fn open(pid: u32) -> Result<Process, Failure> {
    Process::open(Path::new("/"), pid).map_err(|error| Failure::cannot(error.to_string()))
}

fn more_time(allowed: Duration) -> String {
    format!("give it more time with --max-pause {}s", (allowed * 3).as_secs().max(1))
}

impl Look {
    /// Takes a look.
    pub fn take(process: &Process, extent: Extent, max_pause: Option<Duration>, threads: usize) -> Result<Self, Failure> {
        std::thread::scope(|scope| {
            // Some kernels take longer to say what a cgroup has than it takes to find the interpreter.
            let beside = Beside::start(scope, process, extent, room);
            Self::take_beside(&beside, process, extent, max_pause, threads)
        })
    }

    fn take_beside(
        beside: &Beside,
        process: &Process,
        extent: Extent,
        max_pause: Option<Duration>,
        threads: usize,
    ) -> Result<Self, Failure> {
        let cannot = |error: &dyn std::error::Error| Failure::cannot(error.to_string());
        let later = |error: &dyn std::error::Error| Failure::cannot(format!("{error}; try again later"));
        let (runtime, expected) = (runtime(process)?, expected(process.pid()));
        let room = beside.room().unwrap_or_else(room)?;
        let allowed = max_pause.unwrap_or_else(|| (expected * 4).clamp(ALLOWED, MOST));
        terminal::say(&format!(
            "holding pid {} still for up to {}, and no longer than {}",
            process.pid(),
            seconds(expected),
            seconds(allowed)
        ));
        let mut pause = Duration::ZERO;
        let mut known = find::shipped();
        let mut learned = false;
        let mut torn = 0;
        let mut patience = Patience::new();
        let mut notes = Vec::new();
        if extent == Extent::Objects {
            notes.push("objects alone: tensors, and what memory is for, were not asked for".to_owned());
        }
        for _ in 0..ATTEMPTS {
            let stopped = process.stop(allowed).map_err(|error| match error {
                lowtide_remote::Error::Stubborn { .. } => later(&error),
                _ => cannot(&error),
            })?;
            let image = Arc::new(stopped.image().map_err(|error| cannot(&error))?.with_budget(room));
            let given = beside.give(&image, &known);
            let taken = Python::at(&image, runtime).and_then(|python| Census::take(Arc::clone(&image), python, threads));
            let memory = if taken.is_ok() { given.answer() } else { None };
            // What was walked after the time was over is wrong rather than incomplete: a heap that breaks off looks like another.
            let memory = memory.map(|memory| stopped.check().and(memory));
            pause += stopped.release();
            match taken {
                Err(Error::Collecting { .. }) => patience.wait(),
                Err(Error::Torn { .. }) if torn + 1 < TORN => {
                    torn += 1;
                    patience.wait();
                }
                Err(error @ Error::Cut(_)) => {
                    return Err(Failure::cannot(format!("{error}; {}", more_time(allowed))));
                }
                Err(error @ Error::Remote(lowtide_remote::Error::TimeOver { .. })) => {
                    return Err(Failure::cannot(format!("{error}; {}", more_time(allowed))));
                }
                Err(error) => return Err(cannot(&error)),
                Ok(census) => {
                    let unknown = matches!(&memory, Some(Ok(Memory { torch: Err(torch::Error::Layout { .. }), .. })));
                    if unknown && !learned {
                        // A build of torch that is new here: learn its layout with the process going on, and look again.
                        learned = true;
                        match layouts::learn(process, census.image()) {
                            Ok(layout) => {
                                known.push(layout);
                                continue;
                            }
                            Err(why) => notes.push(why),
                        }
                    }
                    notes.extend(census.image().trouble().map(|trouble| format!("incomplete: {trouble}")));
                    let memory = memory.and_then(|memory| {
                        let left_out = |why: lowtide_remote::Error| match why {
                            lowtide_remote::Error::TimeOver { .. } => format!("{why}; {}", more_time(allowed)),
                            _ => why.to_string(),
                        };
                        let memory = memory.map_err(left_out);
                        memory.map_err(|why| notes.push(format!("what memory is for is left out: {why}"))).ok()
                    });
                    let (pid, start_ticks) = (process.pid(), process.start_ticks());
                    return Ok(Self {
                        pid,
                        core: None,
                        start_ticks,
                        census,
                        memory,
                        pause,
                        between: None,
                        tensors: false,
                        notes,
                    });
                }
            }
        }
        Err(later(&Error::Collecting { attempts: ATTEMPTS }))
    }

    /// Looks into a core file, whose program's files lie below `root`. What memory is for and tensors need the process itself.
    pub fn of_core(path: &Path, root: &Path, threads: usize) -> Result<Self, Failure> {
        let cannot = |error: &dyn std::error::Error| Failure::cannot(error.to_string());
        let core = Core::open(root, path).map_err(|error| cannot(&error))?;
        let name = path.display();
        let cut = match core.missing() >> 20 {
            0 => String::new(),
            mib => format!(", which was cut off by {mib} MiB,"),
        };
        let runtime = core.find_symbol(&[Python::RUNTIME], &Python::FILES).map(|(_, symbol)| symbol.address).ok_or_else(|| {
            Failure::cannot(format!(
                "{name}{cut} shows no CPython: its program and libraries must be where they were when it was written, unchanged (below {}, \
                 see --root); PyPy and a Python before 3.7 cannot be read",
                root.display()
            ))
        })?;
        let image = core.image().with_budget(room()?);
        let census = Python::at(&image, runtime).and_then(|python| Census::take(image, python, threads));
        let census = census.map_err(|error| Failure::cannot(format!("{name}: {error}")))?;
        let mut notes = vec!["a core file: what memory is for and tensors are told of a process only".to_owned()];
        if core.missing() > 0 {
            notes.push(format!(
                "{name} was cut off: {} MiB are missing, and with them the objects that were there",
                core.missing() >> 20
            ));
        }
        Ok(Self {
            pid: core.pid().unwrap_or(0),
            core: Some(name.to_string()),
            start_ticks: 0,
            census,
            memory: None,
            pause: Duration::ZERO,
            between: None,
            tensors: false,
            notes,
        })
    }

    /// Counts the data of tensors to their objects, where tensors could be read; once. Looks that are compared must both have
    /// it, or neither: `before` says whether the one before has.
    pub fn count_tensors(&mut self, before: Option<bool>) {
        let Some(memory) = &self.memory else { return };
        if before == Some(false) {
            self.notes.push("the data of tensors is not counted: it was not known at the look before".to_owned());
        } else if memory.torch.is_ok() && !self.tensors {
            memory.count_tensors(&mut self.census);
            self.tensors = true;
        }
    }

    /// Threads of all its interpreters.
    pub fn threads(&self) -> usize {
        self.census.python().interpreters.iter().map(|interpreter| interpreter.threads.len()).sum()
    }

    /// What `--save` keeps of it.
    pub fn saved(&self) -> Saved {
        Saved {
            schema: "lowtide.census/1".to_owned(),
            pid: self.pid,
            start_ticks: self.start_ticks,
            program: self.census.python().program(),
            tensors: self.tensors,
            summary: self.census.summary(),
        }
    }
}

/// Where the interpreter is. Most of what can be wrong is seen here, without a stop.
fn runtime(process: &Process) -> Result<u64, Failure> {
    let cannot = |error: &dyn std::error::Error| Failure::cannot(error.to_string());
    let image = process.image().map_err(|error| cannot(&error))?;
    let runtime = Python::runtime(process, &image).map_err(|error| cannot(&error))?;
    match Python::at(&image, runtime) {
        Err(error @ (Error::FreeThreaded { .. } | Error::Unknown { .. })) => Err(cannot(&error)),
        _ => Ok(runtime),
    }
}

/// As many threads as there are processors for them, up to the two for which it was tested. A look that is compared with another
/// takes one: where two ways to an object are of the same length, two threads may take either, and what a container holds would
/// differ without any growth.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |count| count.get().min(2))
}

/// Bytes that a look may keep of what it reads. With what is made of them they must fit twice into what the tightest limit on us
/// leaves, and so that they never cost the run its life, we are the first that the kernel should kill.
fn room() -> Result<u64, Failure> {
    lowtide_collect::be_killed_first();
    let left = lowtide_collect::room(Path::new("/"), std::process::id()).unwrap_or(u64::MAX);
    let room = left / 2 / MADE * 2;
    if room < FEWEST {
        return Err(Failure::cannot(format!(
            "the look was left out: the tightest memory limit leaves {} MiB, and it must fit in twice; look from outside of that limit, or \
             raise it",
            left >> 20
        )));
    }
    Ok(room)
}

fn expected(pid: u32) -> Duration {
    let mib = lowtide_collect::anonymous(Path::new("/"), pid).unwrap_or(0) >> 20;
    PER_MIB.saturating_mul(u32::try_from(mib).unwrap_or(u32::MAX)) + BESIDE
}

/// A pause, in a unit that fits.
pub fn seconds(time: Duration) -> String {
    match time.as_millis() {
        ms if ms < 1000 => format!("{ms} ms"),
        ms => format!("{:.1} s", ms as f64 / 1000.0),
    }
}
