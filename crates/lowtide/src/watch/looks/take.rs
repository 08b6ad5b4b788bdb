//! One look: the process is held still, or its copy is, and what it has is counted.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lowtide_model::{BudgetAt, Grown, MOST_ON_DEVICES, MOST_UNTOUCHED, OnDevice, PartOfBudget, Role, UntouchedData};
use lowtide_pyheap::memory::Memory;
use lowtide_pyheap::torch::{Error as TorchError, find};
use lowtide_pyheap::{Budget, Census, Error, Part, Python, Untouched, budget};
use lowtide_remote::{Copied, Image, Process, hurried};

use super::grown::{Before, Now, grown};
use super::named::name;
use super::plan::SHARE;
use crate::culprit::Sources;
use crate::layouts;
use crate::malloc::give_back;
use crate::patience::{ATTEMPTS, Patience};
use crate::watch::clock::thread_cpu_s;

/// What a look takes beside what it reads from the process, in bytes, and how much more than that.
const OVERHEAD: u64 = 16 << 20;
const OVER: f64 = 1.5;
/// Less than this of an array is not told to be untouched, bytes.
const UNTOUCHED: u64 = 32 << 20;
/// A stop takes so many times as long as the same look in passing: it goes through the collector's lists, and the native heap, too.
const AS_LONG: f64 = 1.5;
/// No more than so many times its processor time is expected for that others use the machine, too: most of the run would go by, and
/// what takes longer after all is broken off in time.
const CROWDED: f64 = 2.0;

/// What is to be read.
pub enum Way {
    /// The process, held still no longer than this.
    Stop(Duration),
    /// A copy that it made of itself.
    Copy(Copied),
    /// The process while it goes on: no more is learned than how long its containers are.
    Passing,
}

/// A look to be taken.
pub struct Order {
    pub process: Process,
    pub way: Way,
    /// The memory that a look may take, bytes.
    pub room: u64,
    /// What it is compared with, and how many seconds ago that was.
    pub before: Option<(Arc<Before>, f64)>,
    /// What the process is in the run.
    pub role: Option<Role>,
    /// Nothing is told but what memory is for.
    pub only_budget: bool,
    /// Is set as long as the process is held.
    pub holding: Arc<AtomicBool>,
}

/// A look that was taken.
pub struct Taken {
    /// How long it was held still; zero for a copy.
    pub pause: Duration,
    pub objects: u64,
    /// What grew, where it was compared.
    pub grown: Option<Grown>,
    /// What a later one is compared with, where it was not, or with no more than lengths.
    pub before: Option<Arc<Before>>,
    /// What lies on devices, by what it is for.
    pub devices: Vec<OnDevice>,
    /// What memory is for.
    pub budget: Option<BudgetAt>,
    /// How long a stop is likely to take, where that was seen without one.
    pub expected: Option<Duration>,
    /// What could not be seen.
    pub blind: Option<String>,
    /// Processor seconds that it took.
    pub cpu_s: f64,
}

/// Why none was.
pub struct Failed {
    pub why: String,
    /// How long the process was held for it.
    pub pause: Duration,
    /// It is no use to try again.
    pub for_good: bool,
}

impl Failed {
    /// What came in the way of a look at a process, and what it cost.
    pub fn new(error: &Error, pid: u32, pause: Duration) -> Self {
        use lowtide_remote::Error as Remote;
        let passes = match error {
            Error::Collecting { .. } | Error::Torn { .. } | Error::Cut(_) => true,
            Error::Remote(error) => matches!(error, Remote::Stubborn { .. } | Remote::TimeOver { .. } | Remote::Io { .. }),
            _ => false,
        };
        let ended = matches!(
            error,
            Error::Remote(Remote::Gone { .. } | Remote::Reused { .. } | Remote::Zombie { .. } | Remote::NoMemory { .. })
        );
        let by_hand = format!("`lowtide heap {pid} --diff 30s` looks while it runs");
        let why = match error {
            _ if ended => "it ended before it could be looked into (again)".to_owned(),
            // A look of `run` has no option for its time: it has a share of the run's.
            Error::Cut(_) | Error::Remote(Remote::TimeOver { .. }) => format!(
                "{error}; looks hold a run up for no more than {:.0} % of the time that it is watched, so that a longer run allows \
                 longer ones, and {by_hand}, for as long as --max-pause allows",
                100.0 * SHARE
            ),
            Error::Collecting { .. } | Error::Remote(Remote::Stubborn { .. }) => format!("{error}; {by_hand}"),
            _ => error.to_string(),
        };
        Self { why, pause, for_good: !passes }
    }
}

