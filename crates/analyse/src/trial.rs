//! The smallest steady leak that would have been found, by trial: leaks are added to what was measured and judged.
//!
//! The same is done wherever it must be known what a search would have found (injection and recovery, as in
//! surveys for planets: Christiansen and others 2020, AJ 160:159). A formula for each demand of a verdict
//! must be worst-case where they meet, and has no answer at all where a run swings so slowly that it has too few low
//! tides; a leak lifts the low tide out of such a swing, and then it is seen.

use crate::floor::without_teardown;
use crate::judge::{Ask, Judged, judge};
use crate::pyramid::Window;

/// What is stated over the least leak that was found on the very same noise: another run's noise lies otherwise. By the
/// study in `tests/study.rs` leaks of the stated size are then found as often in other noise of the same sort as
/// those of the size that a formula for each demand of a verdict would state.
const MARGIN: f64 = 1.15;
/// Leaks tried per doubling of their size.
const PER_OCTAVE: usize = 3;
/// How many larger ones are looked at, two octaves, and all but one of them must be found: where a leak beats with a
/// swing, one size may be found and the next one not, and "this much or more would have shown" must be true.
const ABOVE: usize = 2 * PER_OCTAVE;
/// The most that are tried, up to 200 times the least; it bounds the cost: each is one verdict on at most
/// [`crate::pyramid::CAPACITY`] windows.
const MOST: usize = 23 + ABOVE;
/// Halvings between the smallest that was found and the largest that was not: to 6 %.
const HALVINGS: usize = 2;

/// The smallest steady growth per second that would have been found in `windows`, whose verdict is `judged`; the
/// formula's answer where trials find none.
#[must_use]
pub fn detectable(windows: &[Window], ask: Ask, judged: &Judged) -> f64 {
    // A process gives what it leaked back with all the rest: a leak added to its end would hide that it is one.
    let kept = if ask.ended { without_teardown(windows, ask.quantum) } else { windows.len() };
    let (windows, ask) = (&windows[..kept], Ask { ended: false, ..ask });
    let (Some(first), Some(last)) = (windows.first(), windows.last()) else { return judged.detectable };
    let span = last.end_s - first.start_s;
    if judged.grows() || span < crate::judge::CLAIM_S {
        return judged.detectable;
    }
    let found = |rate: f64| judge(&with_leak(windows, rate), ask).grows();
    // What grows by itself, whatever else was made of it, is no noise for a leak to be found in.
    if found(0.0) {
        return judged.detectable;
    }
    // Less than the least growth in all is never called one.
    let least = ask.over(span).least / span;
    let size = |step: usize| least * 2.0_f64.powf(step as f64 / PER_OCTAVE as f64);
    let mut tried = Vec::with_capacity(MOST);
    let first_step = (0..MOST).find_map(|step| {
        tried.push(found(size(step)));
        let first = step.checked_sub(ABOVE)?;
        let misses = tried[first..].iter().filter(|found| !**found).count();
        (tried[first] && misses <= 1).then_some(first)
    });
    let Some(first_step) = first_step else { return judged.detectable };
    let mut rate = size(first_step);
    let mut missed = rate / size(1) * least;
    for _ in 0..HALVINGS {
        let between = (rate * missed).sqrt();
        if found(between) {
            rate = between;
        } else {
            missed = between;
        }
    }
    MARGIN * rate
}

/// The windows of the same run with a leak of `rate` per second from the first on.
fn with_leak(windows: &[Window], rate: f64) -> Vec<Window> {
    let begin_s = windows.first().map_or(0.0, |window| window.start_s);
    let leaked = |t_s: f64| rate * (t_s - begin_s);
    let add = |window: &Window| Window {
        low: window.low + leaked(window.low_at_s),
        high: window.high + leaked(window.end_s),
        last: window.last + leaked(window.end_s),
        ..*window
    };
    windows.iter().map(add).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pyramid::Pyramid;

    const MIB: f64 = 1024.0 * 1024.0;

    fn windows(value: impl Fn(f64) -> f64) -> Vec<Window> {
        let mut pyramid = Pyramid::default();
        (0..240).map(f64::from).for_each(|t| pyramid.push(t, 500.0 * MIB + value(t)));
        pyramid.windows().to_vec()
    }

    fn ask() -> Ask {
        Ask::bytes(false, false)
    }

    /// What is stated, after a check that it is true of the run itself.
    fn stated(windows: &[Window]) -> f64 {
        let rate = detectable(windows, ask(), &judge(windows, ask()));
        let found = |times: f64| judge(&with_leak(windows, times * rate), ask()).grows();
        assert!(found(1.0), "{rate}");
        assert!([1.2, 1.5, 2.0, 2.5, 3.0, 4.0].into_iter().filter(|times| !found(*times)).count() <= 1, "{rate}");
        rate
    }

    #[test]
    fn a_level_run_is_as_good_as_the_least_growth() {
        let level = windows(|_| 0.0);
        let least = ask().over(239.0).least / 239.0;
        let rate = stated(&level);
        assert!((least..1.5 * least).contains(&rate), "{rate} against {least}");
        assert!(!judge(&with_leak(&level, 0.8 * least), ask()).grows());
    }

    #[test]
    fn swings_make_it_worse_and_do_not_leave_it_open() {
        let fast = windows(|t| 20.0 * MIB * (t / 7.0).fract());
        let slow = windows(|t| 60.0 * MIB * (t / 75.0).fract());
        assert!(judge(&slow, ask()).detectable.is_infinite(), "too few low tides for a formula");
        assert!(stated(&slow) > 2.0 * stated(&fast));
    }

    #[test]
    fn a_tear_down_takes_nothing_from_what_is_found() {
        let level = |t: f64| 4.0 * MIB * (t / 7.0).fract();
        let ended = Ask::bytes(true, false);
        let run = windows(level);
        let torn_down = windows(|t| if t < 232.0 { level(t) } else { -55.0 * (t - 231.0) * MIB });
        let rate = |windows: &[Window]| detectable(windows, ended, &judge(windows, ended));
        assert!((0.8..1.25).contains(&(rate(&torn_down) / rate(&run))), "{} {}", rate(&torn_down), rate(&run));
    }

    #[test]
    fn what_grows_keeps_the_formula() {
        let growing = windows(|t| 0.5 * MIB * t);
        let judged = judge(&growing, ask());
        assert!(judged.grows());
        assert_eq!(detectable(&growing, ask(), &judged), judged.detectable);
        assert_eq!(detectable(&[], ask(), &judged), judged.detectable);
        // Held back, since all of it may be set-up.
        let held_back = Judged { outcome: crate::judge::Outcome::Unclear, ..judged };
        assert_eq!(detectable(&growing, ask(), &held_back), held_back.detectable);
    }
}
