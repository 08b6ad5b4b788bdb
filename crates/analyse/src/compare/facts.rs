//! What a comparison needs of one run.

use lowtide_model::{Cycle, Kind, PhaseReport, ProcId, Report, Role, Signal, Verdict};

use super::budget::Told;
use super::estimate::Estimate;
use crate::analyser::Analyser;
use crate::blocks::block_minima;
use crate::excursion;
use crate::floor::envelope;
use crate::growth::{Assessment, Series};
use crate::judge::{Judged, NEEDED};
use crate::pyramid::Window;
use crate::roles::{WIGGLE, lived};
use crate::trend;

/// What is kept of a run for a comparison: its report, and the series that the report sums up.
#[derive(Clone, Debug)]
pub struct Facts {
    /// What is said of it alone.
    pub report: Report,
    /// The file it was read from.
    pub file: String,
    /// The whole tree first, then its roles.
    pub(super) parts: Vec<Part>,
    /// Steps by time.
    pub(super) steps: Vec<Window>,
    /// Its phases, those of the process with the most steps.
    pub(super) phases: Vec<PhaseReport>,
    /// What memory was for each time that a process was looked into.
    pub(super) told: Vec<Told>,
    /// What its numbers are.
    pub(super) signal: Signal,
    first_s: f64,
    last_s: f64,
}

/// The tree or one role.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// `None` for the tree.
    pub role: Option<Role>,
    /// Its memory, without the tear-down.
    windows: Vec<Window>,
    /// The most processes alive at one time.
    pub count: u32,
    pub growth: Growth,
}

/// How fast a part grows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Growth {
    /// Growth was established.
    pub grows: bool,
    /// Bytes per second.
    pub per_second: Option<Estimate>,
    /// Bytes per step.
    pub per_step: Option<Estimate>,
}

/// What a part needs up to some time. Bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Need {
    pub floor: Estimate,
    pub peak: Estimate,
    pub spike: Estimate,
}

impl Facts {
    /// Takes them from a finished analysis. `report`: what is said of the run, by this analysis.
    #[must_use]
    pub fn of(run: &Analyser, report: Report, file: &str) -> Self {
        let assessment = run.assessment();
        let store = run.store();
        let leader = run.marks().leader();
        let part = |role: Option<Role>, group: &crate::series::Group| Part {
            role,
            windows: lived(group.memory().windows(), run.over()).to_vec(),
            count: group.most,
            growth: growth(run, &assessment, &report, role),
        };
        let tree = (store.tree.most > 0).then(|| part(None, &store.tree));
        let held = |role: Role| role != Role::Outside && store.tracks.values().any(|t| t.process.role == role);
        let roles = store.roles.iter().filter(|(role, _)| held(**role)).map(|(role, group)| part(Some(*role), group));
        let told = run.looks().moments().filter_map(|(id, t_s, budget)| {
            let role = store.tracks.get(id)?.process.role;
            Some(Told { process: *id, role, t_s: *t_s, budget: budget.clone() })
        });
        let leading: Option<ProcId> = report.progress.iter().max_by_key(|progress| progress.steps).map(|progress| progress.id);
        Self {
            parts: tree.into_iter().chain(roles).collect(),
            steps: leader.map_or_else(Vec::new, |line| line.steps_by_time().to_vec()),
            phases: report.phases.iter().filter(|phase| Some(phase.id) == leading).cloned().collect(),
            told: told.collect(),
            file: file.to_owned(),
            signal: run.signal(),
            first_s: run.last_s() - report.duration_s,
            last_s: run.last_s(),
            report,
        }
    }

    /// Steps that it took; `None` where they are not known.
    #[must_use]
    pub fn steps(&self) -> Option<f64> {
        self.steps.last().map(|window| window.last)
    }

    /// The most processes alive at one time.
    pub(super) fn processes(&self) -> u32 {
        self.parts.first().map_or(0, |tree| tree.count)
    }

    pub(super) fn part(&self, role: Option<Role>) -> Option<&Part> {
        self.parts.iter().find(|part| part.role == role)
    }

    /// Growth of memory was established in the tree.
    pub(super) fn tree_grows(&self) -> bool {
        self.part(None).is_some_and(|tree| tree.growth.grows)
    }

    /// The time of a step, or of so many seconds after the first measurement.
    pub(super) fn time_of(&self, by_step: bool, until: f64) -> f64 {
        if !by_step {
            return self.first_s + until;
        }
        let at = self.steps.partition_point(|window| window.last < until);
        self.steps.get(at).map_or(self.last_s, |window| window.end_s)
    }

    /// How far into the run a time is: steps taken, or seconds since the first measurement.
    pub(super) fn far(&self, t_s: f64, by_step: bool) -> f64 {
        if !by_step {
            return t_s - self.first_s;
        }
        let at = self.steps.partition_point(|window| window.end_s <= t_s);
        at.checked_sub(1).and_then(|at| self.steps.get(at)).map_or(0.0, |window| window.last)
    }

    /// How far it went, likewise.
    pub(super) fn end(&self, by_step: bool) -> f64 {
        self.far(self.last_s, by_step)
    }

    /// Seconds a step up to a time, with the interval that a line through the steps has: a stall that lasts is no noise of
    /// single steps. The first tenth is left out: it holds the set-up.
    pub(super) fn step_time(&self, until_s: f64) -> Option<Estimate> {
        let inside = self.steps.partition_point(|window| window.end_s <= until_s);
        let windows = &self.steps[(inside / 10).min(inside)..inside];
        let group = windows.len().div_ceil(BLOCKS).max(1);
        let points: Vec<(f64, f64)> =
            windows.chunks(group).map(|some| &some[some.len() - 1]).map(|w| (w.last, w.end_s)).collect();
        let fitted = trend::fit(&points, 0.0)?;
        (fitted.least_squares > 0.0).then(|| Estimate::new(fitted.least_squares, fitted.error))
    }
}

