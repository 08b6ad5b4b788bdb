//! What is drawn of the GPUs that a run is on: tensors, what PyTorch's allocator holds beside them, what the run has outside of
//! it, and what others have.
//!
//! The driver tells of cards and processes with ticks, PyTorch of its allocator with marks; a row stands for each of
//! both, with what the other one said last.

use std::collections::BTreeMap;

use lowtide_model::{DeviceFacts, Event, Gpu, GpuId, GpuUser, GpuUserId, Mark, ProcId, Tick};

use super::thin::{Moment, Thin};

/// The most cards that are drawn.
const MOST_CARDS: usize = 64;
/// The most processes that are kept of all cards.
const MOST_USERS: usize = 4096;

/// A GPU and what was had of it.
#[derive(Clone, Debug)]
pub(crate) struct Card {
    /// What reports call it: `gpu0`.
    pub resource: String,
    /// Its model; empty where no driver tells of it.
    pub name: String,
    /// There is no such card.
    pub emulated: bool,
    pub rows: Vec<CardRow>,
}

/// One moment of a card. Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CardRow {
    /// Seconds after the run's start.
    pub t_s: f64,
    /// Live tensors of the run.
    pub tensors: u64,
    /// What PyTorch's allocators hold beside them.
    pub cached: u64,
    /// What the driver counts for the run's processes beside both.
    pub outside: u64,
    /// What the driver counts for the card beside the run.
    pub others: u64,
}

impl Moment for CardRow {
    fn t_s(&self) -> f64 {
        self.t_s
    }

    fn sizes(&self) -> Vec<u64> {
        let Self { tensors, cached, outside, others, .. } = *self;
        vec![
            tensors,
            tensors.saturating_add(cached),
            outside,
            [tensors, cached, outside, others].into_iter().fold(0, u64::saturating_add),
        ]
    }
}

/// Takes a run's events and keeps what is drawn of its cards.
#[derive(Debug, Default)]
pub(crate) struct Cards {
    gpus: BTreeMap<GpuId, Known>,
    users: BTreeMap<GpuUserId, User>,
    inner: BTreeMap<(ProcId, u32), DeviceFacts>,
    /// Cards that no driver tells of, by their number.
    told: BTreeMap<u32, Known>,
}

#[derive(Debug, Default)]
struct Known {
    gpu: Option<Gpu>,
    last_s: f64,
    /// All that is used of it, as the driver had it last. Bytes.
    all: u64,
    /// Of that what the run's processes had beside their allocators, and what was not theirs. Bytes.
    outside: u64,
    others: u64,
    rows: Thin<CardRow>,
    /// The run was on it.
    used: bool,
}

#[derive(Debug)]
struct User {
    who: GpuUser,
    used: Option<u64>,
}

impl Cards {
    pub fn push(&mut self, event: &Event) {
        match event {
            Event::Gpu(gpu) if self.gpus.len() < MOST_CARDS => {
                self.gpus.entry(gpu.id).or_default().gpu = Some(gpu.clone());
            }
            Event::GpuUser(user) if self.users.len() < MOST_USERS || self.users.contains_key(&user.id) => {
                self.users.entry(user.id).or_insert_with(|| User { who: user.clone(), used: None }).who = user.clone();
            }
            Event::Exit(exit) => {
                self.inner.retain(|(id, _), _| *id != exit.id);
                self.users.retain(|_, user| user.who.process != Some(exit.id));
            }
            Event::Tick(tick) => self.tick(tick),
            Event::Mark(mark) => self.mark(mark),
            _ => {}
        }
    }

    /// The cards that the run was on.
    pub fn finish(self) -> Vec<Card> {
        let told = self.told.into_iter().map(|(device, known)| (format!("gpu{device}"), known));
        let driven =
            self.gpus.into_values().map(|known| (known.gpu.as_ref().map_or_else(String::new, |gpu| gpu.resource.clone()), known));
        let used = driven.chain(told).filter(|(_, known)| known.used);
        used.map(|(resource, known)| Card {
            resource,
            name: known.gpu.as_ref().map_or_else(String::new, |gpu| gpu.name.clone()),
            emulated: known.gpu.is_some_and(|gpu| gpu.emulated),
            rows: while_it_ran(known.rows.rows()),
        })
        .collect()
    }

