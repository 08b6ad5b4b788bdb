//! When a process of the run is looked into, and for how long it may be held still for it.
//!
//! The first look comes once its growth is likely to be a leak, at a low tide: what is there only for a while is gone then. The
//! second comes some cycles later, and a third, twice as far from the first, tells what only comes and goes from what stays.
//! Where all that is not enough there is a fourth, and no more.

use std::collections::VecDeque;
use std::time::Duration;

use lowtide_model::{Class, Kind, ProcId, Report, Role, Verdict};

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
/// Time from the first look to the second: seconds at least, epochs, and a share of the time watched before.
const APART_S: f64 = 15.0;
const EPOCHS: f64 = 2.0;
const PART: f64 = 0.25;
/// Epochs longer than this are not waited for, seconds.
const LONG_EPOCH_S: f64 = 600.0;
/// A low tide is waited for this long, seconds; it is the lowest part of what the process had in a time of the same length.
const TIDE_S: f64 = 12.0;
const LOW: f64 = 0.34;

/// Who is self.followed.and_then(of)ed, and of what.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspect {
    /// Its index in the run.
    pub id: ProcId,
    /// Its pid.
    pub pid: u32,
    /// Growth of its low tide, bytes per second.
    pub rate: f64,
    /// Seconds from one of its epochs to the next.
    pub epoch_s: Option<f64>,
    /// The report names who holds the growth, or says that nobody does.
    pub told: bool,
}

/// The plan of a run.
#[derive(Debug, Default)]
pub struct Plan {
    suspect: Option<Suspect>,
    /// Whose memory is followed: the suspect, else the process to watch.
    followed: Option<ProcId>,
    /// Whom the looks so far were at.
    at: Option<ProcId>,
    looks: u32,
    failures: u32,
    /// Looks and failures of all processes.
    tries: u32,
    first_s: f64,
    last_s: f64,
    held_s: f64,
    /// What the next look is expected to take, by the one before.
    expected: Option<Duration>,
    /// Since when a low tide is waited for.
    waiting_s: Option<f64>,
    /// The suspect's memory of late: seconds, bytes.
    tides: VecDeque<(f64, f64)>,
}

impl Plan {
    /// Takes note of a live report.
    pub fn review(&mut self, report: &Report) {
        self.suspect = suspect(report);
        let watched = report.processes.iter().find(|one| one.watch).map(|one| one.id);
        let followed = self.suspect.as_ref().map(|suspect| suspect.id).or(watched);
        if followed != self.followed {
            self.followed = followed;
            self.tides.clear();
            self.waiting_s = None;
        }
    }

    /// Takes note of what a process has now, bytes.
    pub fn measured(&mut self, now_s: f64, of: impl Fn(ProcId) -> Option<u64>) {
        if let Some(bytes) = self.suspect.as_ref().and_then(|suspect| of(suspect.id)) {
            self.tides.retain(|(t_s, _)| now_s - t_s <= TIDE_S);
            self.tides.push_back((now_s, bytes as f64));
        }
    }

    /// Whom to look at now, if it is time.
    pub fn due(&mut self, now_s: f64) -> Option<Suspect> {
        let suspect = self.suspect.clone()?;
        let is_new = self.at != Some(suspect.id);
        let enough = self.looks >= MOST || self.failures >= MOST_FAILURES;
        if !is_new && (enough || (self.looks >= ENOUGH && suspect.told) || now_s < self.next_s(&suspect)) {
            return None;
        }
        // Somebody else may be suspected later, and a process may become another program, but not again and again.
        if (is_new || self.looks <= 1) && self.tries >= MOST_TRIES {
            return None;
        }
        if self.allowed(now_s) < self.expected.unwrap_or(LEAST).max(LEAST) || !self.is_low(now_s, suspect.rate) {
            return None;
        }
        Some(suspect)
    }

    /// How long a look may hold a process still now.
    pub fn allowed(&self, now_s: f64) -> Duration {
        Duration::try_from_secs_f64(SHARE * now_s - self.held_s).unwrap_or_default().min(LONGEST)
    }

    /// A look was taken.
    pub fn looked(&mut self, at: ProcId, t_s: f64, held: Duration, is_first: bool) {
        if is_first || self.at != Some(at) {
            (self.looks, self.first_s) = (0, t_s);
        }
        self.at = Some(at);
        self.looks += 1;
        self.tries += 1;
        self.last_s = t_s;
        self.held_s += held.as_secs_f64();
        self.expected = Some(held + held / 5);
        self.waiting_s = None;
    }

    /// A look failed. `for_good`: it will fail again. One that broke off since its time was over needs more. Whether none
    /// is tried again.
    pub fn failed(&mut self, at: ProcId, now_s: f64, held: Duration, for_good: bool) -> bool {
        if self.at != Some(at) {
            (self.at, self.looks, self.failures, self.first_s) = (Some(at), 0, 0, now_s);
        }
        self.tries += 1;
        self.failures += if for_good { MOST_FAILURES } else { 1 };
        self.last_s = now_s;
        self.held_s += held.as_secs_f64();
        self.expected = self.expected.max(Some(held * 2));
        self.waiting_s = None;
        self.failures >= MOST_FAILURES
    }

    fn next_s(&self, suspect: &Suspect) -> f64 {
        let epochs_s = suspect.epoch_s.filter(|epoch| *epoch <= LONG_EPOCH_S).map_or(0.0, |epoch| EPOCHS * epoch);
        match self.looks {
            // After a failure.
            0 => self.last_s + APART_S / 3.0,
            1 => self.last_s + APART_S.max(epochs_s).max(PART * self.first_s),
            _ => self.first_s + 2.0 * (self.last_s - self.first_s),
        }
    }

