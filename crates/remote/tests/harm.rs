//! Looking must not harm: what the target counts and computes is the same with and without stops, and with a stopper that
//! is killed at any moment.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use std::io::BufRead;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use common::{Random, helper, open, threads, told, until};
use lowtide_remote::Error;
use lowtide_testkit::Child;

const LONG: Duration = Duration::from_secs(60);
const KILLS: u64 = 200;

static TAKEN: AtomicU64 = AtomicU64::new(0);
static SUM: AtomicU64 = AtomicU64::new(0);
static DISORDER: AtomicU64 = AtomicU64::new(0);
static TICKS: AtomicU64 = AtomicU64::new(0);
static STEPS: AtomicU64 = AtomicU64::new(0);

extern "C" fn take(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel gives a valid siginfo to a handler that was set with SA_SIGINFO.
    let value = unsafe { (*info).si_value().sival_ptr } as u64;
    // One thread alone takes this signal, so the order is that of the queue.
    if TAKEN.fetch_add(1, Ordering::SeqCst) + 1 != value {
        DISORDER.fetch_add(1, Ordering::SeqCst);
    }
    SUM.fetch_add(value, Ordering::SeqCst);
}

extern "C" fn tick(_: i32) {
    TICKS.fetch_add(1, Ordering::SeqCst);
}

