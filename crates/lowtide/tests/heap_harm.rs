//! `lowtide heap` must not harm: a seeded training ends in the same weights, to the bit, with looks at every moment and without,
//! also where the one who looks is killed; no signal is lost, no thread stays stopped, no process stays behind.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod common;

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Guarded, Lines, children, send, state, wait_until};

/// A look in so many is killed.
const KILLED: u64 = 4;
/// The training does so many chunks of its steps for each look.
const CHUNKS: u64 = 4;

#[test]
fn a_training_ends_in_the_same_weights_with_looks_and_without() {
    compare(24);
}

/// `make harm`.
#[test]
#[ignore = "takes half an hour"]
fn a_thousand_looks_change_nothing() {
    compare(1000);
}

fn compare(looks: u64) {
    let Some(python) = python_with_torch() else {
        eprintln!("SKIPPED: neither python3 nor LOWTIDE_TEST_PYTHONS has torch");
        return;
    };
    let without = train(&python, looks, false);
    assert_eq!(without, train(&python, looks, false), "the training does not even agree with itself");
    assert_eq!(without, train(&python, looks, true), "with looks it ends in other weights, or failed");
}

fn python_with_torch() -> Option<PathBuf> {
    let pythons = std::env::var("LOWTIDE_TEST_PYTHONS").unwrap_or_else(|_| "python3".into());
    let has = |python: &PathBuf| {
        let find = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)";
        Command::new(python).args(["-c", find]).status().is_ok_and(|status| status.success())
    };
    pythons.split(':').map(PathBuf::from).find(has)
}

/// The digest of a training that is as long as so many looks, with them or without.
fn train(python: &PathBuf, looks: u64, with_looks: bool) -> String {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/harm/train.py");
    let chunks = looks * CHUNKS;
    let mut target = Guarded::start(
        Command::new(python).arg("-u").arg(program).arg(chunks.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped()),
    );
    let said = Lines::of(target.0.stdout.take().unwrap());
    let mut orders = target.0.stdin.take().unwrap();
    said.until("ready");
    let pid = target.pid();
    std::thread::scope(|scope| {
        let looker = scope.spawn(move || {
            let mut order = |chunks: u64| orders.write_all("go\n".repeat(chunks as usize).as_bytes()).unwrap();
            if with_looks {
                look_again_and_again(pid, looks, || order(CHUNKS));
            } else {
                order(chunks);
            }
            orders
        });
        let digest = follow(pid, &said);
        // Held until here: its end is the end of the program's input.
        let orders = looker.join().unwrap();
        is_whole(pid);
        drop(orders);
        assert!(target.end().success());
        digest
    })
}

/// Reads what it says until it says the digest. Beside that it gets one signal after another: each is answered before the
/// next is sent, so that none can be merged with another, and one that is lost is the last.
fn follow(pid: i32, said: &Lines) -> String {
    let (mut sent, mut told, mut digest) = (0, 0, None);
    loop {
        if sent == told && digest.is_none() {
            std::thread::sleep(Duration::from_millis(1));
            send(pid, libc::SIGUSR1);
            sent += 1;
        }
        if let (Some(digest), true) = (&digest, sent == told) {
            return String::clone(digest);
        }
        let line = said.next();
        match line.split_once(' ') {
            Some(("told", count)) => {
                told += 1;
                assert_eq!(count, told.to_string(), "a signal was taken twice, or never");
            }
            Some(("chunk", _)) => {}
            Some(("result", result)) => digest = Some(result.to_owned()),
            _ => panic!("the training said {line}"),
        }
    }
}

fn look_again_and_again(pid: i32, looks: u64, mut before: impl FnMut()) {
    let (mut longest, mut seed, mut killed) = (Duration::from_millis(100), 1_u64, 0);
    for look in 0..looks {
        before();
        let mut command = Command::new(env!("CARGO_BIN_EXE_lowtide"));
        command.args(["heap", &pid.to_string(), "--format", "json"]).stdout(Stdio::null()).stderr(Stdio::piped());
        let start = Instant::now();
        let mut looker = Guarded::start(&mut command);
        if look % KILLED == KILLED - 1 {
            // Knuth's generator: the same moments on every run, as parts of a whole look.
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            std::thread::sleep(longest.mul_f64((seed >> 40) as f64 / f64::from(1 << 24)));
            killed += u64::from(looker.0.try_wait().unwrap().is_none());
            drop(looker);
            wait_until("every thread is let go", || threads(pid).iter().all(|(_, tracer)| *tracer == 0));
        } else {
            let status = looker.end();
            longest = longest.max(start.elapsed());
            let mut why = String::new();
            looker.0.stderr.take().unwrap().read_to_string(&mut why).unwrap();
            assert!(status.success(), "look {look}: {why}");
        }
    }
    assert!(killed > 0, "none of {looks} looks was killed before its end");
}

fn is_whole(pid: i32) {
    wait_until("no thread is stopped or traced", || {
        threads(pid).iter().all(|(state, tracer)| *tracer == 0 && !"tT".contains(*state))
    });
    wait_until("no child is a zombie", || children(pid).iter().all(|child| state(*child) != Some('Z')));
}

/// The state of each thread, as proc(5) has it, and who traces it.
fn threads(pid: i32) -> Vec<(char, u32)> {
    let status = |task: std::fs::DirEntry| {
        let text = std::fs::read_to_string(task.path().join("status")).ok()?;
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        Some((field("State:")?.chars().next()?, field("TracerPid:")?.parse().ok()?))
    };
    std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten().filter_map(status).collect()
}
