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

    /// All windows in order of time.
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
        self.windows.iter().fold(0.0, |peak, window| peak.max(window.high))
    }
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
    fn drops_what_goes_back_in_time_or_is_no_number() {
        let mut pyramid = Pyramid::default();
        for (t_s, value) in [(5.0, 1.0), (4.0, 0.0), (6.0, f64::NAN), (f64::INFINITY, 0.0)] {
            pyramid.push(t_s, value);
        }
        assert_eq!(pyramid.windows().len(), 1);
    }
}
