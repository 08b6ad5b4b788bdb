//! GPUs: what each card has, and what each process has on it.
//!
//! One file per `Driver`. None of them is linked to: NVIDIA's library is loaded at run time, and the kernel's drivers tell by
//! files below the root. What cannot be read becomes a note, once, and never ends the run; a card that vanishes is left out
//! from then on. A read may take milliseconds or, with a driver that is in trouble, much longer: each is measured, and the next
//! one waits until it has paid for itself. All of them are read on a thread of their own (`worker`).

mod checks;
pub mod control;
mod drm;
mod emulated;
mod kfd;
mod nvml;
mod pids;
mod worker;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use lowtide_model::{Event, Gpu, GpuDriver, GpuId, GpuSample, GpuUser, GpuUserId, GpuUserSample, Note, NoteKind, ProcId};

pub(crate) use checks::checks;

use crate::root::{Root, Scratch};
use pids::{Inner, Pids};
use worker::{ANSWER, Worker};

/// The part of a core that reading GPUs may use.
const CPU_SHARE: f64 = 0.003;
/// The part of the time that it may keep the collector waiting.
const WAIT_SHARE: f64 = 0.02;
/// The most users of all cards that are remembered; on a shared machine they come and go for weeks.
const MOST_USERS: usize = 4096;
/// The pid namespace that a machine boots with (the kernel's PROC_PID_INIT_INO).
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

/// Where GPUs are looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum GpuSource {
    /// All drivers of this machine.
    #[default]
    Machine,
    /// A file that stands for a driver, in the format of [`control`].
    Emulated(PathBuf),
}

/// A card, or an instance of one, as its driver finds it at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Card {
    /// `gpu0`, `gpu0.mig1`.
    pub resource: String,
    pub name: String,
    pub uuid: String,
    pub emulated: bool,
}

/// A card's memory now. Bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    pub total: u64,
    pub used: u64,
    pub free: u64,
    pub reserved: u64,
}

/// What was read at one time. Cards by their place in [`Driver::cards`].
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub cards: Vec<(usize, Memory)>,
    /// (card, pid as the driver has it, bytes where it tells them).
    pub users: Vec<(usize, u32, Option<u64>)>,
    /// Cards that did not answer, with why, and whether they are gone for good.
    pub troubles: Vec<(usize, String, bool)>,
}

/// One way to hear of GPUs.
pub(crate) trait Driver: Debug + Send {
    fn kind(&self) -> GpuDriver;

    /// What it is, for people: `NVIDIA driver 550.54.14`.
    fn describe(&self) -> String;

    /// The cards that it found when it was opened.
    fn cards(&self) -> &[Card];

    /// Its pids are those of the processes that it was given, in whatever namespace we are.
    fn knows_our_pids(&self) -> bool;

    /// Reads all cards that are not in `gone`. `pids`: the run's processes.
    fn read(&mut self, pids: &[u32], gone: &[bool], reading: &mut Reading);
}

/// We are in another pid namespace than the machine booted with.
pub(crate) fn in_container() -> bool {
    std::fs::read_link("/proc/self/ns/pid").is_ok_and(|link| link.to_str() != Some(FIRST_NAMESPACE))
}

/// All drivers that answer, or why there is none. `opening` hears of each before it is asked: it may never answer.
fn open(source: &GpuSource, root: &Root, opening: &dyn Fn(&'static str)) -> (Vec<Box<dyn Driver>>, Vec<String>) {
    let opened = match source {
        GpuSource::Emulated(file) => {
            opening("the emulated driver");
            vec![emulated::Emulated::open(file)]
        }
        GpuSource::Machine => {
            // A library answers for the machine that it runs on, whatever the root is.
            let nvml = root.is_ours().then(|| {
                opening("NVIDIA's driver (libnvidia-ml.so.1)");
                nvml::Nvml::open()
            });
            opening("a driver of /sys/class/drm");
            let taken = nvml.iter().flatten().flat_map(|driver| driver.cards()).filter_map(|card| number(&card.resource));
            let first = taken.max().map_or(0, |last| last + 1);
            nvml.into_iter().chain([drm::Drm::open(root, first)]).collect()
        }
    };
    let (mut drivers, mut why) = (Vec::new(), Vec::new());
    for one in opened {
        match one {
            Ok(driver) => drivers.push(driver),
            Err(reason) => why.push(reason),
        }
    }
    (drivers, why)
}

/// The number of the card in `gpu3`, and in `gpu3.mig1`.
fn number(resource: &str) -> Option<u32> {
    resource.strip_prefix("gpu")?.split('.').next()?.parse().ok()
}

/// What a driver's card is in the run.
#[derive(Debug)]
struct Opened {
    about: worker::About,
    ids: Vec<GpuId>,
    gone: Vec<bool>,
    troubled: Vec<bool>,
}

/// What was measured at a tick.
#[derive(Debug, Default)]
pub(crate) struct Ticked {
    pub gpus: Vec<GpuSample>,
    pub users: Vec<GpuUserSample>,
    /// Processor seconds that it took elsewhere.
    pub cpu_s: f64,
}

/// One process of the run, as matching needs it.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub pid: u32,
    pub id: ProcId,
    /// CUDA_VISIBLE_DEVICES of its environment.
    pub visible: Option<String>,
}

