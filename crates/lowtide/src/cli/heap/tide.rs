//! `--diff`: when the two looks are taken. `--diff marks` takes both at the same place of the program's own cycle, as soon as it has
//! marked the beginning of a round, an epoch or a phase: what is there only within one is gone then.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use lowtide_marks::{Listener, RawMark};
use lowtide_model::{MarkKind, Scope};
use lowtide_remote::Process;

use super::look;
use crate::duration;
use crate::exit::Failure;
use crate::terminal;

/// Time between two questions for new marks: a look begins so much after its mark at most.
const POLL: Duration = Duration::from_millis(2);
/// Where nothing is known to begin again and again, steps are the cycle after so long.
const BY_STEPS: Duration = Duration::from_secs(30);
/// Nothing at all is waited for no longer.
const SILENT: Duration = Duration::from_secs(120);
/// Looks that are closer to each other show little: the second comes at the first tide after this.
const APART: Duration = Duration::from_secs(15);

/// How far apart two looks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apart {
    /// So long.
    Time(Duration),
    /// As the process itself marks where it is.
    Marks,
}

impl Apart {
    /// Waits until the first look is due; what says when the second is.
    pub fn first(self, process: &Process) -> Result<Second<'_>, Failure> {
        match self {
            Self::Time(time) => Ok(Second::After(time)),
            Self::Marks => {
                let mut tides = Tides::of(process)?;
                tides.first()?;
                Ok(Second::AtTide(tides))
            }
        }
    }
}

/// When the second look is due.
pub enum Second<'a> {
    /// After so long.
    After(Duration),
    /// When the same begins again.
    AtTide(Tides<'a>),
}

impl Second<'_> {
    /// Waits until then; what lies between the two.
    pub fn wait(self) -> Result<Between, Failure> {
        match self {
            Self::After(time) => {
                terminal::say(&format!("looking again in {}", look::seconds(time)));
                std::thread::sleep(time);
                Ok(Between { time, marked: None })
            }
            Self::AtTide(mut tides) => tides.second(),
        }
    }
}

/// Reads `60s`, or `marks`.
pub fn apart(text: &str) -> Result<Apart, String> {
    match text.trim() {
        "marks" => Ok(Apart::Marks),
        text => duration::parse_duration(text).map(Apart::Time).map_err(|error| format!("{error}, or `marks`")),
    }
}

/// What lies between two looks.
#[derive(Clone, Debug, PartialEq)]
pub struct Between {
    /// From the end of the first to the beginning of the second.
    pub time: Duration,
    /// What the program marked; `None` where nobody asked for it.
    pub marked: Option<Marked>,
}

/// What a program marked between two looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marked {
    /// What began at both: `round`, `epoch`, a phase's name. Empty where steps alone were to be had.
    pub unit: String,
    /// How often it began since the first look, with the second's.
    pub times: u64,
    /// Optimizer steps.
    pub steps: u64,
}

impl std::fmt::Display for Between {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let many =
            |count: u64, unit: &str| format!("{} {unit}{}", super::text::grouped(count), if count == 1 { "" } else { "s" });
        if let Some(Marked { unit, times, steps }) = &self.marked {
            match unit.as_str() {
                "" => {}
                "epoch" | "round" => write!(f, "{}, ", many(*times, unit))?,
                phase => write!(f, "{phase} {}, ", many(*times, "time"))?,
            }
            write!(f, "{}, ", many(*steps, "step"))?;
        }
        f.write_str(&look::seconds(self.time))
    }
}

/// What begins again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Cycle {
    Begins(Scope, String),
    Steps,
}

impl Cycle {
    /// Whether a mark is its next tide.
    fn is_tide(&self, mark: &RawMark) -> bool {
        match (&mark.what, self) {
            (MarkKind::Begin(begun), Self::Begins(scope, name)) => {
                begun.scope == *scope && (*scope != Scope::Phase || begun.name == *name)
            }
            (MarkKind::Step, Self::Steps) => true,
            _ => false,
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Begins(Scope::Round, _) => "round".to_owned(),
            Self::Begins(Scope::Epoch, _) => "epoch".to_owned(),
            Self::Begins(_, name) => name.clone(),
            Self::Steps => String::new(),
        }
    }
}