    /// Whether what it has is low by the standards of the last seconds, its growth taken off. No tide is waited for for ever.
    fn is_low(&mut self, now_s: f64, rate: f64) -> bool {
        let since_s = *self.waiting_s.get_or_insert(now_s);
        let above: Vec<f64> = self.tides.iter().map(|(t_s, bytes)| bytes - rate * (t_s - now_s)).collect();
        let (low, high) = above.iter().fold((f64::MAX, f64::MIN), |(low, high), one| (low.min(*one), high.max(*one)));
        let span_s = self.tides.front().map_or(0.0, |(first_s, _)| now_s - first_s);
        let now = above.last().copied().unwrap_or(0.0);
        now_s - since_s >= TIDE_S || (span_s >= TIDE_S / 2.0 && now <= low + LOW * (high - low))
    }
}

/// Of whom a report says that it leaks, or is likely to: one process of the run, by its own pages.
fn suspect(report: &Report) -> Option<Suspect> {
    if !matches!(report.verdict, Verdict::Leak | Verdict::LikelyLeak) {
        return None;
    }
    let counted = |kind| matches!(kind, Kind::Processes | Kind::Fds | Kind::Threads | Kind::Maps | Kind::File);
    let finding = report.findings.iter().find(|finding| {
        matches!(finding.class, Class::Leak | Class::AllocatorRetention) && finding.kind.is_some_and(|kind| !counted(kind))
    })?;
    let pid = finding.process.as_ref()?.pid;
    let process = report.processes.iter().find(|one| one.pid == pid && one.end_s.is_none() && one.role != Role::Outside)?;
    Some(Suspect {
        id: process.id,
        pid,
        rate: finding.growth.as_ref()?.bytes_per_second,
        epoch_s: report.progress.iter().find(|one| one.id == process.id).and_then(|progress| progress.seconds_per_epoch),
        told: finding.holder.is_some() || finding.kind == Some(Kind::NativeHeap),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: f64 = 1_048_576.0;

    fn suspected() -> Suspect {
        Suspect { id: ProcId(3), pid: 7, rate: MIB, epoch_s: None, told: false }
    }

    /// The seconds at which looks were taken of a run that grows in a line, with a spike of four seconds in each ten.
    fn looked(from_s: u32, to_s: u32, pause: Duration, suspect: &Suspect) -> Vec<u32> {
        let mut plan = Plan::default();
        let mut at = Vec::new();
        for t in 0..to_s {
            let t_s = f64::from(t);
            (plan.suspect, plan.followed) = ((t >= from_s).then(|| suspect.clone()), Some(suspect.id));
            let spike = if t % 10 < 4 { 50.0 * MIB } else { 0.0 };
            plan.measured(t_s, |_| Some((t_s * MIB + spike) as u64));
            if let Some(due) = plan.due(t_s) {
                assert_eq!(due.pid, 7);
                plan.looked(due.id, t_s, pause, false);
                at.push(t);
            }
        }
        at
    }

    #[test]
    fn looks_come_at_low_tides_and_ever_further_apart() {
        let at = looked(20, 300, Duration::from_millis(100), &suspected());
        assert_eq!(at.len(), MOST as usize, "{at:?}");
        assert!(at.iter().all(|t| t % 10 >= 4), "{at:?}");
        assert!(at[0] < 36 && (15..30).contains(&(at[1] - at[0])) && at[2] - at[0] >= 2 * (at[1] - at[0]), "{at:?}");
    }

    #[test]
    fn once_it_is_told_who_holds_it_three_are_enough() {
        let told = Suspect { told: true, ..suspected() };
        assert_eq!(looked(20, 300, Duration::from_millis(100), &told).len(), ENOUGH as usize);
        let slow = Suspect { epoch_s: Some(60.0), ..told };
        let at = looked(20, 600, Duration::from_millis(100), &slow);
        assert!(at[1] - at[0] >= 120, "two epochs at least: {at:?}");
    }

    #[test]
    fn a_process_is_not_held_for_more_than_a_share_of_the_time() {
        let at = looked(20, 1000, Duration::from_secs(2), &suspected());
        let held = |t: u32| at.iter().filter(|one| **one < t).count() as f64 * 2.0;
        // What the first one takes is not known before.
        assert!((200..1000).all(|t| held(t) <= SHARE * f64::from(t) + 2.0), "{at:?}");
        assert!(at.len() > 1, "{at:?}");
    }

    #[test]
    fn what_fails_is_not_tried_for_ever() {
        let mut plan = Plan::default();
        let mut tried = 0;
        for t in 0..1000 {
            plan.suspect = Some(suspected());
            if let Some(due) = plan.due(f64::from(t)) {
                tried += 1;
                plan.failed(due.id, f64::from(t), Duration::from_millis(50), false);
            }
        }
        assert_eq!(tried, MOST_FAILURES);
        plan.suspect = Some(Suspect { id: ProcId(4), ..suspected() });
        assert_eq!((1000..1020).find_map(|t| plan.due(f64::from(t))).map(|due| due.id), Some(ProcId(4)), "somebody else");
    }

    #[test]
    fn what_always_begins_anew_is_not_looked_at_for_ever() {
        let mut plan = Plan { suspect: Some(suspected()), ..Plan::default() };
        let mut looked = 0;
        for t in 0..3000 {
            if let Some(due) = plan.due(f64::from(t)) {
                looked += 1;
                plan.looked(due.id, f64::from(t), Duration::from_millis(50), true);
            }
        }
        assert_eq!(looked, MOST_TRIES);
    }
}
