//! When a process is looked into to say what its memory is for: once at a low tide, and once near the peak of each phase.
//!
//! Where in a phase its most was is known from the time before: there, or as soon as it has as much again, it is looked at. What
//! training needs is all there when a backward pass begins, so there the process is asked to copy itself at that very moment. A look
//! that turns out to have come after its phase, or far below what was measured in it, is taken again a few times.

use std::collections::{BTreeMap, HashMap, VecDeque};

use lowtide_model::{MarkKind, ProcId, Scope};

/// Nobody is looked into before so many seconds after the first mark: what only starting needs is over then.
const SETTLED_S: f64 = 8.0;
/// The most phases whose peaks are looked at, and tries at each.
const MOST_PHASES: usize = 4;
const MOST_TRIES: u32 = 4;
/// The same where nobody asked for it.
const MOST_TRIES_UNASKED: u32 = 1;
/// A look is near the peak where it finds this share of what the phase had more than the process had at least.
const NEAR: f64 = 0.8;
/// It is looked at from this share on, or so many seconds before the time at which the most was measured the time before.
const HIGH: f64 = 0.9;
const EARLY_S: f64 = 0.05;
/// A phase that lasts longer is looked at before its first end, seconds.
const LONG_S: f64 = 30.0;
/// One that lasts less is short, seconds.
const SHORT_S: f64 = 5.0;
/// Time between two looks, seconds.
const APART_S: f64 = 2.0;
/// Low is what is at most this share of the tide above the least of the last seconds, or so many bytes.
const LOW: f64 = 0.34;
const LEVEL: f64 = 2.0 * 1024.0 * 1024.0;
const TIDE_S: f64 = 12.0;
/// Phases that are remembered with their times.
const MOST_SPANS: usize = 64;
/// The phase in which gradients are made.
const TRAIN: &str = "train";

/// A look that is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    pub id: ProcId,
    /// The phase; empty for a low tide.
    pub phase: String,
    /// The most that was measured in it, bytes.
    pub most: u64,
    /// The process is to wait for a backward pass.
    pub at_backward: bool,
    /// It is near the peak now, as far as can be told from outside.
    pub now: bool,
}

/// What is known of the one process whose budget is wanted: the first that trains.
#[derive(Debug, Default)]
pub struct Peaks {
    /// The user asked for it.
    asked: bool,
    /// Somebody is likely to leak, and it is told who: there is time for it.
    leaks: bool,
    who: Option<ProcId>,
    first_s: Option<f64>,
    now: Option<Open>,
    phases: BTreeMap<String, Phase>,
    /// Phases that are over, and when they were.
    spans: VecDeque<(String, f64, f64)>,
    tide: VecDeque<(f64, f64)>,
    at_rest: Goal,
    last_s: Option<f64>,
}

/// The phase that is open.
#[derive(Debug)]
struct Open {
    name: String,
    since_s: f64,
    /// The most in it so far, and how long after its begin.
    most: u64,
    most_after_s: f64,
}

#[derive(Debug, Default)]
struct Phase {
    /// Times that it was seen from its begin to its end with something measured in it; times it was over before.
    whole: u32,
    missed: u32,
    /// The same of the last of these.
    most: u64,
    most_after_s: f64,
    goal: Goal,
}

/// What became of looking at a low tide, or at a peak.
#[derive(Debug, Default)]
struct Goal {
    reached: bool,
    tries: u32,
    /// The best of those that were not near, bytes.
    best: u64,
    why: Option<String>,
}

impl Goal {
    fn open(&self, most_tries: u32) -> bool {
        !self.reached && self.tries < most_tries
    }
}

impl Peaks {
    /// Nothing is known yet. `asked`: the user wants it, whether somebody leaks or not.
    pub fn new(asked: bool) -> Self {
        Self { asked, ..Self::default() }
    }

    /// Whether the user wants it.
    pub fn asked(&self) -> bool {
        self.asked
    }

    fn most_tries(&self) -> u32 {
        if self.asked { MOST_TRIES } else { MOST_TRIES_UNASKED }
    }

    /// Whether somebody leaks, and looks at that are over.
    pub fn leaks(&mut self, leaks: bool) {
        self.leaks = leaks;
    }

    /// Whether a look is still to come, so that marks have to be heard soon.
    pub fn is_open(&self) -> bool {
        (self.asked || self.leaks)
            && self.who.is_some()
            && (self.at_rest.open(self.most_tries())
                || self.phases.values().take(MOST_PHASES).any(|phase| phase.goal.open(self.most_tries())))
    }