/// Takes a look, on a thread of its own.
pub fn take(order: Order) -> Result<Taken, Failed> {
    let taken = look(order);
    give_back();
    taken
}

fn look(order: Order) -> Result<Taken, Failed> {
    let Order { process, way, room, before, role, only_budget, holding } = order;
    let budget = ((room.saturating_sub(OVERHEAD)) as f64 / OVER) as u64;
    let (pid, mut pause) = (process.pid(), Duration::ZERO);
    // It may end while it is looked into.
    let sources = Sources::of(&process);
    let (census, memory) = match way {
        Way::Stop(allowed) => {
            let hold = Hold(holding);
            stopped(&process, allowed, budget, &mut pause, &hold).map_err(|error| Failed::new(&error, pid, pause))?
        }
        Way::Copy(copy) => copied(&copy, budget).map_err(|error| Failed::new(&error, pid, Duration::ZERO))?,
        Way::Passing => return passing(&process, budget).map_err(|error| Failed::new(&error, pid, Duration::ZERO)),
    };
    // The one before tells what tensors have, and this one has to, to be compared with it: it needs more time.
    if memory.is_none() && before.as_ref().is_some_and(|(before, _)| before.is_of(&census) && !before.is_lengths()) {
        return Err(Failed { why: "there was no time for more than Python's objects".to_owned(), pause, for_good: false });
    }
    if only_budget {
        let hurried = || Failed { why: "there was no time for more than Python's objects".to_owned(), pause, for_good: false };
        let mut memory = memory.ok_or_else(hurried)?;
        let (parts, objects) = (parts(&mut memory, &census), census.objects().len() as u64);
        let (budget, devices) = (Some(moment(&parts, Vec::new())), on_devices(&parts));
        let (blind, cpu_s) = (None, thread_cpu_s());
        return Ok(Taken { pause, objects, grown: None, before: None, devices, budget, expected: None, blind, cpu_s });
    }
    let told = told(&sources, census, memory, before, role, pause);
    Ok(Taken { cpu_s: thread_cpu_s(), ..told })
}

/// Says that a process is held, as long as it is.
struct Hold(Arc<AtomicBool>);

impl Hold {
    fn set(&self, is_held: bool) {
        self.0.store(is_held, Ordering::SeqCst);
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.set(false);
    }
}

type Seen = (Census, Option<Memory>);

fn stopped(process: &Process, allowed: Duration, budget: u64, pause: &mut Duration, hold: &Hold) -> Result<Seen, Error> {
    // Most of what can be wrong is seen without a stop, and so is what does not change.
    let image = process.image()?;
    let runtime = Python::runtime(process, &image)?;
    if let Err(error @ (Error::FreeThreaded { .. } | Error::Unknown { .. })) = Python::at(&image, runtime) {
        return Err(error);
    }
    let known = known(process, &image);
    drop(image);
    let mut patience = Patience::new();
    for _ in 0..ATTEMPTS {
        hold.set(true);
        let stop = process.stop(allowed.saturating_sub(*pause))?;
        let seen = std::thread::scope(|scope| {
            let image = stop.image()?.with_budget(budget);
            let python = Python::at(&image, runtime)?;
            // Nobody is held for what memory is for where objects cannot be counted at this moment.
            if python.is_collecting(&image) {
                return Err(Error::Collecting { attempts: 1 });
            }
            // Its own processor has nothing to do meanwhile: what its memory is for is told beside its objects.
            let memory = scope.spawn(|| stop.image().and_then(|image| Memory::look(process, &image, &known)));
            let census = Census::take(image, python, 1);
            // What was walked after the time was over is wrong rather than incomplete.
            let census = stop.check().map_err(Error::from).and(census);
            let memory = memory.join().map_err(|_| Error::Cut("it broke off inside lowtide".to_owned()))?;
            // Objects that were counted in time are worth something without it.
            Ok((census?, stop.check().ok().and(memory.ok())))
        });
        *pause += stop.release();
        hold.set(false);
        match seen {
            Err(Error::Collecting { .. }) if *pause < allowed => patience.wait(),
            seen => return seen,
        }
    }
    Err(Error::Collecting { attempts: ATTEMPTS })
}

