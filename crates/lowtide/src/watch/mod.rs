//! Watching a run: collect, record and judge, tick after tick, until it ends or enough was seen.
//!
//! `attach` turns the crank itself; under `run` a thread of its own does ([`thread`]), so that the main
//! thread has nothing to do but to wait for the target. What fails here is told in the report and never
//! reaches the target.

mod budget;
mod clock;
mod guard;
mod history;
mod looks;
mod marks;
mod notices;
mod probe;
mod recorder;
mod thread;

use std::path::{Path, PathBuf};

use lowtide_analyse::{Analyser, Review};
use lowtide_collect::{Collector, GpuSource, Options};
use lowtide_model::{
    Event, ExitStatus, Mode, Note, NoteKind, Notice, Report, Request, RunEnd, RunInfo, Seconds, Signal, Verdict,
};

use lowtide_report::{Curve, Gather};

use clock::{Clock, Schedule};
pub use guard::{be_brief_about_panics, guarded};
use history::History;
use looks::{Around, Looks};
use marks::Marks;
use notices::Notices;
use probe::Probe;
pub use recorder::Destination;
use recorder::Recorder;
pub use thread::Watcher;

use crate::explain::explain;
use crate::terminal::say_in_between;

/// The live verdict is looked at this often.
const REVIEW_EVERY_S: f64 = 5.0;
/// Marks are read this often at least, however long a tick is apart: a ring keeps the newest 512.
const HEAR_EVERY_S: f64 = 1.5;
/// Watching's own cost is noted this often.
const COST_EVERY_S: f64 = 30.0;

/// Called with the live report at every review. Gives the pids of the commands that it started: children of ours that are
/// no part of the run.
pub type Observer = Box<dyn FnMut(&Report) -> Vec<u32> + Send>;

/// What to watch, and how long.
pub struct Settings {
    /// The process to watch, with all that comes from it.
    pub pid: u32,
    /// How it came to be watched.
    pub mode: Mode,
    /// Its command, secrets masked.
    pub command: Vec<String>,
    /// Seconds between ticks.
    pub interval_s: f64,
    /// Stop watching after so many seconds.
    pub for_s: Option<f64>,
    /// Stop watching when the verdict is in.
    pub until_verdict: bool,
    /// Where the recording goes.
    pub record: Destination,
    /// The folder that processes of the run write marks to, or why there is none; `None` where nobody is to be asked.
    pub marks: Option<Result<PathBuf, String>>,
    /// Ask a process for `malloc_trim` where its growth looks like holes in the allocator.
    pub probe: bool,
    /// Look into a process that is likely to leak, to say who holds what grows.
    pub looks: bool,
    /// Have a process whose GPU memory grows write snapshots of PyTorch's allocator, to name the line that asks for it.
    pub gpu_history: bool,
    /// Look into the process that trains once at a low tide and near the peak of each phase, to say what its memory is for.
    pub budget: bool,
    /// Where GPUs are looked for.
    pub gpu: GpuSource,
    /// Looks at the live report.
    pub observers: Vec<Observer>,
    /// Seconds between two looks.
    pub review_every_s: f64,
    /// Say when a leak is established or the end is near.
    pub notices: bool,
    /// Gather what a page draws.
    pub draw: bool,
}

impl Settings {
    /// Watches until the target ends, once a second.
    pub fn new(pid: u32, mode: Mode, command: Vec<String>) -> Self {
        Self {
            pid,
            mode,
            command,
            interval_s: 1.0,
            for_s: None,
            until_verdict: false,
            record: Destination::Nowhere,
            marks: None,
            probe: false,
            looks: false,
            gpu_history: false,
            budget: false,
            gpu: GpuSource::default(),
            observers: Vec::new(),
            review_every_s: REVIEW_EVERY_S,
            notices: true,
            draw: false,
        }
    }
}

/// What watching came to.
pub struct Outcome {
    /// The answer.
    pub report: Report,
    /// The recording's file.
    pub recording: Option<PathBuf>,
    /// What a page draws; empty where nobody asked for one.
    pub curve: Curve,
}

