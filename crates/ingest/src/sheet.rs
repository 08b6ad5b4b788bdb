//! What every reader fills: readings in the order of the file, of series that are told apart by a key.

use std::collections::HashMap;

use lowtide_model::{CgroupSample, ProcSample, Role, Signal, SystemSample};

use crate::Problem;

/// The most readings of one file: one takes up to 400 bytes on its way to the events, and two characters in a file can
/// make one.
pub(crate) const MOST_READINGS: usize = 10_000_000;

/// A file, read.
pub(crate) struct Sheet {
    /// What the file was told to be.
    pub what: String,
    /// What was guessed or left out, in sentences.
    pub said: Vec<String>,
    /// The command that the file names, split at blanks.
    pub command: Vec<String>,
    /// What the memory numbers are.
    pub signal: Signal,
    /// Times are of the day, and fall back to zero at midnight.
    pub of_the_day: bool,
    /// Seconds since 1970 of time zero; zero where times are since 1970 already or nothing is known.
    pub unix_s: Option<f64>,
    /// The file says who is whose child.
    pub has_parents: bool,
    /// Each series is one process, whatever its pid or how long it was not seen.
    pub series_are_lives: bool,
    /// Readings in the file's order.
    pub readings: Vec<Reading>,
    series: Vec<Series>,
    by_key: HashMap<String, u32>,
    identities: Vec<Identity>,
    by_identity: HashMap<Identity, u32>,
}

/// Something that is measured again and again.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// Its pid, zero where it has none.
    pub pid: u32,
    /// The cgroup's path, for a cgroup.
    pub path: String,
    /// The series of its parent, where the file knows it without a pid.
    pub parent: Option<u32>,
}

/// What a row says about its process besides numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    /// Its parent's pid, zero where unknown.
    pub ppid: u32,
    /// Its command line or name, as far as the file has it.
    pub command: String,
    /// Its short name, where the file has one beside the command.
    pub name: String,
    /// Its role, where the file says so.
    pub role: Option<Role>,
    /// Its rank, where the file says so.
    pub rank: Option<u32>,
}

/// One series at one moment.
pub(crate) struct Reading {
    /// Seconds, from any start.
    pub t_s: f64,
    /// Line of the file, for messages.
    pub line: u64,
    /// Index of the series.
    pub series: u32,
    /// What was measured.
    pub of: Of,
}

/// What was measured.
pub(crate) enum Of {
    /// A process, with the index of its identity. The sample's id is filled in later.
    Process(u32, ProcSample),
    /// The machine.
    Machine(SystemSample),
    /// A cgroup. The sample's id is filled in later.
    Cgroup(CgroupSample),
}

impl Sheet {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            said: Vec::new(),
            command: Vec::new(),
            signal: Signal::AnonShmem,
            of_the_day: false,
            unix_s: None,
            has_parents: false,
            series_are_lives: false,
            readings: Vec::new(),
            series: Vec::new(),
            by_key: HashMap::new(),
            identities: Vec::new(),
            by_identity: HashMap::new(),
        }
    }

    /// Whether there is still room for readings.
    pub(crate) fn bounded(&self) -> Result<(), Problem> {
        if self.readings.len() > MOST_READINGS { Err(Problem::TooManyReadings) } else { Ok(()) }
    }

    /// The series of this key, made at its first use.
    pub(crate) fn series(&mut self, key: &str, pid: u32, path: &str) -> u32 {
        if let Some(index) = self.by_key.get(key) {
            return *index;
        }
        let index = self.series.len() as u32;
        self.series.push(Series { pid, path: path.to_owned(), parent: None });
        self.by_key.insert(key.to_owned(), index);
        index
    }

    /// The series of this key as a child of another one.
    pub(crate) fn child_series(&mut self, key: &str, pid: u32, parent: u32) -> u32 {
        let index = self.series(key, pid, "");
        self.series[index as usize].parent = Some(parent);
        index
    }

    /// The index of this identity, made at its first use.
    pub(crate) fn identity(&mut self, identity: &Identity) -> u32 {
        if let Some(index) = self.by_identity.get(identity) {
            return *index;
        }
        let index = self.identities.len() as u32;
        self.identities.push(identity.clone());
        self.by_identity.insert(identity.clone(), index);
        index
    }

    pub(crate) fn all_series(&self) -> &[Series] {
        &self.series
    }

    pub(crate) fn all_identities(&self) -> &[Identity] {
        &self.identities
    }
}
