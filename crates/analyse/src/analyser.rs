//! The analysis of a run, fed event by event.

use std::collections::BTreeMap;

use lowtide_model::{
    Answer, Bytes, Class, CostReport, Event, ExitStatus, Finding, MarkKind, Mode, Note, NoteKind, OomForecast, ProcId, Report,
    Request, Role, RunEnd, RunInfo, RunSummary, SCHEMA, SamplingReport, Seconds, Signal, Tick, Verdict, WatchCost,
};

use crate::forecast::Limits;
use crate::gpu::{self, Gpus};
use crate::growth::{self, Assessment, assess};
use crate::judge::{Ask, Outcome};
use crate::looks::{self, Looks};
use crate::marks::Marks;
use crate::pyramid::Pyramid;
use crate::series::{Store, Track};
use crate::suspicion::{Suspicion, suspicion};
use crate::{asked, explain, hypotheses, roles, summary, unmapped};

/// Takes a run's events in order and gives a report at any time.
#[derive(Debug, Default)]
pub struct Analyser {
    info: Option<RunInfo>,
    end: Option<RunEnd>,
    store: Store,
    marks: Marks,
    looks: Looks,
    limits: Limits,
    dev_shm: Pyramid,
    gpus: Gpus,
    cost: WatchCost,
    blind_spots: Vec<String>,
    warnings: Vec<String>,
    ticks: u64,
    first_s: f64,
    last_s: f64,
    /// Kills that the target's cgroups had counted at the first tick.
    kills_before: Option<u64>,
    /// Outside processes that grew, with what was seen.
    suspects: BTreeMap<ProcId, String>,
    history: Vec<Checkpoint>,
    next_checkpoint: u64,
}

/// What was said earlier: a forecast is worth what it said before the end.
#[derive(Clone, Copy, Debug)]
struct Checkpoint {
    t_s: f64,
    verdict: Verdict,
    /// The forecast's middle and the limit that it named.
    oom_in_s: Option<f64>,
}

/// Bytes that a process gave back at our request from which on its series are cut: less is lost in what allocators drift by.
const TRIMMED: u64 = 256 * 1024;
/// Processes outside that are named in a report.
const MOST_STRANGERS: usize = 2;
/// The most warnings that are kept.
const MOST_NOTES: usize = 64;

/// The report of a run that goes on, with what watching should do next.
#[derive(Debug)]
pub struct Review {
    /// The report by what was seen so far.
    pub report: Report,
    /// Which process should be looked into, whether or not anything can be claimed of it yet.
    pub suspicion: Option<Suspicion>,
    /// That it does not leak is not certain, and memory swings so fast that measurements hit its low tides by chance: more of them tell
    /// sooner.
    pub swings_fast: bool,
}

