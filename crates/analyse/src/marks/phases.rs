//! Phases: what each needs while it lasts, and what stays live across it. The phase in which RSS rises is only a hint,
//! since new blocks fill holes made elsewhere.

use std::collections::{BTreeMap, VecDeque};

use super::Identify;
use super::leftover;
use super::scatter::Scatter;
use lowtide_model::{PhaseReport, ProcId};

/// Single times of phases that are remembered.
const MOST: usize = 256;
/// Phases by name that are told apart; a program that makes up a name each time is told by its first ones.
const NAMES: usize = 24;
/// Steps that the mean of what one takes rests on, and live bytes above it that are worth to be told apart.
const FEWEST_STEPS: f64 = 3.0;
const STANDS_OUT: f64 = 64.0 * 1024.0;
/// What lies between two phases.
const BETWEEN: &str = "between";

/// The phases of one process.
#[derive(Debug, Default)]
pub struct Phases {
    open: Option<Open>,
    /// Those that ended.
    done: VecDeque<Done>,
    by_name: BTreeMap<String, Sum>,
    /// The tree's memory at the last measurement.
    tree: Option<u64>,
    /// A phase that ended and is not measured after yet.
    awaits: Option<Rise>,
}

#[derive(Clone, Debug)]
struct Open {
    t_s: f64,
    name: String,
    live: Option<f64>,
    steps: u64,
    /// The first and the last step in it whose live bytes are known.
    first: Option<Step>,
    last: Option<Step>,
    /// The tree's memory before it, and the most in it.
    rise: Option<Rise>,
    /// The least and the most of the process in it.
    own: Option<(u64, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    t_s: f64,
    number: u64,
    live: f64,
}

/// The tree's memory around one time of a phase. Bytes.
#[derive(Clone, Debug)]
struct Rise {
    name: String,
    before: u64,
    high: u64,
}

#[derive(Clone, Debug)]
struct Done {
    begin_s: f64,
    name: String,
    /// Live bytes at its end less those at its beginning.
    left: Option<f64>,
}

/// All times of one phase.
#[derive(Debug, Default)]
struct Sum {
    count: u64,
    seconds: f64,
    steps: u64,
    /// The least and the most of the process, and of the tree; `None` before the first measurement.
    own: Option<(u64, u64)>,
    tree: Option<(u64, u64)>,
    spike: Option<u64>,
    /// From one time to the next: of the least, the most and the spike.
    floors: Scatter,
    peaks: Scatter,
    spikes: Scatter,
}

fn widen(range: &mut Option<(u64, u64)>, bytes: u64) {
    let (low, high) = range.unwrap_or((bytes, bytes));
    *range = Some((low.min(bytes), high.max(bytes)));
}

impl Phases {
    /// A phase begins; the one before ends. What is between two is `between`.
    ///
    /// Where steps were taken in the one before and its end was not said, that is all that is known of its end: it lies
    /// between its last step and this moment, and what was taken since that step, beyond what a step takes anyway, is
    /// said to be between the two.
    pub fn begin(&mut self, t_s: f64, name: &str, live: Option<f64>, steps: u64) {
        if let Some((last, kept)) = self.tail(t_s, live, steps) {
            self.next(last.t_s, BETWEEN, Some(kept), steps);
        }
        self.next(t_s, name, live, steps);
    }

    /// The last step of the open phase, and what the phase had kept once the rest of that step was done: as much as its
    /// steps take on average, or as much as it takes in that time, whichever is more. `None` where nothing stands out
    /// against that.
    fn tail(&self, t_s: f64, live: Option<f64>, steps: u64) -> Option<(Step, f64)> {
        let open = self.open.as_ref()?;
        let (first, last) = open.first.zip(open.last)?;
        let taken = (last.number - first.number) as f64;
        let rest = live? - last.live;
        // Between steps that are few their mean says little.
        if last.number != steps || taken < FEWEST_STEPS {
            return None;
        }
        let (kept, span) = ((last.live - first.live).max(0.0), last.t_s - first.t_s);
        // A data loader's threads take as much in the pause after the last step as they did before it.
        let meanwhile = if span > 0.0 { kept * (t_s - last.t_s).max(0.0) / span } else { 0.0 };
        let usual = (kept / taken).max(meanwhile);
        (rest - usual >= STANDS_OUT).then_some((last, last.live + usual))
    }

    /// A step ended. Bytes.
    pub fn stepped(&mut self, t_s: f64, number: u64, live: Option<f64>) {
        if let Some((open, live)) = self.open.as_mut().zip(live) {
            let step = Step { t_s, number, live };
            open.first.get_or_insert(step);
            open.last = Some(step);
        }
    }

    /// The open phase is over, and another one begins.
    fn next(&mut self, t_s: f64, name: &str, live: Option<f64>, steps: u64) {
        self.close(t_s, live, steps);
        let name: String = name.chars().take(48).collect();
        if let Some(sum) = self.sum(&name) {
            sum.count = sum.count.saturating_add(1);
        }
        self.open = Some(Open { t_s, name, live, steps, first: None, last: None, rise: None, own: None });
    }

    /// The open phase ends.
    pub fn end(&mut self, t_s: f64, live: Option<f64>, steps: u64) {
        self.next(t_s, BETWEEN, live, steps);
    }

    /// The one that is open.
    pub fn now(&self) -> Option<&str> {
        self.open.as_ref().map(|open| open.name.as_str()).filter(|name| *name != BETWEEN)
    }

