//! GPUs: what is used of each card and by whom, and what PyTorch's allocator says of it in each process.
//!
//! Three parts of what a process has on a card behave differently: tensors that live (*allocated*), what the allocator holds beside
//! them (*reserved* less allocated), and what lies outside of it (what the driver counts less reserved: the CUDA context, libraries,
//! other allocators). Allocated and reserved come with marks from inside, the whole from the driver with ticks.

mod budget;
mod findings;
mod judge;
mod phases;
mod rows;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use lowtide_model::{DeviceFacts, Gpu, GpuId, GpuSample, GpuUser, GpuUserId, LimitReport, Mark, MarkKind, ProcId, Scope, Tick};

pub use budget::{coarse, is_looked_into};
pub use findings::{findings, hypothesis, verdict};
pub use judge::{Verdict, all, growing_process};
pub use rows::rows;

use self::phases::Phases;
use crate::pyramid::Pyramid;

/// The most cards, users and devices that are kept.
const MOST: usize = 1024;

/// A card and what is used of it.
#[derive(Debug)]
pub struct Card {
    /// What it is.
    pub gpu: Gpu,
    /// The last measurement.
    pub last: Option<GpuSample>,
    /// What is used of it, bytes.
    pub used: Pyramid,
    /// What is used of it less what the run's allocators hold, bytes: contexts, and everybody else.
    pub beyond: Pyramid,
}

/// A process on a card.
#[derive(Debug)]
pub struct User {
    /// Who it is.
    pub who: GpuUser,
    /// What it has of the card, bytes, where the driver tells.
    pub used: Pyramid,
    /// The last of it.
    pub last: Option<u64>,
    /// When it was last there, seconds.
    pub last_s: f64,
}

/// PyTorch's allocator in one process on one device. Series in bytes, by time.
#[derive(Debug, Default)]
pub struct Inner {
    pub allocated: Pyramid,
    pub reserved: Pyramid,
    /// The most that was ever allocated.
    pub peak: Pyramid,
    /// Free in segments that are used in part.
    pub split: Pyramid,
    /// In private pools.
    pub pools: Pyramid,
    /// What the driver counts for the process on this card less what the allocator holds.
    pub outside: Pyramid,
    /// What was last said.
    pub last: DeviceFacts,
    /// When that was, seconds.
    pub last_s: f64,
    /// The most that was allocated in each phase.
    pub phases: Phases,
}

/// All GPUs of a run.
#[derive(Debug, Default)]
pub struct Gpus {
    pub cards: BTreeMap<GpuId, Card>,
    pub users: BTreeMap<GpuUserId, User>,
    /// By process and number of the device as that process counts.
    pub inner: BTreeMap<(ProcId, u32), Inner>,
    /// Which card each of these is, and who it is there; worked out anew when somebody comes.
    places: Option<BTreeMap<(ProcId, u32), Place>>,
}

/// Where a device of a process is, as far as that is known.
#[derive(Clone, Copy, Debug)]
struct Place {
    gpu: Option<GpuId>,
    user: Option<GpuUserId>,
}

impl Gpus {
    /// A card is there.
    pub fn know(&mut self, gpu: &Gpu) {
        if self.cards.len() < MOST {
            let new = || Card { gpu: gpu.clone(), last: None, used: Pyramid::default(), beyond: Pyramid::default() };
            self.cards.entry(gpu.id).or_insert_with(new);
            self.places = None;
        }
    }

    /// A process has memory on a card, or is better known.
    pub fn know_user(&mut self, user: &GpuUser) {
        if self.users.len() < MOST || self.users.contains_key(&user.id) {
            let new = || User { who: user.clone(), used: Pyramid::default(), last: None, last_s: 0.0 };
            self.users.entry(user.id).or_insert_with(new).who = user.clone();
            self.places = None;
        }
    }

    /// What was measured.
    pub fn tick(&mut self, tick: &Tick) {
        for sample in &tick.gpu_users {
            let Some(user) = self.users.get_mut(&sample.id) else { continue };
            (user.last, user.last_s) = (sample.used, tick.t_s);
            if let Some(used) = sample.used {
                user.used.push(tick.t_s, used as f64);
            }
        }
        let places = self.places.take().unwrap_or_else(|| self.work_out());
        let mut held: BTreeMap<GpuId, u64> = BTreeMap::new();
        for (key, inner) in &self.inner {
            if let Some(gpu) = places.get(key).and_then(|place| place.gpu) {
                let held = held.entry(gpu).or_default();
                *held = held.saturating_add(inner.last.reserved);
            }
        }
        for sample in &tick.gpus {
            let held = held.get(&sample.id).copied().unwrap_or(0);
            if let Some(card) = self.cards.get_mut(&sample.id) {
                card.last = Some(*sample);
                card.used.push(tick.t_s, sample.used as f64);
                if held > 0 {
                    card.beyond.push(tick.t_s, sample.used.saturating_sub(held) as f64);
                }
            }
        }
        for (key, inner) in &mut self.inner {
            let user = places.get(key).and_then(|place| self.users.get(&place.user?));
            // A read that was left out says nothing.
            if let Some(used) = user.filter(|user| user.last_s >= tick.t_s).and_then(|user| user.last) {
                inner.outside.push(tick.t_s, used.saturating_sub(inner.last.reserved) as f64);
            }
        }
        self.places = Some(places);
    }

