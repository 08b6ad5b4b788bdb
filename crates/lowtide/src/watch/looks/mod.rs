//! Looks that `run` takes by itself into a process that is likely to leak: who holds what grows.
//!
//! When is decided by [`plan`]; by which way - the process is held still, or copies itself at a mark and the copy is read - by
//! which of the two is predicted to hold it up less. Where it may not be held for as long yet, the first one is taken while it goes on: that
//! tells how long containers are, which is enough to compare a later one with. The look itself runs on a thread of its own, so that the recording goes on.
//! Whatever fails becomes a note, and nothing more.

mod grown;
mod named;
mod peaks;
mod plan;
mod take;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use lowtide_analyse::Suspicion;
use lowtide_collect::Collector;
use lowtide_model::{Answer, BudgetAt, Event, Look, MarkKind, Note, NoteKind, ProcId, Report, Request, Role, Tick};
use lowtide_remote::{How, Meeting, Process, copying, fits, held, hurried, shorter};

use super::clock::crowd;
use super::guard::guarded;
use super::marks::Marks;
use grown::Before;
use peaks::Peaks;
use plan::{Due, Plan};
use take::{Failed, Order, Taken, Way};

/// A copy is waited for this long, seconds: as long as a long step takes.
const PATIENCE_S: f64 = 10.0;
/// The same where it is to be made when a backward pass begins, and between two batches of a phase.
const PASS_PATIENCE_S: f64 = 30.0;
const BATCH_PATIENCE_S: f64 = 1.0;
/// No look at what memory is for holds a process up for longer, though it was asked for.
const LONGEST_AT_PEAK: Duration = Duration::from_secs(2);
/// Marks are read so often meanwhile, seconds: a copy waits for us.
const HEAR_EVERY_S: f64 = 0.05;
/// The same where a short phase is waited for.
const KEEN_S: f64 = 0.1;
/// A look that takes longer is given up, seconds.
const LOOK_S: f64 = 60.0;
/// One that is under way at the end of the run is waited for so long, and asked for so often: the answer must be there 1.5 s after the
/// end of the target.
const LAST: Duration = Duration::from_millis(300);
const BETWEEN: Duration = Duration::from_millis(20);
/// Objects that the collector does not track, for each that it does (measured: 2.7 to 3.4, on 3.8 to 3.13 and with torch).
const ALL_OF_TRACKED: u64 = 4;
/// Objects for each MiB of private memory, where nothing is known of them: far fewer where most of it is tensors.
const PER_MIB: u64 = 3000;
/// No more than so many times longer is allowed for where others use the machine, too.
const MOST_CROWDED: f64 = 16.0;
/// The least that a look takes, bytes.
const LEAST_ROOM: u64 = 64 << 20;

/// The looks of a run.
pub struct Looks {
    plan: Plan,
    peaks: Peaks,
    state: State,
    /// Where copies meet us; `None` where nothing was put into the run.
    folder: Option<PathBuf>,
    /// What the first look at each process left to compare with, and when it was.
    before: HashMap<ProcId, (Arc<Before>, f64)>,
    /// Private bytes of each process, and objects that its collector tracks.
    sizes: HashMap<ProcId, u64>,
    tracked: HashMap<ProcId, u64>,
    pids: HashMap<ProcId, u32>,
    roles: HashMap<ProcId, Role>,
    /// Set while a process is held still.
    holding: Arc<AtomicBool>,
    /// Processes that could not be copied.
    no_copies: Vec<ProcId>,
    /// Phases in which a process did not answer soon.
    silent: Vec<String>,
}

enum State {
    Idle,
    /// A copy was asked for.
    Asked {
        due: Due,
        process: Process,
        meeting: Meeting,
        since_s: f64,
        room: u64,
    },
    /// The look is under way.
    Under {
        due: Due,
        since_s: f64,
        copied: Option<u64>,
        taken: Receiver<Result<Taken, Failed>>,
    },
}

/// What looks need of the watching.
pub struct Around<'a> {
    pub now_s: f64,
    pub marks: Option<&'a mut Marks>,
    pub collector: Option<&'a mut Collector>,
}

