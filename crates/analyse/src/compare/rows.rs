//! The table: each quantity of the tree, of each role and of each phase, before and after.

use lowtide_model::{ComparedRow, Matched, PhaseReport, Quantity, Role, Unit};

use super::estimate::{Difference, Estimate, ROW, SENTENCE, Side, Sure};
use super::facts::{Facts, Growth, Need, QUANTUM};
use super::notes;
use crate::ask::Ask;

/// All rows, and of the whole tree what the sentence rests on.
pub(super) struct Table {
    pub rows: Vec<ComparedRow>,
    pub growth: Compared,
    pub floor: Compared,
    pub peak: Compared,
    pub step_time: Compared,
}

/// A quantity on both sides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compared {
    pub quantity: Quantity,
    pub unit: Unit,
    pub before: Option<Side>,
    pub after: Option<Side>,
    pub difference: Option<Difference>,
}

/// What two runs of one program on one machine differ by, as a standard deviation, where one run a side cannot tell: a share of
/// the value, and an amount. Set so that `zoo/compare.py pairs` finds no difference between the runs of one program.
pub(super) struct Usual {
    pub share: f64,
    pub amount: f64,
    /// The least that is worth a word: a share of the value before, and an amount.
    pub least: (f64, f64),
}

const MIB: f64 = 1024.0 * 1024.0;
const USUAL_GROWTH: Usual = Usual { share: 0.05, amount: 0.0, least: (0.05, 0.0) };
const USUAL_FLOOR: Usual = Usual { share: 0.01, amount: 1.5 * MIB, least: (0.01, 4.0 * MIB) };
const USUAL_PEAK: Usual = Usual { share: 0.015, amount: 2.0 * MIB, least: (0.01, 4.0 * MIB) };
/// A machine that others use as well makes runs of one program differ by any share (by up to 70 % where it was measured), and a
/// run does not show what else ran: only several runs a side tell.
const USUAL_TIME: Usual = Usual { share: 0.0, amount: f64::INFINITY, least: (0.01, 0.0) };

impl Compared {
    pub(super) fn of(quantity: Quantity, unit: Unit, runs: [Vec<Option<Estimate>>; 2], usual: &Usual, least: f64) -> Self {
        let [before, after] = runs.map(Side::of);
        let difference = before.zip(after).map(|(before, after)| {
            let least = least.max(usual.least.1).max(usual.least.0 * before.mean.abs());
            Difference::of(&before, &after, |value| usual.amount.hypot(usual.share * value), least)
        });
        Self { quantity, unit, before, after, difference }
    }

    /// The difference, where there is one.
    pub(super) fn seen(&self, sure: Sure) -> Option<f64> {
        self.difference.filter(|difference| difference.differs(sure) == Some(true)).map(|difference| difference.value)
    }

    pub(super) fn row(&self, role: Option<Role>, phase: Option<&str>, sure: Sure) -> ComparedRow {
        ComparedRow {
            quantity: self.quantity,
            unit: self.unit,
            role: role.map(|role| role.schema_name().to_owned()),
            phase: phase.map(str::to_owned),
            resource: None,
            part: None,
            before: self.before.map(|side| side.measured()),
            after: self.after.map(|side| side.measured()),
            difference: self.difference.map(|difference| difference.measured()),
            differs: self.difference.and_then(|difference| difference.differs(sure)),
            smallest_seen: self.difference.and_then(|difference| difference.smallest(sure)),
        }
    }
}

impl Table {
    pub(super) fn of(before: &[Facts], after: &[Facts], matched: Matched) -> Self {
        let sides = [before, after];
        let by_step = matched.by == "step";
        let until = |run: &Facts| matched.until.map_or(f64::INFINITY, |until| run.time_of(by_step, until));
        let tree = Part::of(sides, None, by_step, &until);
        let times = sides.map(|side| side.iter().map(|run| run.step_time(until(run))).collect());
        let step_time = Compared::of(Quantity::StepTime, Unit::Seconds, times, &USUAL_TIME, 0.0);
        let mut rows: Vec<ComparedRow> = tree.all().map(|compared| compared.row(None, None, SENTENCE)).collect();
        if step_time.before.is_some() || step_time.after.is_some() {
            rows.push(step_time.row(None, None, SENTENCE));
        }
        let has = |role: Role| before.iter().chain(after).any(|run| run.part(Some(role)).is_some());
        let roles: Vec<Role> = Role::ALL.into_iter().filter(|role| has(*role)).collect();
        // A single role is the tree.
        for role in roles.iter().filter(|_| roles.len() > 1) {
            rows.extend(Part::of(sides, Some(*role), by_step, &until).all().map(|compared| compared.row(Some(*role), None, ROW)));
        }
        rows.extend(phases(sides, matched.until.is_none() || notes::alike(sides, by_step)));
        Self { rows, growth: tree.growth, floor: tree.floor, peak: tree.peak, step_time }
    }
}

