//! What may be under way when a process is stopped: signals, job control, exec, exit, a debugger, somebody else's process.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::Duration;

use common::{helper, open, threads, told, until};
use lowtide_remote::{Error, Process};
use lowtide_testkit::Child;

const LONG: Duration = Duration::from_secs(60);

/// Counts, in a page whose address it tells, and ends with its input.
const COUNTS: &str = r#"
import ctypes, mmap, os, sys, threading
page = mmap.mmap(-1, 65536)
print("ready", flush=True)
print("at", ctypes.addressof(ctypes.c_char.from_buffer(page)), flush=True)
one = ctypes.c_uint64.from_buffer(page, 64)
def count():
    while True:
        one.value += 1
threading.Thread(target=count, daemon=True).start()
for line in sys.stdin:
    if line == "exec\n":
        os.execv(sys.executable, [sys.executable, "-uc", "print('new', flush=True); input()"])
    os._exit(0)
"#;

struct Counter {
    child: Child,
    at: u64,
}

impl Counter {
    fn start() -> Self {
        let mut child = Child::python("python3", COUNTS);
        let at = child.wait_for("at").parse().unwrap();
        Self { child, at }
    }

    fn value(&self) -> u64 {
        open(self.child.pid()).image().unwrap().u64(self.at + 64).unwrap()
    }

    fn goes_on(&self) {
        let first = self.value();
        until(|| self.value() != first);
    }

    fn is_stopped_for_good(&self) {
        until(|| threads(self.child.pid()).iter().all(|thread| *thread == ('T', 0)));
        let first = self.value();
        assert!((0..200).all(|_| self.value() == first));
    }
}

#[test]
fn a_process_that_was_stopped_before_is_read_and_stays_stopped() {
    let counter = Counter::start();
    counter.child.signal(libc::SIGSTOP);
    counter.is_stopped_for_good();
    for _ in 0..5 {
        let stopped = open(counter.child.pid()).stop(LONG).unwrap();
        assert!(stopped.image().unwrap().u64(counter.at + 64).is_some());
        drop(stopped);
        counter.is_stopped_for_good();
    }
    counter.child.signal(libc::SIGCONT);
    counter.goes_on();
}

#[test]
fn stop_and_continue_signals_that_come_while_it_is_held_count_afterwards() {
    let counter = Counter::start();
    let stopped = open(counter.child.pid()).stop(LONG).unwrap();
    counter.child.signal(libc::SIGSTOP);
    drop(stopped);
    counter.is_stopped_for_good();
    let stopped = open(counter.child.pid()).stop(LONG).unwrap();
    counter.child.signal(libc::SIGCONT);
    let image = stopped.image().unwrap();
    assert!(image.u64(counter.at + 64).is_some());
    drop(stopped);
    counter.goes_on();
}

#[test]
fn one_that_is_killed_while_it_is_held_ends_at_once() {
    let counter = Counter::start();
    let stopped = open(counter.child.pid()).stop(LONG).unwrap();
    counter.child.signal(libc::SIGKILL);
    until(|| stopped.check().is_err());
    assert!(matches!(stopped.check(), Err(Error::Gone { .. })));
    assert!(stopped.image().is_err());
    until(|| threads(counter.child.pid()) == [('Z', 0)]);
    drop(stopped);
    let error = Process::open(Path::new("/"), counter.child.pid()).unwrap_err();
    assert!(matches!(error, Error::Zombie { .. }), "{error}");
}

#[test]
fn an_orphan_of_others_that_is_killed_is_given_to_its_parent() {
    // The target's parent is a shell, not us: it must learn of the end although we are the tracer.
    let mut shell = Child::shell("python3 -c 'import time; time.sleep(1000)' & echo ready; echo pid $!; wait $!; echo ended $?");
    let pid: u32 = shell.wait_for("pid").parse().unwrap();
    let process = open(pid);
    let stopped = process.stop(LONG).unwrap();
    // SAFETY: kill takes two numbers; the pid is of a process that we hold.
    unsafe { libc::kill(i32::try_from(pid).unwrap(), libc::SIGKILL) };
    assert_eq!(shell.wait_for("ended"), "137", "while we hold it");
    assert!(stopped.check().is_err());
    drop(stopped);
    assert!(matches!(process.check(), Err(Error::Gone { .. })));
}

#[test]
fn exec_and_exit_under_our_hands_are_survived() {
    for round in 0..6 {
        let mut counter = Counter::start();
        let process = open(counter.child.pid());
        counter.child.say(if round % 2 == 0 { "exec" } else { "end" });
        // Stops until the new program is there, or nothing any more.
        let mut stops = 0;
        loop {
            match process.stop(LONG) {
                Ok(stopped) => {
                    stops += 1;
                    let image = stopped.image();
                    let is_new = image.is_ok_and(|image| image.maps().find(counter.at).is_none());
                    drop(stopped);
                    if round % 2 == 0 && is_new {
                        break;
                    }
                }
                Err(Error::Gone { .. } | Error::Zombie { .. } | Error::NoMemory { .. }) if round % 2 == 1 => break,
                Err(error) => panic!("round {round}: {error}"),
            }
        }
        if round % 2 == 0 {
            assert!(stops > 0);
            counter.child.wait_for("new");
        }
    }
}

#[test]
fn who_holds_it_already_is_said() {
    let counter = Counter::start();
    let holder = Child::start(&mut helper("helper_that_holds", counter.child.pid()));
    let error = open(counter.child.pid()).stop(LONG).unwrap_err();
    assert!(matches!(&error, Error::Traced { tracer, command: Some(_), .. } if *tracer == holder.pid()), "{error}");
    drop(holder);
    counter.goes_on();
    assert!(open(counter.child.pid()).stop(LONG).is_ok());
}

#[test]
#[ignore = "a program for the test above"]
fn helper_that_holds() {
    let Some(pid) = told() else { return };
    let _stopped = open(pid).stop(LONG).unwrap();
    println!("\nready");
    std::thread::park();
}

#[test]
fn somebody_elses_process_is_refused_with_what_to_do() {
    // SAFETY: takes nothing, cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return;
    }
    let counter = Counter::start();
    let mut command = helper("helper_that_is_refused", counter.child.pid());
    // Not root's, so that what it may is what a user may. The binary itself must be readable to it.
    let Ok(mut child) = command.uid(65534).gid(65534).stdout(std::process::Stdio::piped()).spawn() else { return };
    let mut said = String::new();
    std::io::Read::read_to_string(child.stdout.as_mut().unwrap(), &mut said).unwrap();
    child.wait().unwrap();
    assert!(said.contains("said: process") && said.contains("run as that user or as root"), "{said}");
    counter.goes_on();
}

#[test]
#[ignore = "a program for the test above"]
fn helper_that_is_refused() {
    let Some(pid) = told() else { return };
    println!("\nsaid: {}", Process::open(Path::new("/"), pid).unwrap_err());
}

#[test]
fn asking_again_is_cheap_and_ends_when_it_is_found() {
    let counter = Counter::start();
    let process = open(counter.child.pid());
    let mut looks = 0;
    let found = process
        .stop_when(LONG, 50, Duration::from_micros(100), |stopped| {
            looks += 1;
            let count = stopped.image()?.u64(counter.at + 64).unwrap();
            Ok((looks == 20).then_some(count))
        })
        .unwrap();
    let (stopped, count) = found.unwrap();
    assert_eq!(counter.value(), count, "it is still held");
    drop(stopped);
    assert!(process.stop_when(LONG, 3, Duration::ZERO, |_| Ok(None::<()>)).unwrap().is_none());
    counter.goes_on();
}