/// A run under watch.
pub struct Watch {
    settings: Settings,
    clock: Clock,
    schedule: Schedule,
    collector: Option<Collector>,
    recorder: Recorder,
    marks: Option<Marks>,
    heard_s: f64,
    analyser: Analyser,
    curve: Option<Gather>,
    notices: Notices,
    probe: Probe,
    looks: Option<Looks>,
    history: Option<History>,
    reviewed_s: f64,
    cost_noted_s: f64,
    verdict: Option<Verdict>,
    events: Vec<Event>,
}

impl Watch {
    /// Starts watching. Fails where the process cannot be watched at all.
    pub fn start(mut settings: Settings) -> Result<Self, String> {
        let options = Options {
            root: PathBuf::from("/"),
            interval_s: settings.interval_s,
            own_child: settings.mode == Mode::Run,
            rollup: true,
            gpu: settings.gpu.clone(),
        };
        let clock = Clock::start();
        let (collector, trouble) = match Collector::new(settings.pid, options) {
            Ok(collector) => (Some(collector), None),
            // A command that has ended already: nothing was seen of it, but how it ended is worth telling.
            Err(error) if settings.mode == Mode::Run => (None, Some(error.to_string())),
            Err(error) => return Err(error.to_string()),
        };
        let info = RunInfo {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            mode: settings.mode,
            command: settings.command.clone(),
            host: lowtide_collect::host(Path::new("/")),
            started_unix_s: clock.unix_s(),
            interval_s: settings.interval_s,
            root_pid: settings.pid,
            rank: rank(),
            signal: Signal::AnonShmem,
        };
        let (folder, unmarked) = match settings.marks.take() {
            Some(Ok(folder)) => (Some(folder), None),
            Some(Err(why)) => (None, Some(why)),
            None => (None, None),
        };
        let looks = (settings.looks || settings.budget).then(|| Looks::new(folder.clone(), settings.budget));
        let destination = std::mem::replace(&mut settings.record, Destination::Nowhere);
        let recorder = Recorder::open(destination, &info);
        let history = settings.gpu_history.then(|| History::new(recorder.path()));
        let mut watch = Self {
            schedule: Schedule::new(settings.interval_s),
            recorder,
            marks: folder.map(|folder| Marks::new(folder, clock.start_ns())),
            heard_s: 0.0,
            curve: settings.draw.then(Gather::default),
            settings,
            clock,
            collector,
            analyser: Analyser::new(),
            notices: Notices::default(),
            probe: Probe::default(),
            looks,
            history,
            reviewed_s: 0.0,
            cost_noted_s: 0.0,
            verdict: None,
            events: Vec::new(),
        };
        watch.push(&Event::Start(info));
        if let Some(trouble) = trouble {
            watch.note(0.0, NoteKind::Unavailable, format!("the run: {trouble}"));
        }
        if let Some(why) = unmarked {
            watch.note(0.0, NoteKind::Unavailable, why);
        }
        Ok(watch)
    }

    /// How long until the next [`Watch::turn`] is due.
    pub fn until_next(&self) -> std::time::Duration {
        self.clock.until(self.schedule.due_s().min(self.glance_due_s()).min(self.hear_due_s()))
    }

    fn glance_due_s(&self) -> f64 {
        self.collector.as_ref().and_then(Collector::glance_due_s).unwrap_or(f64::INFINITY)
    }

    fn hear_due_s(&self) -> f64 {
        let every_s = self.looks.as_ref().and_then(Looks::hear_every_s).unwrap_or(HEAR_EVERY_S);
        if self.marks.is_some() { self.heard_s + every_s } else { f64::INFINITY }
    }

    /// Whether the target is still there.
    pub fn target_alive(&self) -> bool {
        self.collector.as_ref().is_some_and(Collector::target_alive)
    }

