//! How large recordings get: 30 processes at 1 Hz whose memory changes at every tick.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod common;

use std::fs;
use std::time::{Duration, Instant};

use common::{end, process, start, ticks};
use lowtide_model::{Event, Role, Tick};
use lowtide_record::{Writer, read, stream};
use lowtide_testkit::BusyRun;
use tempfile::TempDir;

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
    let mut run = BusyRun::new(30);
    let (mut largest, mut slowest, mut floor) = (0, Duration::ZERO, u64::MAX);
    for n in 0..seconds {
        let tick = run.tick();
        floor = floor.min(tree(&tick));
        writer.append(&Event::Tick(tick));
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
