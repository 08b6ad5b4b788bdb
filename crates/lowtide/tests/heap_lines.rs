//! From what grew in a live process to the lines that add to it: every way that a name can hold something.
#![allow(clippy::unwrap_used)]

mod common;

use common::stepped::Stepped;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// `# <- name: standing` marks the line that must be given for the holder whose way has this name.
const PROGRAM: &str = "
import functools
import gc
import sys
import threading

import store

gc.disable()  # <- nothing: culprit
SEEN = []
WORDS, LENGTHS = ['word %d' % n for n in range(100000)], {}


class Trainer:
    totals = {}

    def __init__(self):
        self.history = []
        self.recent = []

    def step(self, i):
        self.history.append(bytes(2000))  # <- history: culprit
        Trainer.totals[i] = bytes(2000)  # <- totals: culprit
        self.recent.append(bytes(2000))  # <- recent: bounded
        if len(self.recent) > 100000:
            del self.recent[0]


class Cycle:
    def __init__(self):
        self.me, self.data = self, bytes(2000)


def make():
    kept = []

    def keep(x):
        kept.append(x)  # <- kept: culprit

    return keep


def collect(x, into=[]):
    into.append(x)  # <- into: culprit


@functools.lru_cache(maxsize=None)  # <- cache: culprit
def square(i):
    return bytes(2000)


def batches():
    got = []
    while True:
        yield
        got.append(bytes(2000))  # <- got: culprit


@functools.singledispatch
def describe(item):
    return 'unknown'


BY_NAME, FILED = {}, []


def named(function):
    BY_NAME[function.__name__] = function
    return function


@named
def filing(x):
    FILED.append(x)  # <- FILED: culprit


def main():
    trainer, keep, running, local, n = Trainer(), make(), batches(), [], 0
    places = [None] * 1000000
    light, heavy, stop, threads = [], [], threading.Event(), []
    turns, rounds = [], 0
    print('ready', flush=True)
    for line in sys.stdin:
        for _ in range(200):
            n += 1
            trainer.step(n)
            keep(bytes(2000))
            collect(bytes(2000))
            square(n)
            next(running)
            local.append(bytes(2000))  # <- local: culprit
            SEEN.append(bytes(2000))  # <- SEEN: culprit
            LENGTHS[WORDS[n]] = bytes(5000)  # <- LENGTHS: bounded
            store.file(n, bytes(2000))
            BY_NAME['filing'](bytes(2000))
            describe.register(type('T', (), {'data': bytes(2000)}), str)  # <- describe: culprit
            places[n] = bytes(2000)  # <- places: bounded
            Cycle()
            light.append(float(n))  # <- light: unknown
        rounds += 1
        if rounds % 2:
            turns.clear()
        else:
            turns.extend(bytes(10000) for _ in range(100))  # <- turns: unknown
        for _ in range(3):
            thread = threading.Thread(target=stop.wait, daemon=True)
            thread.start()
            threads.append((thread, n))  # <- threads: culprit
        for _ in range(4):
            heavy.append(bytes(10000))  # <- heavy: culprit
        print('done', flush=True)


main()
";

const STORE: &str = "
class Store:
    def __init__(self):
        self.filed = {}

    def put(self, key, value):
        self.filed[key] = value  # <- filed: culprit


STORE = Store()


def file(key, value):
    STORE.put(key, value)
";

struct Target(Stepped);

/// Interpreters, separated by colons; else the one on PATH.
fn pythons() -> Vec<String> {
    let named = std::env::var("LOWTIDE_TEST_PYTHONS").unwrap_or_else(|_| "python3".to_owned());
    named.split(':').map(str::to_owned).collect()
}

impl Target {
    fn start(python: &str, arguments: &[&str], folder: &Path) -> Target {
        let mut command = Command::new(python);
        command.args(arguments).current_dir(folder).env("PYTHONDONTWRITEBYTECODE", "1");
        Self(Stepped::start(&mut command))
    }