    /// A tick if one is due, else marks or a glance at what could be gone by the next tick.
    pub fn turn(&mut self) {
        let now_s = self.clock.now_s();
        if now_s >= self.schedule.due_s() {
            self.tick(now_s);
        } else if now_s >= self.hear_due_s() {
            self.hear(false);
            // A short phase that is waited for would be over by the next tick.
            if self.looks.as_ref().is_some_and(|looks| looks.hear_every_s().is_some()) {
                self.look(now_s);
            }
        } else if let Some(collector) = &mut self.collector
            && let Err(text) = guarded(|| collector.glance(now_s))
        {
            self.give_up(now_s, &text);
        }
    }

    /// Measures, records and judges once.
    fn tick(&mut self, now_s: f64) {
        let cpu_s = clock::thread_cpu_s();
        self.note_gaps(now_s);
        // A process that is held still would seem to be level.
        if !self.looks.as_ref().is_some_and(Looks::holds) {
            self.collect(now_s);
        }
        self.look(now_s);
        self.take_history(now_s, false);
        if now_s - self.cost_noted_s >= COST_EVERY_S {
            self.note_cost(now_s);
        }
        if let Some(trouble) = self.recorder.tick_done() {
            self.note(now_s, NoteKind::Warning, trouble);
        }
        if now_s - self.reviewed_s >= self.settings.review_every_s {
            self.review(now_s);
        }
        self.schedule.took(clock::thread_cpu_s() - cpu_s);
    }

    /// Why enough was seen, if it was.
    pub fn enough(&self) -> Option<String> {
        if let Some(for_s) = self.settings.for_s.filter(|for_s| self.clock.now_s() >= *for_s) {
            return Some(format!("--for {} is over", Seconds(for_s)));
        }
        // "Likely" becomes "leak" or falls with more data, and a leak that comes once a minute hides from ten seconds.
        let decided = match self.verdict {
            Some(Verdict::Leak) => true,
            Some(Verdict::NoLeak) => self.clock.now_s() >= LEVEL_FOR_SURE_S,
            _ => false,
        };
        (self.settings.until_verdict && decided).then(|| "the verdict is in (--until-verdict)".to_owned())
    }

    /// Ends watching: the answer. The recording is closed afterwards, by [`Watch::close`]: a slow disk must
    /// not hold up the answer.
    pub fn end(&mut self, status: ExitStatus, reason: &str) -> Result<Outcome, String> {
        let now_s = self.clock.now_s();
        self.hear(true);
        self.finish_looks(now_s);
        self.take_history(now_s, true);
        if let Some(why) = self.marks.as_ref().and_then(|marks| marks.unseen().or_else(|| marks.missing())) {
            self.note(now_s, NoteKind::Unavailable, why);
        }
        self.note_cost(now_s);
        let oom_kills = self.collector.as_ref().map_or(0, Collector::oom_kills);
        self.push(&Event::End(RunEnd { t_s: now_s, status, reason: reason.to_owned(), oom_kills }));
        let mut report = guarded(|| self.analyser.report())?;
        explain(&mut report);
        let recording = self.recorder.path();
        report.run.recording = recording.as_ref().map(|path| path.display().to_string());
        let curve = self.curve.take().map_or_else(Curve::default, Gather::finish);
        Ok(Outcome { report, recording, curve })
    }

    /// Writes out what is left of the recording.
    pub fn close(self) -> Result<(), String> {
        self.recorder.finish()
    }

    fn collect(&mut self, now_s: f64) {
        let mut events = std::mem::take(&mut self.events);
        if let Some(collector) = &mut self.collector
            && let Err(text) = guarded(|| collector.tick(now_s, &mut events))
        {
            events.clear();
            self.give_up(now_s, &text);
        }
        for event in events.drain(..) {
            if let Some(marks) = &mut self.marks {
                marks.know(&event);
                // They were before this moment.
                if matches!(event, Event::Tick(_)) {
                    self.hear(false);
                }
            }
            self.push(&event);
        }
        self.events = events;
    }