/// The process goes on meanwhile, and nothing is kept but what is true of each container by itself.
fn passing(process: &Process, budget: u64) -> Result<Taken, Error> {
    let image = process.image()?.with_budget(budget);
    let runtime = Python::runtime(process, &image)?;
    let (since, cpu_s) = (Instant::now(), thread_cpu_s());
    let census = Python::at(&image, runtime).and_then(|python| Census::in_passing(image, python))?;
    let most = Duration::try_from_secs_f64(hurried(CROWDED) * (thread_cpu_s() - cpu_s)).unwrap_or_default();
    let expected = Some(since.elapsed().min(most).mul_f64(AS_LONG));
    let (objects, before) = (census.objects().len() as u64, Some(Arc::new(Before::lengths_of(&census))));
    let (pause, devices, cpu_s) = (Duration::ZERO, Vec::new(), thread_cpu_s());
    Ok(Taken { pause, objects, grown: None, before, devices, budget: None, expected, blind: None, cpu_s })
}

fn copied(copy: &Copied, budget: u64) -> Result<Seen, Error> {
    let process = copy.process();
    let image = copy.image()?.with_budget(budget);
    let python = Python::find(process, &image)?;
    let known = known(process, &image);
    let census = Census::take(image, python, 1)?;
    let memory = Memory::look(process, census.image(), &known).ok();
    Ok((census, memory))
}

/// Layouts of torch to try: those that are shipped, and what was learned of its build before. Learning it now would take a
/// process of its own beside the run.
fn known(process: &Process, image: &Image) -> Vec<lowtide_pyheap::torch::Layout> {
    let mut known = find::shipped();
    known.extend(layouts::known(process, image));
    known
}

/// What memory is for.
fn parts(memory: &mut Memory, census: &Census) -> Budget {
    memory.find_fakes(census);
    budget::budget(memory, Some(census))
}

/// The same as a recording has it, with what of arrays and tensors is not in use.
fn moment(budget: &Budget, untouched: Vec<UntouchedData>) -> BudgetAt {
    let parts = budget.ram.iter().map(|(part, bytes)| PartOfBudget { name: part.name().to_owned(), bytes: *bytes });
    BudgetAt { phase: String::new(), total: budget.total, most: 0, parts: parts.collect(), untouched }
}

/// The largest of what is untouched, for people.
fn told_untouched(untouched: &[Untouched], census: &Census) -> Vec<UntouchedData> {
    let large = untouched.iter().filter(|data| data.bytes - data.resident >= UNTOUCHED);
    let told = |data: &Untouched| UntouchedData {
        name: name(&census.path(data.id)),
        kind: census.kind(data.id).map_or_else(String::new, |kind| kind.name.clone()),
        bytes: data.bytes,
        resident: data.resident,
    };
    large.take(MOST_UNTOUCHED).map(told).collect()
}

