//! Pages that grow while nothing more is alive.
//!
//! An allocator goes on touching pages that it has mapped, and making holes, long after a program has settled: its pages creep
//! upwards though what lives in them does not. Where live bytes of malloc's heap and blocks of Python's own allocator are both
//! known to be level, and what malloc has free has room for all of that growth, it may be such a spread, which ends by itself.
//! Then it takes longer, and more of it, until it counts as growth. Neither allocator alone holds a verdict back: Python's small objects are
//! none of malloc's bytes. Memory that is mapped past both of them looks the same only until it outgrows that room.

use super::Line;
use crate::blocks::block_minima;
use crate::judge::{Ask, FEWEST, Judged, Outcome, SURE_S};
use crate::pyramid::{Pyramid, Window};
use crate::trend;

/// What lives is level where the upper end of its growth's 95 % interval is below this share of the growth of pages.
pub(super) const LEVEL: f64 = 0.25;
/// The largest block of Python's own allocator, bytes; what is larger comes from malloc's heap.
pub const LARGEST_BLOCK: f64 = 512.0;
/// The share of the stretch, at its beginning, in which what lives may still settle: pages follow it late.
const SETTLING: f64 = 0.25;
/// The share of the rest that facts must reach over.
const COVERED: f64 = 0.75;
/// The least growth of such pages, over that of others.
const MORE: f64 = 4.0;
/// Why such growth is open.
pub const SPREADS: &str = "its pages grow, but nothing more is alive in malloc's heap and in Python's: holes may be filling up";

impl Line {
    /// Holds growth of pages back that may be the allocator's spread only, for the time and the size that it takes to tell.
    pub fn unless_spread(&self, judged: Judged, ask: Ask) -> Judged {
        if judged.grows() && self.may_spread(&judged) == Some(true) { until_plain(judged, ask, SPREADS) } else { judged }
    }

    /// Whether all of this growth of pages may be holes that fill up; `None` where too little is known of what lives.
    fn may_spread(&self, judged: &Judged) -> Option<bool> {
        let alive = at_most(&self.live, judged)? + LARGEST_BLOCK * at_most(&self.blocks, judged)?;
        let room = self.holes.windows().iter().rfind(|window| window.start_s <= judged.until_s)?.last;
        Some(alive < LEVEL * judged.rate && judged.rise <= room)
    }
}

/// Growth that is open, for a reason, until it is too long and too large for that.
pub(super) fn until_plain(judged: Judged, ask: Ask, doubt: &'static str) -> Judged {
    let span = judged.until_s - judged.since_s;
    let (rise, least) = (judged.rate * span, MORE * ask.over(span).least);
    if span >= SURE_S && rise >= least {
        return judged;
    }
    // The least growth grows with the root of time, the growth with time: they meet at the square.
    let by_size = span * ((least / rise).powi(2) - 1.0);
    Judged { outcome: Outcome::Unclear, doubt, more_s: (SURE_S - span).max(by_size).max(1.0), ..judged }
}

/// The upper end of the 95 % interval of a series' growth per second, over a judged stretch without its beginning.
fn at_most(series: &Pyramid, judged: &Judged) -> Option<f64> {
    let since_s = judged.since_s + SETTLING * (judged.until_s - judged.since_s);
    let inside: Vec<Window> =
        series.windows().iter().filter(|w| w.start_s >= since_s && w.end_s <= judged.until_s).copied().collect();
    let (first, last) = (inside.first()?, inside.last()?);
    if last.end_s - first.start_s < COVERED * (judged.until_s - since_s) {
        return None;
    }
    let tides = block_minima(&inside, judged.excursions.longest_s);
    let trend = trend::fit(&tides, 0.0).filter(|trend| trend.n >= FEWEST)?;
    Some((trend.slope.max(trend.least_squares) + 1.96 * trend.error).max(0.0))
}