    /// Takes in what the processes say of themselves.
    fn hear(&mut self, last: bool) {
        let Some(marks) = &mut self.marks else { return };
        self.heard_s = self.clock.now_s();
        if marks.strangers()
            && let Some(collector) = &self.collector
        {
            marks.known_as(&collector.inner_pids());
        }
        match guarded(|| marks.poll(last)) {
            Ok(events) => events.iter().for_each(|event| {
                self.push(event);
                self.answered(event);
            }),
            Err(text) => {
                self.marks = None;
                let why = format!("steps and phases from here on: reading them failed inside lowtide ({text})");
                self.note(self.clock.now_s(), NoteKind::Unavailable, why);
            }
        }
    }

    fn give_up(&mut self, now_s: f64, text: &str) {
        self.collector = None;
        self.note(now_s, NoteKind::Unavailable, format!("everything from here on: watching failed inside lowtide ({text})"));
    }

    fn note_gaps(&mut self, now_s: f64) {
        let slept_s = self.clock.slept_s();
        let silent_s = self.schedule.ticked(now_s);
        if slept_s > 1.0 {
            self.note(now_s, NoteKind::Gap, format!("the machine was suspended for {}", Seconds(slept_s)));
        } else if let Some(silent_s) = silent_s {
            let text = format!("no measurements for {}: lowtide was stopped, or got no processor time", Seconds(silent_s));
            self.note(now_s, NoteKind::Gap, text);
        }
    }

    fn note_cost(&mut self, now_s: f64) {
        self.cost_noted_s = now_s;
        if let Some(cost) = self.collector.as_ref().map(|collector| collector.cost(now_s)) {
            self.push(&Event::Cost(cost));
        }
    }

    fn note(&mut self, t_s: f64, kind: NoteKind, text: String) {
        self.push(&Event::Note(Note { t_s, kind, text, process: None }));
    }

    fn push(&mut self, event: &Event) {
        self.recorder.append(event);
        // A panic in here shows again in `report`, which says so.
        let _ = guarded(|| self.analyser.push(event));
        if let Some(curve) = &mut self.curve
            && guarded(|| curve.push(event)).is_err()
        {
            self.curve = None;
        }
        if let Some(looks) = &mut self.looks {
            looks.know(event);
        }
    }

    fn review(&mut self, now_s: f64) {
        self.reviewed_s = now_s;
        let Ok(Review { mut report, suspicion, swings_fast }) = guarded(|| self.analyser.review()) else { return };
        self.schedule.hurry(if swings_fast { now_s + 2.0 * self.settings.review_every_s } else { now_s });
        explain(&mut report);
        self.verdict = Some(report.verdict);
        for observer in &mut self.settings.observers {
            let started = observer(&report);
            // On this thread and before the next tick, which would take them for children of the run.
            if let Some(collector) = &mut self.collector {
                started.into_iter().for_each(|pid| collector.ignore_child(pid));
            }
        }
        if let Some(looks) = &mut self.looks {
            looks.review(&report, suspicion);
        }
        if let Some(history) = &mut self.history {
            history.review(&report);
        }
        if self.settings.probe {
            self.ask(now_s, &report);
        }
        if self.settings.notices {
            for Notice::Leak(text) | Notice::NoLeak(text) | Notice::OomNear(text) in self.notices.new_in(&report) {
                say_in_between(&text);
            }
        }
    }

    /// Goes on with a look into a process, or begins one.
    fn look(&mut self, now_s: f64) {
        let around = Around { now_s, marks: self.marks.as_mut(), collector: self.collector.as_mut() };
        let Some(looks) = &mut self.looks else { return };
        let told = guarded(|| looks.go_on(around));
        self.tell(now_s, told);
    }

    fn finish_looks(&mut self, now_s: f64) {
        let around = Around { now_s, marks: self.marks.as_mut(), collector: self.collector.as_mut() };
        let Some(looks) = &mut self.looks else { return };
        let told = guarded(|| looks.finish(around));
        self.tell(now_s, told);
    }

    /// What a process has answered may be a copy of itself, or that it wrote a file.
    fn answered(&mut self, event: &Event) {
        let now_s = self.clock.now_s();
        if let Some(history) = &mut self.history {
            let told = guarded(|| history.answered(event));
            self.tell_history(now_s, told);
        }
        let collector = self.collector.as_mut();
        let Some(looks) = &mut self.looks else { return };
        let told = guarded(|| looks.answered(event, now_s, collector));
        self.tell(now_s, told);
    }

