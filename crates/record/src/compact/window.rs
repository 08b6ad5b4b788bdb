//! Which ticks of a window are kept: those that hold a minimum or a maximum of some series, the first one, and those right after
//! something happened.

use std::collections::HashMap;

use lowtide_model::{Event, Tick};

use super::plan::Rung;
use super::series::{Roles, Series, series_of};

/// Where in a window a series was lowest and highest. Ticks by their number in the file.
struct Extremes {
    lowest: (u64, usize),
    highest: (u64, usize),
    first: usize,
    last: usize,
}

impl Extremes {
    fn of(value: u64, tick: usize) -> Self {
        Self { lowest: (value, tick), highest: (value, tick), first: tick, last: tick }
    }

    /// Where values tie the earlier tick stays: for a series that does not move that is the window's first one, which is kept
    /// anyway.
    fn add(&mut self, value: u64, tick: usize) {
        if value < self.lowest.0 {
            self.lowest = (value, tick);
        }
        if value > self.highest.0 {
            self.highest = (value, tick);
        }
        self.last = tick;
    }
}

/// Goes over the ticks of a recording in order.
pub(crate) struct Windows {
    rung: Rung,
    last_us: i64,
    roles: Roles,
    keep: Vec<bool>,
    /// The window that is open: where it ends, its first tick, and what was seen in it.
    open: Option<(i64, usize)>,
    series: HashMap<Series, Extremes>,
    something_happened: bool,
}

impl Windows {
    pub(crate) fn new(rung: Rung, last_us: i64) -> Self {
        Self {
            rung,
            last_us,
            roles: Roles::default(),
            keep: Vec::new(),
            open: None,
            series: HashMap::new(),
            something_happened: true,
        }
    }

    /// An event that is no tick.
    pub(crate) fn other(&mut self, event: &Event) {
        self.roles.event(event);
        self.something_happened |= match event {
            Event::Process(_) | Event::Exit(_) => !self.rung.forget_brief,
            Event::Cost(_) | Event::Tick(_) | Event::Mark(_) => false,
            // Others come and go on a shared card all the time.
            Event::GpuUser(_) => false,
            Event::Start(_) | Event::Cgroup(_) | Event::Gpu(_) | Event::Look(_) | Event::Note(_) | Event::End(_) => true,
        };
    }

    pub(crate) fn tick(&mut self, tick: &Tick, t_us: i64) {
        let number = self.keep.len();
        self.keep.push(std::mem::take(&mut self.something_happened));
        if self.open.is_some_and(|(end, _)| t_us >= end) {
            self.close();
        }
        // A window may reach into the time of which all ticks are kept.
        let window = self.rung.window(t_us, self.last_us);
        self.keep[number] |= window.is_none() || self.open.is_none();
        if self.open.is_none() {
            let Some((_, end)) = window else { return };
            self.open = Some((end, number));
        }
        let series = &mut self.series;
        series_of(tick, &self.roles, |which, value| {
            series.entry(which).and_modify(|extremes| extremes.add(value, number)).or_insert_with(|| Extremes::of(value, number));
        });
    }

    fn close(&mut self) {
        let Some((_, first)) = self.open.take() else { return };
        let last = self.keep.len() - 2;
        for (series, extremes) in self.series.drain() {
            let brief = series.is_of_process() && extremes.first > first && extremes.last < last;
            if !(brief && self.rung.forget_brief) {
                self.keep[extremes.lowest.1] = true;
                self.keep[extremes.highest.1] = true;
            }
        }
    }

    /// Of each tick, in order, whether it is kept.
    pub(crate) fn finish(mut self) -> Vec<bool> {
        // As if one more tick closed the last window.
        self.keep.push(true);
        self.close();
        self.keep.pop();
        if let Some(last) = self.keep.last_mut() {
            *last = true;
        }
        self.keep
    }
}
