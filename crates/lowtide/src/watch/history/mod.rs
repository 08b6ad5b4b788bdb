//! Snapshots of PyTorch's allocator that `run --gpu-history` has a process write whose GPU memory grows, and what they differ by.
//!
//! The process is asked at its marks, and answers at the end of a step, where what lives is least: twice, some epochs apart. It
//! writes where its marks are, and what it wrote is fetched from there. Both files are read by our own reader, on a thread of its
//! own. They stay beside the recording; where nothing is recorded they go with the run. Whatever fails becomes a note, and nothing
//! more.

mod fetch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use lowtide_model::{
    AllocatedGrown, Answer, Event, Finding, Kind, Look, Mark, MarkKind, Note, NoteKind, ProcId, Report, Request,
};

use self::fetch::Fetch;
use super::guard::guarded;
use super::marks::Marks;
use crate::snapshot;
use crate::temporary::Temporary;

/// The most processes that are asked: the ranks of one machine.
const MOST: usize = 8;
/// Time from the first snapshot to the second, seconds: until so many bytes are expected to have come, and epochs, and a share of
/// the time watched before; no less than the least, and epochs that are longer than so much are not waited for.
const ENOUGH: f64 = 32.0 * 1024.0 * 1024.0;
const EPOCHS: f64 = 2.0;
const PART: f64 = 0.25;
const LEAST_S: f64 = 8.0;
const LONG_EPOCH_S: f64 = 600.0;
/// What is fetched or read at the end of the run is waited for so long, and asked for so often.
const LAST: Duration = Duration::from_millis(300);
const BETWEEN: Duration = Duration::from_millis(20);
/// Bytes that must be left under the tightest limit: each block becomes a dictionary in the process before it is written.
const LEAST_ROOM: u64 = 1 << 30;
/// The most names that are tried for a file.
const MOST_NAMES: u32 = 100;

/// The snapshots of a run.
pub struct History {
    /// The recording that they lie beside.
    recording: Option<PathBuf>,
    /// Where they lie without one; made when it is needed.
    folder: Option<Temporary>,
    subjects: BTreeMap<ProcId, Subject>,
    reading: Option<Reading>,
    /// Snapshots that were asked for.
    asked: u32,
}

/// A process whose GPU memory grows.
struct Subject {
    pid: u32,
    /// Seconds from one snapshot to the next.
    apart_s: f64,
    taken: Vec<Taken>,
    /// The file of a snapshot that it was asked for, where its marks are.
    asked: Option<PathBuf>,
    /// A snapshot that it has written.
    fetched: Option<(Taken, Fetch)>,
    /// Nothing more is asked of it.
    done: bool,
}

/// A snapshot.
#[derive(Clone)]
struct Taken {
    t_s: f64,
    path: PathBuf,
    pause_us: u64,
}

/// Two of them are being compared.
struct Reading {
    id: ProcId,
    first: Taken,
    second: Taken,
    grown: Receiver<Result<Vec<AllocatedGrown>, String>>,
}

impl History {
    /// None taken yet. `recording`: the run's, where there is one.
    pub fn new(recording: Option<PathBuf>) -> Self {
        // The process may have another working folder.
        let recording = recording.and_then(|path| std::path::absolute(path).ok());
        Self { recording, folder: None, subjects: BTreeMap::new(), reading: None, asked: 0 }
    }

    /// Takes note of whose GPU memory grows.
    pub fn review(&mut self, report: &Report) {
        for (id, pid, finding) in growing(report) {
            if self.subjects.len() < MOST || self.subjects.contains_key(&id) {
                let subject = self.subjects.entry(id).or_insert_with(|| Subject::new(pid));
                subject.apart_s = apart_s(finding);
            }
        }
    }

    /// Asks for a snapshot that is due, and tells what two of them differ by.
    pub fn go_on(&mut self, now_s: f64, marks: Option<&mut Marks>) -> Vec<Event> {
        let mut told = self.read();
        let Some(marks) = marks else { return told };
        told.extend(self.wait(now_s, marks));
        let due = |subject: &Subject| {
            let next_s =
                subject.taken.last().map_or(0.0, |last| last.t_s + subject.apart_s.max((PART * last.t_s).min(LONG_EPOCH_S)));
            !subject.done
                && subject.asked.is_none()
                && subject.fetched.is_none()
                && now_s >= next_s
                && !marks.is_asked(subject.pid)
        };
        let Some(id) = self.subjects.iter().find(|(_, subject)| due(subject)).map(|(id, _)| *id) else { return told };
        let Some(subject) = self.subjects.get_mut(&id) else { return told };
        self.asked += 1;
        match subject.ask(self.asked, marks) {
            Ok(path) => subject.asked = Some(path),
            Err(why) => {
                subject.done = true;
                told.push(unavailable(id, subject.pid, now_s, &why));
            }
        }
        told
    }

