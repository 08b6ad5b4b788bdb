//! When to read `smaps_rollup`.
//!
//! It is the only view of who shares which page, and by far the dearest read: the kernel walks the page tables of the
//! target (20 to 40 ms per GiB were seen) while it holds the lock that the target's mmap and munmap need. So:
//!
//! - All reads and ticks together stay below [`SHARE`] of a core; where the whole of lowtide uses more than
//!   [`SHARE_IN_ALL`], the reads pause.
//! - A process whose next read would take more than [`LONGEST_MS`] is not read: its cost per page is learned from its
//!   own reads while it is small, or else from pages of our own. Above that `pagemap` tells of private pages
//!   ([`crate::pagemap`]), in slices of [`MOST_WALK_S`], where the process shares pages; else the cheap counters have to do.
//! - Processes that share pages (forked workers) come first, the others five times as rarely.

use std::time::Instant;

use lowtide_model::ProcSample;

use crate::counts::Counting;
use crate::pagemap::{Reading, Slice};
use crate::parse::keyed;
use crate::root::{Root, Scratch};
use crate::sys;

/// The part of a core that ticks and rollups may use together; the rest of the promised 1 % is for recording and judging.
const SHARE: f64 = 0.004;
/// The part of a core that the first reads of processes that share pages may use besides: where ticks take all of
/// [`SHARE`], a tree of forked workers would else be counted many times over.
const SHARE_FIRST: f64 = 0.003;
/// The part of a core above which the reads pause, counting every thread of this process.
const SHARE_IN_ALL: f64 = 0.01;
/// CPU seconds at the start that do not count against [`SHARE_IN_ALL`]: reading options, opening the recording.
const GRACE_S: f64 = 0.5;
/// The most that may be saved up for one burst of reads, in seconds, where ticks are short.
const MOST_SAVED_S: f64 = 0.04;
/// No read of a target may be expected to take longer, in milliseconds.
const LONGEST_MS: f64 = 20.0;
/// Expected and real cost differ (huge pages split, shared pages cost more): plan for this factor.
const SAFETY: f64 = 1.5;
/// The same where only another process of the run was read.
const RELATED_SAFETY: f64 = 2.0;
/// Pages of our own are cheap ones; a torch process, with its many mapped files, costs three times as much per page
/// (measured: 25 against 76 ns).
const FIRST_SAFETY: f64 = 4.0;
/// CPU seconds for first reads that are there from the start: what pages cost is best learned while the first process is
/// small, and by the time that so much had been saved up it may be too big for a guess.
const FIRST_CREDIT_S: f64 = 0.01;
/// On a busy machine we lose the CPU in the middle of a read, and the target waits meanwhile: after a read that held it
/// up for too long it is left alone for so many seconds.
const REST_S: f64 = 60.0;
/// Reads of fewer pages say more about the file's overhead than about pages.
const PAGES_TO_LEARN_FROM: u64 = 1024;
/// So many times as many pages as when their cost was learned.
const OUTGROWN: u64 = 6;
/// Seconds after which a process is read again, if it shares pages, and if not.
const EVERY_S: f64 = 1.0;
const RARELY_S: f64 = 5.0;
/// The most CPU seconds of one tick for `pagemap`.
const MOST_WALK_S: f64 = 0.01;
/// So many readings of one process count as first ones: copies of shared pages fill up soon after the fork, and whether
/// they come to an end is seen while they do.
const FIRST_WALKS: u32 = 6;
/// Seconds between readings of one process's `pagemap`.
const WALK_EVERY_S: f64 = 5.0;

/// What is known about reading one process.
#[derive(Debug, Default)]
pub struct RollupState {
    /// When its `smaps_rollup` was last read.
    read_s: Option<f64>,
    maps: Counting,
    files: Counting,
    rest_until_s: f64,
    /// What its pages cost, by its last reads.
    cost: Option<PageCost>,
    /// It is too big for it now, or rests.
    too_big: bool,
    /// A reading of its `pagemap` that has begun, and when the last one ended.
    reading: Option<Box<Reading>>,
    walked_s: Option<f64>,
    /// So many of them have ended.
    walks: u32,
    /// That cannot be read either.
    skipped: bool,
    /// The kernel does not let us read it.
    denied: bool,
}