impl Analyser {
    /// An analysis that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self { next_checkpoint: 32, ..Self::default() }
    }

    /// Takes the next event.
    pub fn push(&mut self, event: &Event) {
        match event {
            Event::Start(info) => self.info = Some(info.clone()),
            Event::Process(process) => self.store.know(process),
            Event::Exit(exit) => self.store.ended(exit.id, exit.t_s),
            Event::Cgroup(cgroup) => {
                self.limits.cgroups.entry(cgroup.id).or_insert_with(|| (cgroup.clone(), None)).0 = cgroup.clone();
            }
            Event::Gpu(gpu) => self.gpus.know(gpu),
            Event::GpuUser(user) => self.gpus.know_user(user),
            Event::Tick(tick) => self.tick(tick),
            Event::Note(note) if matches!(note.kind, NoteKind::Outside | NoteKind::Linked) => self.outside(note),
            Event::Note(note) => {
                let list = if note.kind == NoteKind::Unavailable { &mut self.blind_spots } else { &mut self.warnings };
                if list.len() < MOST_NOTES && !list.contains(&note.text) {
                    list.push(note.text.clone());
                }
            }
            Event::Mark(mark) => {
                self.marks.push(mark);
                self.gpus.mark(mark);
                if let MarkKind::Answer(Answer { request: Request::Trim, value: Some(bytes), pause_us, .. }) = mark.what
                    && bytes >= TRIMMED
                {
                    self.store.gave_back(mark.id, mark.t_s - pause_us as f64 * 1e-6);
                }
            }
            Event::Look(look) => self.looks.push(look),
            Event::Cost(cost) => self.cost = *cost,
            Event::End(end) => self.end = Some(end.clone()),
        }
    }

    fn outside(&mut self, note: &Note) {
        let Some(id) = note.process else { return };
        let list = if note.kind == NoteKind::Linked { &mut self.store.linked } else { &mut self.suspects };
        if list.len() < MOST_NOTES {
            list.insert(id, note.text.clone());
        }
    }

    fn tick(&mut self, tick: &Tick) {
        if self.ticks == 0 {
            self.first_s = tick.t_s;
        }
        self.ticks += 1;
        self.last_s = tick.t_s;
        self.store.push(tick.t_s, &tick.procs);
        self.marks.tick(tick.t_s, &tick.procs, self.store.tree.now());
        if let Some(system) = tick.system {
            self.limits.system = Some(system);
            self.dev_shm.push(tick.t_s, system.dev_shm_used as f64);
        }
        for sample in &tick.cgroups {
            self.limits.measured(sample);
        }
        self.gpus.tick(tick);
        if self.kills_before.is_none() && !tick.cgroups.is_empty() {
            self.kills_before = Some(self.cgroup_kills());
        }
        if self.ticks >= self.next_checkpoint {
            // A sixth more ticks each time: a hundred checkpoints in a year, and they cost nothing.
            self.next_checkpoint = self.ticks + (self.ticks / 6).max(8);
            let assessment = self.assessment();
            let findings = explain::findings(self, &assessment);
            self.history.push(Checkpoint {
                t_s: tick.t_s,
                verdict: explain::verdict(self, &assessment),
                oom_in_s: findings.iter().find_map(|f| f.oom.as_ref()?.seconds).map(|s| s[1]).filter(|s| s.is_finite()),
            });
        }
    }

    pub(crate) fn assessment(&self) -> Assessment {
        let mut host = assess(&self.store, &self.marks, &self.dev_shm, self.last_s, self.over());
        looks::hold_back(self, &mut host.series);
        asked::hold_back(self, &mut host.series);
        growth::hold_copies_back(&mut host.series);
        Assessment { gpus: gpu::all(self), ..host }
    }

    /// The report by what was seen so far.
    #[must_use]
    pub fn report(&self) -> Report {
        self.report_on(&self.assessment())
    }

    /// The same, and what watching should do next.
    #[must_use]
    pub fn review(&self) -> Review {
        let assessment = self.assessment();
        let report = self.report_on(&assessment);
        // A leak that is certain is measured as before: with fewer low tides it would not stay so.
        let swings_fast = report.verdict != Verdict::NoLeak && assessment.swings_fast();
        Review { swings_fast, suspicion: suspicion(self, &assessment), report }
    }

    /// What is said of processes outside that grew: of those that are still there first, and of the largest. On a busy machine
    /// somebody always grows.
    fn strangers(&self) -> Vec<String> {
        let stands = |id: &ProcId| {
            let track = self.store.tracks.get(id);
            (track.is_some_and(|track| track.counts(self.last_s)), track.map_or(0.0, Track::peak))
        };
        let mut all: Vec<_> = self.suspects.iter().filter(|(id, _)| !self.store.linked.contains_key(id)).collect();
        all.sort_by(|(a, _), (b, _)| {
            let ((a_lives, a_peak), (b_lives, b_peak)) = (stands(a), stands(b));
            b_lives.cmp(&a_lives).then(b_peak.total_cmp(&a_peak))
        });
        let more = all.len().saturating_sub(MOST_STRANGERS);
        let mut said: Vec<String> = all.into_iter().take(MOST_STRANGERS).map(|(_, text)| text.clone()).collect();
        match more {
            0 => {}
            1 => said.push("one more process outside of the watched tree grew".to_owned()),
            more => said.push(format!("{more} more processes outside of the watched tree grew")),
        }
        said
    }

    fn report_on(&self, assessment: &Assessment) -> Report {
        let mut findings = explain::findings(self, assessment);
        let detectable = self.detectable(assessment);
        let settled = explain::verdict(self, assessment);
        let coarse = if settled == Verdict::NoLeak { self.too_coarse(assessment, detectable) } else { None };
        let verdict = if coarse.is_some() { Verdict::Undecided } else { settled };
        if let Some(killed) = self.killed() {
            findings.insert(0, killed);
        }
        let watched = assessment.watched();
        let who = |id: ProcId| self.store.tracks.get(&id).map_or((0, None), |t| (t.process.pid, t.process.rank));
        let mut warnings = self.warnings.clone();
        if assessment.growing().is_empty() {
            // Only where the tree does not explain it is it worth a look what grows beside it.
            warnings.extend(self.strangers());
            warnings.extend(unmapped::warning(&self.store, &self.dev_shm, self.over()));
        }
        warnings.extend(self.marks.warnings());
        if self.store.forgotten > 0 {
            warnings.push(format!("{} short-lived processes came and went; they are not listed", self.store.forgotten));
        }
        let hypotheses = hypotheses::weigh(self, assessment, &findings);
        let mut report = Report {
            schema: SCHEMA,
            verdict,
            summary: String::new(),
            findings,
            processes: roles::processes(self, assessment),
            roles: roles::roles(self, assessment),
            expectations: Vec::new(),
            limits: self.limits.all().into_iter().chain(self.gpus.limits()).collect(),
            gpus: gpu::rows(self),
            cycles: watched.filter(|j| j.excursions.period_s > 0.0).map_or(0, |j| j.excursions.count as u64),
            duration_s: (self.last_s - self.first_s).max(0.0),
            detectable_bytes_per_second: detectable,
            more_seconds_needed: match coarse {
                Some(more_s) => more_s,
                None if verdict == Verdict::Undecided => self.more_seconds(assessment),
                None => 0.0,
            },
            progress: self.marks.progress(&who),
            phases: self.marks.phases(&who),
            budgets: self.looks.budgets(&who),
            epochs: self.marks.epochs(&who),
            nodes: self.marks.nodes(&who),
            snapshots: Vec::new(),
            logged: Vec::new(),
            hypotheses,
            cost: self.cost_report(),
            sampling: self.sampling(),
            blind_spots: self.blind_spots.clone(),
            warnings,
            run: self.summary(),
        };
        report.summary = summary::sentence(&report);
        report
    }

    /// How much longer until a verdict, of host memory and of GPUs.
    fn more_seconds(&self, assessment: &Assessment) -> f64 {
        let gpu = gpu::verdict(&assessment.gpus).map_or(0.0, |(_, more_s)| more_s);
        if explain::host_verdict(self, assessment) == Verdict::Undecided {
            more_seconds(assessment).max(gpu)
        } else {
            gpu.max(1.0)
        }
    }

    /// The smallest steady growth that would have been found in the process to watch, bytes per second.
    fn detectable(&self, assessment: &Assessment) -> Option<f64> {
        let (judged, track) = assessment.watched().zip(self.store.tracks.get(&assessment.watch?))?;
        let ask = Ask::bytes(self.over() || track.ended_s.is_some(), track.fresh());
        // What rose and stopped is judged by what came after: a leak would have gone on.
        let stopped = judged.outcome == Outcome::Stopped && judged.until_s - judged.rose_from_to.1 >= crate::judge::CLAIM_S;
        let windows = track.anon.around(judged.since_s);
        let from = if stopped { windows.partition_point(|window| window.start_s < judged.rose_from_to.1) } else { 0 };
        let ask = Ask { fresh: ask.fresh && !stopped, ..ask };
        let rate = crate::trial::detectable(&windows[from..], ask, judged);
        (rate.is_finite() && rate > 0.0).then_some(rate)
    }

    /// Seconds still to watch where "no leak" would say too little.
    fn too_coarse(&self, assessment: &Assessment, detectable: Option<f64>) -> Option<f64> {
        let judged = assessment.watched()?;
        let span_s = judged.until_s - judged.since_s;
        match detectable {
            Some(rate) => crate::coarse::more_s(rate, judged.peak, span_s),
            None => crate::coarse::more_to_know_s(judged.excursions.longest_s, span_s),
        }
    }

    fn cost_report(&self) -> CostReport {
        let share = if self.cost.t_s > 0.0 { self.cost.cpu_s / self.cost.t_s } else { 0.0 };
        CostReport {
            core_share: share,
            stops_ms: self.marks.pauses_ms().into_iter().chain(self.looks.stops_ms().iter().copied()).collect(),
            looks: self.looks.count(),
            held_seconds: self.looks.held_s(),
            recorder_rss_bytes: self.cost.rss_bytes,
            longest_read_ms: self.cost.longest_rollup_ms,
        }
    }

    fn sampling(&self) -> SamplingReport {
        let span = self.last_s - self.first_s;
        SamplingReport {
            ticks: self.ticks,
            interval_s: if self.ticks > 1 { span / (self.ticks - 1) as f64 } else { 0.0 },
            rollup_reads: self.cost.rollup_reads,
            rollup_skipped: self.cost.rollup_skipped,
        }
    }

    fn summary(&self) -> RunSummary {
        let Some(info) = &self.info else { return RunSummary::default() };
        let source = match info.mode {
            Mode::Run => "run",
            Mode::Attach => "attach",
            Mode::Import => "import",
        };
        let ended = match self.end.as_ref().map(|end| (end.status, end.reason.clone())) {
            Some((ExitStatus::Code(code), _)) => format!("exit {code}"),
            Some((ExitStatus::Signal(signal), _)) => format!("signal {signal}"),
            Some((ExitStatus::Unknown, reason)) if !reason.is_empty() => reason,
            _ => "still running".to_owned(),
        };
        RunSummary {
            command: info.command.join(" "),
            host: info.host.clone(),
            started_unix_s: info.started_unix_s,
            source: source.to_owned(),
            ended,
            recording: None,
        }
    }

    fn cgroup_kills(&self) -> u64 {
        // A cgroup's count holds its descendants' on version 2: the outermost has them all.
        self.limits.cgroups.values().filter_map(|(_, sample)| sample.map(|s| s.oom_kills)).max().unwrap_or(0)
    }

    /// The kernel killed something of the run for memory: by which limit, who held the memory, and what had been said.
    fn killed(&self) -> Option<Finding> {
        let end = self.end.as_ref()?;
        let counted = self.cgroup_kills().saturating_sub(self.kills_before.unwrap_or(0)).max(end.oom_kills);
        if counted == 0 {
            return None;
        }
        let in_cgroup = self
            .limits
            .cgroups
            .values()
            .filter_map(|(cgroup, sample)| Some((cgroup, (*sample)?)))
            .filter(|(_, sample)| sample.limit.is_some())
            .min_by_key(|(cgroup, sample)| {
                let most = self.limits.most_used.get(&cgroup.id).copied().unwrap_or(0);
                sample.limit.map_or(u64::MAX, |limit| limit.saturating_sub(most))
            });
        let (limit, limit_bytes, path) = match (in_cgroup, self.limits.system) {
            (Some((cgroup, sample)), _) => ("cgroup", sample.limit.unwrap_or(0), cgroup.path.clone()),
            (None, Some(system)) => ("system", system.total.saturating_add(system.swap_total), String::new()),
            (None, None) => ("system", 0, String::new()),
        };
        let holder =
            self.store.tracks.values().filter(|t| t.process.role != Role::Outside).max_by(|a, b| a.bytes().cmp(&b.bytes()));
        let who = holder
            .map_or(String::new(), |t| format!("; {} (pid {}) held {}", t.process.role.label(), t.process.pid, Bytes(t.bytes())));
        let used = in_cgroup.and_then(|(cgroup, _)| self.limits.most_used.get(&cgroup.id));
        let place = if path.is_empty() { String::new() } else { format!(" ({path})") };
        let text = format!("killed by the kernel for memory at the {limit} limit of {}{place}{who}", Bytes(limit_bytes));
        let mut finding = Finding::new(Class::Oom, "ram", text);
        let mut numbers = BTreeMap::new();
        numbers.insert("oom_kills".to_owned(), counted as f64);
        if let Some(used) = used {
            numbers.insert("used".to_owned(), *used as f64);
        }
        if let Some(track) = holder {
            numbers.insert("pid".to_owned(), f64::from(track.process.pid));
            numbers.insert("held".to_owned(), track.bytes() as f64);
        }
        finding.oom = Some(OomForecast {
            limit: limit.to_owned(),
            limit_bytes,
            seconds: None,
            steps: None,
            epoch: None,
            round: None,
            numbers,
        });
        finding.evidence.push(format!("the kernel's count of such kills rose by {counted} while it was watched"));
        finding.evidence.extend(self.foretold(end.t_s));
        finding.process = explain::reference(self, holder.map(|t| t.process.id));
        Some(finding)
    }

    /// Whether the forecast had said so, and how early.
    fn foretold(&self, end_s: f64) -> Option<String> {
        let said = self.history.iter().find(|c| c.oom_in_s.is_some() && c.verdict != Verdict::Undecided)?;
        let predicted = said.t_s + said.oom_in_s?;
        Some(format!(
            "foretold {} before: at {} the forecast said {}, it came after {}",
            Seconds(end_s - said.t_s),
            Seconds(said.t_s),
            Seconds(predicted - said.t_s),
            Seconds(end_s - said.t_s)
        ))
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn marks(&self) -> &Marks {
        &self.marks
    }

    pub(crate) fn looks(&self) -> &Looks {
        &self.looks
    }

    pub(crate) fn gpus(&self) -> &Gpus {
        &self.gpus
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn dev_shm(&self) -> &Pyramid {
        &self.dev_shm
    }

    pub(crate) fn signal(&self) -> Signal {
        self.info.as_ref().map_or(Signal::AnonShmem, |info| info.signal)
    }

    pub(crate) fn host(&self) -> String {
        self.info.as_ref().map_or(String::new(), |info| info.host.clone())
    }

    /// The target is over, so tear-downs are to be looked for. Of a foreign file it cannot be known.
    pub(crate) fn over(&self) -> bool {
        let ended = self.end.as_ref().is_some_and(|end| end.status != ExitStatus::Unknown);
        ended || self.info.as_ref().is_some_and(|info| info.mode == Mode::Import)
    }

    /// The time of the last measurement, seconds.
    pub(crate) fn last_s(&self) -> f64 {
        self.last_s
    }

    /// Growth of the whole tree's memory with shared pages counted once, where it could be measured for most of the time: bytes per
    /// second and its standard error, between two times. Where processes come faster than we look, that is at the start alone.
    pub(crate) fn tree_growth(&self, since_s: f64, until_s: f64) -> Option<(f64, f64)> {
        let inside = self.store.tree.once.windows().iter().filter(|w| w.start_s >= since_s && w.end_s <= until_s);
        let points: Vec<(f64, f64)> = inside.map(|w| (w.low_at_s, w.low)).collect();
        let span_s = points.last()?.0 - points.first()?.0;
        let trend = crate::trend::fit(&points, 0.0).filter(|_| span_s >= 0.5 * (until_s - since_s))?;
        (trend.slope > 0.0).then_some((trend.slope, trend.error))
    }

    /// What each of those takes that came since then and lived to the end, in the middle: bytes.
    pub(crate) fn bytes_of_newcomers(&self, since_s: f64, until_s: f64) -> Option<f64> {
        let came = |track: &&Track| track.first_s > since_s && track.counts(until_s) && track.process.role != Role::Outside;
        let mut bytes: Vec<f64> = self.store.tracks.values().filter(came).map(|track| track.bytes() as f64).collect();
        (!bytes.is_empty()).then(|| crate::trend::median(&mut bytes))
    }

    pub(crate) fn tree_floor(&self) -> f64 {
        roles::floor_and_spike(self, self.store.tree.memory()).0
    }

    pub(crate) fn tree_spike(&self) -> f64 {
        roles::floor_and_spike(self, self.store.tree.memory()).1
    }
}

/// How much longer until a verdict: the process to watch first, else the longest wait, at most an hour.
fn more_seconds(assessment: &Assessment) -> f64 {
    let least = if assessment.watch.is_none() { crate::judge::CLAIM_S } else { 1.0 };
    // How many holes are left to be filled cannot be known.
    let least = if assessment.live_rises.is_some() { least.max(crate::judge::SURE_S) } else { least };
    assessment.open().map(|s| s.judged.more_s).fold(least, f64::max).min(3600.0)
}
