//! What lives between two steps, where the pages' own low tides are hidden.
//!
//! A loop that copies all it has in each step (an array that is joined anew) makes its pages jump by their whole growth, each time
//! for a good part of the step, and takes longer for each step as it grows: looks once a second hit the low tides by chance only, and
//! growth per second falls although each step adds as much as the one before. At a mark, right after a step, such a copy is over: what
//! lives then is the low tide itself, and by steps it rises evenly. So where pages leave it open, what lives decides, under two
//! conditions: it has to stand the same tests that pages do (long enough, many rises, neither stopped nor slowing down), and the
//! pages' own low tide must have risen with it. What fills holes of the heap, and what pages show to have stopped, is not claimed.

use super::Line;
use crate::judge::{Ask, Judged, LOADS, Outcome, SURE_S};
use crate::pyramid::Window;

/// The share of what lives more that the low tides of pages have to rise by.
const WITH_IT: f64 = 0.5;
/// The longest time after the last mark, as a share of the growth before it, that says nothing.
const TAIL: f64 = 0.25;

impl Line {
    /// The verdict on pages, or the one on what lives between the steps where that is plain, pages leave it open, and rise with it.
    pub fn or_between_steps(&self, pages: Judged, windows: &[Window], ask: Ask) -> Judged {
        let open = pages.outcome == Outcome::Unclear && pages.doubt != LOADS;
        if !open && pages.outcome != Outcome::Rising {
            return pages;
        }
        let Some(between) = self.between_steps(&pages) else { return pages };
        // Growth that is plain in the pages stays theirs; how sure it is, what lives may tell as well.
        if !open {
            let sure = between.outcome == Outcome::Leaking && pages.until_s - pages.since_s >= SURE_S;
            return if sure && self.rises_with(&pages, windows, ask) {
                Judged { outcome: Outcome::Leaking, ..pages }
            } else {
                pages
            };
        }
        if self.rises_with(&between, windows, ask) { between } else { pages }
    }

    /// What lives, judged by steps and told by time; `None` where it does not plainly grow until the end of what was seen of pages.
    fn between_steps(&self, pages: &Judged) -> Option<Judged> {
        let live = self.live();
        let step_s = self.step_s();
        if !live.grows() || live.rate <= 0.0 || step_s <= 0.0 {
            return None;
        }
        let since_s = self.time_at(live.since_s / step_s)?;
        let until_s = self.last_step_s?;
        if pages.until_s - until_s > TAIL * (until_s - since_s) {
            return None;
        }
        // By the steps' mean rate over the stretch itself: they may have become slower.
        let slower = self.rate(since_s, until_s)? * step_s;
        Some(Judged {
            since_s,
            until_s,
            rate: live.rate * slower,
            ci95: live.ci95.map(|bound| bound * slower),
            between_steps: true,
            excursions: pages.excursions.clone(),
            peak: pages.peak,
            ..live
        })
    }

    /// Whether the low tides of pages rise with what lives, from the first third of a stretch to its last one.
    fn rises_with(&self, between: &Judged, windows: &[Window], ask: Ask) -> bool {
        let third = (between.until_s - between.since_s) / 3.0;
        let rise = |windows: &[Window]| {
            let low = |from_s: f64, to_s: f64| {
                let inside = windows.iter().filter(|w| (from_s..=to_s).contains(&w.low_at_s));
                inside.map(|w| w.low).fold(f64::INFINITY, f64::min)
            };
            low(between.until_s - third, between.until_s) - low(between.since_s, between.since_s + third)
        };
        let (pages, live) = (rise(windows), rise(self.live.windows()));
        pages.is_finite() && live.is_finite() && pages >= WITH_IT * live && pages >= ask.over(3.0 * third).least
    }

    /// When so many steps were taken, between the marks by their mean rate. Seconds.
    fn time_at(&self, steps: f64) -> Option<f64> {
        let windows = self.steps.windows();
        let at = windows.partition_point(|w| w.last < steps);
        let reached = windows.get(at).or(windows.last())?;
        let from = at
            .checked_sub(1)
            .and_then(|before| windows.get(before))
            .map_or((reached.start_s, reached.low), |w| (w.end_s, w.last));
        let share = if reached.last > from.1 { (steps - from.1) / (reached.last - from.1) } else { 1.0 };
        Some(from.0 + share.clamp(0.0, 1.0) * (reached.end_s - from.0))
    }
}
