//! A series of rows that never becomes long, and of which no low tide and no peak is lost.
//!
//! Time is cut into spans of one length. Of each, the rows stay in which one of its sizes is least or most; when
//! there are too many spans, they become twice as long. Every row that stays was measured as it is.

/// What was measured at one moment.
pub trait Moment: Clone {
    /// Seconds after the run's start.
    fn t_s(&self) -> f64;
    /// The sizes of which no low tide and no peak may be lost; of one run always as many.
    fn sizes(&self) -> Vec<u64>;
}

/// Spans before they become twice as long; between half of it and all of it stay.
const MOST_SPANS: usize = 1024;
/// Rows of the span that is being filled before the needless ones go.
const LOOSE: usize = 64;

/// The rows that stay.
#[derive(Clone, Debug)]
pub struct Thin<R> {
    /// Length of a span, seconds; zero while every row has one of its own.
    width_s: f64,
    start_s: f64,
    spans: Vec<Vec<R>>,
    last: Option<R>,
}

impl<R> Default for Thin<R> {
    fn default() -> Self {
        Self { width_s: 0.0, start_s: 0.0, spans: Vec::new(), last: None }
    }
}

impl<R: Moment> Thin<R> {
    /// Takes the next row; rows out of order of time are left out.
    pub fn push(&mut self, row: R) {
        if !row.t_s().is_finite() || self.last.as_ref().is_some_and(|last| row.t_s() < last.t_s()) {
            return;
        }
        if self.last.is_none() {
            self.start_s = row.t_s();
        }
        self.last = Some(row.clone());
        self.put(row);
        if self.spans.len() > MOST_SPANS {
            self.widen();
        }
    }

    /// The rows in order of time, the first and the last one among them.
    pub fn rows(mut self) -> Vec<R> {
        if let Some(open) = self.spans.last_mut() {
            *open = essential(std::mem::take(open));
        }
        let mut rows: Vec<R> = self.spans.into_iter().flatten().collect();
        rows.extend(self.last.filter(|last| rows.last().is_some_and(|row| row.t_s() < last.t_s())));
        rows
    }

    fn number(&self, t_s: f64) -> f64 {
        ((t_s - self.start_s) / self.width_s).floor()
    }

    fn put(&mut self, row: R) {
        let same = |first: &R| self.width_s > 0.0 && self.number(first.t_s()) == self.number(row.t_s());
        let belongs = self.spans.last().and_then(|span| span.first()).is_some_and(same);
        match self.spans.last_mut() {
            Some(span) if belongs => {
                span.push(row);
                if span.len() > LOOSE {
                    *span = essential(std::mem::take(span));
                }
            }
            open => {
                if let Some(done) = open {
                    *done = essential(std::mem::take(done));
                }
                self.spans.push(vec![row]);
            }
        }
    }

    fn widen(&mut self) {
        let long_s = self.last.as_ref().map_or(0.0, |last| last.t_s() - self.start_s);
        self.width_s = (2.0 * self.width_s).max(2.0 * long_s / MOST_SPANS as f64);
        for row in std::mem::take(&mut self.spans).into_iter().flatten() {
            self.put(row);
        }
    }
}

/// The rows in which one of the sizes is least (the first such) or most (the last such).
fn essential<R: Moment>(rows: Vec<R>) -> Vec<R> {
    let mut keep = vec![false; rows.len()];
    let sizes: Vec<Vec<u64>> = rows.iter().map(Moment::sizes).collect();
    for which in 0..sizes.first().map_or(0, Vec::len) {
        let by_size = |at: &usize| sizes[*at].get(which).copied().unwrap_or(0);
        let ends = [(0..rows.len()).min_by_key(by_size), (0..rows.len()).max_by_key(by_size)];
        ends.into_iter().flatten().for_each(|at| keep[at] = true);
    }
    rows.into_iter().zip(keep).filter_map(|(row, keep)| keep.then_some(row)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Row;
    use super::*;

    fn row(t_s: f64, sizes: &[u64]) -> Row {
        let mut row = Row::at(t_s);
        sizes.iter().enumerate().for_each(|(group, size)| row.sorts[group][0] = *size);
        row
    }

    fn thinned(rows: &[Row]) -> Vec<Row> {
        let mut thin = Thin::default();
        rows.iter().for_each(|row| thin.push(row.clone()));
        thin.rows()
    }

    /// For each group the least from a time on: the low-water mark.
    fn low_water(rows: &[Row], group: usize, from_s: f64) -> Option<u64> {
        rows.iter().filter(|row| row.t_s >= from_s).map(|row| row.group(group)).min()
    }

    #[test]
    fn a_short_run_stays_as_it_is() {
        let rows: Vec<Row> = (0..1000).map(|n| row(f64::from(n), &[n as u64])).collect();
        assert_eq!(thinned(&rows), rows);
    }

    #[test]
    fn a_week_stays_small_and_keeps_its_one_low_tide() {
        let mut rows: Vec<Row> = (0..60_480).map(|n| row(10.0 * f64::from(n), &[5000 + n as u64 % 997, 70])).collect();
        rows[30_001].sorts[0][0] = 3;
        rows[30_002].sorts[0][0] = 9999;
        let kept = thinned(&rows);
        assert!(kept.len() < 5 * MOST_SPANS, "{}", kept.len());
        assert!(kept.contains(&rows[30_001]) && kept.contains(&rows[30_002]));
        assert!(kept.contains(&rows[0]) && kept.contains(&rows[60_479]));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn no_low_tide_and_no_peak_is_lost(sizes in proptest::collection::vec((0..50_u64, 0..50_u64, 0.0..9.0_f64), 1..4500)) {
            let mut t_s = 0.0;
            let rows: Vec<Row> = sizes.iter().map(|(a, b, step)| { t_s += step; row(t_s, &[*a, *b]) }).collect();
            let kept = thinned(&rows);
            prop_assert!(kept.iter().all(|row| rows.contains(row)));
            prop_assert!(kept.windows(2).all(|pair| pair[0].t_s <= pair[1].t_s));
            for group in [0, 1] {
                prop_assert_eq!(low_water(&kept, group, 0.0), low_water(&rows, group, 0.0));
                let most = |rows: &[Row]| rows.iter().map(|row| row.group(group)).max();
                prop_assert_eq!(most(&kept), most(&rows));
                // Within a span the low-water mark may come earlier or later than it was, but never lower or higher.
                let span_s = 4.0 * (t_s / MOST_SPANS as f64);
                for part in 0..20 {
                    let from_s = t_s * f64::from(part) / 20.0;
                    let low = low_water(&kept, group, from_s).unwrap_or(u64::MAX);
                    prop_assert!(low >= low_water(&rows, group, from_s).unwrap_or(0));
                    let later = low_water(&rows, group, from_s + span_s).unwrap_or(u64::MAX);
                    prop_assert!(low <= later);
                }
            }
        }
    }
}