/// Takes queued signals and timer ticks at 100 Hz, has threads that work, that start others, and that start processes.
#[test]
#[ignore = "a target for the test below"]
fn target_that_counts() {
    if told::<u64>().is_none() {
        return;
    }
    for _ in 0..2 {
        std::thread::spawn(|| {
            loop {
                STEPS.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    std::thread::spawn(|| {
        loop {
            std::thread::spawn(|| STEPS.fetch_add(1, Ordering::Relaxed)).join().unwrap();
        }
    });
    std::thread::spawn(|| {
        loop {
            assert!(Command::new("true").status().unwrap().success());
        }
    });
    // SAFETY: the handlers only touch atomics; all structures are plain data, for which zeros are valid.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        action.sa_sigaction = take as *const () as libc::sighandler_t;
        libc::sigaction(libc::SIGRTMIN(), &raw const action, std::ptr::null_mut());
        action.sa_flags = libc::SA_RESTART;
        action.sa_sigaction = tick as *const () as libc::sighandler_t;
        libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut());
        let often = libc::timeval { tv_sec: 0, tv_usec: 10_000 };
        libc::setitimer(libc::ITIMER_REAL, &libc::itimerval { it_interval: often, it_value: often }, std::ptr::null_mut());
    }
    // The queued signals are sent to this thread by its id.
    // SAFETY: takes nothing.
    println!("\nready\nthread {}", unsafe { libc::gettid() });
    for _ in std::io::stdin().lock().lines() {
        let read = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
        println!("\ncounts {} {} {} {} {}", read(&TAKEN), read(&SUM), read(&DISORDER), read(&TICKS), read(&STEPS));
    }
}

struct Counting {
    child: Child,
    thread: i32,
}

impl Counting {
    fn start() -> Self {
        let mut child = Child::start(&mut helper("target_that_counts", 1));
        let thread = child.wait_for("thread").parse().unwrap();
        Self { child, thread }
    }

    /// Taken, sum, out of order, ticks, steps.
    fn counts(&mut self) -> [u64; 5] {
        self.child.say("?");
        let said = self.child.wait_for("counts");
        let counts: Vec<u64> = said.split(' ').map(|count| count.parse().unwrap()).collect();
        counts.try_into().unwrap()
    }

    /// Sends queued signals numbered from 1 on until told to end; gives the last number.
    fn send_until(&self, end: &AtomicBool) -> u64 {
        let mut sent = 0;
        while !end.load(Ordering::SeqCst) {
            // SAFETY: siginfo_t is plain data; rt_tgsigqueueinfo(2) reads one of it.
            let result = unsafe {
                let mut info: libc::siginfo_t = std::mem::zeroed();
                info.si_signo = libc::SIGRTMIN();
                info.si_code = libc::SI_QUEUE;
                // pid, uid, value follow the three numbers and four bytes of padding (sigaction(2), x86-64 and aarch64).
                (&raw mut info).cast::<u64>().add(3).write(sent + 1);
                let pid = i32::try_from(self.child.pid()).unwrap();
                libc::syscall(libc::SYS_rt_tgsigqueueinfo, pid, self.thread, libc::SIGRTMIN(), &raw const info)
            };
            if result == 0 {
                sent += 1;
            }
            // The queue is bounded (RLIMIT_SIGPENDING): then it must empty first.
            std::thread::sleep(Duration::from_micros(if result == 0 { 20 } else { 5000 }));
        }
        sent
    }

    fn is_whole(&mut self, sent: u64) {
        until(|| threads(self.child.pid()).iter().all(|(state, tracer)| *tracer == 0 && !"tT".contains(*state)));
        until(|| self.counts()[0] >= sent);
        let [taken, sum, disorder, ticks, steps] = self.counts();
        assert_eq!((taken, sum, disorder), (sent, sent * (sent + 1) / 2, 0));
        // The timer still ticks, every kind of thread still works, and it reaps its children.
        until(|| {
            let now = self.counts();
            now[3] > ticks && now[4] > steps
        });
        let children = || std::fs::read_to_string(format!("/proc/{0}/task/{0}/stat", self.child.pid())).unwrap();
        assert!(!children().is_empty());
        until(|| zombies_of(self.child.pid()) == 0);
    }
}

fn zombies_of(pid: u32) -> usize {
    let stat = |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path().join("stat")).ok();
    let zombie = format!(") Z {pid} ");
    std::fs::read_dir("/proc").unwrap().flatten().filter_map(stat).filter(|stat| stat.contains(&zombie)).count()
}

/// Stops its target again and again until it is killed.
#[test]
#[ignore = "a stopper for the tests below"]
fn helper_that_stops() {
    let Some(pid) = told() else { return };
    let process = open(pid);
    println!("\nready");
    loop {
        match process.stop(LONG) {
            Ok(stopped) => {
                let image = stopped.image().unwrap();
                let map = image.maps().iter().find(|map| map.is_anonymous() && map.is_readable()).unwrap();
                assert!(image.u64(map.start).is_some());
            }
            Err(Error::Gone { .. } | Error::Zombie { .. }) => return,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_stopper_that_is_killed_at_any_moment_harms_nothing() {
    let mut target = Counting::start();
    let end = AtomicBool::new(false);
    let sent = std::thread::scope(|scope| {
        let sender = scope.spawn(|| target.send_until(&end));
        let mut random = Random(0x5eed);
        for _ in 0..KILLS {
            let stopper = Child::start(&mut helper("helper_that_stops", target.child.pid()));
            std::thread::sleep(Duration::from_micros(random.below(20_000)));
            // Its drop kills it with SIGKILL and collects it.
            drop(stopper);
        }
        end.store(true, Ordering::SeqCst);
        sender.join().unwrap()
    });
    assert!(sent > KILLS);
    target.is_whole(sent);
}

#[test]
fn no_signal_is_lost_over_a_thousand_stops() {
    let mut target = Counting::start();
    let process = open(target.child.pid());
    let end = AtomicBool::new(false);
    let sent = std::thread::scope(|scope| {
        let sender = scope.spawn(|| target.send_until(&end));
        for _ in 0..1000 {
            let stopped = process.stop(LONG).unwrap();
            assert!(stopped.threads() >= 5);
        }
        end.store(true, Ordering::SeqCst);
        sender.join().unwrap()
    });
    target.is_whole(sent);
}

/// Several threads that each compute a chain of numbers from a seed, with pauses, subprocesses, forks, pipes, timers and
/// signals in between; it prints what came out.
const SEEDED: &str = r#"
import hashlib, os, random, select, signal, subprocess, sys, threading, time
signal.signal(signal.SIGALRM, lambda *a: None)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
def chain(seed, out):
    draw = random.Random(seed)
    state = str(seed).encode()
    for step in range(60):
        for _ in range(200):
            state = hashlib.sha256(state + bytes([draw.randrange(256)])).digest()
        kind = draw.randrange(6)
        if kind == 0:
            time.sleep(0.002)
        elif kind == 1:
            state += subprocess.run([sys.executable, "-Sc", f"print({step} * 7)"], stdout=subprocess.PIPE, check=True).stdout
        elif kind == 2:
            r, w = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.write(w, b"child"); os._exit(step % 7)
            os.close(w)
            state += os.read(r, 10) + bytes([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])])
            os.close(r)
        elif kind == 3:
            r, w = os.pipe()
            p = select.epoll(); p.register(r, select.EPOLLIN)
            assert p.poll(0.003) == []
            os.write(w, b"x"); assert len(p.poll(5)) == 1
            p.close(); os.close(r); os.close(w)
        elif kind == 4:
            e = threading.Event(); t = threading.Timer(0.001, e.set); t.start()
            assert e.wait(60); t.join()
        else:
            lock = threading.Condition()
            with lock: lock.wait(0.001)
    out[seed] = hashlib.sha256(state).hexdigest()
out = {}
threads = [threading.Thread(target=chain, args=(seed, out)) for seed in range(4)]
print("ready", flush=True)
sys.stdin.readline()
for t in threads: t.start()
for t in threads: t.join()
print("result", sorted(out.items()), flush=True)
sys.stdin.readline()  # a stop in the middle of its end is another test's
"#;

#[test]
fn what_a_program_computes_is_the_same_with_stops_and_without() {
    let run = |with: bool| {
        let mut child = Child::python("python3", SEEDED);
        let process = open(child.pid());
        let end = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let stopper = with.then(|| {
                scope.spawn(|| {
                    let mut stops = 0;
                    while !end.load(Ordering::SeqCst) {
                        let stopped = process.stop(LONG).unwrap();
                        let _ = stopped.image().unwrap();
                        drop(stopped);
                        stops += 1;
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    stops
                })
            });
            child.say("go");
            let result = child.wait_for("result");
            end.store(true, Ordering::SeqCst);
            if let Some(stopper) = stopper {
                assert!(stopper.join().unwrap() > 20);
            }
            result
        })
    };
    let without = run(false);
    assert_eq!(without, run(false), "it does not even agree with itself");
    assert_eq!(without, run(true));
}