/// What was learned of the cost of a page.
#[derive(Clone, Copy, Debug)]
struct PageCost {
    ns: f64,
    /// On so many pages.
    pages: u64,
}

impl PageCost {
    /// With a further measurement. Judged by CPU time: being preempted in the middle says nothing about the next read.
    /// Bad news counts at once, good news slowly; but what was measured on half as many pages says more about the file's
    /// overhead.
    fn learn(known: Option<Self>, ns: f64, pages: u64) -> Self {
        match known {
            Some(known) if pages < 2 * known.pages && ns < known.ns => Self { ns: known.ns * 0.8 + ns * 0.2, ..known },
            _ => Self { ns, pages },
        }
    }
}

/// The budget, and what was spent.
#[derive(Debug)]
pub struct RollupBudget {
    enabled: bool,
    most_saved_s: f64,
    saved_s: f64,
    /// The same for first reads.
    saved_first_s: f64,
    last_s: Option<f64>,
    cpu_at_start_s: f64,
    /// Measured on pages of our own, once it is needed.
    own_ns_per_page: Option<f64>,
    /// What pages cost in the process of the run that was read last.
    related: Option<PageCost>,
    pub reads: u64,
    pub longest_ms: f64,
    /// Whether some process was too big.
    pub too_big: bool,
    /// Processes that were too big and whose `pagemap` said nothing, each counted once.
    pub skipped: u32,
    /// For pieces of `pagemap`.
    buffer: Vec<u8>,
    /// Whether some process may not be read.
    pub denied: bool,
    /// CPU seconds of this process that were spent on something else than collecting.
    pub elsewhere_s: f64,
}

/// A process that could be read, as the plan needs it.
pub struct Wish<'a> {
    pub pid: u32,
    pub rss: u64,
    pub shares_pages: bool,
    pub state: &'a mut RollupState,
    /// Where the results go.
    pub sample: &'a mut ProcSample,
}

impl Wish<'_> {
    fn pages(&self) -> u64 {
        self.rss / sys::page_size()
    }

    /// Reads `pagemap` on for so many CPU seconds.
    fn walk(&mut self, now_s: f64, means_s: f64, root: &Root, buffer: &mut Vec<u8>) {
        let begun = self.state.reading.take().map(Ok).unwrap_or_else(|| Reading::begin(root, self.pid, self.rss).map(Box::new));
        let Ok(mut reading) = begun else {
            self.state.skipped = true;
            return;
        };
        match reading.slice(means_s, buffer) {
            Slice::More => self.state.reading = Some(reading),
            Slice::Private(bytes) => {
                (self.sample.private_anon, self.state.walked_s) = (Some(bytes), Some(now_s));
                self.state.walks += 1;
            }
            // It has ended, or it became another program: then it begins anew.
            Slice::Nothing => self.state.walked_s = Some(now_s),
        }
    }

    /// What a page costs was learned when it was far smaller: it is learned again before it is too big to ask.
    fn outgrew_its_cost(&self) -> bool {
        self.state.cost.is_some_and(|cost| self.pages() >= OUTGROWN * cost.pages)
    }
}

impl RollupBudget {
    /// `interval_s`: seconds between ticks, so that long ones may save up as much as they allow.
    pub fn new(enabled: bool, interval_s: f64) -> Self {
        Self {
            enabled,
            most_saved_s: MOST_SAVED_S.max(interval_s * SHARE),
            saved_s: 0.0,
            saved_first_s: FIRST_CREDIT_S,
            last_s: None,
            cpu_at_start_s: sys::process_cpu_s(),
            own_ns_per_page: None,
            related: None,
            reads: 0,
            longest_ms: 0.0,
            too_big: false,
            skipped: 0,
            buffer: Vec::new(),
            denied: false,
            elsewhere_s: 0.0,
        }
    }

    /// CPU seconds of this process since the start.
    pub fn cpu_s(&self) -> f64 {
        sys::process_cpu_s() - self.cpu_at_start_s
    }