impl Looks {
    /// None taken yet. `folder`: that of the marks; `budget`: what memory is for is wanted, whether somebody leaks or not.
    pub fn new(folder: Option<PathBuf>, budget: bool) -> Self {
        Self {
            plan: Plan::default(),
            peaks: Peaks::new(budget),
            state: State::Idle,
            folder,
            before: HashMap::new(),
            sizes: HashMap::new(),
            tracked: HashMap::new(),
            pids: HashMap::new(),
            roles: HashMap::new(),
            holding: Arc::default(),
            no_copies: Vec::new(),
            silent: Vec::new(),
        }
    }

    /// A process is held still: what is measured now would seem to be level.
    pub fn holds(&self) -> bool {
        self.holding.load(Ordering::SeqCst)
    }

    /// A process was asked for a copy, and nothing else may be asked of it.
    pub fn waits(&self) -> bool {
        matches!(self.state, State::Asked { .. })
    }

    /// Marks have to be heard this often for it, seconds; `None` where as usual.
    pub fn hear_every_s(&self) -> Option<f64> {
        match &self.state {
            State::Asked { due, .. } if due.target.is_none() => Some(HEAR_EVERY_S),
            State::Asked { .. } => Some(KEEN_S),
            _ => self.peaks.is_keen().then_some(KEEN_S),
        }
    }

    /// Takes note of a live report.
    pub fn review(&mut self, report: &Report, suspicion: Option<Suspicion>) {
        self.plan.review(report, suspicion);
        self.peaks.leaks(self.plan.is_named());
    }

    /// Takes note of what is measured and of what processes say.
    pub fn know(&mut self, event: &Event) {
        match event {
            Event::Tick(Tick { t_s, procs, .. }) => {
                self.sizes = procs.iter().map(|sample| (sample.id, sample.anon.saturating_add(sample.shmem))).collect();
                self.plan.measured(*t_s, &self.sizes);
                let anonymous = procs.iter().map(|sample| (sample.id, sample.anon)).collect();
                self.peaks.measured(*t_s, &anonymous);
            }
            Event::Process(process) => {
                self.pids.insert(process.id, process.pid);
                self.roles.insert(process.id, process.role);
            }
            Event::Mark(mark) => {
                self.peaks.marked(mark.id, mark.t_s, &mark.what);
                if let Some(objects) = mark.facts.as_ref().and_then(|facts| facts.gc_objects) {
                    self.tracked.insert(mark.id, objects);
                }
            }
            Event::Exit(exit) => {
                self.tracked.remove(&exit.id);
                self.pids.remove(&exit.id);
                self.roles.remove(&exit.id);
                self.peaks.gone(exit.id);
                self.plan.gone(exit.id);
                self.before.remove(&exit.id);
            }
            _ => {}
        }
    }