/// The longest of what was seen to begin: rounds of epochs, epochs of phases.
fn cycle(marks: &[RawMark]) -> Option<Cycle> {
    let begun = marks.iter().rev().filter_map(|mark| match &mark.what {
        // Neither is a place that a program comes to again and again, or not the whole of it.
        MarkKind::Begin(begun) if begun.scope != Scope::Node && !["setup", "idle"].contains(&begun.name.as_str()) => Some(begun),
        _ => None,
    });
    let longest = begun.min_by_key(|begun| begun.scope as usize)?;
    Some(Cycle::Begins(longest.scope, longest.name.clone()))
}

/// Listens to a process for its low tides.
pub struct Tides<'a> {
    process: &'a Process,
    listener: Listener,
    cycle: Option<Cycle>,
    steps: u64,
    /// Tides that came since the first look, and the steps by then.
    times: u64,
    first_steps: u64,
}

impl<'a> Tides<'a> {
    /// Finds the process's marks.
    fn of(process: &'a Process) -> Result<Self, Failure> {
        let pid = process.pid();
        let none = || {
            Failure::cannot(format!(
                "pid {pid} marks no steps and epochs: it does under `lowtide run` where it trains with torch; else give a time, `--diff 60s`"
            ))
        };
        let maps = process.maps().map_err(|error| Failure::cannot(error.to_string()))?;
        let inner = lowtide_collect::inner_pid(Path::new("/"), pid).unwrap_or(pid);
        let root = process.its_root();
        let rings = maps.iter().filter_map(|map| map.path.as_deref()).filter(|path| path.ends_with(b".marks"));
        let mut opened = rings.filter_map(|path| {
            let inside = Path::new(OsStr::from_bytes(path)).strip_prefix("/").ok()?;
            Listener::open(&root.path().join(inside)).ok()?
        });
        // A forked child may still have its parent's.
        let listener = opened.rfind(|listener| listener.pid() == inner).ok_or_else(none)?;
        let mut tides = Self { process, listener, cycle: None, steps: 0, times: 0, first_steps: 0 };
        let before = tides.heard()?;
        tides.cycle = cycle(&before);
        Ok(tides)
    }

    /// Waits until the first look is due.
    fn first(&mut self) -> Result<(), Failure> {
        match &self.cycle {
            Some(cycle) => {
                terminal::say(&format!("waiting for the next {} of pid {}", cycle.words(), self.process.pid()));
                self.wait(Duration::ZERO)?;
            }
            None => self.wait_for_any()?,
        }
        self.first_steps = self.steps;
        self.times = 0;
        Ok(())
    }

    /// Waits until the second is due; what lies between the two.
    fn second(&mut self) -> Result<Between, Failure> {
        let start = Instant::now();
        let words = self.cycle.as_ref().map_or_else(String::new, Cycle::words);
        let at = match words.as_str() {
            "" => "after a step".to_owned(),
            "epoch" => "when an epoch begins again".to_owned(),
            "round" => "when a round begins again".to_owned(),
            phase => format!("when {phase} begins again"),
        };
        terminal::say(&format!("looking again {at}, in {} or later", look::seconds(APART)));
        self.wait(APART)?;
        let marked = Marked { unit: words, times: self.times, steps: self.steps.saturating_sub(self.first_steps) };
        Ok(Between { time: start.elapsed(), marked: Some(marked) })
    }

    /// Waits for the first tide that comes after `least`.
    fn wait(&mut self, least: Duration) -> Result<(), Failure> {
        let start = Instant::now();
        loop {
            let marks = self.heard()?;
            let tides = marks.iter().filter(|mark| self.cycle.as_ref().is_some_and(|cycle| cycle.is_tide(mark))).count();
            self.times += tides as u64;
            if tides > 0 && start.elapsed() >= least {
                return Ok(());
            }
            self.pause()?;
        }
    }

