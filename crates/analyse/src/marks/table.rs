//! One row for each epoch, round or node: what it began with, what it took, what it left.

use std::collections::VecDeque;

use super::Identify;
use lowtide_model::{EpochReport, InnerFacts, ProcId, Scope, ScopeMark};

/// Rows that are kept: the first ones, and the last ones.
const FIRST: usize = 8;
const LAST: usize = 120;

/// The rows of one process.
#[derive(Debug, Default)]
pub struct Table {
    round: Option<u64>,
    node: Option<String>,
    epoch: Option<u64>,
    open: Option<Row>,
    first: Vec<Row>,
    last: VecDeque<Row>,
    /// Epochs that began.
    epochs: u64,
    /// Rounds that began, and when the last one did.
    rounds: (u64, f64),
    /// Rows so far, kept or not.
    rows: u64,
}

#[derive(Clone, Debug, PartialEq)]
struct Row {
    /// How many rows were before it: those in the middle are not kept.
    nth: u64,
    /// How many rounds had begun, and when its own did.
    nth_round: (u64, f64),
    round: Option<u64>,
    node: Option<String>,
    epoch: Option<u64>,
    begin_s: f64,
    end_s: Option<f64>,
    steps: (u64, u64),
    /// Memory at the first and the last measurement, the least and the most; `None` before the first.
    memory: Option<[u64; 4]>,
    live: (Option<u64>, Option<u64>),
    device: Option<(u64, u64)>,
    loss: Option<f64>,
}

impl Row {
    /// Live bytes at its end less those at its beginning.
    fn left(&self) -> Option<f64> {
        self.live.0.zip(self.live.1).map(|(before, after)| after as f64 - before as f64)
    }
}

impl Table {
    /// A round, node or epoch begins.
    pub fn begin(&mut self, t_s: f64, begun: &ScopeMark, steps: u64, facts: Option<&InnerFacts>) {
        let after = |before: Option<u64>| begun.index.unwrap_or_else(|| before.map_or(0, |index| index.saturating_add(1)));
        match begun.scope {
            Scope::Round => {
                (self.round, self.node, self.epoch) = (Some(after(self.round)), None, None);
                self.rounds = (self.rounds.0.saturating_add(1), t_s);
            }
            Scope::Node => (self.node, self.epoch) = (Some(begun.name.chars().take(48).collect()), None),
            Scope::Epoch => {
                self.epoch = Some(after(self.epoch));
                self.epochs = self.epochs.saturating_add(1);
            }
            Scope::Phase => return,
        }
        self.close(t_s, steps, facts);
        let (round, node, epoch) = (self.round, self.node.clone(), self.epoch);
        let live = (facts.and_then(|facts| facts.heap_used), None);
        self.open = Some(Row {
            nth: self.rows,
            nth_round: self.rounds,
            round,
            node,
            epoch,
            begin_s: t_s,
            end_s: None,
            steps: (steps, steps),
            memory: None,
            live,
            device: None,
            loss: None,
        });
    }

    /// A round, node or epoch ends.
    pub fn end(&mut self, t_s: f64, scope: Scope, steps: u64, facts: Option<&InnerFacts>) {
        self.close(t_s, steps, facts);
        match scope {
            Scope::Round | Scope::Node => self.node = None,
            Scope::Epoch | Scope::Phase => {}
        }
    }

    /// Steps so far.
    pub fn stepped(&mut self, steps: u64) {
        if let Some(row) = &mut self.open {
            row.steps.1 = steps.max(row.steps.1);
        }
    }

    /// The mean loss of what is open, as far as it was logged.
    pub fn loss(&mut self, loss: f64) {
        if let Some(row) = &mut self.open {
            row.loss = Some(loss);
        }
    }

    /// A measurement of the process: anonymous and shared bytes.
    pub fn measured(&mut self, t_s: f64, bytes: u64) {
        if let Some(row) = self.open.as_mut().filter(|row| t_s >= row.begin_s) {
            let [first, _, low, high] = row.memory.unwrap_or([bytes; 4]);
            row.memory = Some([first, bytes, low.min(bytes), high.max(bytes)]);
        }
    }