    /// Whether marks have to be heard more often than usual: a phase is short that is to be met.
    pub fn is_keen(&self) -> bool {
        let short = |(name, phase): (&String, &Phase)| {
            let spans = self.spans.iter().filter(|span| span.0 == *name).map(|(_, from_s, to_s)| to_s - from_s);
            phase.goal.open(self.most_tries()) && spans.fold(f64::MAX, f64::min) < SHORT_S
        };
        self.is_open() && self.phases.iter().any(short)
    }

    /// Takes note of a mark.
    pub fn marked(&mut self, id: ProcId, t_s: f64, what: &MarkKind) {
        let begins = match what {
            MarkKind::Begin(scope) if scope.scope == Scope::Phase => Some(scope.name.as_str()),
            MarkKind::End(Scope::Phase) => None,
            _ => return,
        };
        if *self.who.get_or_insert(id) != id {
            return;
        }
        self.first_s.get_or_insert(t_s);
        if let Some(open) = self.now.take() {
            self.ended(open, t_s);
        }
        if let Some(name) = begins {
            if self.phases.len() < MOST_PHASES || self.phases.contains_key(name) {
                self.phases.entry(name.to_owned()).or_default();
            }
            self.now = Some(Open { name: name.to_owned(), since_s: t_s, most: 0, most_after_s: 0.0 });
        }
    }