    fn tick(&mut self, tick: &Tick) {
        if tick.gpus.is_empty() && tick.gpu_users.is_empty() {
            return;
        }
        // Who is not listed any more has nothing any more.
        self.users.values_mut().for_each(|user| user.used = None);
        for sample in &tick.gpu_users {
            if let Some(user) = self.users.get_mut(&sample.id) {
                user.used = sample.used;
            }
        }
        for sample in &tick.gpus {
            if let Some(known) = self.gpus.get_mut(&sample.id) {
                known.all = sample.used;
            }
            self.divide(sample.id);
            self.row(sample.id, tick.t_s);
        }
    }

    fn mark(&mut self, mark: &Mark) {
        for facts in mark.facts.iter().flat_map(|facts| &facts.devices) {
            let key = (mark.id, facts.index);
            if self.inner.len() >= MOST_USERS && !self.inner.contains_key(&key) {
                continue;
            }
            let new = self.inner.insert(key, *facts).is_none();
            match self.card_of(mark.id, facts.index) {
                Some(gpu) => {
                    // What the driver counted before an allocator was known of may have been that allocator's.
                    if new {
                        self.divide(gpu);
                    }
                    self.row(gpu, mark.t_s);
                }
                None => self.told_row(facts.index, mark.t_s),
            }
        }
    }

    /// The card of a device of a process: as its environment tells, else in the order of numbers, else the one of that number.
    fn card_of(&self, process: ProcId, device: u32) -> Option<GpuId> {
        let users = || self.users.values().map(|user| &user.who).filter(|who| who.process == Some(process));
        if let Some(user) = users().find(|who| who.device == Some(device)) {
            return Some(user.gpu);
        }
        let devices: Vec<u32> = self.inner.range((process, 0)..=(process, u32::MAX)).map(|((_, device), _)| *device).collect();
        let mut listed: Vec<GpuId> = users().map(|who| who.gpu).collect();
        listed.sort_unstable();
        listed.dedup();
        if listed.len() == devices.len() {
            return devices.iter().position(|other| *other == device).map(|at| listed[at]);
        }
        let named = format!("gpu{device}");
        self.gpus.iter().find(|(_, known)| known.gpu.as_ref().is_some_and(|gpu| gpu.resource == named)).map(|(id, _)| *id)
    }

    /// What the driver said last of a card, less what the allocators of the run say.
    fn divide(&mut self, gpu: GpuId) {
        let users = self.users.values().filter(|user| user.who.gpu == gpu && user.who.process.is_some());
        let of_run = users.filter_map(|user| user.used).fold(0, u64::saturating_add);
        let held = self.on_card(gpu).map(|facts| facts.reserved).fold(0, u64::saturating_add);
        if let Some(known) = self.gpus.get_mut(&gpu) {
            known.outside = of_run.saturating_sub(held);
            known.others = known.all.saturating_sub(held.max(of_run));
            known.used |= of_run > 0;
        }
    }

    fn on_card(&self, gpu: GpuId) -> impl Iterator<Item = &DeviceFacts> {
        self.inner.iter().filter(move |((id, device), _)| self.card_of(*id, *device) == Some(gpu)).map(|(_, facts)| facts)
    }

    fn row(&mut self, gpu: GpuId, t_s: f64) {
        let row = allocators(self.on_card(gpu), t_s);
        if let Some(known) = self.gpus.get_mut(&gpu) {
            known.push(row);
        }
    }

    /// For a device that no driver tells of.
    fn told_row(&mut self, device: u32, t_s: f64) {
        if self.told.len() >= MOST_CARDS && !self.told.contains_key(&device) {
            return;
        }
        let row = allocators(self.inner.iter().filter(|((_, other), _)| *other == device).map(|(_, facts)| facts), t_s);
        self.told.entry(device).or_default().push(row);
    }
}

/// Without the rows after the run had gone from the card: nothing there is no low tide.
fn while_it_ran(mut rows: Vec<CardRow>) -> Vec<CardRow> {
    let has = |row: &CardRow| row.tensors > 0 || row.cached > 0 || row.outside > 0;
    rows.truncate(rows.iter().rposition(has).map_or(0, |last| last + 1));
    rows
}

/// What PyTorch's allocators have.
fn allocators<'a>(facts: impl Iterator<Item = &'a DeviceFacts>, t_s: f64) -> CardRow {
    let mut row = CardRow { t_s, tensors: 0, cached: 0, outside: 0, others: 0 };
    for facts in facts {
        row.tensors = row.tensors.saturating_add(facts.allocated);
        row.cached = row.cached.saturating_add(facts.reserved.saturating_sub(facts.allocated));
    }
    row
}

