//! `lowtide heap` must not harm: a seeded training ends in the same weights, to the bit, with looks at every moment and without,
//! also where the one who looks is killed; no signal is lost, no thread stays stopped, no process stays behind.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod common;

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::{Guarded, Lines, children, send, state, wait_until};

/// After so many looks there is one that is killed.
const KILLED: u64 = 5;
/// Moments that are tried for one that is killed.
const ATTEMPTS: u32 = 200;

#[test]
fn a_training_ends_in_the_same_weights_with_looks_and_without() {
    compare(20);
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

/// The digest of a training that is as long as so many looks, with them or without: a chunk of steps for each, and for each that
/// is killed.
fn train(python: &PathBuf, looks: u64, with_looks: bool) -> String {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/harm/train.py");
    let chunks = looks + looks / KILLED;
    let start = Instant::now();
    let mut target = Guarded::start(
        Command::new(python).arg("-u").arg(program).arg(chunks.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped()),
    );
    let said = Lines::of(target.0.stdout.take().unwrap());
    let mut orders = target.0.stdin.take().unwrap();
    said.until("ready");
    let pid = target.pid();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let looker = scope.spawn(move || {
            let mut order = |chunks: u64| orders.write_all("go\n".repeat(chunks as usize).as_bytes()).unwrap();
            if with_looks {
                look_again_and_again(pid, looks, || order(1));
            } else {
                order(chunks);
            }
            orders
        });
        let sender = scope.spawn(|| queue_signals(pid, &is_over));
        let (digest, queued) = follow(pid, &said, &is_over);
        assert_eq!(sender.join().unwrap(), queued, "queued signals were lost");
        // Held until here: its end is the end of the program's input.
        let orders = looker.join().unwrap();
        is_whole(pid);
        drop(orders);
        assert!(target.end().success());
        let ways = if with_looks { "with" } else { "without" };
        eprintln!("{chunks} chunks {ways} looks: {queued} queued signals, {:.0} s, {digest}", start.elapsed().as_secs_f64());
        digest
    })
}

/// Sends queued signals numbered from 1 on until it is over, and 0 at the end; gives the last number.
fn queue_signals(pid: i32, is_over: &AtomicBool) -> u64 {
    let queue = |number: u64| {
        let value = libc::sigval { sival_ptr: number as *mut libc::c_void };
        // The queue is bounded (RLIMIT_SIGPENDING): then it must empty first.
        // SAFETY: sigqueue(3) takes numbers only.
        while unsafe { libc::sigqueue(pid, libc::SIGRTMIN(), value) } != 0 {
            let error = std::io::Error::last_os_error();
            assert_eq!(error.raw_os_error(), Some(libc::EAGAIN), "sigqueue: {error}");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let mut sent = 0;
    while !is_over.load(Ordering::SeqCst) {
        sent += 1;
        queue(sent);
        std::thread::sleep(Duration::from_millis(2));
    }
    queue(0);
    sent
}

/// Reads what it says to its end: the digest, and the number of the last queued signal. Beside that it gets one signal after
/// another: each is answered before the next is sent, so that none can be merged with another, and one that is lost is the last.
fn follow(pid: i32, said: &Lines, is_over: &AtomicBool) -> (String, u64) {
    // Whatever fails here: nobody sends signals to a process that may be gone.
    struct Over<'a>(&'a AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let over = Over(is_over);
    let (mut sent, mut told, mut digest, mut queued, mut whole) = (0, 0, None, None, None);
    loop {
        if sent == told && digest.is_none() {
            std::thread::sleep(Duration::from_millis(1));
            send(pid, libc::SIGUSR1);
            sent += 1;
        }
        if sent == told && whole.is_some() {
            assert_eq!(whole.as_deref(), Some(""), "the training's own checks");
            return (digest.unwrap(), queued.unwrap());
        }
        let line = said.next();
        match line.split_once(' ').unwrap() {
            ("told", count) => {
                told += 1;
                assert_eq!(count, told.to_string(), "a signal was taken twice, or never");
            }
            ("chunk", _) => {}
            ("result", result) => {
                digest = Some(result.to_owned());
                over.0.store(true, Ordering::SeqCst);
            }
            ("queued", count) => queued = Some(count.parse().unwrap()),
            ("whole", failures) => whole = Some(failures.to_owned()),
            _ => panic!("the training said {line}"),
        }
    }
}

fn look_again_and_again(pid: i32, looks: u64, mut before: impl FnMut()) {
    let (mut seed, mut killed, mut held) = (1_u64, 0, 0);
    for look in 0..looks {
        before();
        let start = Instant::now();
        let mut looker = start_look(pid);
        let status = looker.end();
        let length = start.elapsed();
        let mut why = String::new();
        looker.0.stderr.take().unwrap().read_to_string(&mut why).unwrap();
        assert!(status.success(), "look {look}: {why}");
        if look % KILLED != KILLED - 1 {
            continue;
        }
        before();
        // One that ended before its moment came does not count, nor, at the last, one that did not hold it where none did so far: of few
        // moments all may lie before and after the stop.
        for attempt in 0.. {
            assert!(attempt < ATTEMPTS, "{killed} were killed, {held} of them while they held the training still");
            let is_last = look + 1 == looks;
            // Knuth's generator: the same moments on every run, as parts of a whole look.
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let mut looker = start_look(pid);
            std::thread::sleep(length.mul_f64((seed >> 40) as f64 / f64::from(1 << 24)));
            let holds = threads(pid).iter().any(|(_, tracer)| *tracer != 0);
            let is_alive = looker.0.try_wait().unwrap().is_none();
            drop(looker);
            wait_until("every thread is let go", || threads(pid).iter().all(|(_, tracer)| *tracer == 0));
            if is_alive && (holds || held > 0 || !is_last) {
                (killed, held) = (killed + 1, held + u64::from(holds));
                break;
            }
        }
    }
    eprintln!("{looks} looks, and {killed} more that were killed, {held} of them while they held the training still");
    assert!(killed == looks / KILLED && held > 0);
}

fn start_look(pid: i32) -> Guarded {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lowtide"));
    // How long a look takes is not what is tested, and the machine may be busy.
    command.args(["heap", &pid.to_string(), "--format", "json", "--max-pause", "50s"]);
    Guarded::start(command.stdout(Stdio::null()).stderr(Stdio::piped()))
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
