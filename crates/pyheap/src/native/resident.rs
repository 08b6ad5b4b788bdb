//! Which pages are in memory and private: what the kernel counts as RssAnon, page by page.
//!
//! From `/proc/PID/pagemap`, stretch by stretch, without the long hold of the address space that `smaps` takes.

use lowtide_remote::{Map, Maps, Process, Stretch};

/// Bytes of a page; what lowtide reads has no other size.
pub const PAGE: u64 = 4096;
/// Runs kept at most. A heap with every second page gone makes one run per 8 KiB: this covers 16 GiB of that.
const RUNS: usize = 2 << 20;

/// Runs of resident private pages, in order of address.
#[derive(Debug, Default, Clone)]
pub struct Resident {
    runs: Vec<Run>,
    total: u64,
    swapped: u64,
    truncated: bool,
}

#[derive(Debug, Clone, Copy)]
struct Run {
    start: u64,
    end: u64,
    /// Bytes in all runs before this one.
    before: u64,
}

impl Resident {
    /// Nothing resident yet; [`Resident::push`] the maps in order of address.
    pub fn new() -> Self {
        Self::default()
    }

    /// Of a process.
    ///
    /// # Errors
    /// Where it has ended, or its pagemap may not be read.
    pub fn of(process: &Process, maps: &Maps) -> Result<Self, lowtide_remote::Error> {
        Self::of_some(process, maps, |_| true)
    }

    /// Of some of its maps.
    ///
    /// # Errors
    /// As of [`Resident::of`].
    pub fn of_some(process: &Process, maps: &Maps, wanted: impl Fn(&Map) -> bool) -> Result<Self, lowtide_remote::Error> {
        let mut resident = Resident::new();
        let maps = maps.iter().filter(|map| wanted(map));
        let skipped = process.pages(maps, &mut |stretch| resident.push(stretch))?;
        resident.truncated |= skipped > 0;
        Ok(resident)
    }

    /// What is in either of them.
    #[must_use]
    pub fn and(self, other: &Self) -> Self {
        let mut runs: Vec<(u64, u64)> = self.runs.iter().chain(&other.runs).map(|run| (run.start, run.end)).collect();
        runs.sort_unstable();
        let (swapped, truncated) = (self.swapped + other.swapped, self.truncated || other.truncated);
        let mut both = Self { swapped, truncated, ..Self::default() };
        runs.into_iter().for_each(|(start, end)| both.add(start, end));
        both
    }

    /// Adds a stretch of private pages. Must follow what was added before.
    pub fn push(&mut self, stretch: Stretch) {
        if stretch.swapped {
            self.swapped += stretch.end.saturating_sub(stretch.start);
        } else {
            self.add(stretch.start, stretch.end);
        }
    }

    /// Adds one resident stretch.
    pub fn add(&mut self, start: u64, end: u64) {
        if end <= start || self.runs.last().is_some_and(|last| start < last.end) {
            return;
        }
        self.total += end - start;
        let full = self.runs.len() >= RUNS;
        match self.runs.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ if full => self.truncated = true,
            _ => self.runs.push(Run { start, end, before: self.total - (end - start) }),
        }
    }

    /// Resident private bytes in all.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Bytes in swap.
    pub fn swapped(&self) -> u64 {
        self.swapped
    }

    /// Whether there was more than is kept or asked for: then the account is of a part of the memory.
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// Resident bytes from `start` to `end`.
    pub fn within(&self, start: u64, end: u64) -> u64 {
        self.below(end).saturating_sub(self.below(start))
    }

    /// The run of resident memory that `address` lies in.
    pub fn run(&self, address: u64) -> Option<(u64, u64)> {
        let at = self.runs.partition_point(|run| run.end <= address);
        self.runs.get(at).filter(|run| run.start <= address).map(|run| (run.start, run.end))
    }

    /// The first resident address at or behind `address`.
    pub fn next(&self, address: u64) -> Option<u64> {
        let at = self.runs.partition_point(|run| run.end <= address);
        self.runs.get(at).map(|run| run.start.max(address))
    }

    fn below(&self, address: u64) -> u64 {
        let at = self.runs.partition_point(|run| run.start < address);
        match at.checked_sub(1).and_then(|i| self.runs.get(i)) {
            Some(run) => run.before + (address.min(run.end) - run.start),
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_is_in_memory_and_what_is_in_swap() {
        let mut resident = Resident::new();
        for (start, end, swapped) in
            [(0x10000, 0x12000, false), (0x14000, 0x15000, false), (0x15000, 0x16000, true), (0x20000, 0x21000, false)]
        {
            resident.push(Stretch { start, end, swapped });
        }
        assert_eq!(resident.total(), 4 * PAGE);
        assert_eq!(resident.swapped(), PAGE);
        assert_eq!(resident.within(0, u64::MAX), 4 * PAGE);
        assert_eq!(resident.within(0x10800, 0x11800), 0x1000);
        assert_eq!(resident.within(0x12000, 0x14000), 0);
        assert_eq!(resident.within(0x13000, 0x20010), PAGE + 0x10);
        assert_eq!(resident.within(5, 3), 0);
        assert_eq!(resident.next(0), Some(0x10000));
        assert_eq!(resident.next(0x10008), Some(0x10008));
        assert_eq!(resident.next(0x12000), Some(0x14000));
        assert_eq!(resident.next(0x21000), None);
    }

    #[test]
    fn what_was_asked_for_in_two_parts_is_as_if_asked_for_at_once() {
        let stretches = [(1, 3, false), (3, 4, false), (5, 6, true), (7, 9, false), (12, 13, false)];
        let stretches = stretches.map(|(start, end, swapped)| Stretch { start: start * PAGE, end: end * PAGE, swapped });
        let of = |wanted: &dyn Fn(usize) -> bool| {
            let mut resident = Resident::new();
            stretches.iter().enumerate().filter(|(at, _)| wanted(*at)).for_each(|(_, one)| resident.push(*one));
            resident
        };
        let whole = of(&|_| true);
        let both = of(&|at| at % 2 == 1).and(&of(&|at| at % 2 == 0));
        assert_eq!((both.total(), both.swapped(), both.runs.len()), (whole.total(), whole.swapped(), whole.runs.len()));
        for page in 0..15 {
            assert_eq!(both.next(page * PAGE), whole.next(page * PAGE));
            assert_eq!(both.within(0, page * PAGE), whole.within(0, page * PAGE));
        }
    }

    #[test]
    fn runs_that_touch_are_one() {
        let mut resident = Resident::new();
        resident.add(0, 64 * PAGE);
        resident.add(64 * PAGE, 128 * PAGE);
        assert_eq!(resident.runs.len(), 1);
        resident.add(0, PAGE);
        assert_eq!(resident.total(), 128 * PAGE, "what comes again is not counted again");
    }
}