/// The tree or a role on both sides.
struct Part {
    growth: Compared,
    floor: Compared,
    peak: Compared,
    spike: Compared,
}

impl Part {
    fn of(sides: [&[Facts]; 2], role: Option<Role>, by_step: bool, until: &dyn Fn(&Facts) -> f64) -> Self {
        let growth = |of: fn(&Growth) -> Option<Estimate>| {
            sides.map(|side| side.iter().map(|run| run.part(role).and_then(|part| of(&part.growth))).collect::<Vec<_>>())
        };
        let per_second = growth(|growth| growth.per_second);
        let per_step = growth(|growth| growth.per_step);
        let span_s = sides.iter().flat_map(|side| side.iter()).map(|run| run.report.duration_s).fold(f64::INFINITY, f64::min);
        // What a healthy run drifts by is no difference.
        let drift = Ask::bytes(false, false).over(span_s).least / span_s.max(1.0);
        let growth = if by_step && per_step.iter().flatten().all(Option::is_some) {
            let seconds = sides.iter().flat_map(|side| side.iter()).filter_map(|run| Some(run.report.duration_s / run.steps()?));
            let drift = drift * seconds.fold(0.0, f64::max);
            Compared::of(Quantity::Growth, Unit::BytesPerStep, per_step, &USUAL_GROWTH, drift)
        } else {
            Compared::of(Quantity::Growth, Unit::BytesPerSecond, per_second, &USUAL_GROWTH, drift)
        };
        let needs = sides.map(|side| side.iter().map(|run| run.part(role)?.need(until(run))).collect::<Vec<_>>());
        let of =
            |what: fn(&Need) -> Estimate| needs.clone().map(|side| side.iter().map(|need| need.as_ref().map(what)).collect());
        Self {
            growth,
            floor: Compared::of(Quantity::Floor, Unit::Bytes, of(|need| need.floor), &USUAL_FLOOR, 0.0),
            peak: Compared::of(Quantity::Peak, Unit::Bytes, of(|need| need.peak), &USUAL_PEAK, 0.0),
            spike: Compared::of(Quantity::Spike, Unit::Bytes, of(|need| need.spike), &USUAL_PEAK, 0.0),
        }
    }

    fn all(&self) -> impl Iterator<Item = &Compared> {
        [&self.growth, &self.floor, &self.peak, &self.spike].into_iter()
    }
}

/// The most phases that are compared.
const MOST_PHASES: usize = 12;

/// Phases that both sides have, by their name. A phase that comes several times tells by how much it differs from one time to
/// the next; the time of its steps only several runs a side tell. `alike`: the runs went as far as each other, so that the
/// most and the least of all times can be compared.
fn phases(sides: [&[Facts]; 2], alike: bool) -> Vec<ComparedRow> {
    let Some(first) = sides[0].first() else { return Vec::new() };
    let of = |run: &Facts, name: &str| run.phases.iter().find(|phase| phase.name == name).cloned();
    let everywhere = |phase: &&PhaseReport| sides.iter().flat_map(|side| side.iter()).all(|run| of(run, &phase.name).is_some());
    let bytes = |which: usize, of: fn(&PhaseReport) -> Option<u64>| {
        move |phase: &PhaseReport| {
            let value = of(phase)? as f64;
            let scatter = phase.scatter_bytes[which].filter(|_| alike);
            Some(scatter.map_or_else(|| Estimate::alone(value), |error| Estimate::new(value, error.max(QUANTUM))))
        }
    };
    let time = |phase: &PhaseReport| (phase.steps > 0).then(|| Estimate::alone(phase.seconds / phase.steps as f64));
    let mut rows = Vec::new();
    for phase in first.phases.iter().filter(everywhere).take(MOST_PHASES) {
        let mut row = |quantity, unit, usual: &Usual, value: &dyn Fn(&PhaseReport) -> Option<Estimate>| {
            let values = sides.map(|side| side.iter().map(|run| value(&of(run, &phase.name)?)).collect());
            let compared = Compared::of(quantity, unit, values, usual, 0.0);
            if compared.before.is_some() && compared.after.is_some() {
                rows.push(compared.row(None, Some(&phase.name), ROW));
            }
        };
        row(Quantity::Floor, Unit::Bytes, &USUAL_FLOOR, &bytes(0, |phase| phase.floor_bytes));
        row(Quantity::Peak, Unit::Bytes, &USUAL_PEAK, &bytes(1, |phase| phase.peak_bytes));
        row(Quantity::Spike, Unit::Bytes, &USUAL_PEAK, &bytes(2, |phase| phase.spike_bytes));
        row(Quantity::StepTime, Unit::Seconds, &USUAL_TIME, &time);
    }
    rows
}