    /// A process may have written what it was asked for.
    pub fn answered(&mut self, event: &Event) -> Vec<Event> {
        let Event::Mark(Mark { t_s, id, what: MarkKind::Answer(answer), .. }) = event else { return Vec::new() };
        let Answer { request: Request::History, value, pause_us, why, .. } = answer else { return Vec::new() };
        let Some(subject) = self.subjects.get_mut(id) else { return Vec::new() };
        let Some(path) = subject.asked.take() else { return Vec::new() };
        let pid = subject.pid;
        let to = match value {
            None if why.is_empty() => Err("it could not be written".to_owned()),
            None => Err(why.clone()),
            Some(bytes) => self.file(pid).map(|to| (*bytes, to)),
        };
        match (to, self.subjects.get_mut(id)) {
            (Ok((bytes, to)), Some(subject)) => {
                let taken = Taken { t_s: *t_s, path: to.clone(), pause_us: *pause_us };
                subject.fetched = Some((taken, Fetch::start(path, bytes, to)));
                Vec::new()
            }
            (Err(why), Some(subject)) => {
                subject.asked = Some(path);
                vec![self.give_up(*id, *t_s, &why)]
            }
            (_, None) => Vec::new(),
        }
    }

    /// What was asked for may still be written: as large as memory allows now, unless its process is gone.
    fn wait(&mut self, now_s: f64, marks: &mut Marks) -> Vec<Event> {
        let mut gone = Vec::new();
        for (id, subject) in self.subjects.iter().filter(|(_, subject)| subject.asked.is_some()) {
            if marks.is_asked(subject.pid) {
                // Where that fails there is no ring any more, and nobody who would read it.
                let _ = marks.allow(subject.pid, subject.allowed());
            } else {
                gone.push(*id);
            }
        }
        gone.into_iter().map(|id| self.give_up(id, now_s, "it ended before it had written a snapshot")).collect()
    }

    /// Nothing more is asked of a process, and nothing of what it wrote last stays.
    fn give_up(&mut self, id: ProcId, t_s: f64, why: &str) -> Event {
        let Some(subject) = self.subjects.get_mut(&id) else { return unavailable(id, 0, t_s, why) };
        if let Some(path) = subject.asked.take() {
            let _ = std::fs::remove_file(path);
        }
        subject.done = true;
        unavailable(id, subject.pid, t_s, why)
    }

    /// What has been fetched; of two snapshots it is read what they differ by.
    fn fetch(&mut self) -> Vec<Event> {
        let come = |subject: &Subject| subject.fetched.as_ref().and_then(|(_, fetch)| fetch.done());
        let come: Vec<_> = self.subjects.iter().filter_map(|(id, subject)| Some((*id, come(subject)?))).collect();
        let mut told = Vec::new();
        for (id, done) in come {
            let Some(subject) = self.subjects.get_mut(&id) else { continue };
            let Some((taken, _)) = subject.fetched.take() else { continue };
            let t_s = taken.t_s;
            match done {
                Ok(()) => subject.taken.push(taken),
                Err(why) => {
                    told.push(self.give_up(id, t_s, &why));
                    continue;
                }
            }
            if let [first, second] = &subject.taken[..] {
                subject.done = true;
                // Another one that is being read now has its turn first.
                if self.reading.is_none() {
                    self.reading = Some(Reading::start(id, first.clone(), second.clone()));
                    subject.taken.clear();
                }
            }
        }
        told
    }

    /// The run is over: waits a little for what is being read, and says what is missing.
    pub fn finish(&mut self, now_s: f64) -> Vec<Event> {
        let since = Instant::now();
        let mut told = self.read();
        while (self.reading.is_some() || self.subjects.values().any(|subject| subject.fetched.is_some()))
            && since.elapsed() < LAST
        {
            std::thread::sleep(BETWEEN);
            told.extend(self.read());
        }
        for (id, subject) in &self.subjects {
            let is_read = self.reading.as_ref().is_some_and(|reading| reading.id == *id);
            let why = match (subject.taken.len(), subject.done) {
                _ if subject.fetched.is_some() => "the run was over before its snapshot was fetched: the disk is slow",
                (0, false) => "the run was over before it wrote a snapshot: a longer run tells more",
                (1, false) => "the run was over before it wrote a second snapshot: a longer run tells more",
                (2, _) => "the run was over before its two snapshots were read",
                _ if is_read => "the run was over before its two snapshots were read",
                _ => continue,
            };
            told.push(unavailable(*id, subject.pid, now_s, why));
        }
        told
    }

