//! Amounts of the same sort as one series of bounded size.

use lowtide_analyse::pyramid::{Pyramid, Window};

use super::amounts::{Amount, Unit};
use super::clock::Moment;
use super::name::{What, Whose};
use crate::units;

/// Values that are kept to tell the unit by.
const MOST_VALUES: usize = 256;
/// The share of the points that must have a time of their own, so that the axis is time.
const TIMED: f64 = 0.5;

/// What the points of a series are ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Times of lines, seconds.
    Time,
    /// The clocks of progress bars, one after the other, seconds.
    Bars,
    /// Numbers of steps or iterations.
    Steps,
    /// Numbers of epochs or rounds.
    Epochs,
    /// Nothing that the lines say: one after the other.
    Lines,
}

impl Axis {
    /// What one is called.
    #[must_use]
    pub fn one(self) -> &'static str {
        match self {
            Self::Time | Self::Bars => "second",
            Self::Steps => "step",
            Self::Epochs => "epoch",
            Self::Lines => "line",
        }
    }

    /// Whether it counts seconds.
    #[must_use]
    pub fn is_time(self) -> bool {
        matches!(self, Self::Time | Self::Bars)
    }
}

/// A series of amounts that a log says.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The name, as the log has it first.
    pub name: String,
    /// Which of several: `gpu 0`, `rank 3`. Empty where the lines do not say.
    pub entity: String,
    /// The rank, where the lines say.
    pub rank: Option<u32>,
    /// The card, where the lines say.
    pub device: Option<u32>,
    /// The pid, where the lines say.
    pub pid: Option<u32>,
    /// Where it stands: `lines of the log`, `nvidia-smi`.
    pub form: &'static str,
    /// Whose memory.
    pub whose: Whose,
    /// What of it.
    pub what: What,
    /// Values are shares in percent, not bytes.
    pub percent: bool,
    /// The value of the last digit, in the series' unit: smaller changes are not seen.
    pub quantum: f64,
    /// What there is, bytes, where the lines say.
    pub limit: Option<f64>,
    /// How many.
    pub points: u64,
    /// The first and the last line, counted from 1.
    pub lines: (u64, u64),
    /// What the windows' times are.
    pub axis: Axis,
    /// The points, in bytes or percent, by the axis.
    pub windows: Vec<Window>,
    /// The first value.
    pub first: f64,
    /// Never came down: a counter of a maximum, whatever its name.
    pub never_fell: bool,
    /// How its unit was read, where that is not beyond doubt.
    pub said: Option<String>,
}

/// What tells series apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub lane: u64,
    pub entity: String,
    pub name: String,
    pub percent: bool,
    pub form: &'static str,
    /// The words around it; 0 for all of a name together.
    pub shape: u64,
}

/// A series while it is read.
#[derive(Debug)]
pub(super) struct Growing {
    first: Amount,
    form: &'static str,
    rank: Option<u32>,
    device: Option<u32>,
    pid: Option<u32>,
    points: u64,
    lines: (u64, u64),
    first_value: f64,
    last_value: f64,
    fell: bool,
    quantum: f64,
    limit: Option<f64>,
    /// `MB` or `GB`, with values to tell by which is meant; `None` once several units were seen.
    decimal: Option<f64>,
    values: Vec<f64>,
    by_time: Ordered,
    by_bar: Ordered,
    by_step: Ordered,
    by_epoch: Ordered,
    by_line: Pyramid,
    /// The bars before the one that runs.
    bars_s: f64,
    bar_s: f64,
}

/// Points by a number that should never go back.
#[derive(Debug, Default)]
struct Ordered {
    pyramid: Pyramid,
    last: Option<f64>,
    /// Points, and those with a number of their own that is higher than the one before.
    points: u64,
    distinct: u64,
    back: u64,
}

impl Ordered {
    fn push(&mut self, at: Option<f64>, value: f64) {
        let Some(at) = at else { return };
        self.points += 1;
        match self.last {
            Some(last) if at < last => self.back += 1,
            Some(last) if at == last => {}
            _ => self.distinct += 1,
        }
        if self.last.is_none_or(|last| at >= last) {
            self.last = Some(at);
            self.pyramid.push(at, value);
        }
    }