    fn tell(&mut self, now_s: f64, told: Result<Vec<Event>, String>) {
        match told {
            Ok(events) => events.iter().for_each(|event| self.push(event)),
            Err(text) => {
                self.looks = None;
                self.note(now_s, NoteKind::Unavailable, format!("who holds what grows: looking failed inside lowtide ({text})"));
            }
        }
    }

    /// Goes on with snapshots of GPU memory, or asks for one.
    fn take_history(&mut self, now_s: f64, last: bool) {
        let Some(history) = &mut self.history else { return };
        let marks = self.marks.as_mut();
        let told = guarded(|| if last { history.finish(now_s) } else { history.go_on(now_s, marks) });
        self.tell_history(now_s, told);
    }

    fn tell_history(&mut self, now_s: f64, told: Result<Vec<Event>, String>) {
        match told {
            Ok(events) => events.iter().for_each(|event| self.push(event)),
            Err(text) => {
                self.history = None;
                self.note(now_s, NoteKind::Unavailable, format!("who asks for GPU memory: it failed inside lowtide ({text})"));
            }
        }
    }

    /// Asks a process that grows by holes to give them back.
    fn ask(&mut self, now_s: f64, report: &Report) {
        if self.looks.as_ref().is_some_and(Looks::waits) {
            return;
        }
        let Some(marks) = &mut self.marks else { return };
        let Some(pid) = self.probe.wish(report, |pid| marks.is_asked(pid)) else { return };
        if let Err(error) = marks.ask(pid, Request::Trim) {
            self.note(now_s, NoteKind::Unavailable, format!("malloc_trim, which would tell holes for sure: {error}"));
        }
    }
}

/// Seconds before which `--until-verdict` does not take "no leak" for an answer.
const LEVEL_FOR_SURE_S: f64 = 60.0;

/// The global rank, as torchrun, Slurm, Open MPI and MPICH name it. Only these variables are read.
fn rank() -> Option<u32> {
    ["RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"]
        .iter()
        .find_map(|name| std::env::var(name).ok()?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};
    use std::time::{Duration, Instant};

    use super::*;

    /// A child that ends with its test.
    struct Guarded(Child);

    impl Guarded {
        fn start(program: &str) -> Self {
            Self(Command::new("sh").args(["-c", program]).spawn().expect("sh starts"))
        }
    }

    impl Drop for Guarded {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_command_of_ours_is_no_part_of_the_run() {
        let target = Guarded::start("exec sleep 600");
        let (tell, told) = std::sync::mpsc::channel();
        let mut started = false;
        let observer: Observer = Box::new(move |_| {
            if std::mem::replace(&mut started, true) {
                return Vec::new();
            }
            // The other one is younger, and counts: we are the reaper of the run's orphans.
            let ours = Guarded::start("exec sleep 600");
            let pid = ours.0.id();
            let _ = tell.send((ours, Guarded::start("exec sleep 600")));
            vec![pid]
        });
        let settings = Settings {
            observers: vec![observer],
            review_every_s: 0.0,
            ..Settings::new(target.0.id(), Mode::Run, vec!["sleep".to_owned()])
        };
        let mut watch = Watch::start(settings).expect("it watches");
        watch.turn();
        let (ours, orphan) = told.recv().expect("the observer has run");
        let limit = Instant::now() + Duration::from_secs(60);
        let seen = loop {
            watch.turn();
            let seen: Vec<u32> = watch.analyser.report().processes.iter().map(|process| process.pid).collect();
            if seen.contains(&orphan.0.id()) {
                break seen;
            }
            assert!(Instant::now() < limit, "never seen: {}; seen are {seen:?}", orphan.0.id());
            std::thread::sleep(Duration::from_millis(20));
        };
        assert!(!seen.contains(&ours.0.id()), "{seen:?}");
    }
}
