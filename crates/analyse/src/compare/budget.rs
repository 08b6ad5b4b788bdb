//! What memory is for, before and after: each part of the budget at rest, and near the peak of each phase.
//!
//! A look shows one moment, and what grows has more the later it comes. So of several looks at rest the ones that came about as
//! far into their runs are held against each other, and what the memory grew by between them is no difference.

use std::collections::BTreeSet;

use lowtide_model::{BudgetAt, Bytes, ComparedRow, ProcId, Quantity, Role, Unit, budget_moment};

use super::cards;
use super::estimate::{Estimate, ROW, Side};
use super::facts::Facts;
use super::rows::{Compared, Usual};
use crate::shape::regress;

/// A look into a process that told what its memory is for.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub process: ProcId,
    pub role: Role,
    pub t_s: f64,
    pub budget: BudgetAt,
}

/// What is said of it.
#[derive(Debug, Default)]
pub(super) struct Budget {
    pub rows: Vec<ComparedRow>,
    pub sentence: Option<String>,
    pub notes: Vec<String>,
}

/// The name of the row that has all parts together.
pub(super) const ALL: &str = "all";
/// The most parts that the sentence names of a moment.
const NAMED: usize = 3;
/// Looks whose places in their runs differ by more than this share came at different times.
const ALIKE: f64 = 0.1;

const MIB: f64 = 1024.0 * 1024.0;
/// What two looks into two runs of one program differ by: see [`Usual`]. More than a floor does: an allocator's free memory lies now
/// in this part of a heap, now in that, and a batch is there or not.
pub(super) const USUAL: Usual = Usual { share: 0.03, amount: 3.0 * MIB, least: (0.01, 4.0 * MIB) };

/// Holds the budgets against each other. `growth`: of the whole tree.
pub(super) fn of(sides: [&[Facts]; 2], growth: &Compared) -> Budget {
    let known = sides.map(|side| side.iter().any(|run| !run.told.is_empty()));
    let by_step = growth.unit == Unit::BytesPerStep;
    let (mut rows, mut said) = (Vec::new(), Vec::new());
    let mut notes = match known {
        [true, false] => vec![one_side("before")],
        [false, true] => vec![one_side("after")],
        _ => Vec::new(),
    };
    for key in keys(sides) {
        let Some(moment) = Moment::of(sides, &key, by_step, growth) else { continue };
        let told = moment.rows(&key);
        notes.extend(moment.apart(&key, by_step));
        said.extend(sentence(self::moment(&key), &told).map(|(size, text)| (key.1.is_some(), size, text)));
        rows.extend(told);
    }
    let in_ram = said.len();
    for ((resource, role, phase), told) in cards::of(sides, by_step) {
        let moment = budget_moment(role.schema_name(), Some(&resource), phase.as_deref());
        said.extend(sentence(moment, &told).map(|(size, text)| (phase.is_some(), size, text)));
        rows.extend(told);
    }
    // At rest first; of phases the one in which most changed; RAM, then cards.
    let on_cards = said.split_off(in_ram);
    let text = |mut said: Vec<(bool, f64, String)>| {
        said.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        said.dedup_by_key(|(peak, ..)| *peak);
        said.into_iter().map(|(_, _, text)| text)
    };
    let text = text(said).chain(text(on_cards)).collect::<Vec<_>>().join("; ");
    let none = "no part of what memory is for is known to differ".to_owned();
    let sentence = (!rows.is_empty()).then_some(if text.is_empty() { none } else { text });
    Budget { rows, sentence, notes }
}

fn one_side(side: &str) -> String {
    format!("what memory is for was only looked at {side}: `lowtide run --budget` tells it of both")
}

/// A role, and a phase or rest.
type Key = (Role, Option<String>);

/// What both sides have, roles in their order, rest before phases.
fn keys(sides: [&[Facts]; 2]) -> Vec<Key> {
    let [before, after] = sides.map(|side| {
        let all = side.iter().flat_map(|run| &run.told);
        all.map(|told| (told.role, phase(&told.budget))).collect::<BTreeSet<Key>>()
    });
    before.intersection(&after).cloned().collect()
}

fn phase(budget: &BudgetAt) -> Option<String> {
    Some(budget.phase.clone()).filter(|phase| !phase.is_empty())
}

/// The looks of both sides that are held against each other.
struct Moment<'a> {
    /// Of each side, of each of its runs.
    runs: [Vec<Vec<Seen<'a>>>; 2],
    /// How far into their runs they came: steps or seconds, the mean of each side.
    at: [f64; 2],
    /// What the memory grew by between them, bytes.
    drift: f64,
}

/// What was seen of a process: the look that counts, and all of them with how far into the run they came.
struct Seen<'a> {
    at: f64,
    counts: &'a BudgetAt,
    all: Vec<(f64, &'a BudgetAt)>,
}