    fn work_out(&self) -> BTreeMap<(ProcId, u32), Place> {
        let place = |(process, device): (ProcId, u32)| Place {
            gpu: self.card_of(process, device).map(|card| card.gpu.id),
            user: self.user_of(process, device).map(|user| user.who.id),
        };
        self.inner.keys().map(|key| (*key, place(*key))).collect()
    }

    /// What a process says of its allocator.
    pub fn mark(&mut self, mark: &Mark) {
        let devices = mark.facts.iter().map(|facts| facts.devices.len()).sum::<usize>();
        let next = match &mark.what {
            MarkKind::Begin(begun) if begun.scope == Scope::Phase => Some(Some(begun.name.as_str())),
            MarkKind::End(Scope::Phase) => Some(None),
            _ => None,
        };
        // Facts are not taken at every mark.
        if let Some(next) = next.filter(|_| devices == 0) {
            let of_process = self.inner.range_mut((mark.id, 0)..=(mark.id, u32::MAX));
            of_process.for_each(|(_, inner)| inner.phases.turn(next));
        }
        for device in mark.facts.iter().flat_map(|facts| &facts.devices) {
            let key = (mark.id, device.index);
            if self.inner.len() >= MOST && !self.inner.contains_key(&key) {
                continue;
            }
            let inner = self.inner.entry(key).or_insert_with(|| {
                self.places = None;
                Inner::default()
            });
            inner.push(mark, *device);
        }
    }

    /// The cards as limits: what can be had of each, without what its driver keeps.
    pub fn limits(&self) -> Vec<LimitReport> {
        let limit = |card: &Card| {
            let last = card.last.filter(|last| last.total > 0)?;
            let bytes = last.total.saturating_sub(last.reserved);
            Some(LimitReport { name: card.gpu.resource.clone(), bytes, used: last.used, path: card.gpu.name.clone() })
        };
        self.cards.values().filter_map(limit).collect()
    }

    /// What a process has on each card, the newest of each.
    pub fn users_of(&self, process: ProcId) -> BTreeMap<GpuId, &User> {
        let of_process = self.users.values().filter(|user| user.who.process == Some(process));
        of_process.map(|user| (user.who.gpu, user)).collect()
    }

    /// The card that a device of a process is, as the driver has it. By the process's environment where that tells; else the only
    /// one that both know of, or the one of the same number.
    pub fn user_of(&self, process: ProcId, device: u32) -> Option<&User> {
        let users = self.users_of(process);
        let devices: Vec<u32> = self.inner.range((process, 0)..=(process, u32::MAX)).map(|((_, device), _)| *device).collect();
        if let Some(user) = users.values().find(|user| user.who.device == Some(device)) {
            return Some(user);
        }
        if users.len() == devices.len() {
            // Numbers may be other ones, their order is the same as a rule.
            let at = devices.iter().position(|other| *other == device)?;
            return users.values().nth(at).copied();
        }
        let same = |gpu: &GpuId| self.cards.get(gpu).is_some_and(|card| card.gpu.resource == format!("gpu{device}"));
        users.iter().find(|(gpu, _)| same(gpu)).map(|(_, user)| *user)
    }

    /// The card of a device of a process: by what the driver lists, else by its number alone.
    pub fn card_of(&self, process: ProcId, device: u32) -> Option<&Card> {
        match self.user_of(process, device) {
            Some(user) => self.cards.get(&user.who.gpu),
            None => self.cards.values().find(|card| card.gpu.resource == format!("gpu{device}")),
        }
    }

    /// What reports call a device of a process.
    pub fn resource_of(&self, process: ProcId, device: u32) -> String {
        self.card_of(process, device).map_or_else(|| format!("gpu{device}"), |card| card.gpu.resource.clone())
    }

    /// Allocators of the run on a card.
    pub fn inner_on(&self, gpu: GpuId) -> impl Iterator<Item = ((ProcId, u32), &Inner)> {
        let on_card = move |process, device| self.card_of(process, device).is_some_and(|card| card.gpu.id == gpu);
        self.inner.iter().filter(move |((process, device), _)| on_card(*process, *device)).map(|(key, inner)| (*key, inner))
    }

    /// Processes on a card that are none of the run, that were there when it was last read.
    pub fn others_on(&self, gpu: GpuId) -> impl Iterator<Item = &User> {
        let last_s = self.users.values().filter(|user| user.who.gpu == gpu).map(|user| user.last_s).fold(0.0, f64::max);
        let there = move |user: &&User| user.who.gpu == gpu && user.who.process.is_none() && user.last_s >= last_s;
        self.users.values().filter(there)
    }
}

impl Inner {
    fn push(&mut self, mark: &Mark, now: DeviceFacts) {
        let t_s = mark.t_s;
        self.allocated.push(t_s, now.allocated as f64);
        self.reserved.push(t_s, now.reserved as f64);
        self.peak.push(t_s, now.peak as f64);
        for (series, value) in [(&mut self.split, now.inactive_split), (&mut self.pools, now.private_pools)] {
            if let Some(value) = value {
                series.push(t_s, value as f64);
            }
        }
        match &mark.what {
            MarkKind::Begin(begun) if begun.scope == Scope::Phase => self.phases.begin(&begun.name, &now),
            MarkKind::End(Scope::Phase) => self.phases.end(&now),
            _ => self.phases.push(&now),
        }
        (self.last, self.last_s) = (now, t_s);
    }
}
