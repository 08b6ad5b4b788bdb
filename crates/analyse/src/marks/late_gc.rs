//! Cycles of Python objects that are collected late: live memory climbs from one full collection to the next and falls
//! with each. It is no leak, but the peak is higher than it need be, and pages may show none of it: the allocator
//! keeps the holes, so that RSS looks like a plateau.
//!
//! Compared is like with like: what lives where an epoch (or a round, or a phase of one name) begins, with what
//! lived where the one before it began. So lists and batches that come and go within an epoch do not count.

use std::collections::{BTreeMap, VecDeque};

use lowtide_model::{Bytes, Class, Finding, InnerFacts, Kind, Scope};

use crate::analyser::Analyser;
use crate::explain::{self, WORTH_A_LINE, WORTH_A_SHARE};
use crate::trend::median;

/// Names of scopes that are told apart, and times of each that are remembered.
const MOST_NAMES: usize = 16;
const MOST_TIMES: usize = 128;
/// The fewest times with and without a full collection in them.
const FEWEST_WITH: usize = 2;
const FEWEST_WITHOUT: usize = 3;
/// The share of the times without a collection in which live memory must grow.
const GROWS: f64 = 0.75;
/// The share of that growth that collections must give back.
const GIVES_BACK: f64 = 0.5;

/// What lived where scopes began.
#[derive(Debug, Default)]
pub struct LateGc {
    by_name: BTreeMap<(Scope, String), Begins>,
}

#[derive(Debug, Default)]
struct Begins {
    last: Option<State>,
    changes: VecDeque<Change>,
}

/// How things stood at one begin.
#[derive(Clone, Copy, Debug)]
struct State {
    live: f64,
    objects: Option<f64>,
    collections: u32,
}

/// From one begin to the next.
#[derive(Clone, Copy, Debug)]
struct Change {
    t_s: f64,
    /// What lives then.
    level: f64,
    live: f64,
    objects: Option<f64>,
    collected: bool,
}

/// Cycles that wait for a collection.
#[derive(Clone, Debug, PartialEq)]
pub struct Late {
    /// Full collections that gave memory back.
    pub collections: usize,
    /// Live bytes that one gives back, in the median.
    pub gives_back: f64,
    /// Objects that go with them.
    pub objects: Option<f64>,
    /// Live bytes by which each time without a collection grows, in the median.
    pub grows: f64,
    /// What those times are: `epoch`, or the name of a phase.
    pub per: String,
    /// What lived at the first begin after each full collection: seconds, bytes.
    pub levels: Vec<(f64, f64)>,
    /// Seconds from one full collection to the next, in the mean.
    pub every_s: f64,
}

impl LateGc {
    /// A scope begins after the first step. Seconds.
    pub fn begin(&mut self, t_s: f64, scope: Scope, name: &str, facts: &InnerFacts) {
        let Some((live, collections)) = facts.heap_used.zip(facts.gc_full) else { return };
        let key = (scope, name.chars().take(48).collect());
        if self.by_name.len() >= MOST_NAMES && !self.by_name.contains_key(&key) {
            return;
        }
        let begins = self.by_name.entry(key).or_default();
        let now = State { live: live as f64, objects: facts.gc_objects.map(|objects| objects as f64), collections };
        if let Some(before) = begins.last.replace(now) {
            if begins.changes.len() == MOST_TIMES {
                begins.changes.pop_front();
            }
            begins.changes.push_back(Change {
                t_s,
                level: now.live,
                live: now.live - before.live,
                objects: now.objects.zip(before.objects).map(|(now, before)| now - before),
                collected: now.collections != before.collections,
            });
        }
    }

    /// Cycles that wait for a collection, where the marks show them: by the scope that shows most collections, the
    /// outermost of those.
    pub fn find(&self) -> Option<Late> {
        let found = self.by_name.iter().filter_map(|((scope, name), begins)| begins.late(*scope, name));
        found.reduce(|best, other| if other.collections > best.collections { other } else { best })
    }
}

impl Begins {
    fn late(&self, scope: Scope, name: &str) -> Option<Late> {
        let (with, without): (Vec<Change>, Vec<Change>) = self.changes.iter().copied().partition(|change| change.collected);
        if with.len() < FEWEST_WITH || without.len() < FEWEST_WITHOUT {
            return None;
        }
        let middle = |changes: &[Change]| median(&mut changes.iter().map(|change| change.live).collect::<Vec<_>>());
        let (falls, grows) = (middle(&with), middle(&without));
        let growing = without.iter().filter(|change| change.live > 0.0).count();
        let grown: f64 = without.iter().map(|change| change.live).sum();
        let given_back: f64 = with.iter().map(|change| change.live.min(0.0)).sum::<f64>().abs();
        let mut objects: Vec<f64> = with.iter().filter_map(|change| change.objects).collect();
        let objects = (!objects.is_empty()).then(|| median(&mut objects));
        let waits = falls < 0.0
            && grows > 0.0
            && growing as f64 >= GROWS * without.len() as f64
            && given_back >= GIVES_BACK * grown
            // Memory that goes without any object of Python's was not held by a cycle of them.
            && objects.is_none_or(|objects| objects < 0.0);
        let levels: Vec<(f64, f64)> = with.iter().map(|change| (change.t_s, change.level)).collect();
        let every_s = (levels[levels.len() - 1].0 - levels[0].0) / (levels.len() - 1) as f64;
        let per = match scope {
            Scope::Epoch => "epoch",
            Scope::Round => "round",
            Scope::Node => "visit of a node",
            Scope::Phase => name,
        };
        waits.then(|| Late {
            collections: with.iter().filter(|change| change.live < 0.0).count(),
            gives_back: -falls,
            objects: objects.map(|objects| -objects),
            grows,
            per: per.to_owned(),
            levels,
            every_s,
        })
    }
}