impl<'a> Moment<'a> {
    fn of(sides: [&'a [Facts]; 2], key: &Key, by_step: bool, growth: &Compared) -> Option<Self> {
        let of_run = |run: &'a Facts| -> Vec<Vec<(f64, &'a BudgetAt)>> {
            let fits = |told: &&Told| told.role == key.0 && phase(&told.budget) == key.1;
            let who: BTreeSet<ProcId> = run.told.iter().filter(fits).map(|told| told.process).collect();
            let looks = |id: ProcId| run.told.iter().filter(fits).filter(move |told| told.process == id);
            who.into_iter().map(|id| looks(id).map(|told| (run.far(told.t_s, by_step), &told.budget)).collect()).collect()
        };
        let found = sides.map(|side| side.iter().map(of_run).filter(|run| !run.is_empty()).collect::<Vec<_>>());
        let last = |process: &Vec<(f64, &BudgetAt)>| process.iter().map(|(at, _)| *at).fold(f64::NEG_INFINITY, f64::max);
        // As far as all of them go.
        let common = found.iter().flatten().flatten().map(last).fold(f64::INFINITY, f64::min);
        let counts = |all: Vec<(f64, &'a BudgetAt)>| {
            let near = |one: &&(f64, &BudgetAt)| (one.0 - common).abs();
            let nearest = *all.iter().min_by(|a, b| near(a).total_cmp(&near(b)))?;
            Some(Seen { at: nearest.0, counts: nearest.1, all })
        };
        let runs = found
            .map(|side| side.into_iter().map(|run| run.into_iter().filter_map(counts).collect::<Vec<_>>()).collect::<Vec<_>>());
        let mean = |side: &Vec<Vec<Seen>>| {
            let places: Vec<f64> = side.iter().flatten().map(|seen| seen.at).collect();
            places.iter().sum::<f64>() / places.len() as f64
        };
        let at = [mean(&runs[0]), mean(&runs[1])];
        let rates = [growth.before, growth.after].into_iter().flatten().map(|side| side.mean.max(0.0));
        let drift = rates.fold(0.0, f64::max) * (at[1] - at[0]).abs();
        at.iter().all(|at| at.is_finite()).then_some(Self { runs, at, drift })
    }

    fn rows(&self, key: &Key) -> Vec<ComparedRow> {
        let mut rows = vec![self.row(key, ALL, &|budget| budget.total)];
        for name in self.names() {
            let part = |budget: &BudgetAt| {
                budget.parts.iter().filter(|part| part.name == name).map(|part| part.bytes).fold(0, u64::saturating_add)
            };
            rows.push(self.row(key, name, &part));
        }
        rows
    }

    fn row(&self, key: &Key, name: &str, part: &dyn Fn(&BudgetAt) -> u64) -> ComparedRow {
        let side = |side: &Vec<Vec<Seen>>| side.iter().map(|run| estimate(run, part)).collect();
        let values = [side(&self.runs[0]), side(&self.runs[1])];
        let compared = Compared::of(Quantity::Budget, Unit::Bytes, values, &USUAL, self.drift);
        ComparedRow { part: Some(name.to_owned()), ..compared.row(Some(key.0), key.1.as_deref(), ROW) }
    }

    /// All parts, in the order in which looks have them.
    fn names(&self) -> Vec<&'a str> {
        let mut names: Vec<&str> = Vec::new();
        for part in self.runs.iter().flatten().flatten().flat_map(|seen| &seen.counts.parts) {
            if !names.contains(&part.name.as_str()) {
                names.push(&part.name);
            }
        }
        names
    }

    /// That the looks came at different times.
    fn apart(&self, key: &Key, by_step: bool) -> Option<String> {
        let [before, after] = self.at;
        if self.drift < USUAL.least.1 || (after - before).abs() <= ALIKE * before.max(after) {
            return None;
        }
        let at = |at: f64| if by_step { format!("step {at:.0}") } else { lowtide_model::Seconds(at).to_string() };
        Some(format!(
            "{} was looked at after {} before, and after {} after: parts that differ by less than the {} that memory grew by \
             meanwhile are not said to differ",
            moment(key),
            at(before),
            at(after),
            Bytes(self.drift as u64)
        ))
    }
}

/// What a part of a run's processes has: the mean of them, with what three and more looks scatter by around a line, and what
/// processes differ by.
fn estimate(run: &[Seen], part: &dyn Fn(&BudgetAt) -> u64) -> Option<Estimate> {
    let of = |seen: &Seen| {
        let points: Vec<(f64, f64)> = seen.all.iter().map(|(at, budget)| (*at, part(budget) as f64)).collect();
        Some(Estimate::new(part(seen.counts) as f64, around_line(&points)))
    };
    Side::of(run.iter().map(of)).map(|processes| processes.as_one())
}

/// What points scatter by around the line through them, from left to right; 0 where there are too few to tell.
fn around_line(points: &[(f64, f64)]) -> f64 {
    match points {
        [first, .., last] if points.len() >= 3 && last.0 > first.0 => {
            (regress(points.iter().copied()).squares / (points.len() as f64 - 2.0)).sqrt()
        }
        _ => 0.0,
    }
}

/// What differs most at this moment, and by how much in all.
fn sentence(moment: String, rows: &[ComparedRow]) -> Option<(f64, String)> {
    let change = |row: &ComparedRow| row.difference.map_or(0.0, |difference| difference.value);
    let mut differ: Vec<&ComparedRow> =
        rows.iter().filter(|row| row.differs == Some(true) && row.part.as_deref() != Some(ALL)).collect();
    differ.sort_by(|a, b| change(b).abs().total_cmp(&change(a).abs()));
    let named: Vec<String> = differ
        .iter()
        .take(NAMED)
        .map(|row| {
            let size = |value: f64| Bytes(value.abs().round() as u64).to_string();
            let more = if change(row) > 0.0 { "more" } else { "less" };
            format!("{} {more} for {}", size(change(row)), row.part.as_deref().unwrap_or_default())
        })
        .collect();
    let size = differ.iter().map(|row| change(row).abs()).sum();
    (!named.is_empty()).then(|| (size, format!("{moment}: {}", named.join(", "))))
}

fn moment((role, phase): &Key) -> String {
    budget_moment(role.schema_name(), None, phase.as_deref())
}
