//! How large recordings get: 30 processes at 1 Hz whose memory changes at every tick.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod common;

use std::fs;
use std::time::{Duration, Instant};

use common::{end, process, start, ticks};
use lowtide_model::{CgroupId, CgroupSample, Event, ProcId, ProcSample, Role, Rollup, SystemSample, Tick};
use lowtide_record::{Writer, read, stream};
use tempfile::TempDir;

/// Numbers without a pattern (xorshift64).
struct Noise(u64);

impl Noise {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// A training run with a trainer and 29 workers: every process's anonymous memory changes at every tick, by up to some MiB, the trainer's
/// by validation spikes of 4 GiB too; file pages now and then, rollups every ten ticks, jitter in the clock.
struct Run {
    noise: Noise,
    procs: Vec<ProcSample>,
    t: u64,
}

impl Run {
    fn new(procs: u32) -> Self {
        let sample = |id| ProcSample {
            anon: 500 << 20,
            file: 200 << 20,
            threads: 20,
            fds: Some(64),
            maps: Some(900),
            ..ProcSample::empty(ProcId(id))
        };
        Self { noise: Noise(88_172_645_463_325_252), procs: (0..procs).map(sample).collect(), t: 0 }
    }

    fn tick(&mut self) -> Event {
        let (noise, t) = (&mut self.noise, self.t);
        self.t += 1;
        let spike = if t % 1800 > 1700 { 4 << 30 } else { 0 };
        for (at, sample) in self.procs.iter_mut().enumerate() {
            let leak = if at == 0 { t * 8192 } else { 0 };
            sample.anon = (500 << 20) + leak + noise.below(2000) * 4096 + if at == 0 { spike } else { 0 };
            if noise.below(20) == 0 {
                sample.file = (200 << 20) + noise.below(100) * 4096;
                sample.fds = Some(64 + noise.below(4) as u32);
            }
            let pss = sample.anon + noise.below(1000) * 1024;
            let rollup = Rollup { pss, uss: pss - 4096, private_dirty: pss - 8192, pss_anon: sample.anon, ..Rollup::default() };
            sample.rollup = (t % 10 == 0).then_some(rollup);
        }
        let used: u64 = self.procs.iter().map(|sample| sample.anon).sum();
        let system = SystemSample {
            total: 256 << 30,
            available: (200 << 30) - used / 4096 * 4096 - noise.below(5000) * 4096,
            cached: (30 << 30) + t * 4096,
            dev_shm_size: 64 << 30,
            shmem: 1 << 30,
            ..SystemSample::default()
        };
        let usage = used + (5 << 30) + noise.below(1000) * 4096;
        let cgroup = CgroupSample {
            usage,
            limit: Some(128 << 30),
            peak: 30 << 30,
            anon: used,
            file: 5 << 30,
            inactive_file: (3 << 30) + noise.below(1000) * 4096,
            ..CgroupSample::empty(CgroupId(0))
        };
        let t_s = (t * 1_000_000 + noise.below(300)) as f64 / 1e6;
        Event::Tick(Tick { t_s, procs: self.procs.clone(), system: Some(system), cgroups: vec![cgroup] })
    }
}

/// A recording of 30 processes, and what making it took.
struct Made {
    dir: TempDir,
    seconds: u64,
    largest: u64,
    compactions: u64,
    /// The longest that events waited for the writer, which compacts in between.
    slowest: Duration,
    floor: u64,
    /// The most memory that this process has had by then, bytes.
    peak_rss: u64,
}

fn record(seconds: u64) -> Made {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.lowtide");
    let mut writer = Writer::create(&path).unwrap();
    writer.append(&start());
    for id in 0..30 {
        writer.append(&process(id, if id == 0 { Role::Trainer } else { Role::DataloaderWorker }));
    }
    let mut run = Run::new(30);
    let (mut largest, mut slowest, mut floor) = (0, Duration::ZERO, u64::MAX);
    for n in 0..seconds {
        let tick = run.tick();
        if let Event::Tick(tick) = &tick {
            floor = floor.min(tree(tick));
        }
        writer.append(&tick);
        if n % 500 == 499 {
            writer.tick_done();
            let begun = Instant::now();
            while writer.health().events < n {
                std::thread::yield_now();
            }
            slowest = slowest.max(begun.elapsed());
            largest = largest.max(fs::metadata(&path).unwrap().len());
        }
    }
    writer.append(&end(seconds as f64));
    let health = writer.finish();
    assert_eq!((health.dropped, &health.error), (0, &None));
    Made { dir, seconds, largest, compactions: health.compactions, slowest, floor, peak_rss: peak_rss() }
}

fn tree(tick: &Tick) -> u64 {
    tick.procs.iter().map(|sample| sample.anon).sum()
}

fn peak_rss() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// Reads the recording again and says what became of it.
fn check(made: &Made) {
    let begun = Instant::now();
    let recording = read(&made.dir.path().join("run.lowtide")).unwrap();
    let read_in = begun.elapsed();
    let begun = Instant::now();
    let streamed = stream(&made.dir.path().join("run.lowtide")).unwrap().map(Result::unwrap).count();
    let streamed_in = begun.elapsed();
    assert_eq!(streamed, recording.events.len());
    let kept = ticks(&recording.events).count();
    assert_eq!(ticks(&recording.events).map(tree).min(), Some(made.floor), "the lowest tide of all is there");
    assert_eq!(recording.events.len() as u64 + recording.thinned, made.seconds + 32);
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    eprintln!(
        "{:.1} h, 30 processes, 1 Hz: {:.2} MiB at the end, {:.2} at most; {kept} of {} ticks kept, {} compactions, the longest {:.1?}; peak RSS {:.0} MiB; read in {read_in:.0?}, streamed in {streamed_in:.0?}",
        made.seconds as f64 / 3600.0,
        mib(recording.bytes),
        mib(made.largest),
        made.seconds,
        made.compactions,
        made.slowest,
        mib(made.peak_rss),
    );
}

#[test]
fn without_thinning_a_tick_of_30_changing_processes_takes_less_than_200_bytes() {
    let made = record(3000);
    assert_eq!(made.compactions, 0);
    assert!(made.largest < 3000 * 200, "{}", made.largest);
    check(&made);
}

#[test]
#[ignore = "slow unless optimised: cargo test --release -p lowtide-record --test size -- --ignored --nocapture"]
fn a_day_of_30_processes_stays_under_10_mib_and_a_week_under_16() {
    let (day, week) = (record(86_400), record(7 * 86_400));
    check(&day);
    check(&week);
    assert!(day.largest < 10 << 20, "{}", day.largest);
    assert!(week.largest < 16 << 20, "{}", week.largest);
    assert!(week.peak_rss < 48 << 20, "{}", week.peak_rss);
}
