//! The run's clock and the schedule of its ticks.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Time since the start of watching, on the monotonic clock.
pub struct Clock {
    start: Instant,
    start_ns: u64,
    unix_s: f64,
    suspended_s: f64,
}

impl Clock {
    /// Starts now.
    pub fn start() -> Self {
        let unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        Self {
            start: Instant::now(),
            start_ns: (seconds_of(libc::CLOCK_MONOTONIC) * 1e9) as u64,
            unix_s,
            suspended_s: suspended_s(),
        }
    }

    /// The start by CLOCK_MONOTONIC, nanoseconds.
    pub fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// Seconds since the start.
    pub fn now_s(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// The start, in seconds since 1970.
    pub fn unix_s(&self) -> f64 {
        self.unix_s
    }

    /// How long the machine slept since this was last asked. The monotonic clock does not count that.
    pub fn slept_s(&mut self) -> f64 {
        let total = suspended_s();
        let slept = total - self.suspended_s;
        self.suspended_s = total;
        slept
    }

    /// How long until a moment of this clock.
    pub fn until(&self, t_s: f64) -> Duration {
        Duration::try_from_secs_f64(t_s - self.now_s()).unwrap_or_default()
    }
}

/// Processor seconds that this thread has used.
pub fn thread_cpu_s() -> f64 {
    seconds_of(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// How many times longer than alone a thread is likely to take: what wants to run on each processor, at least 1.
pub fn crowd() -> f64 {
    let mut load = [0.0];
    // SAFETY: there is room for the one number that is asked for.
    let known = unsafe { libc::getloadavg(load.as_mut_ptr(), 1) };
    let processors = std::thread::available_parallelism().map_or(1.0, |count| count.get() as f64);
    if known == 1 { (load[0] / processors).max(1.0) } else { 1.0 }
}

/// Seconds that the machine has slept since boot.
fn suspended_s() -> f64 {
    seconds_of(libc::CLOCK_BOOTTIME) - seconds_of(libc::CLOCK_MONOTONIC)
}

fn seconds_of(clock: libc::clockid_t) -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time outlives the call; a clock that does not exist leaves it zero.
    unsafe {
        libc::clock_gettime(clock, &raw mut time);
    }
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Ticks come more often at first, so that a short run is seen too.
const EAGER_INTERVAL_S: f64 = 0.2;
/// How long.
const EAGER_FOR_S: f64 = 30.0;
/// Ticks that may come as often later on, where there is a reason: five minutes of them.
const MOST_HURRIED: u32 = 1500;
/// Ticks that come this much too late are a gap that the reader of a report should know of.
const GAP_S: f64 = 3.0;

/// Ticks may take this share of one core; where they would take more, they come more rarely.
const CORE_SHARE: f64 = 0.01;
/// Weight of the latest tick in the running mean of what a tick takes. The first looks at many processes are the
/// dearest, and shall not slow down the dense start.
const LATEST: f64 = 0.2;

/// When the next tick is due. Absolute: a late tick does not shift those after it.
pub struct Schedule {
    interval_s: f64,
    due_s: f64,
    tick_cpu_s: f64,
    hurry_until_s: f64,
    hurried: u32,
}

impl Schedule {
    /// The first tick is due at once.
    pub fn new(interval_s: f64) -> Self {
        Self { interval_s, due_s: 0.0, tick_cpu_s: 0.0, hurry_until_s: 0.0, hurried: 0 }
    }

    /// When the next tick is due.
    pub fn due_s(&self) -> f64 {
        self.due_s
    }

    /// Notes that a tick happened; returns the seconds without ticks before it where those make a gap.
    pub fn ticked(&mut self, now_s: f64) -> Option<f64> {
        let late_s = now_s - self.due_s;
        let hurries = now_s >= EAGER_FOR_S && now_s < self.hurry_until_s && self.hurried < MOST_HURRIED;
        self.hurried += u32::from(hurries);
        let eager = now_s < EAGER_FOR_S || hurries;
        let wanted_s = if eager { self.interval_s.min(EAGER_INTERVAL_S) } else { self.interval_s };
        let period_s = wanted_s.max(self.tick_cpu_s / CORE_SHARE);
        // Ticks that were missed are not made up for: they would all show the same moment.
        self.due_s += period_s * ((now_s - self.due_s) / period_s).floor().max(0.0) + period_s;
        (late_s > GAP_S.max(2.0 * period_s)).then_some(late_s)
    }

    /// Has ticks come as often as at first until then, as long as that may go on.
    pub fn hurry(&mut self, until_s: f64) {
        self.hurry_until_s = until_s;
    }

    /// Notes the processor time that a tick took.
    pub fn took(&mut self, cpu_s: f64) {
        self.tick_cpu_s += LATEST * (cpu_s - self.tick_cpu_s);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_tick_does_not_shift_the_others() {
        let mut schedule = Schedule { due_s: 100.0, ..Schedule::new(1.0) };
        for now_s in [100.0, 101.3, 102.0] {
            schedule.ticked(now_s);
        }
        assert!((schedule.due_s() - 103.0).abs() < 1e-9, "{}", schedule.due_s());
    }

    #[test]
    fn ticks_are_dense_at_first() {
        let mut schedule = Schedule::new(1.0);
        let mut ticks = 0;
        while schedule.due_s() < 40.0 {
            let now_s = schedule.due_s();
            assert_eq!(schedule.ticked(now_s), None);
            ticks += 1;
        }
        assert!((158..=162).contains(&ticks), "{ticks}");
    }

    #[test]
    fn ticks_are_dense_again_where_there_is_a_reason_and_not_for_ever() {
        let ticks = |until_s: f64, from_s: f64, to_s: f64| {
            let mut schedule = Schedule { due_s: 100.0, ..Schedule::new(1.0) };
            schedule.hurry(until_s);
            let mut due = Vec::new();
            while schedule.due_s() < to_s {
                due.push(schedule.due_s());
                schedule.ticked(schedule.due_s());
            }
            due.iter().filter(|due_s| **due_s >= from_s).count()
        };
        assert!((49..=52).contains(&ticks(110.0, 100.0, 110.0)), "{}", ticks(110.0, 100.0, 110.0));
        assert!((9..=11).contains(&ticks(110.0, 110.5, 120.5)), "{}", ticks(110.0, 110.5, 120.5));
        assert!((99..=101).contains(&ticks(1e9, 401.0, 501.0)), "{}", ticks(1e9, 401.0, 501.0));
    }

    #[test]
    fn dear_ticks_come_more_rarely() {
        let mut schedule = Schedule { due_s: 100.0, ..Schedule::new(1.0) };
        let mut ticks = 0.0;
        while schedule.due_s() < 1100.0 {
            let now_s = schedule.due_s();
            schedule.ticked(now_s);
            schedule.took(0.05);
            ticks += 1.0;
        }
        let share = ticks * 0.05 / 1000.0;
        assert!((0.009..0.012).contains(&share), "{share}");
    }

    #[test]
    fn a_long_silence_is_a_gap_and_is_not_made_up_for() {
        let mut schedule = Schedule::new(1.0);
        schedule.ticked(0.0);
        assert!(schedule.ticked(60.0).is_some_and(|gap| gap > 59.0));
        assert!(schedule.due_s() > 60.0);
        let due_s = schedule.due_s();
        assert_eq!(schedule.ticked(due_s), None);
    }
}