    fn ended(&mut self, open: Open, t_s: f64) {
        if let Some(phase) = self.phases.get_mut(&open.name) {
            // One that is told of when it is over was measured all the same.
            let within = self.tide.iter().filter(|(at_s, _)| (open.since_s..=t_s).contains(at_s));
            let late = within.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(at_s, bytes)| (*bytes as u64, at_s - open.since_s));
            let seen = if open.most > 0 { Some((open.most, open.most_after_s)) } else { late };
            match seen {
                Some(seen) => {
                    phase.whole += 1;
                    (phase.most, phase.most_after_s) = seen;
                }
                None => phase.missed += 1,
            }
            if open.most == 0 && late.is_some() {
                phase.goal.why = Some("its begin is known only when it is over (a validation without model.eval())".to_owned());
            }
        }
        self.spans.push_back((open.name, open.since_s, t_s));
        if self.spans.len() > MOST_SPANS {
            self.spans.pop_front();
        }
    }

    /// Takes note of the anonymous memory that each process has, bytes.
    pub fn measured(&mut self, now_s: f64, sizes: &HashMap<ProcId, u64>) {
        let Some(bytes) = self.who.and_then(|id| sizes.get(&id)).copied() else { return };
        self.tide.retain(|(t_s, _)| now_s - t_s <= TIDE_S);
        self.tide.push_back((now_s, bytes as f64));
        if let Some(open) = &mut self.now
            && now_s >= open.since_s
            && bytes > open.most
        {
            (open.most, open.most_after_s) = (bytes, now_s - open.since_s);
        }
    }

    /// The process is gone.
    pub fn gone(&mut self, id: ProcId) {
        if self.who == Some(id) {
            self.now = None;
        }
    }

    /// The look that is to be taken now, if there is one. `bytes`: what a process has at this moment.
    pub fn due(&self, now_s: f64, bytes: impl Fn(ProcId) -> Option<u64>) -> Option<Target> {
        let id = self.who.filter(|_| self.is_open())?;
        let settled = now_s - self.first_s? >= SETTLED_S;
        let apart = self.last_s.is_none_or(|last_s| now_s - last_s >= APART_S);
        if !settled || !apart {
            return None;
        }
        self.peak_due(id, now_s, bytes).or_else(|| self.rest_due(id, now_s))
    }

    fn peak_due(&self, id: ProcId, now_s: f64, bytes: impl Fn(ProcId) -> Option<u64>) -> Option<Target> {
        let open = self.now.as_ref()?;
        let phase = self.phases.get(&open.name).filter(|phase| phase.goal.open(self.most_tries()))?;
        let (after_s, floor, bytes) = (now_s - open.since_s, self.floor(), bytes(id)? as f64);
        // Once there was a whole one its most is waited for; one that lasts and lasts is taken at the most so far.
        let most = if phase.whole > 0 { phase.most } else { open.most }.max(bytes as u64);
        let high = bytes >= floor + HIGH * (most as f64 - floor).max(0.0);
        let late = after_s >= phase.most_after_s - EARLY_S;
        let due = match phase.whole {
            0 => high && after_s >= LONG_S,
            // As much may not come again: then the time at which it came will do.
            1 | 2 if most as f64 - floor > LEVEL => high,
            _ => late,
        };
        let trains = open.name == TRAIN;
        let waits = trains && phase.whole > 0;
        if !due && !waits {
            return None;
        }
        Some(Target { id, phase: open.name.clone(), most, at_backward: trains, now: due })
    }

    fn rest_due(&self, id: ProcId, now_s: f64) -> Option<Target> {
        let span_s = now_s - self.tide.front()?.0;
        let (low, high) = (self.floor(), self.tide.iter().map(|(_, bytes)| *bytes).fold(0.0, f64::max));
        let now = self.tide.back()?.1;
        let is_low = span_s >= TIDE_S / 2.0 && now <= low + (LOW * (high - low)).max(LEVEL);
        (self.at_rest.open(self.most_tries()) && is_low).then_some(Target {
            id,
            phase: String::new(),
            most: 0,
            at_backward: false,
            now: true,
        })
    }

    /// The least of the last seconds, bytes.
    fn floor(&self) -> f64 {
        self.tide.iter().map(|(_, bytes)| *bytes).fold(f64::MAX, f64::min)
    }

    /// What a look found at this moment, bytes; whether it is one to tell.
    pub fn took(&mut self, target: &Target, t_s: f64, total: u64) -> bool {
        self.last_s = Some(t_s);
        let (low, phase_then) = (self.floor(), self.phase_at(t_s).map(str::to_owned));
        let Some(goal) = self.goal(&target.phase) else { return false };
        goal.tries += 1;
        if target.phase.is_empty() {
            goal.reached = true;
            return true;
        }
        if phase_then.is_some_and(|then| then != target.phase) {
            goal.why = Some("it was over before the process could be looked into".to_owned());
            return false;
        }
        let better = total > goal.best;
        goal.best = goal.best.max(total);
        goal.reached = total as f64 >= low + NEAR * (target.most as f64 - low).max(0.0) - LEVEL;
        goal.why = None;
        better
    }

    /// A look that another reason had was one at a low tide, too.
    pub fn took_at_rest(&mut self, id: ProcId) {
        if self.who == Some(id) {
            self.at_rest.reached = true;
        }
    }

    /// A look failed. `for_good`: it will fail again.
    pub fn failed(&mut self, target: &Target, t_s: f64, why: &str, for_good: bool) {
        self.last_s = Some(t_s);
        if let Some(goal) = self.goal(&target.phase) {
            goal.tries += if for_good { MOST_TRIES } else { 1 };
            goal.why = Some(why.to_owned());
        }
    }

    fn goal(&mut self, phase: &str) -> Option<&mut Goal> {
        if phase.is_empty() { Some(&mut self.at_rest) } else { self.phases.get_mut(phase).map(|phase| &mut phase.goal) }
    }

    /// In which phase the process was at a moment, as far as marks of it were heard.
    fn phase_at(&self, t_s: f64) -> Option<&str> {
        let over =
            self.spans.iter().rev().find(|(_, from_s, to_s)| (*from_s..*to_s).contains(&t_s)).map(|(name, _, _)| name.as_str());
        over.or_else(|| self.now.as_ref().filter(|open| t_s >= open.since_s).map(|open| open.name.as_str()))
    }

    /// What the user asked for and did not get, and why: the process and a sentence for each.
    pub fn unlooked(&self) -> Vec<(Option<ProcId>, String)> {
        if !self.asked {
            return Vec::new();
        }
        let Some(id) = self.who else {
            let why = "what memory is for (--budget): no process of the run told of steps or phases".to_owned();
            return vec![(None, why)];
        };
        let over = "the run was over before".to_owned();
        let mut told = Vec::new();
        if !self.at_rest.reached {
            let why = self.at_rest.why.clone().unwrap_or_else(|| over.clone());
            told.push((Some(id), format!("what memory is for at rest (--budget): {why}")));
        }
        for (name, phase) in self.phases.iter().filter(|(_, phase)| !phase.goal.reached && phase.goal.best == 0) {
            let short = || "it never lasted from one measurement to the next: a shorter --interval sees more".to_owned();
            let none = || if phase.missed > 0 && phase.whole == 0 { short() } else { over.clone() };
            told.push((
                Some(id),
                format!("what memory is for at the peak of {name} (--budget): {}", phase.goal.why.clone().unwrap_or_else(none)),
            ));
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use lowtide_model::ScopeMark;

    use super::*;

    const MIB: u64 = 1 << 20;
    const WHO: ProcId = ProcId(3);

    fn begin(name: &str) -> MarkKind {
        MarkKind::Begin(ScopeMark { scope: Scope::Phase, index: None, name: name.to_owned() })
    }

    /// What it has at a tenth of a second: training, and in the last three of each ten seconds a validation whose most comes at its end.
    fn bytes(tenth: u32) -> u64 {
        let within = tenth % 100;
        if within < 70 { 300 * MIB } else { 300 * MIB + u64::from(within - 70) * 10 * MIB }
    }

    /// The looks of a run of so many seconds, each with what it found then; `found`: what is told of it to the plan.
    fn looked(peaks: &mut Peaks, to_s: u32, found: impl Fn(u64) -> Result<u64, &'static str>) -> Vec<(u32, Target, u64)> {
        let mut looks = Vec::new();
        for tenth in 0..to_s * 10 {
            let now_s = f64::from(tenth) / 10.0;
            match tenth % 100 {
                0 => peaks.marked(WHO, now_s, &begin("train")),
                70 => peaks.marked(WHO, now_s, &begin("validation")),
                _ => {}
            }
            // Measurements are rarer than the moments at which a look may begin.
            if tenth % 5 == 0 {
                peaks.measured(now_s, &HashMap::from([(WHO, bytes(tenth))]));
            }
            if let Some(target) = peaks.due(now_s, |_| Some(bytes(tenth))) {
                match found(bytes(tenth)) {
                    Ok(total) => _ = peaks.took(&target, now_s, total),
                    Err(why) => peaks.failed(&target, now_s, why, false),
                }
                looks.push((tenth, target, bytes(tenth)));
            }
        }
        looks
    }

    #[test]
    fn each_phase_is_met_near_its_peak_and_once() {
        let mut peaks = Peaks::new(true);
        let looks = looked(&mut peaks, 100, Ok);
        let of = |phase: &str| looks.iter().filter(|(_, target, _)| target.phase == phase).collect::<Vec<_>>();
        assert_eq!((of("").len(), of("train").len(), of("validation").len()), (1, 1, 1), "{looks:?}");
        let (tenth, target, found) = of("validation")[0];
        assert!(tenth % 100 >= 70 && *found >= 300 * MIB + target.most.saturating_sub(300 * MIB) * 8 / 10, "{looks:?}");
        assert!(of("train")[0].1.at_backward && !target.at_backward);
        assert!(of("")[0].2 <= 300 * MIB + 90 * MIB && !peaks.is_open() && peaks.unlooked().is_empty(), "{looks:?}");
    }

    #[test]
    fn nobody_is_looked_into_unasked_who_does_not_leak() {
        let mut peaks = Peaks::new(false);
        assert_eq!(looked(&mut peaks, 60, Ok), []);
        assert!(peaks.unlooked().is_empty());
        peaks.leaks(true);
        assert_eq!(looked(&mut peaks, 60, Ok).len(), 3);
    }

    #[test]
    fn what_misses_its_peak_is_tried_again_and_not_for_ever() {
        let mut peaks = Peaks::new(true);
        let looks = looked(&mut peaks, 300, |_| Ok(300 * MIB));
        let tries = looks.iter().filter(|(_, target, _)| target.phase == "validation").count();
        assert_eq!(tries, MOST_TRIES as usize, "{looks:?}");
        assert!(peaks.unlooked().is_empty(), "the best of them is told");
    }

    #[test]
    fn what_was_asked_for_and_failed_says_why() {
        let mut peaks = Peaks::new(true);
        let looks = looked(&mut peaks, 300, |_| Err("no permission"));
        assert_eq!(looks.len(), 3 * MOST_TRIES as usize, "{looks:?}");
        let told: Vec<String> = peaks.unlooked().into_iter().map(|(_, text)| text).collect();
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told.iter().all(|text| text.ends_with(": no permission")), "{told:?}");
        assert!(told[2].contains("at the peak of validation"), "{told:?}");
        let nobody = Peaks::new(true).unlooked();
        assert!(nobody[0].1.contains("no process of the run told of steps"), "{nobody:?}");
    }

    #[test]
    fn a_look_that_came_after_its_phase_is_none_of_it() {
        let mut peaks = Peaks::new(true);
        peaks.marked(WHO, 0.0, &begin("validation"));
        peaks.marked(WHO, 5.0, &begin("train"));
        let target = Target { id: WHO, phase: "validation".to_owned(), most: 9, at_backward: false, now: true };
        assert!(!peaks.took(&target, 5.5, 1 << 30) && peaks.took(&target, 4.5, 1 << 30));
    }
}