    /// Reads those whose turn it is and that the budget allows. `spent_s`: CPU seconds of this tick so far. `first_s`:
    /// the time of the first tick.
    pub fn spend(&mut self, now_s: f64, first_s: f64, spent_s: f64, wishes: &mut [Wish<'_>], root: &Root, scratch: &mut Scratch) {
        let passed = self.last_s.map_or(0.0, |last| (now_s - last).max(0.0));
        self.last_s = Some(now_s);
        self.saved_s = (self.saved_s + passed * SHARE - spent_s).clamp(-MOST_SAVED_S / 2.0, self.most_saved_s);
        self.saved_first_s = (self.saved_first_s + passed * SHARE_FIRST).min(self.most_saved_s);
        if !self.enabled || self.cpu_s() - self.elsewhere_s - GRACE_S > (now_s - first_s) * SHARE_IN_ALL {
            return;
        }
        let due = |wish: &Wish<'_>| {
            if wish.outgrew_its_cost() {
                return f64::INFINITY;
            }
            let every = if wish.shares_pages { EVERY_S } else { RARELY_S };
            wish.state.read_s.map_or(f64::INFINITY, |read| (now_s - read) / every)
        };
        // The most overdue first; among those never read, those that share pages.
        wishes.sort_by(|a, b| due(b).total_cmp(&due(a)).then(b.shares_pages.cmp(&a.shares_pages)));
        let mut saving_up = false;
        for wish in wishes.iter_mut() {
            let rested = now_s >= wish.state.rest_until_s;
            wish.state.too_big &= due(wish) < 0.99;
            wish.state.too_big |= !rested;
            if due(wish) >= 0.99 && rested && !wish.state.denied && wish.rss > 0 && !saving_up {
                let unread = wish.state.read_s.is_none() && (wish.shares_pages || self.related.is_none());
                let first = unread || wish.outgrew_its_cost();
                match self.expected_s(now_s, wish) {
                    Some(expected_s) if self.saved_s >= expected_s => self.read(now_s, wish, root, scratch),
                    Some(expected_s) if first && self.saved_first_s >= expected_s => {
                        let saved_s = self.saved_s;
                        self.read(now_s, wish, root, scratch);
                        // Paid from the other purse.
                        self.saved_first_s -= (saved_s - self.saved_s).max(0.0);
                        self.saved_s = saved_s;
                    }
                    // Those behind it would eat up what it needs: it would never have its turn.
                    Some(_) => saving_up = true,
                    None => wish.state.too_big = true,
                }
            }
            self.count(now_s, wish, root);
        }
        self.walk(now_s, wishes, root);
    }