/// The GPUs of a run.
#[derive(Debug)]
pub(crate) struct Gpus {
    source: GpuSource,
    /// The drivers' thread, from the first tick on as long as there are any.
    worker: Option<Worker>,
    /// `None` until they are open.
    drivers: Option<Vec<Opened>>,
    inner: Inner,
    /// It was told that they do not answer.
    hangs: bool,
    users: BTreeMap<(GpuId, u32), GpuUser>,
    next_s: f64,
    next_user: u32,
    /// Pids of the driver's may be of another namespace than ours.
    foreign: bool,
}

impl Gpus {
    pub fn new(source: GpuSource) -> Self {
        let foreign = in_container();
        let inner = Inner::default();
        Self {
            source,
            worker: None,
            drivers: None,
            inner,
            hangs: false,
            users: BTreeMap::new(),
            next_s: f64::NEG_INFINITY,
            next_user: 0,
            foreign,
        }
    }

    /// When [`Self::tick`] is due.
    pub fn due_s(&self) -> f64 {
        self.next_s
    }

    /// Reads all cards: pushes cards, users and notes, and gives the numbers.
    pub fn tick(&mut self, now_s: f64, root: &Root, members: &[Member], scratch: &mut Scratch, out: &mut Vec<Event>) -> Ticked {
        let wall = Instant::now();
        let mut ticked = Ticked::default();
        if self.drivers.is_none() && !self.open(now_s, root, out) {
            return ticked;
        }
        let Some(worker) = &mut self.worker else { return ticked };
        let mut opened = self.drivers.take().unwrap_or_default();
        let pids: Vec<u32> = members.iter().map(|member| member.pid).collect();
        let answer = worker.read(&pids, opened.iter().map(|one| one.gone.clone()).collect());
        let Some(answer) = answer else {
            self.drivers = Some(opened);
            self.silent(now_s, out);
            self.next_s = now_s + wall.elapsed().as_secs_f64() / WAIT_SHARE;
            return ticked;
        };
        self.inner.keep(members);
        for (one, mut reading) in opened.iter_mut().zip(answer.readings) {
            for (card, why, gone) in reading.troubles.drain(..) {
                if !one.troubled[card] {
                    let resource = &one.about.cards[card].resource;
                    let text = format!("{resource}: {why}{}", if gone { "; it is not read any more" } else { "" });
                    out.push(Event::Note(Note { t_s: now_s, kind: NoteKind::Unavailable, text, process: None }));
                }
                one.troubled[card] = true;
                one.gone[card] |= gone;
            }
            ticked.gpus.extend(reading.cards.iter().map(|(card, memory)| GpuSample {
                id: one.ids[*card],
                total: memory.total,
                used: memory.used,
                free: memory.free,
                reserved: memory.reserved,
            }));
            let trusted = !self.foreign || one.about.knows_our_pids;
            for (card, pid, used) in reading.users {
                let mut inner = std::mem::take(&mut self.inner);
                let mut pids = Pids { root, members, scratch, trusted, inner: &mut inner };
                let user = self.user(one.ids[card], &one.about.cards[card].resource, pid, &mut pids, out);
                self.inner = inner;
                ticked.users.extend(user.map(|id| GpuUserSample { id, used }));
            }
        }
        self.drivers = Some(opened);
        ticked.cpu_s = answer.cpu_s;
        self.next_s = now_s + (answer.cpu_s / CPU_SHARE).max(wall.elapsed().as_secs_f64() / WAIT_SHARE);
        ticked
    }

