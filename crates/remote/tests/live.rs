//! A real process: read, found, held still.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use lowtide_remote::{Error, Image, Process};
use lowtide_testkit::Child;

/// Long enough on any machine; nothing waits for its end.
const LONG: Duration = Duration::from_secs(60);

/// Counts in two places that are equal only between its steps, in several threads that start others.
const BUSY: &str = r#"
import ctypes, mmap, threading, time
page = mmap.mmap(-1, 65536)
at = ctypes.addressof(ctypes.c_char.from_buffer(page))
page[:5] = b"hello"
one = ctypes.c_uint64.from_buffer(page, 64)
def count():
    while True:
        one.value += 1
def start():
    while True:
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()
for work in (count, start, start):
    threading.Thread(target=work, daemon=True).start()
print("ready", flush=True)
print("at", at, flush=True)
input()
"#;

fn open(child: &Child) -> Process {
    Process::open(Path::new("/"), child.pid()).unwrap()
}

#[test]
fn a_running_process_is_read() {
    let mut child = Child::python("python3", BUSY);
    let at: u64 = child.wait_for("at").parse().unwrap();
    let image = open(&child).image().unwrap();
    assert_eq!(image.bytes(at, 5).unwrap(), &b"hello"[..]);
    assert_eq!(image.cstr(at, 64).unwrap(), &b"hello"[..]);
}

#[test]
fn its_files_are_ours_where_each_name_means_the_same() {
    assert_eq!(open(&Child::shell("echo ready; read line")).its_root().path(), Path::new("/"));
    let own_mounts = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", script]);
        command
    };
    if !own_mounts("true").status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: mounts of one's own are not allowed here");
        return;
    }
    // The same root, and another folder below it.
    let child = Child::start(&mut own_mounts("mount -t tmpfs tmpfs /mnt && echo hello > /mnt/its && echo ready && read line"));
    let root = open(&child).its_root();
    assert_eq!(std::fs::read(root.path().join("mnt/its")).unwrap(), b"hello\n");
}

#[test]
fn a_stopped_process_holds_still_and_goes_on() {
    let mut child = Child::python("python3", BUSY);
    let at: u64 = child.wait_for("at").parse().unwrap();
    let process = open(&child);
    let mut last = 0;
    for _ in 0..20 {
        let stopped = process.stop(LONG).unwrap();
        let count = |image: Image| image.u64(at + 64).unwrap();
        let first = count(stopped.image().unwrap());
        for _ in 0..50 {
            assert_eq!(count(stopped.image().unwrap()), first);
        }
        assert!(stopped.threads() >= 3);
        drop(stopped);
        while count(process.image().unwrap()) == first {
            std::thread::yield_now();
        }
        assert!(first >= last);
        last = first;
    }
}

#[test]
fn the_time_is_kept_and_reads_after_it_are_refused() {
    let mut child = Child::python("python3", BUSY);
    let at: u64 = child.wait_for("at").parse().unwrap();
    let process = open(&child);
    let stopped = process.stop(Duration::from_millis(300)).unwrap();
    let image = stopped.image().unwrap();
    assert!(image.u64(at + 64).is_some());
    while stopped.check().is_ok() {
        std::thread::yield_now();
    }
    assert!(matches!(stopped.check(), Err(Error::TimeOver { .. })));
    let elsewhere = image.maps().iter().rfind(|map| map.is_anonymous() && map.is_readable()).unwrap().start;
    assert!(image.u64(elsewhere).is_none());
    assert!(image.trouble().unwrap().to_string().contains("limit of 300 ms"));
    let now = || process.image().unwrap().u64(at + 64).unwrap();
    let first = now();
    while now() == first {
        std::thread::yield_now();
    }
    assert!(stopped.release() >= Duration::from_millis(300));
}

#[test]
fn the_runtime_of_a_python_is_found() {
    let mut child = Child::python("python3", BUSY);
    child.wait_for("at");
    let process = open(&child);
    let maps = process.maps().unwrap();
    let (module, symbol) = process.find_symbol(&maps, &["_PyRuntime"], &[]).unwrap();
    let map = maps.find(symbol.address).unwrap();
    assert!(map.perms.write, "{module:?} {symbol:?} {map:?}");
    assert!(module.symbols(&["Py_Main", "no_such_symbol"]).unwrap()[0].is_some());
    assert!(module.symbols(&["no_such_symbol"]).unwrap()[0].is_none());
    let text = module.section(".text").unwrap();
    assert!(maps.find(text.start).unwrap().perms.exec);
}
