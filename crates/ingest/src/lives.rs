//! Who lived when: rows of a series that are one process, and whose child it is.

use std::collections::HashMap;

use lowtide_model::ProcSample;

use crate::order::{Moment, Rhythm};
use crate::sheet::{Identity, Of, Reading, Sheet};

/// A process that is missing for longer than this many of its intervals is gone; a recorder that lost a race
/// misses one or two.
const MISSED: f64 = 3.5;

/// One process from its first reading to its last. Its place in the list is its [`lowtide_model::ProcId`].
#[derive(Clone, Debug)]
pub(crate) struct Life {
    pub series: u32,
    pub pid: u32,
    pub parent: Option<usize>,
    /// Index of its first identity.
    pub identity: u32,
    /// Index of its last identity: commands are filled in late where a recorder was early.
    pub last_identity: u32,
    /// Moments of its first and last reading.
    pub born: usize,
    pub last: usize,
    pub born_s: f64,
    pub last_s: f64,
    /// Anonymous and shared memory when first seen, and its parent's at that moment.
    pub first_bytes: u64,
    pub parent_bytes: u64,
    /// The part of its anonymous memory that it would have by PSS when first seen.
    pub first_share: Option<f64>,
    /// The most it had.
    pub peak: u64,
    latest: u64,
}

impl Lives {
    /// All lives in the order in which they end.
    pub(crate) fn by_end(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.lives.len() as u32).collect();
        order.sort_by_key(|life| self.lives[*life as usize].last);
        order
    }
}

/// All lives, in order of first sight, and the life of each reading ([`NOBODY`] for what is no process).
pub(crate) struct Lives {
    pub lives: Vec<Life>,
    pub of_reading: Vec<u32>,
}

/// The life of a reading that is of no process.
pub(crate) const NOBODY: u32 = u32::MAX;

/// Tell lives apart.
pub(crate) fn tell(sheet: &Sheet, moments: &[Moment], rhythm: &Rhythm) -> Lives {
    let mut current: Vec<Option<usize>> = vec![None; sheet.all_series().len()];
    let mut by_pid: HashMap<u32, usize> = HashMap::new();
    let mut told = Lives { lives: Vec::new(), of_reading: vec![NOBODY; sheet.readings.len()] };
    for (at, moment) in moments.iter().enumerate() {
        let first_new = told.lives.len();
        for index in moment.from..moment.to {
            let reading = &sheet.readings[index];
            let Of::Process(identity, sample) = &reading.of else { continue };
            let series = reading.series as usize;
            let going_on = current[series].filter(|life| goes_on(&told.lives[*life], reading, *identity, at, sheet, rhythm));
            let life = going_on.unwrap_or(told.lives.len());
            if going_on.is_none() {
                told.lives.push(born(sheet, reading, *identity, sample, at));
                current[series] = Some(life);
                if told.lives[life].pid != 0 {
                    by_pid.insert(told.lives[life].pid, life);
                }
            }
            told.of_reading[index] = life as u32;
            let life = &mut told.lives[life];
            (life.last, life.last_s, life.last_identity) = (at, reading.t_s, *identity);
            life.latest = sample.anon + sample.shmem;
            life.peak = life.peak.max(life.latest);
        }
        for child in first_new..told.lives.len() {
            let ppid = sheet.all_identities()[told.lives[child].identity as usize].ppid;
            let of_series =
                sheet.all_series()[told.lives[child].series as usize].parent.and_then(|series| current[series as usize]);
            let parent = of_series
                .or_else(|| by_pid.get(&ppid).copied())
                .filter(|parent| *parent != child && told.lives[*parent].last + 1 >= at);
            told.lives[child].parent = parent;
            told.lives[child].parent_bytes = parent.map_or(0, |parent| told.lives[parent].latest);
        }
    }
    told
}

fn born(sheet: &Sheet, reading: &Reading, identity: u32, sample: &ProcSample, at: usize) -> Life {
    let bytes = sample.anon + sample.shmem;
    Life {
        series: reading.series,
        pid: sheet.all_series()[reading.series as usize].pid,
        parent: None,
        identity,
        last_identity: identity,
        born: at,
        last: at,
        born_s: reading.t_s,
        last_s: reading.t_s,
        first_bytes: bytes,
        parent_bytes: 0,
        first_share: sample
            .rollup
            .filter(|rollup| rollup.pss_anon > 0 && sample.anon > 0)
            .map(|rollup| rollup.pss_anon as f64 / sample.anon as f64),
        peak: bytes,
        latest: bytes,
    }
}

/// Whether a reading is of the process that its series was so far.
fn goes_on(life: &Life, reading: &Reading, identity: u32, at: usize, sheet: &Sheet, rhythm: &Rhythm) -> bool {
    if sheet.series_are_lives {
        return true;
    }
    let own_s = rhythm.of_series[reading.series as usize];
    // Where nobody was looked at in between, the recorder was held up, and nobody is gone for that.
    let looked_between = life.last + 1 < at;
    if looked_between && reading.t_s - life.last_s > MISSED * own_s.max(rhythm.interval_s) {
        return false;
    }
    if identity == life.last_identity {
        return true;
    }
    let [old, new] = [life.last_identity, identity].map(|index| &sheet.all_identities()[index as usize]);
    let other_parent = old.ppid != new.ppid;
    let other_command = names(old) != names(new) && !names(old).0.is_empty();
    let missed_one = looked_between && own_s < 1.5 * rhythm.interval_s;
    // An exec changes the command, a dead parent the ppid; both at once, or either after an absence, is a pid used anew.
    !(other_parent && other_command || missed_one && (other_parent || other_command))
}

fn names(identity: &Identity) -> (&str, &str) {
    (&identity.command, &identity.name)
}