    /// Whether the drivers are open; tells what there is once they are.
    fn open(&mut self, now_s: f64, root: &Root, out: &mut Vec<Event>) -> bool {
        let is_first = self.worker.is_none();
        let worker = self.worker.get_or_insert_with(|| Worker::start(self.source.clone(), root.clone()));
        let Some((drivers, why)) = worker.opened(if is_first { ANSWER } else { Duration::ZERO }) else {
            if !is_first {
                self.silent(now_s, out);
            }
            return false;
        };
        if drivers.is_empty() {
            if !why.is_empty() {
                let text = format!("GPU: no driver, {}", why.join(", "));
                out.push(Event::Note(Note { t_s: now_s, kind: NoteKind::Unavailable, text, process: None }));
            }
            (self.worker, self.next_s) = (None, f64::INFINITY);
        }
        let mut next = 0;
        let opened = drivers.into_iter().map(|about| {
            let count = about.cards.len();
            let ids = (next..).take(count).map(GpuId).collect::<Vec<_>>();
            next += count as u32;
            for (id, card) in ids.iter().zip(&about.cards) {
                out.push(Event::Gpu(Gpu {
                    id: *id,
                    resource: card.resource.clone(),
                    name: card.name.clone(),
                    uuid: card.uuid.clone(),
                    driver: about.kind,
                    emulated: card.emulated,
                }));
            }
            if about.cards.iter().any(|card| card.emulated) {
                let text = "emulated GPU: there is no such card, its numbers are made up".to_owned();
                out.push(Event::Note(Note { t_s: now_s, kind: NoteKind::Warning, text, process: None }));
            }
            Opened { about, ids, gone: vec![false; count], troubled: vec![false; count] }
        });
        self.drivers = Some(opened.collect());
        true
    }

    /// The drivers do not answer: told once.
    fn silent(&mut self, now_s: f64, out: &mut Vec<Event>) {
        if !std::mem::replace(&mut self.hangs, true) {
            let text =
                "GPU: the driver did not answer for a second (it hangs, or is busy): what is missing was not measured".to_owned();
            out.push(Event::Note(Note { t_s: now_s, kind: NoteKind::Unavailable, text, process: None }));
        }
    }

    /// The user that this pid is on this card, said when it is new or better known.
    fn user(&mut self, gpu: GpuId, resource: &str, pid: u32, pids: &mut Pids<'_>, out: &mut Vec<Event>) -> Option<GpuUserId> {
        let known = self.users.get(&(gpu, pid));
        if known.is_none() && self.users.len() >= MOST_USERS {
            return None;
        }
        let member = pids.member(pid, known.and_then(|user| user.process));
        let process = member.map(|member| member.id);
        // What an ended process of the run has left on a card is still its own.
        if let Some(user) = known.filter(|user| user.process == process || process.is_none()) {
            return Some(user.id);
        }
        let device = member.and_then(|member| number_of(member.visible.as_deref()?, resource));
        let name = if process.is_none() { pids.name(pid) } else { String::new() };
        // A pid may come again as another process.
        let id = GpuUserId(self.next_user);
        self.next_user += 1;
        let user = GpuUser { id, gpu, pid, process, device, name };
        out.push(Event::GpuUser(user.clone()));
        self.users.insert((gpu, pid), user);
        Some(id)
    }
}

/// The number that a card has for a process with this CUDA_VISIBLE_DEVICES, where that names cards by number.
fn number_of(visible: &str, resource: &str) -> Option<u32> {
    let index: u32 = resource.strip_prefix("gpu")?.parse().ok()?;
    let at = visible.split(',').position(|word| word.trim().parse() == Ok(index))?;
    u32::try_from(at).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_card_is_its_place_among_the_visible_ones() {
        assert_eq!(number_of("3,1", "gpu1"), Some(1));
        assert_eq!(number_of("3, 1", "gpu3"), Some(0));
        assert_eq!(number_of("3,1", "gpu0"), None);
        assert_eq!(number_of("GPU-8932f937", "gpu0"), None);
        assert_eq!(number_of("0", "gpu0.mig1"), None);
    }

    #[test]
    fn instances_have_the_number_of_their_card() {
        assert_eq!(["gpu3", "gpu12.mig1", "x"].map(number), [Some(3), Some(12), None]);
    }
}