    /// Whether it orders nearly all of so many points.
    fn orders(&self, points: u64, share: f64) -> bool {
        let enough = |count: u64, share: f64| count as f64 >= share * points as f64;
        enough(self.points, 0.9) && enough(self.distinct, share) && self.back * 100 <= points
    }
}

impl Growing {
    pub(super) fn new(
        amount: &Amount,
        form: &'static str,
        rank: Option<u32>,
        device: Option<u32>,
        pid: Option<u32>,
        line: u64,
    ) -> Self {
        Self {
            first: amount.clone(),
            form,
            rank,
            device,
            pid,
            points: 0,
            lines: (line, line),
            first_value: amount.value * amount.unit.factor(),
            last_value: f64::NEG_INFINITY,
            fell: false,
            quantum: 0.0,
            limit: None,
            decimal: match amount.unit {
                Unit::Decimal(factor) => Some(factor),
                _ => None,
            },
            values: Vec::new(),
            by_time: Ordered::default(),
            by_bar: Ordered::default(),
            by_step: Ordered::default(),
            by_epoch: Ordered::default(),
            by_line: Pyramid::default(),
            bars_s: 0.0,
            bar_s: 0.0,
        }
    }

    pub(super) fn push(&mut self, amount: &Amount, moment: &Moment) {
        let factor = amount.unit.factor();
        let value = amount.value * factor;
        self.points += 1;
        self.lines.1 = moment.line;
        self.fell |= value < self.last_value;
        self.last_value = value;
        self.quantum = self.quantum.max(amount.last_digit * factor);
        self.limit = amount.limit.map(|limit| limit * factor).or(self.limit);
        if self.decimal != Some(factor) {
            self.decimal = None;
        } else if self.values.len() < MOST_VALUES {
            self.values.push(amount.value);
        }
        self.by_time.push(moment.time_s, value);
        if let Some(elapsed) = moment.elapsed_s {
            if elapsed < self.bar_s {
                // The next bar; how long it took to begin is not known.
                self.bars_s += self.bar_s;
            }
            self.bar_s = elapsed;
            self.by_bar.push(Some(self.bars_s + elapsed), value);
        }
        self.by_step.push(moment.step, value);
        self.by_epoch.push(moment.epoch, value);
        self.by_line.push(self.points as f64, value);
    }

    pub(super) fn points(&self) -> u64 {
        self.points
    }

    pub(super) fn finish(self, entity: String) -> Series {
        let timed = |ordered: &Ordered| {
            ordered.orders(self.points, TIMED) || (ordered.distinct >= 64 && ordered.orders(self.points, 0.02))
        };
        // A counter that stands still for most points does not order them.
        let (axis, windows) = if timed(&self.by_time) {
            (Axis::Time, self.by_time.pyramid.windows())
        } else if timed(&self.by_bar) {
            (Axis::Bars, self.by_bar.pyramid.windows())
        } else if self.by_step.orders(self.points, 0.9) && self.by_step.back == 0 {
            (Axis::Steps, self.by_step.pyramid.windows())
        } else if self.by_epoch.orders(self.points, 0.9) && self.by_epoch.back == 0 {
            (Axis::Epochs, self.by_epoch.pyramid.windows())
        } else {
            (Axis::Lines, self.by_line.windows())
        };
        let guess = self.decimal.map(|decimal| (decimal, units::of_megabytes(decimal, &self.values)));
        let scale = guess.as_ref().map_or(1.0, |(decimal, guess)| guess.factor / decimal);
        let said = guess.map(|(decimal, guess)| {
            let unit = if decimal >= 1e12 {
                "TB"
            } else if decimal >= 1e9 {
                "GB"
            } else {
                "MB"
            };
            format!("its {unit} are taken for {}, {}", guess.name, guess.because)
        });
        let scaled =
            |window: &Window| Window { low: window.low * scale, high: window.high * scale, last: window.last * scale, ..*window };
        Series {
            name: self.first.name,
            entity,
            rank: self.rank,
            device: self.device,
            pid: self.pid,
            form: self.form,
            whose: self.first.whose,
            what: self.first.what,
            percent: self.first.unit == Unit::Percent,
            quantum: self.quantum * scale,
            limit: self.limit.map(|limit| limit * scale),
            points: self.points,
            lines: self.lines,
            axis,
            windows: windows.iter().map(scaled).collect(),
            first: self.first_value * scale,
            never_fell: !self.fell,
            said,
        }
    }
}