    /// A measurement: the process's own memory, and the whole tree's where it is known. Bytes.
    pub fn measured(&mut self, t_s: f64, own: u64, tree: Option<u64>) {
        // A mark may be read before a measurement that is older.
        let Some(open) = self.open.as_mut().filter(|open| t_s >= open.t_s) else { return };
        let name = open.name.clone();
        let before = self.tree;
        widen(&mut open.own, own);
        if let Some(tree) = tree {
            match &mut open.rise {
                Some(rise) => rise.high = rise.high.max(tree),
                None => open.rise = before.map(|before| Rise { name: name.clone(), before, high: tree }),
            }
            self.tree = Some(tree);
            if let Some(ended) = self.awaits.take() {
                self.returned(&ended, tree);
            }
        }
        if let Some(sum) = self.sum(&name) {
            widen(&mut sum.own, own);
            if let Some(tree) = tree {
                widen(&mut sum.tree, tree);
            }
        }
    }

    /// What came back of a rise: what it had above what was there before and after it.
    fn returned(&mut self, ended: &Rise, after: u64) {
        if let Some(sum) = self.sum(&ended.name) {
            let height = ended.high.saturating_sub(ended.before.max(after));
            sum.spikes.push(height as f64);
            sum.spike = Some(sum.spike.map_or(height, |highest| highest.max(height)));
        }
    }

    fn sum(&mut self, name: &str) -> Option<&mut Sum> {
        let room = self.by_name.len() < NAMES;
        (room || self.by_name.contains_key(name)).then(|| self.by_name.entry(name.to_owned()).or_default())
    }

    fn close(&mut self, t_s: f64, live: Option<f64>, steps: u64) {
        let Some(open) = self.open.take() else { return };
        if let Some(sum) = self.sum(&open.name) {
            if let Some((low, high)) = open.own {
                sum.floors.push(low as f64);
                sum.peaks.push(high as f64);
            }
            sum.seconds += (t_s - open.t_s).max(0.0);
            sum.steps = sum.steps.saturating_add(steps.saturating_sub(open.steps));
        }
        self.awaits = open.rise.or(self.awaits.take());
        if self.done.len() == MOST {
            self.done.pop_front();
        }
        let left = open.live.zip(live).map(|(before, after)| after - before);
        self.done.push_back(Done { begin_s: open.t_s, name: open.name, left });
    }

    /// The one phase across which live bytes stay time after time (`None` if it is what lies between phases), and a
    /// sentence for it and for each other.
    pub fn blame(&self, since_s: f64) -> Option<(Option<String>, Vec<String>)> {
        let since = self.done.iter().filter(|done| done.begin_s >= since_s);
        let usual = leftover::usual(since.map(|done| (done.name.as_str(), done.left)));
        let (most, others) = leftover::culprit(&usual)?;
        let who = |name: &str| if name == BETWEEN { "what runs between the phases".to_owned() } else { name.to_owned() };
        let mut sentences = vec![format!(
            "{} leaves {} of live memory behind each time (median of {})",
            who(most.name),
            amount(most.usual),
            most.count
        )];
        for other in others {
            sentences.push(if other.usual.abs() < 0.05 * most.usual {
                format!("{} adds nothing ({} times)", who(other.name), other.count)
            } else {
                format!("{} leaves {} (median of {})", who(other.name), amount(other.usual), other.count)
            });
        }
        Some(((most.name != BETWEEN).then(|| most.name.to_owned()), sentences))
    }

    /// What stays live of one time of a phase on average. Where garbage is collected late its usual time leaves much, and a
    /// rare one gives it all back. The first time is left out where there are others: it is also a warm-up.
    fn mean_left(&self, name: &str) -> Option<f64> {
        let all: Vec<f64> = self.done.iter().filter(|done| done.name == name).filter_map(|done| done.left).collect();
        let counted = if all.len() > 1 { &all[1..] } else { &all[..] };
        (!counted.is_empty()).then(|| counted.iter().sum::<f64>() / counted.len() as f64)
    }

    /// The rows for a report, the one with most time first. `now_s` and `steps`: how far the open one has come.
    pub fn rows(&self, id: ProcId, who: Identify, now_s: f64, steps: u64) -> Vec<PhaseReport> {
        let (pid, rank) = who(id);
        let mut rows: Vec<PhaseReport> = self
            .by_name
            .iter()
            .map(|(name, sum)| {
                let open = self.open.as_ref().filter(|open| open.name == *name);
                PhaseReport {
                    id,
                    pid,
                    rank,
                    name: name.clone(),
                    count: sum.count,
                    seconds: sum.seconds + open.map_or(0.0, |open| (now_s - open.t_s).max(0.0)),
                    steps: sum.steps.saturating_add(open.map_or(0, |open| steps.saturating_sub(open.steps))),
                    floor_bytes: sum.own.map(|range| range.0),
                    peak_bytes: sum.own.map(|range| range.1),
                    tree_floor_bytes: sum.tree.map(|range| range.0),
                    tree_peak_bytes: sum.tree.map(|range| range.1),
                    spike_bytes: sum.spike,
                    live_left_bytes: self.mean_left(name),
                    scatter_bytes: [sum.floors, sum.peaks, sum.spikes].map(|all| all.deviation()),
                }
            })
            .collect();
        rows.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        rows
    }
}

fn amount(bytes: f64) -> String {
    let sign = if bytes < 0.0 { "-" } else { "" };
    format!("{sign}{}", lowtide_model::Bytes(bytes.abs() as u64))
}