    /// What two snapshots differ by, once they are read; then the next two are read.
    fn read(&mut self) -> Vec<Event> {
        let mut told = self.fetch();
        let Some(reading) = &self.reading else { return told };
        let grown = match reading.grown.try_recv() {
            Ok(grown) => grown,
            Err(TryRecvError::Empty) => return told,
            Err(TryRecvError::Disconnected) => Err("it broke off inside lowtide".to_owned()),
        };
        let Some(Reading { id, first, second, .. }) = self.reading.take() else { return told };
        let waiting = self.subjects.iter_mut().find(|(_, subject)| subject.taken.len() == 2);
        if let Some((id, subject)) = waiting
            && let [first, second] = &subject.taken.split_off(0)[..]
        {
            self.reading = Some(Reading::start(*id, first.clone(), second.clone()));
        }
        let pid = self.subjects.get(&id).map_or(0, |subject| subject.pid);
        let mut allocated = match grown {
            Ok(allocated) => allocated,
            Err(why) => {
                told.push(unavailable(id, pid, second.t_s, &why));
                return told;
            }
        };
        let kept = self.recording.is_some();
        for grown in &mut allocated {
            grown.seconds = second.t_s - first.t_s;
            grown.files = [&first, &second].iter().filter(|_| kept).map(|one| one.path.display().to_string()).collect();
        }
        let pause_us = first.pause_us.saturating_add(second.pause_us);
        told.push(Event::Look(Look {
            t_s: second.t_s,
            id,
            copied: true,
            pause_us,
            objects: 0,
            grown: None,
            allocated,
            devices: Vec::new(),
            budget: None,
        }));
        told
    }

    /// A name that nobody has for a snapshot of a process.
    fn file(&mut self, pid: u32) -> Result<PathBuf, String> {
        let (folder, stem) = match &self.recording {
            Some(recording) => {
                let stem = recording.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                (recording.parent().unwrap_or(Path::new("/")).to_owned(), format!("{stem}."))
            }
            None => {
                if self.folder.is_none() {
                    self.folder = Some(Temporary::folder("gpu-history").map_err(|error| error.to_string())?);
                }
                (self.folder.as_ref().map_or_else(PathBuf::new, |folder| folder.path().to_owned()), String::new())
            }
        };
        let named = |number| folder.join(format!("{stem}gpu-{pid}-{number}.pickle"));
        (1..=MOST_NAMES).map(named).find(|path| !path.exists()).ok_or_else(|| "there are too many snapshots already".to_owned())
    }
}

impl Subject {
    fn new(pid: u32) -> Self {
        Self { pid, apart_s: LEAST_S, taken: Vec::new(), asked: None, fetched: None, done: false }
    }

    /// Asks for a snapshot; where it will be.
    fn ask(&self, number: u32, marks: &mut Marks) -> Result<PathBuf, String> {
        let (name, allowed) = (format!("{}-{number}.pickle", self.pid), self.allowed());
        if allowed == 0 {
            let least = lowtide_model::Bytes(LEAST_ROOM);
            return Err(format!("a snapshot wants memory of the process, and the tightest limit leaves less than {least}"));
        }
        marks.ask_for_file(self.pid, Request::History, &name, allowed).map_err(|error| error.to_string())?;
        Ok(marks.folder().join(name))
    }

    /// The most bytes that a snapshot may have, by what memory there is now: what lies where marks are counts for the run.
    fn allowed(&self) -> u64 {
        let room = lowtide_collect::room(Path::new("/"), self.pid);
        if room.is_some_and(|room| room < LEAST_ROOM) { 0 } else { fetch::MOST }
    }
}

impl Reading {
    fn start(id: ProcId, first: Taken, second: Taken) -> Self {
        let (tell, grown) = channel();
        let files = [first.path.clone(), second.path.clone()];
        let work = move || {
            // Nobody listens where the run is over.
            let _ = tell.send(guarded(|| snapshot::grown(&files)).and_then(|grown| grown));
        };
        // Without a thread its end of the channel is gone, and the next turn says so.
        drop(std::thread::Builder::new().name("lowtide-history".to_owned()).spawn(work));
        Self { id, first, second, grown }
    }
}

/// Processes whose live GPU memory is said to grow, and the finding that says so.
fn growing(report: &Report) -> impl Iterator<Item = (ProcId, u32, &Finding)> {
    let grow = report.findings.iter().filter(|finding| finding.class.grows() && finding.kind == Some(Kind::GpuAllocated));
    grow.filter_map(|finding| {
        let pid = finding.process.as_ref()?.pid;
        let process = report.processes.iter().find(|process| process.pid == pid && process.end_s.is_none())?;
        Some((process.id, pid, finding))
    })
}

/// Seconds from the first snapshot to the second.
fn apart_s(finding: &Finding) -> f64 {
    let Some(growth) = &finding.growth else { return LEAST_S };
    let rate = growth.bytes_per_second.max(f64::MIN_POSITIVE);
    let epochs_s = growth.bytes_per_epoch.map_or(0.0, |bytes| EPOCHS * bytes / rate);
    let enough_s = (ENOUGH / rate).min(LONG_EPOCH_S);
    let epochs_s = if epochs_s <= EPOCHS * LONG_EPOCH_S { epochs_s } else { 0.0 };
    enough_s.max(epochs_s).max(LEAST_S)
}

fn unavailable(id: ProcId, pid: u32, t_s: f64, why: &str) -> Event {
    let text = format!("who asks for the GPU memory of pid {pid} (--gpu-history): {why}");
    Event::Note(Note { t_s, kind: NoteKind::Unavailable, text, process: Some(id) })
}
