//! A series of bounded size: windows of growing length that never lose a minimum or a maximum.

/// One window of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Time of the window's first value, seconds.
    pub start_s: f64,
    /// Time of its minimum, seconds.
    pub low_at_s: f64,
    /// Its minimum.
    pub low: f64,
    /// Its maximum.
    pub high: f64,
    /// Its last value.
    pub last: f64,
    /// Time of its last value, seconds.
    pub end_s: f64,
}

impl Window {
    fn of(t_s: f64, value: f64) -> Self {
        Self { start_s: t_s, low_at_s: t_s, low: value, high: value, last: value, end_s: t_s }
    }

    fn merge(self, later: Self) -> Self {
        let lower = if later.low < self.low { &later } else { &self };
        Self {
            start_s: self.start_s,
            low_at_s: lower.low_at_s,
            low: lower.low,
            high: self.high.max(later.high),
            last: later.last,
            end_s: later.end_s,
        }
    }
}

/// Windows that double in length whenever there are too many of them: a minute and a week cost the same.
#[derive(Clone, Debug, Default)]
pub struct Pyramid {
    windows: Vec<Window>,
    /// Values per full window.
    width: u32,
    /// Values in the last window so far.
    filled: u32,
    /// Windows before the last cut, the longer stretch of several.
    before: Vec<Window>,
}

/// The most windows that a series keeps. Enough for 16 blocks of 16 windows, in which a plateau over the last
/// tenth of a series still shows as two dozen points.
pub const CAPACITY: usize = 256;

impl Pyramid {
    /// Adds a value; times must not go back (a value that does is dropped).
    pub fn push(&mut self, t_s: f64, value: f64) {
        if !t_s.is_finite() || !value.is_finite() || self.windows.last().is_some_and(|last| t_s < last.end_s) {
            return;
        }
        let width = self.width.max(1);
        match self.windows.last_mut() {
            Some(last) if self.filled < width => {
                *last = last.merge(Window::of(t_s, value));
                self.filled += 1;
            }
            _ => {
                if self.windows.len() == CAPACITY {
                    self.halve();
                }
                self.windows.push(Window::of(t_s, value));
                self.filled = 1;
            }
        }
    }

    fn halve(&mut self) {
        let merged = self.windows.chunks(2).map(|pair| if let [a, b] = pair { a.merge(*b) } else { pair[0] });
        self.windows = merged.collect();
        self.width = self.width.max(1) * 2;
    }

    /// Begins anew at a time: what comes after it is not to be held against what was before, since we changed the value. A
    /// window that reaches into that time is dropped: it may hold a value of both sorts.
    pub fn cut(&mut self, t_s: f64) {
        let mut before = std::mem::take(&mut self.windows);
        before.retain(|window| window.end_s < t_s);
        if span(&before) >= span(&self.before) {
            self.before = before;
        }
        (self.width, self.filled) = (0, 0);
    }

    /// Windows before the last cut, in order of time; empty where there was none.
    #[must_use]
    pub fn before(&self) -> &[Window] {
        &self.before
    }

    /// The side of the last cut that holds this time.
    #[must_use]
    pub fn around(&self, t_s: f64) -> &[Window] {
        if self.before.last().is_some_and(|last| t_s <= last.end_s) { &self.before } else { &self.windows }
    }

    /// All windows since the last cut, in order of time.
    #[must_use]
    pub fn windows(&self) -> &[Window] {
        &self.windows
    }

    /// The last value.
    #[must_use]
    pub fn last(&self) -> Option<f64> {
        self.windows.last().map(|window| window.last)
    }

    /// The highest value ever.
    #[must_use]
    pub fn peak(&self) -> f64 {
        self.before.iter().chain(&self.windows).fold(0.0, |peak, window| peak.max(window.high))
    }
}

fn span(windows: &[Window]) -> f64 {
    windows.first().zip(windows.last()).map_or(0.0, |(first, last)| last.end_s - first.start_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_every_minimum_and_stays_small() {
        let mut pyramid = Pyramid::default();
        for i in 0..100_000_u32 {
            pyramid.push(f64::from(i), if i == 77_777 { -5.0 } else { f64::from(i % 100) });
        }
        assert!(pyramid.windows().len() <= CAPACITY);
        let low = pyramid.windows().iter().min_by(|a, b| a.low.total_cmp(&b.low)).expect("windows");
        assert_eq!((low.low, low.low_at_s), (-5.0, 77_777.0));
        assert_eq!(pyramid.last(), Some(99.0));
        assert!(pyramid.windows().windows(2).all(|pair| pair[0].end_s < pair[1].start_s));
    }

    #[test]
    fn a_cut_begins_anew_and_forgets_nothing() {
        let mut pyramid = Pyramid::default();
        (0..1000).for_each(|i| pyramid.push(f64::from(i), f64::from(i)));
        pyramid.cut(1000.5);
        (1001..1011).for_each(|i| pyramid.push(f64::from(i), 3.0));
        assert_eq!((pyramid.windows().len(), pyramid.windows()[0].high, pyramid.peak()), (10, 3.0, 999.0));
        assert_eq!(pyramid.before().last().map(|w| w.end_s), Some(999.0));
        assert_eq!((pyramid.around(500.0).len(), pyramid.around(1005.0).len()), (pyramid.before().len(), 10));
        pyramid.cut(1011.0);
        assert_eq!(pyramid.before().last().map(|w| w.end_s), Some(999.0), "the longer stretch stays");
        assert_eq!(pyramid.last(), None);
    }

    #[test]
    fn drops_what_goes_back_in_time_or_is_no_number() {
        let mut pyramid = Pyramid::default();
        for (t_s, value) in [(5.0, 1.0), (4.0, 0.0), (6.0, f64::NAN), (f64::INFINITY, 0.0)] {
            pyramid.push(t_s, value);
        }
        assert_eq!(pyramid.windows().len(), 1);
    }
}
