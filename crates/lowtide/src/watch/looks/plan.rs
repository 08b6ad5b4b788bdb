//! When a process of the run is looked into, and for how long it may be held still for it.
//!
//! The first look comes as soon as it may grow, at a low tide: what is there only for a while is gone then. Nobody is accused by
//! it, but what grows is told by the next one alone, and a run may end soon after its growth is certain. The second comes some
//! seconds and epochs later; a third, twice as far from the first, tells what only comes and goes from what stays. Where all that
//! is not enough there is a fourth, and no more. A first look that turns out to lie in what was warm-up is taken anew.
//!
//! Where no stop of the length that it needs is allowed yet, lengths of containers are learned without one, and the first look is compared
//! with these.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use lowtide_analyse::Suspicion;
use lowtide_analyse::second_look::{self, EPOCHS, PART};
use lowtide_model::{Kind, ProcId, Report};

use super::peaks::Target;

/// All looks together hold the run up for no larger share of the time watched than this.
pub const SHARE: f64 = 0.02;
/// No look holds a process still for longer.
pub const LONGEST: Duration = Duration::from_secs(5);
/// Nor is one begun that has less time than this: starting and ending a stop alone takes some milliseconds.
const LEAST: Duration = Duration::from_millis(30);
/// The most looks of a run, and the most that fail.
const MOST: u32 = 4;
const MOST_FAILURES: u32 = 3;
/// The same of all processes together.
const MOST_TRIES: u32 = 12;
/// Looks after which no other is taken, where the first and the last one tell who holds what grows.
const ENOUGH: u32 = 3;
/// Times that the first look is taken anew.
const MOST_ANEW: u32 = 3;
/// Time from the first look to the second: until enough is expected to have grown, but no less and no more seconds than these,
/// where growth is claimed and where it is only possible; epochs, and a share of the time watched before.
const APART_S: [f64; 2] = [4.0, 8.0];
const UNCLAIMED_S: [f64; 2] = [6.0, second_look::APART_S];
/// Time from a failure to the next try, seconds.
const AGAIN_S: f64 = 5.0;
/// Epochs longer than this are not waited for, seconds.
const LONG_EPOCH_S: f64 = 600.0;
/// Processes whose memory of late is kept.
const MOST_FOLLOWED: usize = 256;
/// A low tide is waited for this long, seconds; it is the lowest part of what the process had in a time of the same length.
const TIDE_S: f64 = 12.0;
const LOW: f64 = 0.34;
/// What differs by less, bytes, is no tide: of somebody who is suspected for files or threads all that there is may be a drift.
const LEVEL: f64 = 2.0 * 1024.0 * 1024.0;

/// A look that is due.
#[derive(Clone, Debug, PartialEq)]
pub struct Due {
    /// At whom: its index in the run.
    pub id: ProcId,
    /// Its pid.
    pub pid: u32,
    /// It is a first one, whatever there was before.
    pub anew: bool,
    /// It is only to tell what memory is for, at this moment.
    pub target: Option<Target>,
}

/// The plan of a run.
#[derive(Debug, Default)]
pub struct Plan {
    suspicion: Option<Suspicion>,
    /// The report names who holds the growth, or says that nobody does.
    told: bool,
    /// What was seen of each process so far.
    seen: HashMap<ProcId, Seen>,
    /// Looks and failures of all processes.
    tries: u32,
    held_s: f64,
    /// What the next look is expected to take, by the one before.
    expected: Option<Duration>,
    /// What the last one was expected to take that was not begun for that reason.
    put_off: Option<Duration>,
    /// Since when a low tide is waited for.
    waiting_s: Option<f64>,
    /// Who ended while its growth was claimed, and nobody had looked into it.
    ended: Option<Suspicion>,
    /// What each process had of late: seconds, bytes.
    tides: HashMap<ProcId, VecDeque<(f64, f64)>>,
}

/// Looks at one process.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    looks: u32,
    anew: u32,
    failures: u32,
    first_s: f64,
    last_s: f64,
    /// When it was learned how long its containers are, and no more than that, before the first look.
    glanced_s: Option<f64>,
}

impl Seen {
    fn next_s(&self, suspicion: &Suspicion) -> f64 {
        let epochs_s = suspicion.epoch_s.filter(|epoch| *epoch <= LONG_EPOCH_S).map_or(0.0, |epoch| EPOCHS * epoch);
        let [least_s, most_s] = if suspicion.claimed { APART_S } else { UNCLAIMED_S };
        let apart_s = suspicion.enough_s.clamp(least_s, most_s);
        let after = |first_s: f64| first_s + apart_s.max(epochs_s).max(PART * first_s);
        match self.looks {
            0 => {
                let again_s = if self.failures == 0 { 0.0 } else { self.last_s + AGAIN_S };
                self.glanced_s.map_or(again_s, |glanced_s| again_s.max(after(glanced_s)))
            }
            1 => self.last_s + apart_s.max(epochs_s).max(PART * self.first_s),
            _ => self.first_s + 2.0 * (self.last_s - self.first_s),
        }
    }

