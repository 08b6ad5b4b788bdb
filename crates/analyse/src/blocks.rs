//! The low tides of a stretch: the minima of blocks that are longer than any excursion.

use crate::excursion;
use crate::pyramid::Window;
use crate::{shape, trend};

/// Blocks that the last stretch is cut into at most; at least [`crate::judge::FEWEST`] are needed.
const BLOCKS: usize = 16;

/// The minimum of each of up to [`BLOCKS`] blocks of equal length, none shorter than 1.15 times the
/// longest excursion, so that each block holds a low tide.
pub fn block_minima(windows: &[Window], longest_s: f64) -> Vec<(f64, f64)> {
    let (first, last) = (windows[0].start_s, windows[windows.len() - 1].end_s);
    let span = last - first;
    let by_tides = if longest_s > 0.0 { (span / (1.15 * longest_s)) as usize } else { BLOCKS };
    let count = by_tides.min(BLOCKS).min(windows.len());
    let mut blocks: Vec<(f64, f64)> = Vec::with_capacity(count);
    let mut current = usize::MAX;
    for window in windows {
        let index = (((window.low_at_s - first) / span * count as f64) as usize).min(count.saturating_sub(1));
        match blocks.last_mut() {
            Some(block) if index == current => {
                if window.low < block.1 {
                    *block = (window.low_at_s, window.low);
                }
            }
            _ => {
                blocks.push((window.low_at_s, window.low));
                current = index;
            }
        }
    }
    blocks
}

/// The rises from block to block.
pub struct Rises {
    /// How many are above the quantum.
    pub count: usize,
    /// The largest.
    pub largest: f64,
    /// The usual change from tick to tick: a drift below it can be the beat of a fast cycle with the sampling.
    pub swing: f64,
    /// The last quarter's own rise is plain to see.
    pub late: bool,
    /// Growth per second from which on it would be.
    pub late_needs: f64,
    /// One step describes the blocks better than a line does: a single step must not make a trend.
    pub one_step: bool,
}

impl Rises {
    pub fn of(blocks: &[(f64, f64)], windows: &[Window], quantum: f64) -> Self {
        let rises = blocks.windows(2).map(|pair| pair[1].1 - pair[0].1);
        // Slow growth rises by less than a quantum per block: then count against the mean rise.
        let total = blocks.last().map_or(0.0, |last| last.1 - blocks[0].1);
        let mean = total / (blocks.len() - 1).max(1) as f64;
        let late = Late::of(blocks, 6.0 * quantum);
        let bar = quantum.min(0.5 * mean.max(0.0)).max(1e-9);
        Self {
            count: rises.clone().filter(|rise| *rise > bar).count(),
            largest: rises.fold(0.0, f64::max),
            swing: excursion::swing(windows),
            late: late.is_plain(blocks),
            late_needs: late.needs(),
            one_step: shape::one_step(blocks, quantum),
        }
    }
}

/// The last quarter of the blocks, by itself.
struct Late {
    /// How many blocks it is.
    count: usize,
    /// Its length, seconds.
    span_s: f64,
    /// Its rise.
    rise: f64,
    /// The least rise that is plain to see: more than the least asked for, and more than six times the blocks' scatter
    /// from one to the next.
    plain: f64,
}

impl Late {
    fn of(blocks: &[(f64, f64)], least: f64) -> Self {
        let late = &blocks[blocks.len() - blocks.len() / 4 - 1..];
        let (first, last) = (late[0], late[late.len() - 1]);
        // By second differences, which a bend does not inflate. In white noise one has sqrt(6) standard deviations; its
        // median size is 0.6745 of that.
        let mut bends: Vec<f64> = blocks.windows(3).map(|three| (three[0].1 - 2.0 * three[1].1 + three[2].1).abs()).collect();
        let scatter = trend::median(&mut bends) / (0.6745 * 6.0_f64.sqrt());
        Self { count: late.len(), span_s: last.0 - first.0, rise: last.1 - first.1, plain: least.max(6.0 * scatter) }
    }

    /// Whether its rise is plain, and goes on at two fifths of the mean rate or more.
    fn is_plain(&self, blocks: &[(f64, f64)]) -> bool {
        let (first, last) = (blocks[0], blocks[blocks.len() - 1]);
        let mean = (last.1 - first.1) / (last.0 - first.0);
        self.count >= 3 && self.rise >= self.plain && self.rise >= 0.4 * mean * self.span_s
    }

    /// The growth per second whose rise would be plain in 95 % of runs.
    fn needs(&self) -> f64 {
        if self.count >= 3 && self.span_s > 0.0 { 1.25 * self.plain / self.span_s } else { f64::INFINITY }
    }
}
