//! GPUs: what each card has, and what each process has on it.
//!
//! One file per `Driver`. None of them is linked to: NVIDIA's library is loaded at run time, and the kernel's drivers tell by
//! files below the root. What cannot be read becomes a note, once, and never ends the run; a card that vanishes is left out
//! from then on. A read may take milliseconds or, with a driver that is in trouble, much longer: each is measured, and the next
//! one waits until it has paid for itself.
//!
//! A driver names processes by the pids of its own world, which need not be ours in a container. A pid is matched with the run's
//! processes, then with what they are called in the namespaces inside ours (`NSpid`). What matches nothing is somebody else's.

mod checks;
pub mod control;
mod drm;
mod emulated;
mod nvml;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::PathBuf;
use std::time::Instant;

use lowtide_model::{Event, Gpu, GpuDriver, GpuId, GpuSample, GpuUser, GpuUserId, GpuUserSample, Note, NoteKind, ProcId};

pub(crate) use checks::checks;

use crate::inner::inner_pids;
use crate::root::{Root, Scratch};
use crate::sys;

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

/// All drivers that answer, or why there is none.
pub(crate) fn open(source: &GpuSource, root: &Root) -> (Vec<Box<dyn Driver>>, Vec<String>) {
    let mut drivers: Vec<Box<dyn Driver>> = Vec::new();
    let mut why = Vec::new();
    let mut take = |opened: Result<Box<dyn Driver>, String>| match opened {
        Ok(driver) => drivers.push(driver),
        Err(reason) => why.push(reason),
    };
    match source {
        GpuSource::Emulated(file) => take(emulated::Emulated::open(file)),
        GpuSource::Machine => {
            // A library answers for the machine that it runs on, whatever the root is.
            if root.is_ours() {
                take(nvml::Nvml::open());
            }
            take(drm::Drm::open(root));
        }
    }
    (drivers, why)
}

/// What a driver's card is in the run.
#[derive(Debug)]
struct Opened {
    driver: Box<dyn Driver>,
    ids: Vec<GpuId>,
    gone: Vec<bool>,
    troubled: Vec<bool>,
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
    drivers: Option<Vec<Opened>>,
    users: BTreeMap<(GpuId, u32), GpuUser>,
    next_s: f64,
    next_user: u32,
    /// Pids of the driver's may be of another namespace than ours.
    foreign: bool,
}

impl Gpus {
    pub fn new(source: GpuSource) -> Self {
        let foreign = in_container();
        Self { source, drivers: None, users: BTreeMap::new(), next_s: f64::NEG_INFINITY, next_user: 0, foreign }
    }

    /// When [`Self::tick`] is due.
    pub fn due_s(&self) -> f64 {
        self.next_s
    }

    /// Reads all cards: pushes cards, users and notes, and gives the numbers.
    pub fn tick(
        &mut self,
        now_s: f64,
        root: &Root,
        members: &[Member],
        scratch: &mut Scratch,
        out: &mut Vec<Event>,
    ) -> (Vec<GpuSample>, Vec<GpuUserSample>) {
        let (cpu, wall) = (sys::thread_cpu_ns(), Instant::now());
        let mut opened = self.drivers.take().unwrap_or_else(|| self.open(now_s, root, out));
        let (mut gpus, mut users) = (Vec::new(), Vec::new());
        let pids: Vec<u32> = members.iter().map(|member| member.pid).collect();
        for one in &mut opened {
            let mut reading = Reading::default();
            one.driver.read(&pids, &one.gone, &mut reading);
            for (card, why, gone) in reading.troubles.drain(..) {
                if !one.troubled[card] {
                    let resource = &one.driver.cards()[card].resource;
                    let text = format!("{resource}: {why}{}", if gone { "; it is not read any more" } else { "" });
                    out.push(Event::Note(Note { t_s: now_s, kind: NoteKind::Unavailable, text, process: None }));
                }
                one.troubled[card] = true;
                one.gone[card] |= gone;
            }
            gpus.extend(reading.cards.iter().map(|(card, memory)| GpuSample {
                id: one.ids[*card],
                total: memory.total,
                used: memory.used,
                free: memory.free,
                reserved: memory.reserved,
            }));
            let trusted = !self.foreign || one.driver.knows_our_pids();
            let mut pids = Pids { root, members, scratch, trusted, inner: None };
            for (card, pid, used) in reading.users {
                let resource = &one.driver.cards()[card].resource;
                if let Some(id) = self.user(one.ids[card], resource, pid, &mut pids, out) {
                    users.push(GpuUserSample { id, used });
                }
            }
        }
        self.drivers = Some(opened);
        let cpu_s = (sys::thread_cpu_ns() - cpu) as f64 * 1e-9;
        self.next_s = now_s + (cpu_s / CPU_SHARE).max(wall.elapsed().as_secs_f64() / WAIT_SHARE);
        if gpus.is_empty() && users.is_empty() && self.drivers.as_ref().is_some_and(Vec::is_empty) {
            self.next_s = f64::INFINITY;
        }
        (gpus, users)
    }

