//! Series that we cut ourselves: a process was asked to give free memory back, and its pages fell.
//!
//! What fell by our doing must not make a leak look like none, and what fills up again after it must not look like one. So
//! both sides are judged on their own: the one before stands until the one after says as much, for as long.

use crate::judge::{Ask, Judged, Outcome};
use crate::pyramid::{Pyramid, Window};

/// Judges a series, cut or not, by a judge of series that are not.
#[must_use]
pub fn judge(series: &Pyramid, ask: Ask, by: impl Fn(&[Window], Ask) -> Judged) -> Judged {
    if series.before().is_empty() {
        return by(series.windows(), ask);
    }
    let before = by(series.before(), Ask { ended: false, ..ask });
    // What was given back is taken again, some of it at once: that is a start-up.
    let after = by(series.windows(), Ask { fresh: true, ..ask });
    both(before, after)
}

fn both(before: Judged, after: Judged) -> Judged {
    let span = |judged: &Judged| judged.until_s - judged.since_s;
    let level = matches!(after.outcome, Outcome::Flat | Outcome::Stopped);
    let as_long = span(&after) >= span(&before);
    match (before.grows(), after.grows()) {
        // Of the same certainty, the one that rests on more.
        (true, true) if before.outcome == after.outcome && as_long => after,
        (true, true) if after.outcome == Outcome::Leaking && before.outcome == Outcome::Rising => after,
        (true, true) => before,
        // It really may have ended: with what was given back, or by itself.
        (true, false) if level && as_long => after,
        (true, false) => before,
        (false, true) => after,
        (false, false) if level && !as_long => {
            let more_s = (span(&before) - span(&after)).max(1.0);
            Judged { outcome: Outcome::Unclear, doubt: "lowtide had it give memory back a short time ago", more_s, ..after }
        }
        (false, false) => after,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge;

    const MIB: f64 = 1024.0 * 1024.0;

    /// A rise of a MiB each second, a cut after so many seconds that takes a third, and the same or another rise after it.
    fn outcome(before_s: u32, after_s: u32, before: f64, after: f64) -> Judged {
        let mut series = Pyramid::default();
        let mut value = 200.0 * MIB;
        for t in 0..before_s {
            series.push(f64::from(t), value);
            value += before;
        }
        series.cut(f64::from(before_s));
        value -= (value - 200.0 * MIB) * 0.9;
        for t in before_s..before_s + after_s {
            series.push(f64::from(t), value);
            value += after;
        }
        judge(&series, Ask::bytes(false, false), judge::judge)
    }

    #[test]
    fn a_leak_stays_a_leak_whatever_went_back() {
        for after_s in [0, 1, 5, 20, 60, 119, 120, 600] {
            assert_eq!(outcome(120, after_s, MIB, MIB).outcome, Outcome::Leaking, "{after_s}");
        }
        let judged = outcome(120, 30, MIB, 0.0);
        assert_eq!(judged.outcome, Outcome::Leaking, "level for too short a time");
        assert!((judged.rate / MIB - 1.0).abs() < 0.05, "{}", judged.rate);
    }

    #[test]
    fn what_ended_with_it_is_no_leak_for_ever() {
        assert!(!outcome(120, 150, MIB, 0.0).grows());
    }

    #[test]
    fn what_begins_after_it_is_found() {
        assert_eq!(outcome(120, 150, 0.0, MIB).outcome, Outcome::Leaking);
        assert_eq!(outcome(120, 60, 0.0, 0.0).outcome, Outcome::Unclear, "too soon to say");
        assert_eq!(outcome(120, 150, 0.0, 0.0).outcome, Outcome::Flat);
    }

    #[test]
    fn what_fills_up_again_is_no_growth() {
        let mut series = Pyramid::default();
        (0..120).for_each(|t| series.push(f64::from(t), 400.0 * MIB));
        series.cut(120.0);
        (120..400).for_each(|t| series.push(f64::from(t), (300.0 + f64::from(t - 120) * 5.0).min(400.0) * MIB));
        assert!(!judge(&series, Ask::bytes(false, false), judge::judge).grows());
    }
}