    /// The same where nothing is known yet: for whatever begins first, or for a step.
    fn wait_for_any(&mut self) -> Result<(), Failure> {
        let pid = self.process.pid();
        terminal::say(&format!("waiting for pid {pid} to mark an epoch or a phase, or else a step"));
        let start = Instant::now();
        loop {
            let marks = self.heard()?;
            self.cycle = cycle(&marks);
            if self.cycle.is_some() {
                return Ok(());
            }
            if start.elapsed() >= BY_STEPS && marks.iter().any(|mark| mark.what == MarkKind::Step) {
                self.cycle = Some(Cycle::Steps);
                return Ok(());
            }
            if start.elapsed() >= SILENT {
                return Err(Failure::cannot(format!(
                    "pid {pid} has taken no step and begun no epoch for {}; give a time, `--diff 60s`",
                    look::seconds(SILENT)
                )));
            }
            self.pause()?;
        }
    }

    /// What is new.
    fn heard(&mut self) -> Result<Vec<RawMark>, Failure> {
        let marks = self.listener.poll();
        for mark in &marks {
            self.steps = self.steps.max(mark.steps);
            if let MarkKind::Off(why) = &mark.what {
                let pid = self.process.pid();
                return Err(Failure::cannot(format!("pid {pid} marks nothing any longer ({why}); give a time, `--diff 60s`")));
            }
        }
        Ok(marks)
    }

    /// A moment, after which the process must still be there.
    fn pause(&self) -> Result<(), Failure> {
        std::thread::sleep(POLL);
        self.process.check().map_err(|error| Failure::cannot(format!("{error}, while its next low tide was waited for")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowtide_model::ScopeMark;

    fn begin(scope: Scope, name: &str) -> RawMark {
        let what = MarkKind::Begin(ScopeMark { scope, index: None, name: name.to_owned() });
        RawMark { pid: 7, t_ns: 0, what, steps: 0, facts: None }
    }

    #[test]
    fn times_and_marks_are_told_apart() {
        assert_eq!(apart("60s"), Ok(Apart::Time(Duration::from_secs(60))));
        assert_eq!(apart(" marks"), Ok(Apart::Marks));
        assert!(apart("mark").is_err_and(|error| error.ends_with("or `marks`")));
    }

    #[test]
    fn the_longest_cycle_is_taken_and_what_begins_but_once_is_none() {
        let marks = [begin(Scope::Phase, "setup"), begin(Scope::Node, "3"), begin(Scope::Phase, "train")];
        let train = cycle(&marks).expect("a phase");
        assert_eq!(train.words(), "train");
        assert!(train.is_tide(&begin(Scope::Phase, "train")) && !train.is_tide(&begin(Scope::Phase, "validation")));
        let epoch = cycle(&[begin(Scope::Epoch, ""), begin(Scope::Phase, "train")]).expect("an epoch");
        assert_eq!(epoch.words(), "epoch");
        assert!(!epoch.is_tide(&begin(Scope::Phase, "train")) && epoch.is_tide(&begin(Scope::Epoch, "")));
        assert_eq!(cycle(&[begin(Scope::Phase, "setup"), begin(Scope::Node, "3")]), None);
    }

    #[test]
    fn what_lies_between_is_told_in_the_programs_own_units() {
        let between = |unit: &str, times, steps| {
            let marked = Marked { unit: unit.to_owned(), times, steps };
            Between { time: Duration::from_millis(16_200), marked: Some(marked) }.to_string()
        };
        assert_eq!(
            between("epoch", 3, 1200),
            "3 epochs, 1 200 steps, 16.2 s".replace("1 200", &super::super::text::grouped(1200))
        );
        assert_eq!(between("epoch", 1, 1), "1 epoch, 1 step, 16.2 s");
        assert_eq!(between("train", 2, 4), "train 2 times, 4 steps, 16.2 s");
        assert_eq!(between("", 0, 4), "4 steps, 16.2 s");
        assert_eq!(Between { time: Duration::from_secs(60), marked: None }.to_string(), "60.0 s");
    }
}