    /// Those that are too big, by `pagemap`: what was begun first, then whoever waits longest.
    fn walk(&mut self, now_s: f64, wishes: &mut [Wish<'_>], root: &Root) {
        let due = |wish: &Wish<'_>| match wish.state.walked_s {
            _ if wish.state.reading.is_some() => f64::INFINITY,
            None => f64::MAX,
            Some(walked_s) => now_s - walked_s,
        };
        let waits = |wish: &&mut Wish<'_>| {
            let state = &wish.state;
            wish.shares_pages && state.too_big && !state.denied && !state.skipped && due(wish) >= WALK_EVERY_S
        };
        let mut waiting: Vec<&mut Wish<'_>> = wishes.iter_mut().filter(waits).collect();
        waiting.sort_by(|a, b| due(b).total_cmp(&due(a)));
        let mut left_s = MOST_WALK_S;
        for wish in waiting {
            let purse = if wish.state.walks < FIRST_WALKS && self.saved_first_s > self.saved_s {
                &mut self.saved_first_s
            } else {
                &mut self.saved_s
            };
            let means_s = left_s.min(*purse);
            if means_s <= 0.0 {
                return;
            }
            let before = sys::thread_cpu_ns();
            wish.walk(now_s, means_s, root, &mut self.buffer);
            let spent_s = (sys::thread_cpu_ns() - before) as f64 * 1e-9;
            *purse -= spent_s;
            left_s -= spent_s;
            self.skipped += u32::from(wish.state.skipped);
        }
    }

    /// What the read will cost; `None` where it would hold the target up for too long.
    fn expected_s(&mut self, now_s: f64, wish: &mut Wish<'_>) -> Option<f64> {
        let rested = wish.state.read_s.is_some_and(|read| now_s - read >= REST_S);
        let ns_per_page = match (wish.state.cost, self.related) {
            // One dear read on a busy machine must not be the last: after a while it is taken at its word.
            (Some(known), _) => known.ns * if rested { 1.0 } else { SAFETY },
            (None, Some(related)) => related.ns * RELATED_SAFETY,
            (None, _) => *self.own_ns_per_page.get_or_insert_with(measure_own_pages) * FIRST_SAFETY,
        };
        let expected_s = ns_per_page * wish.pages() as f64 * 1e-9;
        let too_big = expected_s * 1e3 > LONGEST_MS;
        self.too_big |= too_big;
        (!too_big).then_some(expected_s)
    }

    fn read(&mut self, now_s: f64, wish: &mut Wish<'_>, root: &Root, scratch: &mut Scratch) {
        let (clock, cpu) = (Instant::now(), sys::thread_cpu_ns());
        let result = scratch.read(&root.of(wish.pid, "smaps_rollup"));
        let (wall_ms, ns) = (clock.elapsed().as_secs_f64() * 1e3, (sys::thread_cpu_ns() - cpu) as f64);
        self.saved_s -= ns * 1e-9;
        wish.state.read_s = Some(now_s);
        wish.state.rest_until_s = if wall_ms > LONGEST_MS { now_s + REST_S } else { 0.0 };
        match result {
            Ok(bytes) => {
                wish.sample.rollup = keyed::rollup(bytes);
                self.reads += 1;
                self.longest_ms = self.longest_ms.max(wall_ms);
            }
            // A vanished process is an exit, seen by others; anything else will not get better.
            Err(error) => {
                wish.state.denied = error.kind() == std::io::ErrorKind::PermissionDenied;
                self.denied |= wish.state.denied;
            }
        }
        let pages = wish.pages();
        if pages >= PAGES_TO_LEARN_FROM {
            let cost = PageCost::learn(wish.state.cost, ns / pages as f64, pages);
            wish.state.cost = Some(cost);
            self.related = Some(cost);
        }
    }

    fn count(&mut self, now_s: f64, wish: &mut Wish<'_>, root: &Root) {
        let (state, pid) = (&mut *wish.state, wish.pid);
        // Both files are closed to us where the rollup is.
        if state.denied {
            return;
        }
        let (maps, maps_s) = state.maps.maps(now_s, self.saved_s, root, pid);
        self.saved_s -= maps_s;
        wish.sample.maps = maps;
        if !root.folders_tell_files() {
            let (files, files_s) = state.files.files(now_s, self.saved_s, root, pid);
            self.saved_s -= files_s;
            wish.sample.fds = files;
        }
    }
}

/// What a rollup costs per page on this machine: with and without a few MiB of small pages of our own.
fn measure_own_pages() -> f64 {
    const LEN: usize = 8 << 20;
    /// Where it cannot be measured: the dearest that was seen (18 ms for 256 MiB).
    const DEAREST: f64 = 280.0;
    let mut scratch = Scratch::default();
    let path = std::path::Path::new("/proc/self/smaps_rollup");
    let mut time = || {
        (0..3)
            .filter_map(|_| {
                let before = sys::thread_cpu_ns();
                scratch.read(path).ok()?;
                Some(sys::thread_cpu_ns() - before)
            })
            .min()
    };
    let Some(without) = time() else { return DEAREST };
    let Some(pages) = sys::TouchedPages::new(LEN) else { return DEAREST };
    let Some(with) = time() else { return DEAREST };
    drop(pages);
    let per_page = with.saturating_sub(without) as f64 / (LEN as u64 / sys::page_size()) as f64;
    // A clock that stands still, or a sandbox: do not trust it.
    if per_page < 1.0 { DEAREST } else { per_page }
}

#[cfg(test)]
mod tests {
    use lowtide_model::{ProcId, Rollup};

    use super::*;

