//! GPUs: what is known of the cards and of who has memory on them.

use std::collections::BTreeMap;

use lowtide_model::{Gpu, GpuId, GpuSample, GpuUser, GpuUserId, LimitReport, Tick};

use crate::pyramid::Pyramid;

/// The most cards and users that are kept.
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

/// All GPUs of a run.
#[derive(Debug, Default)]
pub struct Gpus {
    pub cards: BTreeMap<GpuId, Card>,
    pub users: BTreeMap<GpuUserId, User>,
}

impl Gpus {
    /// A card is there.
    pub fn know(&mut self, gpu: &Gpu) {
        if self.cards.len() < MOST {
            self.cards.entry(gpu.id).or_insert_with(|| Card { gpu: gpu.clone(), last: None, used: Pyramid::default() });
        }
    }

    /// A process has memory on a card, or is better known.
    pub fn know_user(&mut self, user: &GpuUser) {
        if self.users.len() < MOST || self.users.contains_key(&user.id) {
            let new = || User { who: user.clone(), used: Pyramid::default(), last: None, last_s: 0.0 };
            self.users.entry(user.id).or_insert_with(new).who = user.clone();
        }
    }

    /// What was measured.
    pub fn tick(&mut self, tick: &Tick) {
        for sample in &tick.gpus {
            if let Some(card) = self.cards.get_mut(&sample.id) {
                card.last = Some(*sample);
                card.used.push(tick.t_s, sample.used as f64);
            }
        }
        for sample in &tick.gpu_users {
            if let Some(user) = self.users.get_mut(&sample.id) {
                (user.last, user.last_s) = (sample.used, tick.t_s);
                if let Some(used) = sample.used {
                    user.used.push(tick.t_s, used as f64);
                }
            }
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
}