    /// When that was taken which the next one is compared with.
    fn compared_s(&self) -> Option<f64> {
        if self.looks > 0 { Some(self.first_s) } else { self.glanced_s }
    }

    /// Whether the first look lies in what is known to be warm-up by now, for most of the time since then.
    fn is_stale(&self, now_s: f64, suspicion: &Suspicion) -> bool {
        let Some(first_s) = self.compared_s().filter(|_| self.anew < MOST_ANEW) else { return false };
        now_s - self.last_s.max(first_s) >= APART_S[1] && suspicion.since_s - first_s > 0.5 * (now_s - first_s)
    }
}

impl Plan {
    /// Takes note of a live report, and of whom it would have looked into.
    pub fn review(&mut self, report: &Report, suspicion: Option<Suspicion>) {
        let about = |pid: u32| report.findings.iter().find(|one| one.process.as_ref().is_some_and(|process| process.pid == pid));
        let finding = suspicion.as_ref().and_then(|suspicion| about(suspicion.pid));
        self.told = finding.is_some_and(|finding| finding.holder.is_some() || finding.kind == Some(Kind::NativeHeap));
        let of = |suspicion: &Option<Suspicion>| suspicion.as_ref().map(|suspicion| suspicion.id);
        if of(&suspicion) != of(&self.suspicion) {
            self.waiting_s = None;
        }
        self.suspicion = suspicion;
        let grows =
            |pid: u32| report.findings.iter().any(|one| one.grows() && one.process.as_ref().is_some_and(|of| of.pid == pid));
        self.ended.take_if(|ended| !grows(ended.pid));
    }

    /// Takes note of what each process has now, bytes: whoever is suspected next need not be followed for a while first.
    pub fn measured(&mut self, now_s: f64, sizes: &HashMap<ProcId, u64>) {
        self.tides.retain(|id, _| sizes.contains_key(id));
        for (id, bytes) in sizes {
            if self.tides.len() < MOST_FOLLOWED || self.tides.contains_key(id) {
                let tides = self.tides.entry(*id).or_default();
                tides.retain(|(t_s, _)| now_s - t_s <= TIDE_S);
                tides.push_back((now_s, *bytes as f64));
            }
        }
    }

    /// Whom to look at now, if it is time.
    pub fn due(&mut self, now_s: f64) -> Option<Due> {
        let suspicion = self.suspicion.clone()?;
        let seen = self.seen.get(&suspicion.id).copied().unwrap_or_default();
        // Somebody else may be suspected later, but nobody again and again.
        if self.tries >= MOST_TRIES || seen.failures >= MOST_FAILURES {
            return None;
        }
        let anew = seen.is_stale(now_s, &suspicion);
        if !anew {
            let compared = seen.looks + u32::from(seen.glanced_s.is_some());
            let enough = seen.looks >= MOST || (compared >= ENOUGH && self.told);
            // What may be harmless is not looked into any further.
            let doubtful = seen.looks >= 2 && !suspicion.claimed;
            if enough || doubtful || now_s < seen.next_s(&suspicion) {
                return None;
            }
        }
        let is_free = anew || self.may_glance(suspicion.id);
        if !(is_free || self.affords(now_s, LEAST)) || !self.is_low(now_s, &suspicion) {
            return None;
        }
        Some(Due { id: suspicion.id, pid: suspicion.pid, anew, target: None })
    }

    /// Whether it is told by looks who holds growth that is claimed.
    pub fn is_named(&self) -> bool {
        let suspicion = self.suspicion.as_ref().filter(|suspicion| suspicion.claimed && self.told);
        suspicion.is_some_and(|suspicion| self.seen.get(&suspicion.id).is_some_and(|seen| seen.looks >= 2))
    }

    /// A process was held up for another reason than its growth.
    pub fn held(&mut self, held: Duration) {
        self.held_s += held.as_secs_f64();
    }

    /// Whether a look may hold a process now that takes so long, and as long as the one before.
    pub fn affords(&self, now_s: f64, long: Duration) -> bool {
        self.allowed(now_s) >= self.expected.unwrap_or(long)
    }

    /// No look could be begun, since it was expected to hold a process for so long.
    pub fn puts_off(&mut self, long: Duration) {
        self.put_off = Some(self.expected.unwrap_or(long));
    }

