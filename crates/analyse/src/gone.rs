//! Processes that come and go: which growth outlives the process that had it, and which goes with it.
//!
//! Memory goes back when a process ends, and what grew is not seen any more. That is no evidence against a leak: a DataLoader's worker
//! that leaked for all of training ends with it, and hours of evaluation may follow. But most of what ends has done so by design:
//! workers that are made anew each epoch, helpers that load a data set and exit. They are told apart by what came after: others that
//! rose as much and gave it back, or training that went on without it for as long. What tells neither leaves the run undecided.

use lowtide_model::{Kind, ProcId, Role};

use crate::growth::Series;
use crate::judge::{Ask, Judged, Outcome, judge};
use crate::marks::Marks;
use crate::pyramid::Pyramid;
use crate::series::{Store, Track};

/// Where a process stands at the end of what was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It lives, or went down with the run.
    Counts,
    /// It does, and took the place of one like it that ended.
    Anew,
    /// It ended before.
    Ended,
}

/// All that is known of the processes of a run.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// The processes.
    pub store: &'a Store,
    /// What they say of themselves.
    pub marks: &'a Marks,
    /// When it was last measured, seconds.
    pub end_s: f64,
}

/// Why nothing is claimed of growth that ended with its process.
pub(crate) const ENDED: &str = "it rose to its end, and nothing after it shows whether it would have gone on";
/// The same where others followed.
pub(crate) const FOLLOWED: &str = "it rose to its end, and what took its place has not risen as much (yet)";

/// The most processes that ended which are judged, those that grew most first: it bounds the cost of the live verdict.
const MOST_ENDED: usize = 16;
/// The most that each of them is held against, those nearest to it in time.
const MOST_ALIKE: usize = 16;
/// One that begins so long before another ends still takes its place: seconds, and a share of the other's life.
const SLOW_END_S: f64 = 6.0;
const SLOW_END: f64 = 0.1;
const AT_ONCE_S: f64 = 1.0;
/// What lived for less is no predecessor of anything, seconds.
const LIVED_S: f64 = 0.5;
/// How much more than another one may grow, and how much longer it may live, and still be like it.
const ALIKE: f64 = 1.5;
/// The share of its growth that may lie before the first step of the run: what grew mostly before it is a helper of the set-up.
const SET_UP_SHARE: f64 = 0.25;
/// The fewest steps that are training.
const FEW_STEPS: f64 = 4.0;
/// Of a run that says nothing of its steps: ended so shortly before the end, as a share of its life.
const SHORTLY_BEFORE: f64 = 0.3;
/// The share of all training, or of the run, that one whose work is not known must have been there for.
const MOST_OF_THE_RUN: f64 = 0.5;
/// The least growth that leaves a run undecided: bytes, and as a share of the run's peak.
const MATERIAL: f64 = 8.0 * 1024.0 * 1024.0;
const MATERIAL_SHARE: f64 = 0.01;

impl<'a> Run<'a> {
    /// Where a process stands.
    pub fn standing(&self, track: &Track) -> Standing {
        if !track.counts(self.end_s) {
            return Standing::Ended;
        }
        if self.before(track).next().is_some() { Standing::Anew } else { Standing::Counts }
    }

    /// The processes that ended and are worth to be judged.
    pub fn ended(&self) -> Vec<(ProcId, &'a Track)> {
        let ended =
            self.store.tracks.iter().filter(|(_, track)| track.process.role != Role::Outside && !track.counts(self.end_s));
        let mut ended: Vec<(ProcId, &Track)> = ended.map(|(id, track)| (*id, track)).collect();
        ended.sort_by(|a, b| b.1.rose().total_cmp(&a.1.rose()));
        ended.truncate(MOST_ENDED);
        ended
    }

