//! Pages that rise because cycles of Python objects wait for a full collection.
//!
//! Between two full collections the pages of such a program rise as those of a leak do, and an allocator keeps what a
//! collection gave back: each collection that comes a little later than the ones before it leaves pages at a new height.
//! What lives right after the collections tells the two apart: with a leak it rises, with cycles that wait it comes back to
//! one level. So where collections were seen to give memory back, growth of pages counts once three of them lie in it and
//! what they leave alive rises with it; if it does not, it takes longer, and more of it.

use super::Line;
use super::spread::{self, LEVEL};
use crate::judge::{Ask, Judged, Outcome};
use crate::trend::theil_sen;

/// The fewest collections in a stretch whose levels tell what it leaves alive.
const FEWEST_LEVELS: usize = 3;
/// Why such growth is open.
pub const WAITS: &str =
    "its pages grow, but full collections bring what is alive back to one level: cycles may be waiting for the next";

impl Line {
    /// Holds growth of pages back that may be cycles only which wait for the collector.
    pub fn unless_cycles_wait(&self, judged: Judged, ask: Ask) -> Judged {
        if !judged.grows() {
            return judged;
        }
        let Some(late) = self.late_gc() else { return judged };
        let inside: Vec<(f64, f64)> =
            late.levels.iter().filter(|(t_s, _)| (judged.since_s..=judged.until_s).contains(t_s)).copied().collect();
        if inside.len() >= FEWEST_LEVELS {
            let (slope, between_s) = (theil_sen(&inside), inside[inside.len() - 1].0 - inside[0].0);
            // A level is read up to one epoch after its collection, with what that has added.
            let rises = slope >= LEVEL * judged.rate && slope * between_s > late.grows;
            return if rises { judged } else { spread::until_plain(judged, ask, WAITS) };
        }
        let (span, needed) = (judged.until_s - judged.since_s, FEWEST_LEVELS as f64 * late.every_s);
        if span >= needed {
            // No collection comes any more: this has become something else.
            return judged;
        }
        Judged { outcome: Outcome::Unclear, doubt: WAITS, more_s: (needed - span).max(1.0), ..judged }
    }
}