    fn heap(&self, arguments: &[&str]) -> String {
        let pid = self.0.child.id().to_string();
        let output = Command::new(env!("CARGO_BIN_EXE_lowtide")).args(["heap", &pid, "--all"]).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What grew in a step, in a form of the answer.
    fn growth(&mut self, folder: &Path, format: &str) -> String {
        let kept = folder.join("look.json");
        let kept = kept.to_str().unwrap();
        self.0.step();
        self.heap(&["--format", "json", "--save", kept]);
        self.0.step();
        self.heap(&["--format", format, "--compare", kept])
    }
}

/// Name, file, line and standing of all marks of a file.
fn marks(file: &str, text: &str) -> Vec<(String, String, u64, String)> {
    let marked = text.lines().zip(1..).filter_map(|(line, number)| Some((line.split_once("# <- ")?.1, number)));
    let mark = |(mark, number): (&str, u64)| {
        let (name, standing) = mark.split_once(": ").unwrap();
        (name.to_owned(), file.to_owned(), number, standing.to_owned())
    };
    marked.map(mark).collect()
}

#[test]
fn every_holder_leads_to_its_line() {
    for python in pythons() {
        holders_of(&python);
    }
}

fn holders_of(python: &str) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("train.py"), PROGRAM).unwrap();
    std::fs::write(folder.path().join("store.py"), STORE).unwrap();
    let mut target = Target::start(python, &["train.py"], folder.path());
    let answer: Value = serde_json::from_str(&target.growth(folder.path(), "json")).unwrap();
    let holders = answer["growth"]["holders"].as_array().unwrap();
    let said = |holder: &Value| {
        format!(
            "{}: {} {}:{} {}",
            holder["path"]["text"], holder["standing"], holder["site"]["file"], holder["site"]["line"], holder["why"]
        )
    };
    let all: Vec<String> = holders.iter().map(said).collect();
    let expected = [marks("train.py", PROGRAM), marks("store.py", STORE)].concat();
    for (name, file, line, standing) in &expected {
        let is_named = |holder: &&Value| {
            let way = holder["path"]["text"].as_str().unwrap();
            way.contains(&format!("{name}:")) || way.contains(&format!("{name}>")) || way.starts_with(name)
        };
        let holder = holders.iter().find(is_named).unwrap_or_else(|| panic!("{python}: no {name} among\n{}", all.join("\n")));
        assert_eq!(holder["site"]["line"], *line, "{python}, {name}: {}", said(holder));
        assert!(holder["site"]["file"].as_str().unwrap().ends_with(file), "{python}, {name}: {}", said(holder));
        assert_eq!(holder["opens"], if name == "threads" { Value::from("threads") } else { Value::Null }, "{python}: {holder:#}");
        assert_eq!(holder["standing"], standing.as_str(), "{python}, {name}: {}", said(holder));
        let limit = if name == "LENGTHS" { Value::from(100_000) } else { Value::Null };
        assert!(holder["limit"] == limit || name == "recent", "{python}: {holder:#}");
        let least = match name.as_str() {
            "light" => 200 * 24,
            "threads" => 1,
            _ => 4 * 10_000,
        };
        assert!(holder["bytes"].as_i64().unwrap() > least, "{python}, {name}: {}", said(holder));
    }
    let accused = holders.iter().filter(|holder| holder["standing"] == "culprit").count();
    assert_eq!(
        accused,
        expected.iter().filter(|(.., standing)| standing == "culprit").count(),
        "{python}: nobody else is accused:\n{}",
        all.join("\n")
    );
}

#[test]
fn people_see_the_line_and_that_its_file_was_changed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("train.py"), PROGRAM).unwrap();
    std::fs::write(folder.path().join("store.py"), STORE).unwrap();
    let mut target = Target::start("python3", &["train.py"], folder.path());
    std::fs::write(folder.path().join("store.py"), STORE).unwrap();
    let text = target.growth(folder.path(), "text");
    let after = |words: &str| text.split_once(words).unwrap_or_else(|| panic!("no {words} in\n{text}")).1;
    let history = after(".history: list");
    assert!(history.trim_start().starts_with("line  train.py:22  self.history.append(bytes(2000))"), "{text}");
    let why = after("store.py:7  self.filed[key] = value");
    assert!(
        why.split("line ").next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ").contains("changed after"),
        "{text}"
    );
}

#[test]
fn source_that_is_in_no_file_is_said() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("store.py"), STORE).unwrap();
    let mut target = Target::start("python3", &["-c", PROGRAM], folder.path());
    let answer: Value = serde_json::from_str(&target.growth(folder.path(), "json")).unwrap();
    let holders = answer["growth"]["holders"].as_array().unwrap();
    let seen = holders.iter().find(|holder| holder["path"]["text"].as_str().unwrap().contains("SEEN")).unwrap();
    assert_eq!((&seen["standing"], &seen["site"]), (&Value::from("unknown"), &Value::Null), "{seen:#}");
    assert_eq!(seen["library"], false, "{seen:#}");
    assert!(seen["why"].as_str().unwrap().contains("no file is known for the module"), "{seen:#}");
}

#[test]
fn a_librarys_small_containers_have_no_line_unless_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("site-packages");
    std::fs::create_dir(&library).unwrap();
    let shelves = "few = []\nmany = []\n\ndef put(x):\n    few.append(x)\n\ndef pile(x):\n    many.append(x)\n";
    std::fs::write(library.join("shelves.py"), shelves).unwrap();
    let program = "
import sys
sys.path.append('site-packages')
import shelves

own = []

for i in range(300):
    own.append(i)
    shelves.put(i)
    shelves.pile(bytes(20_000))

print('ready', flush=True)
sys.stdin.read()
";
    std::fs::write(folder.path().join("train.py"), program).unwrap();
    let target = Target::start("python3", &["train.py"], folder.path());
    let line = |arguments: &[&str], name: &str| {
        let answer: Value = serde_json::from_str(&target.heap(&[&["--format", "json"], arguments].concat())).unwrap();
        let all = answer["containers"].as_array().unwrap();
        let is_named = |holder: &&Value| holder["path"]["text"].as_str().unwrap().ends_with(&format!("{name}: list"));
        all.iter().find(is_named).unwrap_or_else(|| panic!("no {name} in {answer:#}"))["site"]["line"].as_u64()
    };
    assert_eq!(line(&[], "own"), Some(9));
    assert_eq!(line(&[], "many"), Some(8), "a library's, and most of all that there is");
    assert_eq!(line(&[], "few"), None);
    assert_eq!(line(&["--holder", "few"], "few"), Some(5));
}