    /// Whether a series of a process that took another's place is judged like any other. It is not while it has neither lived longer nor
    /// risen more than one before it, which went and took that with it.
    pub fn is_of_its_own(&self, track: &Track, series: &Series) -> bool {
        // Nobody makes trainers anew so that they may leak.
        let trains = track.process.role == Role::Trainer && series.judged.outcome == Outcome::Leaking;
        let outlived = || self.before(track).all(|before| track.life_s() > ALIKE * before.life_s());
        if trains || self.is_sure(track, &series.judged) || outlived() {
            return true;
        }
        if series.judged.grows() {
            !self.before(track).take(MOST_ALIKE).any(|before| rose_alike(before, series))
        } else {
            self.before(track).nth(1).is_none()
        }
    }

    /// What is left of a verdict on a process that ended; `None` where what it grew by went with it.
    pub fn stands(&self, track: &Track, series: Series) -> Option<Series> {
        let judged = &series.judged;
        if !judged.grows() && !judged.rising {
            let most = track.life_s() >= MOST_OF_THE_RUN * self.end_s;
            return (most && self.shortly_before(track)).then_some(series);
        }
        if self.is_sure(track, judged) {
            return Some(series);
        }
        if self.is_past(track, &series) || !self.is_of_its_own(track, &series) {
            return None;
        }
        let followed = self.followers(track).next().is_some();
        match (judged.grows(), followed) {
            (true, false) if self.is_claimed(track) => Some(series),
            (_, false) => self.held_back(track, series, ENDED),
            (true, true) => self.held_back(track, series, FOLLOWED),
            (false, true) => None,
        }
    }

    /// It trained by itself, and there is no doubt that it leaked: that others did not does not mend it.
    fn is_sure(&self, track: &Track, judged: &Judged) -> bool {
        judged.outcome == Outcome::Leaking && self.steps_itself(track)
    }

    fn steps_itself(&self, track: &Track) -> bool {
        self.marks.of(track.process.id).is_some_and(|line| line.steps() as f64 >= FEW_STEPS)
    }

    fn held_back(&self, track: &Track, mut series: Series, doubt: &'static str) -> Option<Series> {
        let material = series.judged.rise >= MATERIAL.max(MATERIAL_SHARE * self.store.tree.memory().peak());
        let memory = matches!(series.kind, Kind::Anonymous | Kind::Shmem);
        series.judged.hold_back(doubt, (track.life_s() - (self.end_s - track.last_s)).max(track.life_s() / 4.0));
        (material && memory).then_some(series)
    }

    /// Growth that was of the set-up, or that others repeated, or without which the run went on for as long.
    fn is_past(&self, track: &Track, series: &Series) -> bool {
        let alike = self.followers(track).take(MOST_ALIKE).any(|after| rose_alike_to(after, series));
        let Some((first_s, _)) = self.marks.trained_from_to() else {
            // One after another, and the two have nothing in common: both are made for each epoch.
            let cycle = self.followers(track).any(|after| self.followers(after).next().is_some());
            let replaced = track.process.role == Role::Trainer && self.followers(track).next().is_some();
            let went_on = (replaced || !does_training(track)) && self.end_s - track.last_s >= track.life_s();
            return alike || cycle || went_on;
        };
        let judged = &series.judged;
        let of_set_up = first_s >= judged.since_s + SET_UP_SHARE * (judged.until_s - judged.since_s);
        let (during, after) = (self.steps(track.first_s, track.last_s), self.steps(track.last_s, f64::INFINITY));
        let idle = during < FEW_STEPS && (after >= FEW_STEPS || self.end_s - track.last_s >= track.life_s());
        of_set_up || alike || idle || during >= FEW_STEPS && after >= during
    }

    /// Whether its end takes nothing from what was seen of it.
    fn is_claimed(&self, track: &Track) -> bool {
        if self.marks.trained_from_to().is_none() {
            // Where steps will be told, and there were none yet, it is a helper of the set-up.
            let most = || track.life_s() >= MOST_OF_THE_RUN * self.end_s && self.marks.are_none();
            return self.shortly_before(track) && (does_training(track) || most());
        }
        let during = self.steps(track.first_s, track.last_s);
        let most = during >= MOST_OF_THE_RUN * self.steps(f64::NEG_INFINITY, f64::INFINITY);
        during >= FEW_STEPS && (self.steps_itself(track) || track.process.role == Role::DataloaderWorker || most)
    }