    /// Goes on with the look that is under way, or begins one if it is time. What there is to tell.
    pub fn go_on(&mut self, mut around: Around<'_>) -> Vec<Event> {
        let told = match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle => self.begin(&mut around),
            State::Asked { due, process, meeting, since_s, room } => {
                let patience_s = match &due.target {
                    Some(target) if target.at_backward => PASS_PATIENCE_S,
                    Some(target) if !target.phase.is_empty() => BATCH_PATIENCE_S,
                    _ => PATIENCE_S,
                };
                if around.now_s - since_s < patience_s {
                    self.state = State::Asked { due, process, meeting, since_s, room };
                    return Vec::new();
                }
                if let Some(target) = &due.target {
                    self.silent.push(target.phase.clone());
                    return self.stop_if_short(due, process, room, 0, around.now_s);
                }
                // It makes no marks, or a very long step. When it comes to our request nobody will listen, and it will know.
                self.no_copies.push(due.id);
                self.stop(due, process, room, around.now_s)
            }
            State::Under { due, since_s, copied, taken } => match taken.try_recv() {
                Ok(result) => self.ended(due, since_s, copied, result, &mut around),
                Err(TryRecvError::Empty) if around.now_s - since_s < LOOK_S => {
                    self.state = State::Under { due, since_s, copied, taken };
                    Vec::new()
                }
                Err(gone) => {
                    let why = match gone {
                        TryRecvError::Empty => format!("it took more than {LOOK_S:.0} s, most of it after the process went on"),
                        TryRecvError::Disconnected => "it broke off inside lowtide".to_owned(),
                    };
                    let failed = Failed { why, pause: Duration::ZERO, for_good: true };
                    self.ended(due, since_s, copied, Err(failed), &mut around)
                }
            },
        };
        if let Some(collector) = &mut around.collector {
            collector.copy_lives(matches!(self.state, State::Under { copied: Some(_), .. } | State::Asked { .. }));
        }
        told
    }

    /// A process has answered: its copy is read, if there is one.
    pub fn answered(&mut self, event: &Event, now_s: f64, collector: Option<&mut Collector>) -> Vec<Event> {
        let Event::Mark(mark) = event else { return Vec::new() };
        let MarkKind::Answer(answer @ Answer { request: Request::Snapshot, .. }) = &mark.what else { return Vec::new() };
        let State::Asked { .. } = &self.state else { return Vec::new() };
        let State::Asked { due, process, meeting, since_s, room } = std::mem::replace(&mut self.state, State::Idle) else {
            return Vec::new();
        };
        if mark.id != due.id {
            self.state = State::Asked { due, process, meeting, since_s, room };
            return Vec::new();
        }
        let pid = answer.value.and_then(|pid| u32::try_from(pid).ok());
        if let (Some(pid), Some(collector)) = (pid, collector) {
            collector.ignore_child(pid);
        }
        match pid.map(|pid| meeting.copy(Path::new("/"), &process, pid)) {
            Some(Ok(copy)) => self.start(due, process, Way::Copy(copy), room, mark.t_s, Some(answer.pause_us)),
            // A GPU's memory is mapped, or there was no room for another process.
            _ => {
                self.no_copies.push(due.id);
                if due.target.is_some() {
                    return self.stop_if_short(due, process, room, 0, now_s);
                }
                self.stop(due, process, room, now_s)
            }
        }
    }

    /// The run is over: waits a little for the look that is under way, since a copy outlives what it was made of, and tells why
    /// there was none where one was wanted.
    pub fn finish(&mut self, mut around: Around<'_>) -> Vec<Event> {
        let mut told = Vec::new();
        let since = Instant::now();
        while let State::Under { since_s, .. } = self.state {
            let around = Around { marks: None, collector: around.collector.as_deref_mut(), ..around };
            told.extend(self.go_on(around));
            if matches!(&self.state, State::Under { since_s: still, .. } if *still == since_s) {
                if since.elapsed() >= LAST {
                    break;
                }
                std::thread::sleep(BETWEEN);
            }
        }
        let now_s = around.now_s;
        let why = self.plan.unlooked().map(|(id, pid, why)| self::told(&Due { id, pid, anew: false, target: None }, now_s, &why));
        told.extend(why);
        let unlooked = self.peaks.unlooked().into_iter();
        told.extend(unlooked.map(|(id, text)| Event::Note(Note { t_s: now_s, kind: NoteKind::Unavailable, text, process: id })));
        told
    }

    fn begin(&mut self, around: &mut Around<'_>) -> Vec<Event> {
        let now_s = around.now_s;
        let Some(due) = self.plan.due(now_s).or_else(|| self.peak_due(now_s)) else { return Vec::new() };
        let process = match Process::open(Path::new("/"), due.pid) {
            Ok(process) => process,
            Err(error) => {
                // What was put off until it was too late is told as that.
                let put_off = self.plan.unlooked().map(|(_, _, why)| why);
                return self.fail(
                    &due,
                    now_s,
                    put_off.unwrap_or_else(|| Failed::new(&error.into(), due.pid, Duration::ZERO).why),
                );
            }
        };
        let size = self.sizes.get(&due.id).copied().unwrap_or(0);
        // A look never reads what tensors hold, but how much that is nobody knows before.
        let room = take::room(due.pid).unwrap_or(0) / 2;
        if room < LEAST_ROOM {
            let why = format!(
                "a look takes {} and more, and the tightest limit leaves less than twice that",
                lowtide_model::Bytes(LEAST_ROOM)
            );
            return self.fail(&due, now_s, why);
        }
        let objects = match self.tracked.get(&due.id) {
            Some(tracked) => tracked.saturating_mul(ALL_OF_TRACKED),
            None => (size >> 20).saturating_mul(PER_MIB),
        };
        let (mut how, _) = shorter(objects, size);
        // The peak of training can be met by a copy alone, and two moments are compared that are met by the same way.
        if due.target.is_some() && copying(size) <= LONGEST_AT_PEAK {
            how = How::Copy;
        }
        let may_copy = !self.no_copies.contains(&due.id) && fits(size.saturating_add(LEAST_ROOM), room.saturating_mul(2));
        // In a phase that reads no batches a process may make no mark before its end.
        let answers = due.target.as_ref().is_none_or(|target| !self.silent.contains(&target.phase));
        if may_copy && answers && how == How::Copy {
            match self.ask(due, process, room, around) {
                Ok(()) => return Vec::new(),
                Err((due, process)) => return self.stop_if_short(due, process, room, objects, now_s),
            }
        }
        self.stop_if_short(due, process, room, objects, now_s)
    }

    /// The look at what memory is for that is due.
    fn peak_due(&self, now_s: f64) -> Option<Due> {
        let pid = |id| self.pids.get(&id).copied();
        let target = self.peaks.due(now_s, |id| lowtide_collect::anonymous(Path::new("/"), pid(id)?))?;
        // Where nobody asked for it, it comes out of what looks may take, with what a copy makes the process write again.
        let size = self.sizes.get(&target.id).copied().unwrap_or(0);
        if !self.peaks.asked() && !self.plan.affords(now_s, copying(size)) {
            return None;
        }
        let pid = pid(target.id)?;
        Some(Due { id: target.id, pid, anew: false, target: Some(target) })
    }

    /// Asks a process for a copy; gives it back where it cannot be asked.
    fn ask(&mut self, due: Due, process: Process, room: u64, around: &mut Around<'_>) -> Result<(), (Due, Process)> {
        let (Some(folder), Some(marks)) = (&self.folder, &mut around.marks) else { return Err((due, process)) };
        if !marks.is_reachable(due.pid) {
            return Err((due, process));
        }
        // There must be somebody to meet before it is asked.
        let Ok(meeting) = Meeting::new(folder, due.pid) else { return Err((due, process)) };
        if let Some(collector) = &mut around.collector {
            collector.expect_copy(due.pid);
        }
        let at_backward = due.target.as_ref().is_some_and(|target| target.at_backward);
        let request = if at_backward { Request::SnapshotAtBackward } else { Request::Snapshot };
        if marks.ask(due.pid, request).is_err() {
            return Err((due, process));
        }
        self.state = State::Asked { due, process, meeting, since_s: around.now_s, room };
        Ok(())
    }

    /// Holds it still, if that is not expected to take longer than it may by now.
    fn stop_if_short(&mut self, due: Due, process: Process, room: u64, objects: u64, now_s: f64) -> Vec<Event> {
        // By the clock, on a machine that others use, too.
        let crowd = crowd().min(MOST_CROWDED);
        let long = held(objects).mul_f64(hurried(crowd));
        if let Some(target) = &due.target {
            // For what is asked for it may be held longer than for what nobody asked for.
            let affords = self.plan.affords(now_s, long) || (self.peaks.asked() && long <= LONGEST_AT_PEAK);
            return if target.now && affords { self.stop(due, process, room, now_s) } else { Vec::new() };
        }
        // What can be learned without a stop is learned now. On a busy machine that comes first: a stop that is broken off, since it was only
        // guessed how long it takes, tells nothing.
        let is_first = due.anew || self.plan.may_glance(due.id);
        if is_first && !self.plan.affords(now_s, held(objects).mul_f64(crowd)) {
            return self.start(due, process, Way::Passing, room, now_s, None);
        }
        if self.plan.affords(now_s, long) {
            return self.stop(due, process, room, now_s);
        }
        self.plan.puts_off(long);
        Vec::new()
    }

    fn stop(&mut self, due: Due, process: Process, room: u64, now_s: f64) -> Vec<Event> {
        let asked = due.target.is_some() && self.peaks.asked();
        let allowed = if asked { LONGEST_AT_PEAK } else { self.plan.allowed(now_s) };
        self.start(due, process, Way::Stop(allowed), room, now_s, None)
    }

    fn start(&mut self, due: Due, process: Process, way: Way, room: u64, t_s: f64, copied: Option<u64>) -> Vec<Event> {
        let before = self.before.get(&due.id).filter(|_| !due.anew).map(|(before, first_s)| (Arc::clone(before), t_s - first_s));
        let only_budget = due.target.is_some();
        let role = self.roles.get(&due.id).copied();
        let order = Order { process, way, room, before, role, only_budget, holding: Arc::clone(&self.holding) };
        let (tell, taken) = channel();
        let work = move || {
            let result = guarded(|| take::take(order));
            let panicked = |why| Err(Failed { why, pause: Duration::ZERO, for_good: true });
            // Nobody listens where the run is over.
            let _ = tell.send(result.unwrap_or_else(panicked));
        };
        // Without a thread its end of the channel is gone, and the next turn says so.
        drop(std::thread::Builder::new().name("lowtide-look".to_owned()).spawn(work));
        self.state = State::Under { due, since_s: t_s, copied, taken };
        Vec::new()
    }

    fn ended(
        &mut self,
        due: Due,
        t_s: f64,
        copied: Option<u64>,
        result: Result<Taken, Failed>,
        around: &mut Around<'_>,
    ) -> Vec<Event> {
        let (now_s, collector) = (around.now_s, around.collector.as_mut());
        let of_copy = Duration::from_micros(copied.unwrap_or(0));
        match result {
            Ok(taken) => {
                if let Some(collector) = collector {
                    collector.spent_elsewhere(taken.cpu_s);
                }
                let pause = taken.pause + of_copy;
                if let Some(target) = &due.target {
                    self.plan.held(pause);
                    let found = taken.budget.filter(|budget| self.peaks.took(target, t_s, budget.total));
                    let budget = found.map(|budget| BudgetAt { phase: target.phase.clone(), most: target.most, ..budget });
                    let devices = if budget.is_some() { taken.devices } else { Vec::new() };
                    return vec![Event::Look(Look { budget, devices, ..look(&due, t_s, copied, pause) })];
                }
                if taken.budget.is_some() {
                    self.peaks.took_at_rest(due.id);
                }
                let is_lengths = taken.before.as_ref().is_some_and(|before| before.is_lengths());
                let of_s = if pause.is_zero() { 0.5 * (t_s + now_s) } else { t_s };
                match is_lengths {
                    true => self.plan.glanced(due.id, of_s, pause, taken.expected),
                    false => self.plan.looked(due.id, t_s, pause, taken.before.is_some()),
                }
                if let Some(before) = taken.before {
                    self.before.insert(due.id, (before, of_s));
                }
                let look = look(&due, t_s, copied, pause);
                let look =
                    Look { objects: taken.objects, grown: taken.grown, devices: taken.devices, budget: taken.budget, ..look };
                let blind = taken.blind.map(|why| note(&due, now_s, why));
                std::iter::once(Event::Look(look)).chain(blind).collect()
            }
            Err(failed) => {
                let held = failed.pause + of_copy;
                if due.target.is_some() {
                    self.plan.held(held);
                    self.failed(&due, now_s, &failed.why, failed.for_good);
                    return if held.is_zero() { Vec::new() } else { vec![Event::Look(look(&due, t_s, copied, held))] };
                }
                let is_end = self.plan.failed(due.id, now_s, held, failed.for_good);
                // What it cost is told in any case; what passes is tried again, and told only where that was no use.
                let cost = (!held.is_zero()).then(|| Event::Look(look(&due, t_s, copied, held)));
                cost.into_iter().chain(is_end.then(|| told(&due, now_s, &failed.why))).collect()
            }
        }
    }

    /// A look at what memory is for came to nothing. Why is told at the end, where nothing else came.
    fn failed(&mut self, due: &Due, now_s: f64, why: &str, for_good: bool) -> Vec<Event> {
        if let Some(target) = &due.target {
            self.peaks.failed(target, now_s, why, for_good);
        }
        Vec::new()
    }

    fn fail(&mut self, due: &Due, now_s: f64, why: String) -> Vec<Event> {
        if due.target.is_some() {
            return self.failed(due, now_s, &why, true);
        }
        self.plan.failed(due.id, now_s, Duration::ZERO, true);
        vec![told(due, now_s, &why)]
    }
}

/// A look that told nothing but what it cost.
fn look(due: &Due, t_s: f64, copied: Option<u64>, pause: Duration) -> Look {
    let pause_us = u64::try_from(pause.as_micros()).unwrap_or(u64::MAX);
    Look {
        t_s,
        id: due.id,
        copied: copied.is_some(),
        pause_us,
        objects: 0,
        grown: None,
        allocated: Vec::new(),
        devices: Vec::new(),
        budget: None,
    }
}

fn told(due: &Due, t_s: f64, why: &str) -> Event {
    note(due, t_s, format!("who holds the growth of pid {}: {why}", due.pid))
}

fn note(due: &Due, t_s: f64, text: String) -> Event {
    Event::Note(Note { t_s, kind: NoteKind::Unavailable, text, process: Some(due.id) })
}
