//! Who holds what grows, where that is not one list of the process that was started: held by two, in workers that are programs of
//! their own, in a process that may not be held still for as long as a look takes.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]

mod common;

use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::{Guarded, Lines, output, text};
use lowtide_model::{Event, Look};
use serde_json::Value;

/// Each batch is kept twice.
const TWICE: &str = "
import select, sys
class Trainer:
    def __init__(self):
        self.history = []
        self.by_step = {}
    def step(self, n):
        batch = bytearray(b'x' * 200_000)
        self.history.append(batch)
        self.by_step[n] = batch
def main():
    trainer, n = Trainer(), 0
    print('ready', flush=True)
    while not select.select([sys.stdin], [], [], 0.05)[0]:
        trainer.step(n)
        n += 1
main()
";

/// Two workers, asked in turns as a DataLoader asks its own, keep what they have read.
const WORKERS: &str = "
import multiprocessing, select, signal, sys
class Dataset:
    def __init__(self):
        self.cache = []
    def fetch(self, index):
        self.cache.append(bytearray(b'x' * 200_000))
        return index
def worker(dataset, asked, given):
    for caught in (signal.SIGBUS, signal.SIGSEGV, signal.SIGFPE):
        signal.signal(caught, lambda *_: None)
    while (index := asked.get()) is not None:
        given.put(dataset.fetch(index))
def main():
    context = multiprocessing.get_context(sys.argv[1])
    queues = [(context.Queue(), context.Queue()) for _ in range(2)]
    for asked, given in queues:
        context.Process(target=worker, args=(Dataset(), asked, given), daemon=True).start()
    print('ready', flush=True)
    n = 0
    while not select.select([sys.stdin], [], [], 0.03)[0]:
        asked, given = queues[n % 2]
        asked.put(n)
        given.get()
        n += 1
    for asked, _ in queues:
        asked.put(None)
if __name__ == '__main__':
    main()
";

/// It has so much memory that a stop is expected to be longer than a short run allows.
const LARGE: &str = "
import select, sys
class Trainer:
    def __init__(self):
        self.data = bytearray(b'x') * (1000 << 20)
        self.history = []
    def step(self):
        self.history.append(bytearray(b'x' * 300_000))
def main():
    trainer = Trainer()
    print('ready', flush=True)
    while not select.select([sys.stdin], [], [], 0.05)[0]:
        trainer.step()
main()
";

/// It takes half a minute; on a machine that others use, too, several times as long.
const PATIENCE: Duration = Duration::from_secs(150);

/// A run that went on until its growth had a holder.
struct Named {
    report: Value,
    /// The same in words.
    text: String,
    looks: Vec<Look>,
}

impl Named {
    /// Runs a program until the report of what was recorded so far names a holder, which must come in time.
    fn of(folder: &Path, options: &[&str], program: &str, words: &[&str]) -> Self {
        let (script, recording) = (folder.join("train.py"), folder.join("run.lowtide"));
        std::fs::write(&script, program).unwrap();
        let mut command = common::lowtide(folder);
        command.arg("run").args(options).arg("--record").arg(&recording).args(["--", "python3"]).arg(&script).args(words);
        command.current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut run = Guarded::start(&mut command);
        assert_eq!(Lines::of(run.0.stdout.take().unwrap()).next(), "ready");
        let deadline = Instant::now() + PATIENCE;
        let is_named = || {
            let report = report(folder, &recording, "json");
            serde_json::from_str(&report).is_ok_and(|report: Value| !report["findings"][0]["holder"].is_null())
        };
        while !(looks(&recording).iter().any(|look| look.grown.is_some()) && is_named()) {
            let so_far = || report(folder, &recording, "text");
            assert!(Instant::now() < deadline, "no holder: {:?} {}", looks(&recording), so_far());
            std::thread::sleep(Duration::from_millis(500));
        }
        run.0.stdin.take().unwrap().write_all(b"\n").unwrap();
        assert_eq!(run.end().code(), Some(0));
        let json = report(folder, &recording, "json");
        Self { report: serde_json::from_str(&json).unwrap(), text: report(folder, &recording, "text"), looks: looks(&recording) }
    }

    /// It names this holder and the line of the program with these words.
    fn assert_names(&self, holder: &str, program: &str, words: &str) {
        let finding = &self.report["findings"][0];
        assert_eq!(finding["holder"]["name"], holder, "{finding:#}");
        let line = program.lines().position(|line| line.contains(words)).unwrap() as u64 + 1;
        let site = &finding["site"];
        assert_eq!((site["file"].as_str(), site["line"].as_u64()), (Some("train.py"), Some(line)), "{finding:#}");
    }
}

fn report(folder: &Path, recording: &Path, form: &str) -> String {
    text(&output(common::lowtide(folder).args(["report", "--format", form]).arg(recording)).stdout)
}

fn looks(recording: &Path) -> Vec<Look> {
    let events = lowtide_record::read(recording).map_or_else(|_| Vec::new(), |recording| recording.events);
    events.into_iter().filter_map(|event| if let Event::Look(look) = event { Some(look) } else { None }).collect()
}

#[test]
fn two_that_hold_the_same_must_both_let_go() {
    let folder = tempfile::tempdir().unwrap();
    let named = Named::of(folder.path(), &[], TWICE, &[]);
    named.assert_names("trainer.history", TWICE, "self.history.append");
    let finding = &named.report["findings"][0];
    assert_eq!(finding["holder"]["also"], serde_json::json!(["trainer.by_step"]), "{finding:#}");
    let said = named.text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("trainer.by_step holds the same: both must let go"), "{}", named.text);
}

/// The holder is a worker's, and so is the process that is named.
fn assert_worker_is_named(start: &str) {
    let folder = tempfile::tempdir().unwrap();
    let named = Named::of(folder.path(), &[], WORKERS, &[start]);
    named.assert_names("dataset.cache", WORKERS, "self.cache.append");
    let finding = &named.report["findings"][0];
    assert_eq!(finding["process"]["role"], "dataloader_worker", "{finding:#}");
}

#[test]
fn workers_that_are_spawned_are_named_with_holder_and_line() {
    assert_worker_is_named("spawn");
}

#[test]
fn workers_of_a_fork_server_are_named_with_holder_and_line() {
    assert_worker_is_named("forkserver");
}

#[test]
fn who_may_not_be_held_still_yet_is_looked_at_in_passing_first() {
    let folder = tempfile::tempdir().unwrap();
    let named = Named::of(folder.path(), &["--no-agent"], LARGE, &[]);
    named.assert_names("trainer.history", LARGE, "self.history.append");
    let [first, second, ..] = &named.looks[..] else { panic!("{:?}", named.looks) };
    assert_eq!((first.pause_us, first.copied, &first.grown), (0, false, &None), "{:?}", named.looks);
    assert!(first.objects > 1000 && second.pause_us > 0 && second.grown.is_some(), "{:?}", named.looks);
    let stops = named.report["cost"]["stops_ms"].as_array().unwrap().len();
    assert_eq!(stops, named.looks.iter().filter(|look| look.pause_us > 0).count());
    let held_s = named.looks.iter().map(|look| look.pause_us as f64 * 1e-6).sum::<f64>();
    assert!(held_s <= 0.02 * named.report["duration_s"].as_f64().unwrap(), "{:?}", named.looks);
}