    fn close(&mut self, t_s: f64, steps: u64, facts: Option<&InnerFacts>) {
        let Some(mut row) = self.open.take() else { return };
        row.end_s = Some(t_s);
        row.steps.1 = steps;
        row.live.1 = facts.and_then(|facts| facts.heap_used);
        row.device = facts.and_then(|facts| facts.allocated().zip(facts.reserved()));
        // A round that only holds nodes is told by them.
        if row.steps.0 == row.steps.1 && row.epoch.is_none() {
            return;
        }
        self.rows = self.rows.saturating_add(1);
        if self.first.len() < FIRST {
            self.first.push(row);
        } else {
            if self.last.len() == LAST {
                self.last.pop_front();
            }
            self.last.push_back(row);
        }
    }

    fn all(&self) -> impl Iterator<Item = &Row> {
        self.first.iter().chain(&self.last)
    }

    /// Epochs that began.
    pub fn epochs(&self) -> u64 {
        self.epochs
    }

    /// The number of the epoch that it is in; `None` where rounds or nodes count their epochs anew.
    pub fn epoch_now(&self) -> Option<u64> {
        self.epoch.filter(|_| self.round.is_none() && self.node.is_none())
    }

    /// The number of the round that it is in; `None` where there are none.
    pub fn round_now(&self) -> Option<u64> {
        self.round
    }

    /// Mean seconds from one row to the next between two times, where there were three or more. A row is an epoch where
    /// there are any, else a node's turn or a round.
    pub fn period_s(&self, since_s: f64, until_s: f64) -> Option<f64> {
        self.mean_s(since_s, until_s, |row| Some((row.nth, row.begin_s)))
    }

    /// Mean seconds from one round to the next, likewise.
    pub fn round_s(&self, since_s: f64, until_s: f64) -> Option<f64> {
        self.mean_s(since_s, until_s, |row| row.round.map(|_| row.nth_round))
    }

    /// By the first and the last that begins between two times; `begin`: the number of that which a row is of, and when it
    /// began.
    fn mean_s(&self, since_s: f64, until_s: f64, begin: impl Fn(&Row) -> Option<(u64, f64)>) -> Option<f64> {
        let rows = self.all().chain(&self.open).filter_map(begin);
        let mut inside = rows.filter(|(_, t_s)| (since_s..=until_s).contains(t_s));
        let (first, first_s) = inside.next()?;
        let (last, last_s) = inside.last()?;
        let between = last.checked_sub(first).filter(|between| *between >= 2)?;
        (last_s > first_s).then(|| (last_s - first_s) / between as f64)
    }

    /// The rows for a report.
    pub fn rows(&self, id: ProcId, who: Identify) -> Vec<EpochReport> {
        let (pid, rank) = who(id);
        let mut floor_before = None;
        let rows = self.all().chain(&self.open);
        rows.map(|row| {
            let [start, end, floor, peak] = row.memory.map_or([None; 4], |memory| memory.map(Some));
            let delta = floor.zip(floor_before).map(|(now, before): (u64, u64)| now as f64 - before as f64);
            floor_before = floor.or(floor_before);
            let steps = row.steps.1 - row.steps.0.min(row.steps.1);
            let seconds = row.end_s.map(|end| end - row.begin_s).filter(|span| *span > 0.0);
            EpochReport {
                id,
                pid,
                rank,
                round: row.round,
                node: row.node.clone(),
                epoch: row.epoch,
                start_s: row.begin_s,
                end_s: row.end_s,
                start_bytes: start,
                end_bytes: end,
                floor_bytes: floor,
                delta_bytes: delta,
                peak_bytes: peak,
                live_delta_bytes: row.left(),
                allocated_bytes: row.device.map(|device| device.0),
                reserved_bytes: row.device.map(|device| device.1),
                steps,
                loss: row.loss,
                mean_step_s: seconds.filter(|_| steps > 0).map(|span| span / steps as f64),
            }
        })
        .collect()
    }
}