    fn open(&mut self, now_s: f64, root: &Root, out: &mut Vec<Event>) -> Vec<Opened> {
        let (drivers, why) = open(&self.source, root);
        if drivers.is_empty() && !why.is_empty() {
            let text = format!("GPU: no driver, {}", why.join(", "));
            out.push(Event::Note(Note { t_s: now_s, kind: NoteKind::Unavailable, text, process: None }));
        }
        let mut next = 0;
        let opened = drivers.into_iter().map(|driver| {
            let count = driver.cards().len();
            let ids = (next..).take(count).map(GpuId).collect::<Vec<_>>();
            next += count as u32;
            for (id, card) in ids.iter().zip(driver.cards()) {
                out.push(Event::Gpu(Gpu {
                    id: *id,
                    resource: card.resource.clone(),
                    name: card.name.clone(),
                    uuid: card.uuid.clone(),
                    driver: driver.kind(),
                    emulated: card.emulated,
                }));
            }
            if driver.cards().iter().any(|card| card.emulated) {
                let text = "emulated GPU: there is no such card, its numbers are made up".to_owned();
                out.push(Event::Note(Note { t_s: now_s, kind: NoteKind::Warning, text, process: None }));
            }
            Opened { driver, ids, gone: vec![false; count], troubled: vec![false; count] }
        });
        opened.collect()
    }

    /// The user that this pid is on this card, said when it is new or better known.
    fn user(&mut self, gpu: GpuId, resource: &str, pid: u32, pids: &mut Pids<'_>, out: &mut Vec<Event>) -> Option<GpuUserId> {
        let known = self.users.get(&(gpu, pid));
        if known.is_none() && self.users.len() >= MOST_USERS {
            return None;
        }
        let member = pids.member(pid);
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

/// Pids as a driver has them, against the run's.
struct Pids<'a> {
    root: &'a Root,
    members: &'a [Member],
    scratch: &'a mut Scratch,
    /// A pid means the same there as here.
    trusted: bool,
    /// What each member is called in the namespaces inside ours, read when a pid matches nobody.
    inner: Option<Vec<(u32, usize)>>,
}

impl<'a> Pids<'a> {
    fn member(&mut self, pid: u32) -> Option<&'a Member> {
        let direct = self.members.iter().find(|member| member.pid == pid);
        if let Some(member) = direct.filter(|_| self.trusted || self.has_gpu_open(pid)) {
            return Some(member);
        }
        if self.inner.is_none() {
            let mut inner = Vec::new();
            for (at, member) in self.members.iter().enumerate() {
                let status = self.scratch.read(&self.root.of(member.pid, "status")).unwrap_or_default();
                inner.extend(inner_pids(status).flatten().map(|pid| (pid, at)));
            }
            self.inner = Some(inner);
        }
        let mut found = self.inner.iter().flatten().filter(|(inner, _)| *inner == pid);
        let first = found.next()?;
        // Two containers may both have a process of this number.
        if found.next().is_some() { None } else { self.members.get(first.1) }
    }

    /// A process that has memory on an NVIDIA card has its device open.
    fn has_gpu_open(&self, pid: u32) -> bool {
        let Ok(files) = std::fs::read_dir(self.root.of(pid, "fd")) else { return false };
        let gpu = |file: std::fs::DirEntry| {
            let target = std::fs::read_link(file.path()).unwrap_or_default();
            target.to_str().is_some_and(|target| target.starts_with("/dev/nvidia") || target.starts_with("/dev/dri"))
        };
        files.flatten().any(gpu)
    }

    /// The name of a process that is none of the run; empty where its pid may mean another one here.
    fn name(&mut self, pid: u32) -> String {
        if !self.trusted {
            return String::new();
        }
        let comm = self.scratch.read(&self.root.of(pid, "comm")).unwrap_or_default();
        String::from_utf8_lossy(comm.trim_ascii_end()).into_owned()
    }
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
    fn inner_pids_are_those_after_the_first() {
        let inner = |status: &[u8]| inner_pids(status).flatten().collect::<Vec<u32>>();
        assert_eq!(inner(b"Name:\tpython\nNSpid:\t4711\t23\t7\n"), [23, 7]);
        assert_eq!(inner(b"NSpid:\t4711\n"), [0_u32; 0]);
        assert_eq!(inner(b"Name:\tpython\n"), [0_u32; 0]);
    }
}