/// What a look tells.
fn told(
    sources: &Sources,
    mut census: Census,
    mut memory: Option<Memory>,
    before: Option<(Arc<Before>, f64)>,
    role: Option<Role>,
    pause: Duration,
) -> Taken {
    let parts = memory.as_mut().map(|memory| parts(memory, &census));
    let untouched = memory.as_ref().map(|memory| memory.untouched(&census)).unwrap_or_default();
    // What became another program begins anew.
    let before = before.filter(|(before, _)| before.is_of(&census));
    let mut elsewhere = memory.as_ref().map(|memory| memory.count_tensors(&mut census)).unwrap_or_default();
    // What was never written takes no more memory than what lies on a device.
    untouched.iter().for_each(|data| *elsewhere.entry(data.id).or_default() += data.bytes - data.resident);
    let unknown = memory.as_ref().is_some_and(|memory| matches!(memory.torch, Err(TorchError::Layout { .. })));
    let unknown = unknown.then_some(
        "storages of tensors: this build of torch is not known here; `lowtide heap PID` learns it once, and looks see them then",
    );
    let hurried = (memory.is_none() && before.is_some()).then_some(
        "tensors and the native heap: a look had no time for more than Python's objects, so that what grows is told by these alone",
    );
    let devices = parts.as_ref().map(on_devices).unwrap_or_default();
    let blind = unknown.or(hurried).map(str::to_owned);
    let grown = before.as_ref().map(|(before, seconds)| {
        let (memory, budget) = (memory.as_ref(), parts.as_ref());
        let now = Now { sources, census: &census, memory, elsewhere: &elsewhere, budget, role };
        grown(now, before, *seconds)
    });
    // With and without what tensors have cannot be compared.
    let before = match (&memory, &before) {
        (Some(_), Some((before, _))) if !before.is_lengths() => None,
        (Some(_), _) => Some(Arc::new(Before::of(&census, parts.as_ref()))),
        (None, None) => Some(Arc::new(Before::lengths_of(&census))),
        (None, Some(_)) => None,
    };
    let budget = parts.as_ref().map(|parts| moment(parts, told_untouched(&untouched, &census)));
    Taken { pause, objects: census.objects().len() as u64, grown, before, devices, budget, expected: None, blind, cpu_s: 0.0 }
}

fn on_devices(budget: &Budget) -> Vec<OnDevice> {
    let of = |(device, part, bytes): (&String, &Part, &u64)| OnDevice {
        device: device.clone(),
        name: part.name().to_owned(),
        bytes: *bytes,
    };
    let all = budget.devices.iter().flat_map(|(device, parts)| parts.iter().map(move |(part, bytes)| (device, part, bytes)));
    all.map(of).take(MOST_ON_DEVICES).collect()
}

/// Bytes that the tightest limit leaves for a look into a process: its limits, and ours. `None` where no limit can be read.
pub fn room(pid: u32) -> Option<u64> {
    let root = Path::new("/");
    let (ours, its) = (lowtide_collect::room(root, std::process::id()), lowtide_collect::room(root, pid));
    ours.into_iter().chain(its).min()
}

#[cfg(test)]
mod words {
    use super::*;

    /// `run` has options of its own: what is told there names none that it lacks.
    #[test]
    fn what_came_in_the_way_says_what_to_do() {
        let budget = Duration::from_millis(753);
        let over = || lowtide_remote::Error::TimeOver { pid: 7, budget };
        let state = "in a driver".to_owned();
        for error in [
            Error::Cut(over().to_string()),
            over().into(),
            Error::Collecting { attempts: 20 },
            lowtide_remote::Error::Stubborn { pid: 7, thread: 8, state, waited: budget }.into(),
        ] {
            let failed = Failed::new(&error, 7, budget);
            assert!(!failed.for_good && failed.why.contains("`lowtide heap 7 --diff 30s`"), "{}", failed.why);
            let by_time = failed.why.contains("753 ms and the process goes on");
            assert_eq!(failed.why.contains("2 % of the time that it is watched"), by_time, "{}", failed.why);
        }
    }
}

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    use super::*;

    /// Resident memory of this process, MiB.
    fn resident_mib() -> u64 {
        let statm = std::fs::read_to_string("/proc/self/statm").expect("statm");
        let pages: u64 = statm.split_ascii_whitespace().nth(1).and_then(|pages| pages.parse().ok()).expect("pages");
        (pages * 4096) >> 20
    }

    #[test]
    fn what_a_look_needed_is_given_back() {
        // One in a thousand stays, so that the C library gives nothing back by itself.
        let made = || std::thread::scope(|scope| scope.spawn(|| (0..200_000).map(|i| vec![i as u8; 256]).collect()).join());
        let things: Vec<Vec<u8>> = made().expect("things");
        let kept: Vec<Vec<u8>> = things.into_iter().step_by(1000).collect();
        let before = resident_mib();
        give_back();
        let after = resident_mib();
        assert!(after + 30 < before, "{after} MiB of {before} MiB");
        assert_eq!(kept.len(), 200);
    }
}