impl Known {
    /// Marks come a little after the tick that they lie before; the curve goes on from there.
    fn push(&mut self, mut row: CardRow) {
        self.used |= row.tensors.saturating_add(row.cached) > 0;
        (row.outside, row.others) = (self.outside, self.others);
        row.t_s = row.t_s.max(self.last_s);
        self.last_s = row.t_s;
        self.rows.push(row);
    }
}

#[cfg(test)]
mod tests {
    use lowtide_model::{GpuDriver, GpuSample, GpuUserSample, InnerFacts, MarkKind};

    use super::*;

    const MIB: u64 = 1 << 20;

    fn cards() -> Cards {
        let mut cards = Cards::default();
        let resource = "gpu0".to_owned();
        let (name, uuid) = ("A card".to_owned(), String::new());
        cards.push(&Event::Gpu(Gpu { id: GpuId(0), resource, name, uuid, driver: GpuDriver::Nvml, emulated: false }));
        let user = |id, process| GpuUser { id: GpuUserId(id), gpu: GpuId(0), pid: 7, process, device: None, name: String::new() };
        cards.push(&Event::GpuUser(user(0, Some(ProcId(0)))));
        cards.push(&Event::GpuUser(user(1, None)));
        cards
    }

    /// What the driver says: all that is used, what the run has of it. MiB.
    fn driver(cards: &mut Cards, t_s: f64, all: u64, of_run: u64) {
        let gpus = vec![GpuSample { id: GpuId(0), total: 1000 * MIB, used: all * MIB, free: 0, reserved: 0 }];
        let gpu_users = vec![GpuUserSample { id: GpuUserId(0), used: Some(of_run * MIB) }];
        cards.push(&Event::Tick(Tick { t_s, gpus, gpu_users, ..Tick::default() }));
    }

    /// What the process says: live, held. MiB.
    fn mark(cards: &mut Cards, t_s: f64, allocated: u64, reserved: u64) {
        let device = DeviceFacts { index: 0, allocated: allocated * MIB, reserved: reserved * MIB, ..DeviceFacts::default() };
        let facts = Some(InnerFacts { devices: vec![device], ..InnerFacts::default() });
        cards.push(&Event::Mark(Mark { t_s, id: ProcId(0), what: MarkKind::Step, steps: 1, facts }));
    }

    fn rows(cards: Cards) -> Vec<[u64; 4]> {
        let card = cards.finish().remove(0);
        card.rows.iter().map(|row| [row.tensors, row.cached, row.outside, row.others].map(|size| size / MIB)).collect()
    }

    #[test]
    fn what_the_driver_counts_is_divided_and_nothing_is_counted_twice() {
        let mut cards = cards();
        driver(&mut cards, 1.0, 900, 500);
        mark(&mut cards, 2.0, 300, 400);
        driver(&mut cards, 3.0, 950, 550);
        mark(&mut cards, 4.0, 320, 400);
        let expected = [[0, 0, 500, 400], [300, 100, 100, 400], [300, 100, 150, 400], [320, 80, 150, 400]];
        assert_eq!(rows(cards), expected);
    }

    #[test]
    fn a_card_without_a_driver_is_drawn_by_what_the_process_says() {
        let mut cards = Cards::default();
        mark(&mut cards, 1.0, 30, 40);
        mark(&mut cards, 2.0, 35, 40);
        assert_eq!(rows(cards), [[30, 10, 0, 0], [35, 5, 0, 0]]);
    }

    #[test]
    fn the_end_of_the_run_is_no_low_tide() {
        let mut cards = cards();
        driver(&mut cards, 1.0, 900, 500);
        mark(&mut cards, 2.0, 300, 400);
        cards.push(&Event::Exit(lowtide_model::Exit { id: ProcId(0), t_s: 3.0 }));
        driver(&mut cards, 4.0, 400, 0);
        assert_eq!(rows(cards).last(), Some(&[300, 100, 100, 400]));
    }

    #[test]
    fn a_card_that_the_run_was_not_on_is_not_drawn() {
        let mut cards = cards();
        driver(&mut cards, 1.0, 900, 0);
        driver(&mut cards, 2.0, 900, 0);
        assert!(cards.finish().is_empty());
    }

    #[test]
    fn what_a_mark_says_of_the_time_before_a_measurement_is_not_lost() {
        let mut cards = cards();
        driver(&mut cards, 2.0, 900, 500);
        mark(&mut cards, 1.5, 300, 400);
        let card = cards.finish().remove(0);
        assert_eq!(card.rows.iter().map(|row| row.t_s).collect::<Vec<_>>(), [2.0, 2.0]);
    }
}