/// Points that a line through steps rests on at most.
const BLOCKS: usize = 16;

impl Part {
    /// What it needs up to a time; `None` where it was not measured by then.
    pub(super) fn need(&self, until_s: f64) -> Option<Need> {
        let inside = self.windows.partition_point(|window| window.start_s <= until_s);
        let windows = &self.windows[..inside];
        let end_s = windows.last()?.end_s;
        let found = excursion::find(windows, &envelope(windows), excursion::tolerance(windows, WIGGLE));
        let span = end_s - windows[0].start_s;
        // The low tide of the last cycle, and no shorter time than a block.
        let last = (1.25 * found.longest_s).max(span / BLOCKS as f64);
        let recent = windows.iter().rev().take_while(|window| window.end_s >= end_s - last);
        let floor = recent.map(|window| window.low).fold(f64::INFINITY, f64::min);
        let peak = windows.iter().map(|window| window.high).fold(0.0, f64::max);
        let scatter = |windows: &[Window], longest_s: f64| {
            let later = &windows[windows.len() / 4..];
            let blocks = if later.len() >= 8 { block_minima(later, longest_s) } else { Vec::new() };
            trend::fit(&blocks, QUANTUM).map(|trend| trend.residual)
        };
        // The same upside down, in blocks that each hold a spike: what the highest tides scatter by. Too few of them do not
        // tell, and measurements a second apart miss the very top.
        let upside_down: Vec<Window> = windows.iter().map(|w| Window { low: -w.high, ..*w }).collect();
        let high = scatter(&upside_down, found.longest_s.max(found.period_s)).unwrap_or(QUANTUM.max(MISSED * found.height));
        let spike = if found.longest_s > 0.0 { found.height } else { 0.0 };
        let low = scatter(windows, found.longest_s).unwrap_or(QUANTUM);
        Some(Need { floor: Estimate::new(floor, low), peak: Estimate::new(peak, high), spike: Estimate::new(spike, high) })
    }
}

/// Resolution of memory: see [`crate::judge::Ask::bytes`]. Bytes.
pub(super) const QUANTUM: f64 = 256.0 * 1024.0;

/// The share of a spike's height that measurements may miss by chance.
const MISSED: f64 = 0.1;

/// How fast the tree or a role grows, by the verdicts on its processes: what was established; else what the trend of the
/// process to watch says, or zero within what would have been found.
fn growth(run: &Analyser, assessment: &Assessment, report: &Report, role: Option<Role>) -> Growth {
    let memory = |s: &Series| matches!(s.kind, Kind::Anonymous | Kind::Shmem | Kind::Processes) && s.role != Some(Role::Outside);
    let of_role = |s: &Series| role.is_none() || s.role == role;
    let grown: Vec<&Series> = assessment.growing().into_iter().filter(|s| memory(s) && of_role(s)).collect();
    if let Some(first) = grown.first() {
        let (since_s, until_s) = (first.judged.since_s, first.judged.until_s);
        let (mut rate, mut error) = (grown.iter().map(|s| s.judged.rate).sum(), sum_of_errors(&grown));
        // Processes that multiply are told by what they take together.
        if first.kind == Kind::Processes {
            let Some(tree) = run.tree_growth(since_s, until_s) else { return Growth { grows: true, ..Growth::default() } };
            (rate, error) = tree;
        }
        let line = run.marks().leader();
        let by_time = line.and_then(|line| line.rate(since_s, until_s)).map(|steps| Estimate::new(rate / steps, error / steps));
        return Growth {
            grows: true,
            per_second: Some(Estimate::new(rate, error)),
            per_step: step_by_step(report).filter(|_| grown.len() == 1).or(by_time),
        };
    }
    let steps = run.marks().leader().and_then(|line| line.rate(f64::NEG_INFINITY, f64::INFINITY));
    let per_second = if report.verdict == Verdict::Undecided {
        assessment.watched().and_then(by_trend)
    } else {
        level(report, assessment.watched())
    };
    let per_step = per_second.zip(steps).map(|(rate, steps)| Estimate::new(rate.value / steps, rate.error / steps));
    Growth { grows: false, per_second, per_step }
}

fn sum_of_errors(grown: &[&Series]) -> f64 {
    let memory = grown.iter().filter(|s| s.kind != Kind::Processes);
    memory.map(|s| error_of(&s.judged).powi(2)).sum::<f64>().sqrt()
}

fn error_of(judged: &Judged) -> f64 {
    (judged.ci95[1] - judged.ci95[0]) / (2.0 * 1.96)
}

/// Growth per step that was measured step by step.
fn step_by_step(report: &Report) -> Option<Estimate> {
    let growth = report.leak()?.growth.as_ref().filter(|growth| growth.per == Cycle::Step)?;
    Some(Estimate::new(growth.bytes_per_step?, (growth.ci95[1] - growth.ci95[0]) / (2.0 * 1.96)))
}

fn by_trend(judged: &Judged) -> Option<Estimate> {
    (judged.tides > 0).then(|| Estimate::new(f64::midpoint(judged.ci95[0], judged.ci95[1]), error_of(judged)))
}

/// No growth was found: none, within a share of what would have been; where there are too few low tides for that, within what
/// its low tides allow.
fn level(report: &Report, watched: Option<&Judged>) -> Option<Estimate> {
    let found = report.detectable_bytes_per_second.map(|detectable| detectable / NEEDED);
    let allowed = watched.map(|judged| judged.ci95[1] / 1.96).filter(|error| *error > 0.0);
    found.or(allowed).map(|error| Estimate::new(0.0, error))
}