    /// A budget with a known cost per page, so that nothing depends on this machine's speed.
    fn budget(saved_s: f64) -> RollupBudget {
        RollupBudget {
            saved_s,
            saved_first_s: 0.0,
            own_ns_per_page: Some(25.0),
            last_s: Some(0.0),
            ..RollupBudget::new(true, 1.0)
        }
    }

    fn wish<'a>(rss: u64, state: &'a mut RollupState, sample: &'a mut ProcSample) -> Wish<'a> {
        Wish { pid: std::process::id(), rss, shares_pages: false, state, sample }
    }

    fn spend_once(budget: &mut RollupBudget, now_s: f64, spent_s: f64, rss: u64, state: &mut RollupState) -> Option<Rollup> {
        let mut sample = ProcSample::empty(ProcId(0));
        let mut wishes = [wish(rss, state, &mut sample)];
        budget.spend(now_s, now_s - 1e6, spent_s, &mut wishes, &Root::new("/".as_ref()), &mut Scratch::default());
        sample.rollup
    }

    #[test]
    fn reads_within_the_budget_and_not_too_often() {
        let (mut budget, mut state) = (budget(0.04), RollupState::default());
        assert!(spend_once(&mut budget, 1.0, 0.0, 1 << 20, &mut state).is_some());
        assert!(spend_once(&mut budget, 2.0, 0.0, 1 << 20, &mut state).is_none(), "shares no pages: every 5 s is enough");
        assert_eq!(budget.reads, 1);
    }

    #[test]
    fn an_empty_purse_reads_nothing() {
        let (mut budget, mut state) = (budget(0.0), RollupState { read_s: Some(-60.0), ..RollupState::default() });
        assert!(spend_once(&mut budget, 1.0, 0.5, 1 << 20, &mut state).is_none());
        assert_eq!(budget.reads, 0);
    }

    #[test]
    fn a_process_that_would_be_held_up_too_long_is_left_alone() {
        let (mut budget, mut state) = (budget(0.04), RollupState::default());
        // 25 ns a page, four times: 20 ms are reached at 200000 pages.
        assert!(spend_once(&mut budget, 1.0, 0.0, 800 << 20, &mut state).is_none());
        assert!(spend_once(&mut budget, 2.0, 0.0, 800 << 20, &mut state).is_none());
        assert_eq!((budget.too_big, budget.skipped, budget.reads), (true, 0, 0), "it shares nothing: nothing is missed");
        // It shrinks again: no grudge.
        assert!(spend_once(&mut budget, 3.0, 0.0, 8 << 20, &mut state).is_some());
    }

    #[test]
    fn private_pages_of_a_big_one_come_from_pagemap_in_slices() {
        let (mut budget, mut state) = (budget(0.0), RollupState::default());
        let mut ticks = 0;
        let mut walk = |budget: &mut RollupBudget, now_s: f64| {
            let mut sample = ProcSample::empty(ProcId(0));
            let mut wishes = [Wish { shares_pages: true, ..wish(800 << 20, &mut state, &mut sample) }];
            budget.spend(now_s, now_s - 1e6, 0.0, &mut wishes, &Root::new("/".as_ref()), &mut Scratch::default());
            sample.private_anon
        };
        let private = loop {
            ticks += 1;
            assert!(ticks < 2000, "it never ends");
            if let Some(private) = walk(&mut budget, 0.1 * f64::from(ticks)) {
                break private;
            }
        };
        assert!(private > 1 << 16 && budget.reads == 0 && budget.skipped == 0, "{private}");
        assert_eq!(walk(&mut budget, 0.1 * f64::from(ticks + 1)), None, "not again at once");
    }

    #[test]
    fn the_first_readings_of_pagemap_are_paid_from_the_purse_of_first_reads() {
        let read_by = |walks| {
            let mut budget = RollupBudget { saved_first_s: 0.04, ..budget(0.0) };
            let mut state = RollupState { walks, walked_s: Some(-60.0), ..RollupState::default() };
            let mut sample = ProcSample::empty(ProcId(0));
            let mut wishes = [Wish { shares_pages: true, ..wish(800 << 20, &mut state, &mut sample) }];
            // The tick took all that could have been saved up.
            budget.spend(1.0, -1e6, 1.0, &mut wishes, &Root::new("/".as_ref()), &mut Scratch::default());
            state.reading.is_some() || state.walks > walks
        };
        assert!(read_by(0) && read_by(FIRST_WALKS - 1));
        assert!(!read_by(FIRST_WALKS));
    }