    fn shortly_before(&self, track: &Track) -> bool {
        self.end_s - track.last_s <= SHORTLY_BEFORE * track.life_s() && self.followers(track).next().is_none()
    }

    fn steps(&self, from_s: f64, to_s: f64) -> f64 {
        self.marks.steps_between(from_s, to_s)
    }

    /// Those of its role and parent that ended before it began, the last one first.
    fn before(&self, track: &'a Track) -> impl Iterator<Item = &'a Track> {
        let before = move |other: &&Track| {
            other.ended_s.is_some() && same(other, track) && track.first_s >= nearly_over_s(other) && other.life_s() > LIVED_S
        };
        self.store.tracks.values().rev().filter(before)
    }

    /// Those of its role and parent that began when it ended, or later; where steps are told, only those that were there for some.
    fn followers(&self, track: &'a Track) -> impl Iterator<Item = &'a Track> {
        let run = *self;
        let from_s = nearly_over_s(track);
        let trained = run.marks.trained_from_to().is_some();
        let follows = move |other: &&Track| {
            let trains = || !trained || run.steps(other.first_s, other.last_s) >= FEW_STEPS;
            same(other, track) && other.first_s >= from_s && trains()
        };
        self.store.tracks.values().filter(follows)
    }
}

/// When another one may take its place: ends are slow where much is freed.
fn nearly_over_s(track: &Track) -> f64 {
    track.last_s - (SLOW_END * track.life_s()).clamp(AT_ONCE_S, SLOW_END_S)
}

fn same(a: &Track, b: &Track) -> bool {
    a.process.role == b.process.role && a.process.parent == b.process.parent
}

/// Its role says that it works for the training, whether or not steps are told.
fn does_training(track: &Track) -> bool {
    matches!(track.process.role, Role::Trainer | Role::DataloaderWorker)
}

/// Whether one that ended rose about as much as a series has until now, in about the time.
fn rose_alike(before: &Track, series: &Series) -> bool {
    let span_s = series.judged.until_s - series.judged.since_s;
    before.ended_s.is_some() && span_s <= ALIKE * before.life_s() && rose_alike_to(before, series)
}

/// Whether a process rose by about as much as a series did, bounded or not.
fn rose_alike_to(other: &Track, series: &Series) -> bool {
    let Some((pyramid, ask)) = of_kind(other, series) else { return false };
    // Most did not by far; a judgement costs more than a look at the most that it ever had.
    let at_most = pyramid.peak() - pyramid.windows().first().map_or(0.0, |first| first.low);
    if at_most * ALIKE < series.judged.rise {
        return false;
    }
    let judged = judge(pyramid.windows(), ask);
    let level = matches!(judged.outcome, Outcome::Flat | Outcome::Stopped);
    let rose = if level { judged.rose_before } else { judged.rise };
    rose * ALIKE >= series.judged.rise
}

fn of_kind<'a>(track: &'a Track, series: &Series) -> Option<(&'a Pyramid, Ask)> {
    let ended = track.ended_s.is_some();
    let bytes = Ask::bytes(ended, track.fresh());
    let (pyramid, ask) = match series.kind {
        Kind::Anonymous if series.copied => (&track.copied, Ask::shares(ended)),
        Kind::Anonymous => (&track.anon, bytes),
        Kind::Shmem => (&track.shmem, bytes),
        Kind::File => (&track.file, bytes),
        Kind::Fds => (&track.fds, Ask::count(ended)),
        Kind::Threads => (&track.threads, Ask::count(ended)),
        _ => return None,
    };
    (!pyramid.windows().is_empty()).then_some((pyramid, ask))
}
