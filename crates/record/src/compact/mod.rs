//! Compaction: old ticks are thinned so that days of watching stay small.
//!
//! A tick is kept or left out, never changed. Kept are those that hold a minimum or a maximum of their window ([`plan`]).
//! Windows grow with the age of what they cover, so that the file grows with the logarithm of time. The recording is
//! read twice, written anew beside itself and renamed: at every moment one whole file has the name. Memory does not grow with the
//! file, apart from a few bytes a tick and a mark.

mod marks;
mod plan;
mod series;
#[cfg(test)]
mod tests;
mod window;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use lowtide_model::Event;

use self::plan::{Plan, RUNGS};
use crate::encode::Encoder;
use crate::read::stream;

/// What a recording may have at any time, in bytes, and an eighth of it more for each day, which is more than the logarithm of
/// time needs. So a day of 30 processes keeps under 10 MiB, a week under 15, and most runs are kept whole.
const BASE: u64 = 8 << 20;
const DAY_US: u64 = 86_400_000_000;

/// When to compact, and how far.
pub(crate) struct Budget {
    trigger: u64,
    base: u64,
    rung: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self::of(BASE)
    }
}

impl Budget {
    pub(crate) fn of(base: u64) -> Self {
        Self { trigger: base, base, rung: 0 }
    }

    fn allowed(&self, last_us: i64) -> u64 {
        self.base + u64::try_from(last_us).unwrap_or(0).saturating_mul(self.base / 8) / DAY_US
    }

    pub(crate) fn is_over(&self, size: u64) -> bool {
        size > self.trigger
    }

    /// A compaction was tried and the file has `size` bytes now.
    fn settle(&mut self, size: u64, last_us: i64) {
        // Where it did not help, growing by half comes before the next try, so that rewriting stays rare.
        self.trigger = self.allowed(last_us).max(size + size / 2);
    }

    /// Writes the recording at `from` anew to `to`, thinned to half of what it may have. `last_us` is the time of its last tick. On failure
    /// whatever is at `to` is of no use.
    pub(crate) fn rewrite(&mut self, from: &Path, to: &Path, header: &[u8], last_us: i64) -> io::Result<(File, u64)> {
        let target = self.allowed(last_us) / 2;
        loop {
            let last_rung = self.rung + 1 >= RUNGS.len();
            let plan = Plan::make(from, RUNGS[self.rung], last_us).map_err(io::Error::other)?;
            if last_rung || plan.bytes <= target {
                let made = write(from, to, header, &plan)?;
                if last_rung || made.1 <= target {
                    self.settle(made.1, last_us);
                    return Ok(made);
                }
            }
            // Coarser, and never finer again: so that windows of earlier compactions are whole parts of later ones.
            self.rung += 1;
        }
    }

    /// A compaction failed; the file has `size` bytes as before.
    pub(crate) fn failed(&mut self, size: u64, last_us: i64) {
        self.settle(size, last_us);
    }
}

fn write(from: &Path, to: &Path, header: &[u8], plan: &Plan) -> io::Result<(File, u64)> {
    let mut file = BufWriter::new(File::create(to)?);
    file.write_all(header)?;
    let mut size = header.len() as u64;
    let mut encoder = Encoder::new();
    let mut bytes = Vec::new();
    let mut source = stream(from).map_err(io::Error::other)?;
    let mut walk = plan.walk();
    while let Some(event) = source.next() {
        let event = event.map_err(io::Error::other)?;
        if walk.keeps(&event) {
            put(&mut encoder, &mut bytes, source.ordinal(), &event);
            file.write_all(&bytes)?;
            size += bytes.len() as u64;
            bytes.clear();
        }
    }
    encoder.skip_to(&mut bytes, source.ordinal());
    file.write_all(&bytes)?;
    size += bytes.len() as u64;
    Ok((file.into_inner()?, size))
}

/// Appends an event that makes the run's count of events `ordinal`.
fn put(encoder: &mut Encoder, bytes: &mut Vec<u8>, ordinal: u64, event: &Event) {
    encoder.skip_to(bytes, ordinal.saturating_sub(1));
    match event {
        Event::Tick(tick) => encoder.put_sparse_tick(bytes, tick),
        other => encoder.put(bytes, other),
    };
}