    /// How long a look may hold a process still now.
    pub fn allowed(&self, now_s: f64) -> Duration {
        Duration::try_from_secs_f64(SHARE * now_s - self.held_s).unwrap_or_default().min(LONGEST)
    }

    /// A look was taken.
    pub fn looked(&mut self, at: ProcId, t_s: f64, held: Duration, is_first: bool) {
        let seen = self.seen.entry(at).or_default();
        if is_first {
            seen.anew += u32::from(seen.looks > 0);
            (seen.looks, seen.first_s) = (0, t_s);
        } else if seen.looks == 0 {
            seen.first_s = seen.glanced_s.unwrap_or(t_s);
        }
        (seen.looks, seen.last_s) = (seen.looks + 1, t_s);
        self.tries += 1;
        self.held_s += held.as_secs_f64();
        self.expected = Some(held + held / 5);
        self.waiting_s = None;
    }

    /// Whether nothing is known of it yet, so that even how long its containers are is worth to know.
    pub fn may_glance(&self, at: ProcId) -> bool {
        self.seen.get(&at).is_none_or(|seen| seen.compared_s().is_none())
    }

    /// It is known how long its containers were then, and no more. `expected`: how long a stop is likely to take.
    pub fn glanced(&mut self, at: ProcId, t_s: f64, held: Duration, expected: Option<Duration>) {
        let seen = self.seen.entry(at).or_default();
        seen.anew += u32::from(seen.compared_s().is_some());
        (seen.looks, seen.glanced_s) = (0, Some(t_s));
        self.tries += 1;
        self.held_s += held.as_secs_f64();
        // What had no time for more needs more.
        self.expected = expected.or_else(|| self.expected.max(Some(held * 2)));
        self.put_off = self.expected;
        self.waiting_s = None;
    }

    /// A look failed. `for_good`: it will fail again. One that broke off since its time was over needs more. Whether none
    /// is tried again.
    pub fn failed(&mut self, at: ProcId, now_s: f64, held: Duration, for_good: bool) -> bool {
        let seen = self.seen.entry(at).or_default();
        seen.failures += if for_good { MOST_FAILURES } else { 1 };
        seen.last_s = now_s;
        let is_end = seen.failures >= MOST_FAILURES;
        self.tries += 1;
        self.held_s += held.as_secs_f64();
        self.expected = self.expected.max(Some(held * 2));
        self.waiting_s = None;
        is_end
    }

    /// A process has ended. Its growth stays claimed, and nobody is suspected of it any more.
    pub fn gone(&mut self, id: ProcId) {
        if self.suspicion.as_ref().is_some_and(|suspicion| suspicion.id == id && suspicion.claimed) {
            self.ended = self.suspicion.take();
        }
    }

    /// Why it was not looked into whose growth is claimed, where no look was taken: at the end of a run.
    pub fn unlooked(&self) -> Option<(ProcId, u32, String)> {
        let suspicion = self.suspicion.as_ref().filter(|suspicion| suspicion.claimed).or(self.ended.as_ref())?;
        let seen = self.seen.get(&suspicion.id).copied().unwrap_or_default();
        if seen.looks > 0 || seen.failures >= MOST_FAILURES {
            return None;
        }
        let why = match self.put_off {
            Some(expected) => format!(
                "a look was expected to hold it still for {:.1} s, and looks hold a run up for no more than {:.0} % of the time that \
                 it is watched: a longer run tells more",
                expected.as_secs_f64(),
                100.0 * SHARE
            ),
            None if self.ended.as_ref().is_some_and(|ended| ended.id == suspicion.id) => {
                "it ended before it was looked into: a longer run tells more".to_owned()
            }
            None => "the run was over before it was looked into: a longer run tells more".to_owned(),
        };
        Some((suspicion.id, suspicion.pid, why))
    }

    /// Whether what it has is low by the standards of the last seconds, its growth taken off. No tide is waited for for ever.
    fn is_low(&mut self, now_s: f64, suspicion: &Suspicion) -> bool {
        let since_s = *self.waiting_s.get_or_insert(now_s);
        let tides = self.tides.get(&suspicion.id).into_iter().flatten();
        let above: Vec<f64> = tides.clone().map(|(t_s, bytes)| bytes - suspicion.rate * (t_s - now_s)).collect();
        let (low, high) = above.iter().fold((f64::MAX, f64::MIN), |(low, high), one| (low.min(*one), high.max(*one)));
        let span_s = tides.map(|(first_s, _)| now_s - first_s).next().unwrap_or(0.0);
        let now = above.last().copied().unwrap_or(0.0);
        now_s - since_s >= TIDE_S || (span_s >= TIDE_S / 2.0 && now <= low + (LOW * (high - low)).max(LEVEL))
    }
}

#[cfg(test)]
mod tests;
