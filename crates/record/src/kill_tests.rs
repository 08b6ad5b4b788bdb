//! The recorder killed by SIGKILL at any moment, compaction included: what was written is there.

#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{process, start, tick, ticks};
use crate::compact::Budget;
use crate::disk::FileDisk;
use crate::{Writer, read};
use lowtide_model::Role;

const PATH: &str = "LOWTIDE_TEST_KILL_PATH";
const PAUSE: &str = "LOWTIDE_TEST_KILL_PAUSE_US";
const BUDGET: &str = "LOWTIDE_TEST_KILL_BUDGET";

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Not a test: the process that the tests kill. Records as fast as it is told to and says, a line each, how many events it has
/// handed over and how many of them the file has.
#[test]
#[ignore = "started and killed by the other tests here"]
fn child() {
    let Some(path) = std::env::var_os(PATH).map(PathBuf::from) else { return };
    let budget = number(BUDGET).map_or_else(Budget::default, Budget::of);
    let disk = FileDisk::with_budget(&path, budget).unwrap();
    let mut writer = Writer::start(Box::new(disk), &path).unwrap();
    let mut out = std::io::stdout().lock();
    writer.append(&start());
    writer.append(&process(0, Role::Trainer));
    for n in 0u32.. {
        // A tick a minute, so that soon there are old ones to thin.
        writer.append(&tick(f64::from(n) * 60.0, 5, |id| u64::from(n.wrapping_mul(2_654_435_761) >> (8 + id)) << 12));
        writer.tick_done();
        thread::sleep(Duration::from_micros(number(PAUSE).unwrap_or(0)));
        writeln!(out, "events {} {}", n + 3, writer.health().events).unwrap();
        out.flush().unwrap();
        while u64::from(n) > writer.health().events + 100 {
            thread::yield_now();
        }
    }
}

fn start_child(path: &Path, settings: &[(&str, u64)]) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "kill_tests::child", "--ignored", "--nocapture"]).env(PATH, path).stdout(Stdio::piped());
    for (name, value) in settings {
        command.env(name, value.to_string());
    }
    command.spawn().unwrap()
}

/// What the child has said: when it was heard, events handed over, events written.
fn listen(child: &mut Child, until: impl Fn(&[(Instant, u64, u64)]) -> bool) -> Vec<(Instant, u64, u64)> {
    let mut heard = Vec::new();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut killed = false;
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line).unwrap() == 0 {
            break;
        }
        // The last line may be cut by the kill.
        let Some(numbers) = line.split_once("events ").filter(|_| line.ends_with('\n')) else { continue };
        let (handed_over, written) = numbers.1.trim_end().split_once(' ').unwrap();
        heard.push((Instant::now(), handed_over.parse().unwrap(), written.parse().unwrap()));
        if !killed && until(&heard) {
            child.kill().unwrap();
            killed = true;
        }
    }
    child.wait().unwrap();
    heard
}

/// Events of the run that the recording accounts for, and the last tick.
fn accounted(path: &Path) -> (u64, f64) {
    let recording = read(path).unwrap();
    assert_eq!(recording.damage.places, 0);
    assert!(recording.broke_off.is_some());
    let last = ticks(&recording.events).last().map_or(-1.0, |tick| tick.t_s);
    (recording.events.len() as u64 + recording.thinned, last)
}

#[test]
fn killed_200_times_all_that_was_written_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let mut compacted = 0;
    for round in 0u64..200 {
        let path = dir.path().join(format!("{round}.lowtide"));
        // Every other recorder compacts all the time.
        let budget = if round % 2 == 0 { 4 << 10 } else { 8 << 20 };
        let mut child = start_child(&path, &[(BUDGET, budget)]);
        // Spread over the first thousand lines without a pattern.
        let lines = 1 + (round * 7919 % 997) as usize;
        let heard = listen(&mut child, |heard| heard.len() >= lines);
        let written = heard.iter().map(|(_, _, written)| *written).max().unwrap();
        let (found, last) = accounted(&path);
        assert!(found >= written, "round {round}: {found} of {written} events");
        assert!(found < 2 || last == (found as f64 - 3.0) * 60.0, "round {round}: no hole before the last tick");
        compacted += u64::from(read(&path).unwrap().thinned > 0);
    }
    assert!(compacted > 20, "some were killed after or in a compaction: {compacted}");
}

#[test]
fn killed_at_a_slow_pace_less_than_two_seconds_are_missing() {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..2 {
        let path = dir.path().join(format!("{round}.lowtide"));
        let mut child = start_child(&path, &[(PAUSE, 20_000)]);
        let heard = listen(&mut child, |heard| heard[0].0.elapsed() > Duration::from_millis(2500));
        let killed = heard.last().unwrap().0;
        let old = heard.iter().filter(|(at, _, _)| killed.duration_since(*at) > Duration::from_secs(2));
        let handed_over = old.map(|(_, handed_over, _)| *handed_over).max().unwrap();
        assert!(handed_over > 2);
        let (found, _) = accounted(&path);
        assert!(found >= handed_over, "{found} of {handed_over}");
    }
}