    #[test]
    fn who_may_not_be_read_is_counted_once() {
        let (mut budget, mut state) = (budget(0.04), RollupState::default());
        for now_s in [1.0, 2.0] {
            let mut sample = ProcSample::empty(ProcId(0));
            let mut wishes = [Wish { shares_pages: true, pid: u32::MAX, ..wish(800 << 20, &mut state, &mut sample) }];
            budget.spend(now_s, now_s - 1e6, 0.0, &mut wishes, &Root::new("/".as_ref()), &mut Scratch::default());
        }
        assert_eq!((budget.too_big, budget.skipped), (true, 1));
    }

    #[test]
    fn the_first_process_is_read_while_it_is_small() {
        let (mut budget, mut state) = (RollupBudget { saved_first_s: FIRST_CREDIT_S, ..budget(0.0) }, RollupState::default());
        assert!(spend_once(&mut budget, 0.2, 0.0, 64 << 20, &mut state).is_some(), "there is a credit for it");
        let known = budget.related.expect("learned");
        assert_eq!(known.pages, 16384);
        // Another one of the run is judged by it, and not by pages of our own.
        budget.own_ns_per_page = Some(1e6);
        for (at_s, mib, read) in [(60.0, 500, true), (120.0, 600, false)] {
            budget.related = Some(PageCost { ns: 70.0, ..known });
            let found = spend_once(&mut budget, at_s, 0.0, mib << 20, &mut RollupState::default());
            assert_eq!(found.is_some(), read, "{mib} MiB");
        }
    }

    #[test]
    fn one_dear_read_is_not_the_last() {
        let dear = Some(PageCost { ns: 140.0, pages: 128_000 });
        let mut state = RollupState { read_s: Some(0.0), cost: dear, ..RollupState::default() };
        let mut budget = budget(0.04);
        assert!(spend_once(&mut budget, 30.0, 0.0, 500 << 20, &mut state).is_none());
        assert!(spend_once(&mut budget, 61.0, 0.0, 500 << 20, &mut state).is_some(), "it would have taken 18 ms");
        let mut dearer = RollupState { read_s: Some(0.0), cost: Some(PageCost { ns: 170.0, pages: 128_000 }), ..state };
        assert!(spend_once(&mut budget, 161.0, 0.0, 500 << 20, &mut dearer).is_none(), "22 ms");
    }

    #[test]
    fn what_was_learned_on_few_pages_is_forgotten() {
        let small = PageCost::learn(None, 200.0, 2000);
        let known = PageCost::learn(Some(small), 75.0, 60_000);
        assert_eq!((known.ns, known.pages), (75.0, 60_000));
        assert_eq!(PageCost::learn(Some(known), 90.0, 60_000).ns, 90.0, "bad news at once");
        assert_eq!(PageCost::learn(Some(known), 65.0, 60_000).ns, 73.0, "good news slowly");
    }

    #[test]
    fn who_saves_up_is_not_overtaken() {
        let mut budget = RollupBudget { related: Some(PageCost { ns: 50.0, pages: 10_000 }), ..budget(0.004) };
        let (mut big, mut small) = (RollupState::default(), RollupState { read_s: Some(0.0), ..RollupState::default() });
        let [mut small_sample, mut big_sample] = [ProcSample::empty(ProcId(0)), ProcSample::empty(ProcId(1))];
        let mut wishes = [wish(8 << 20, &mut small, &mut small_sample), wish(700 << 20, &mut big, &mut big_sample)];
        budget.spend(10.0, -1e6, 10.0 * SHARE - 0.001, &mut wishes, &Root::new("/".as_ref()), &mut Scratch::default());
        assert_eq!(budget.reads, 0, "the big one is due first and costs 18 ms: wait for it");
    }

    #[test]
    fn knows_what_pages_cost_here() {
        let cost = measure_own_pages();
        assert!((1.0..10_000.0).contains(&cost), "{cost} ns per page");
    }
}