/// Names cycles that are collected late, the largest of all processes': beside the sawtooth that pages show of it, or by
/// itself.
pub fn name(run: &Analyser, findings: &mut Vec<Finding>) {
    let late = run.store().tracks.keys().filter_map(|id| Some((*id, run.marks().of(*id)?.late_gc()?)));
    let Some((id, late)) = late.max_by(|a, b| a.1.gives_back.total_cmp(&b.1.gives_back)) else { return };
    let peak = run.store().tracks.get(&id).map_or(0.0, crate::series::Track::peak);
    if late.gives_back < WORTH_A_LINE.max(WORTH_A_SHARE * peak) {
        return;
    }
    let process = explain::reference(run, Some(id));
    let objects = late.objects.map_or(String::new(), |objects| format!(" and {objects:.0} objects"));
    let cause = format!(
        "cycles of Python objects wait for the garbage collector: {} full collections gave back {} of live memory{objects} each",
        late.collections,
        Bytes(late.gives_back as u64)
    );
    let mut evidence = vec![format!(
        "between collections live memory grows by {} per {}: break the cycle (weakref, del) or collect more often",
        Bytes(late.grows as u64),
        late.per
    )];
    if run.marks().of(id).is_some_and(super::Line::gc_disabled) {
        evidence.push("Python's automatic collection is off: only gc.collect() frees cycles".to_owned());
    }
    let same = |finding: &&mut Finding| {
        finding.class == Class::Sawtooth && finding.process.as_ref().map(|p| p.pid) == process.as_ref().map(|p| p.pid)
    };
    if let Some(seen) = findings.iter_mut().find(same) {
        seen.evidence.push(cause);
        seen.evidence.extend(evidence);
        return;
    }
    let mut finding = Finding::new(Class::Sawtooth, "ram", format!("{cause}: no leak; break the cycles or collect more often"));
    finding.kind = Some(Kind::Anonymous);
    finding.bytes = Some(late.gives_back as u64);
    finding.confidence = 0.9;
    finding.process = process;
    finding.evidence = evidence;
    findings.push(finding);
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Epochs that each add so many MiB of cycles; a full collection comes in every `every`-th, and frees them if `cycles`.
    fn epochs(count: u64, adds: u64, every: u64, cycles: bool) -> LateGc {
        let mut late = LateGc::default();
        let (mut live, mut objects, mut collections) = (400 * MIB, 100_000, 3);
        for epoch in 0..count {
            let facts = InnerFacts {
                heap_used: Some(live),
                gc_objects: Some(objects),
                gc_full: Some(collections),
                ..InnerFacts::default()
            };
            late.begin(epoch as f64, Scope::Epoch, "", &facts);
            live += adds * MIB;
            objects += adds * 10;
            if every > 0 && epoch % every == every - 1 {
                collections += 1;
                if cycles {
                    (live, objects) = (400 * MIB, 100_000);
                }
            }
        }
        late
    }

    #[test]
    fn cycles_that_wait_for_a_collection_are_named() {
        let late = epochs(20, 8, 5, true).find().expect("they wait");
        assert_eq!((late.collections, late.per.as_str()), (3, "epoch"));
        let level = (400 * MIB) as f64;
        assert_eq!((late.levels, late.every_s), (vec![(5.0, level), (10.0, level), (15.0, level)], 5.0));
        assert_eq!((late.gives_back, late.grows, late.objects), ((32 * MIB) as f64, (8 * MIB) as f64, Some(320.0)));
    }

    #[test]
    fn nothing_else_is() {
        assert_eq!(epochs(40, 8, 5, false).find(), None, "a leak that collections do not touch");
        assert_eq!(epochs(40, 0, 5, true).find(), None, "nothing grows");
        assert_eq!(epochs(40, 8, 1, true).find(), None, "a collection in every epoch is not late");
        assert_eq!(epochs(40, 8, 0, true).find(), None, "no collection: that it would help is not known");
        assert_eq!(epochs(9, 8, 5, true).find(), None, "seen once");
    }

    #[test]
    fn memory_without_objects_is_no_cycle() {
        let mut late = LateGc::default();
        for epoch in 0..40_u64 {
            let facts = InnerFacts {
                heap_used: Some((400 + epoch % 5 * 8) * MIB),
                gc_objects: Some(100_000 + epoch),
                gc_full: Some((epoch / 5) as u32),
                ..InnerFacts::default()
            };
            late.begin(epoch as f64, Scope::Epoch, "", &facts);
        }
        assert_eq!(late.find(), None);
    }

    #[test]
    fn it_stays_small() {
        let mut late = LateGc::default();
        for i in 0..100_000_u64 {
            let facts = InnerFacts { heap_used: Some(i), gc_full: Some(0), ..InnerFacts::default() };
            late.begin(i as f64, Scope::Phase, &format!("{}", i % 100), &facts);
        }
        assert_eq!(late.by_name.len(), MOST_NAMES);
        assert!(late.by_name.values().all(|begins| begins.changes.len() <= MOST_TIMES));
    }
}
