//! Numbers that a file says of memory, as a page draws them: there is nothing beside them, no processes and no sorts.

/// The most points of one series that are drawn; windows that hold more lose no least and no most.
const MOST: usize = 4096;

/// One series of numbers of a log, a table or a file of metrics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoggedCurve {
    /// Its name, as the file has it.
    pub name: String,
    /// What of: `ram`, `gpu0`.
    pub resource: String,
    /// It is a share in percent, not bytes.
    pub percent: bool,
    /// What its points are ordered by, one of it: `second`, `step`, `line`.
    pub per: &'static str,
    /// It is memory in use of the process itself, or of a process that is not named.
    pub own: bool,
    /// The verdict rests on it.
    pub blamed: bool,
    /// Its values in bytes or percent, in order.
    pub points: Vec<(f64, f64)>,
}

impl LoggedCurve {
    /// Takes a stretch of values: from `start` to `end`, with its least and when that was, its most and its last.
    pub fn push(&mut self, (start, end): (f64, f64), (low_at, low): (f64, f64), high: f64, last: f64) {
        if self.points.len() + 4 > MOST {
            return;
        }
        if start == end {
            self.points.push((end, last));
            return;
        }
        // When its most was is not known: at the end that is further from its least.
        let late = low_at - start < end - low_at;
        let at = |t: f64| t.clamp(start, end);
        if !late && high > low {
            self.points.push((start, high));
        }
        self.points.push((at(low_at), low));
        if late && high > low && high > last {
            self.points.push((f64::midpoint(at(low_at), end), high));
        }
        self.points.push((end, last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_keeps_its_least_and_its_most_in_order() {
        for low_at in [0.0, 1.0, 5.0, 10.0] {
            let mut curve = LoggedCurve::default();
            curve.push((0.0, 10.0), (low_at, 2.0), 9.0, 5.0);
            let values: Vec<f64> = curve.points.iter().map(|point| point.1).collect();
            assert!(values.contains(&2.0) && values.contains(&9.0), "{values:?}");
            assert_eq!(values.last(), Some(&5.0));
            assert!(curve.points.windows(2).all(|two| two[0].0 <= two[1].0), "{:?}", curve.points);
        }
    }
}
