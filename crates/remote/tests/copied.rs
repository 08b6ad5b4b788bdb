//! A process that copies itself when it is asked to, by the part that `run` puts into it.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;
use std::process::Command;

use common::{open, threads, until};
use lowtide_remote::{Error, Meeting};
use lowtide_testkit::Child;

const COPIES: &str = r#"
import ctypes, mmap, os, sys, threading
sys.path.append(sys.argv[1])
from _lowtide import requests
page = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
value = ctypes.c_uint64.from_buffer(page)
def count():
    while True:
        value.value += 1
threading.Thread(target=count, daemon=True).start()
print("ready", flush=True)
print("at", ctypes.addressof(value), flush=True)
for line in sys.stdin:
    requests.collect()
    print("copy", requests.answer(1)[0], flush=True)
"#;

fn start(folder: &Path) -> (Child, u64) {
    let agent = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lowtide/agent");
    let mut command = Command::new("python3");
    command.args(["-B", "-c", COPIES]).arg(agent).env("LOWTIDE_MARKS", folder);
    let mut child = Child::start(&mut command);
    let at = child.wait_for("at").parse().unwrap();
    (child, at)
}

#[test]
fn a_copy_is_read_while_its_maker_goes_on_and_ends_with_us() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, at) = start(folder.path());
    let maker = open(child.pid());
    for _ in 0..10 {
        let meeting = Meeting::new(folder.path(), child.pid()).unwrap();
        child.say("copy");
        let pid: u32 = child.wait_for("copy").parse().unwrap();
        let copied = meeting.copy(Path::new("/"), &maker, pid).unwrap();
        let value = || copied.image().unwrap().u64(at).unwrap();
        let first = value();
        let now = || maker.image().unwrap().u64(at).unwrap();
        let before = now();
        until(|| now() > before);
        assert_eq!(value(), first);
        assert!(before >= first);
        assert!(copied.process().find_symbol(&copied.process().maps().unwrap(), &["_PyRuntime"], &[]).is_some());
        assert_eq!(copied.process().threads().unwrap().len(), 1);
        drop(copied);
        until(|| threads(pid) == [('Z', 0)]);
    }
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "no socket is left");
}

#[test]
fn what_is_not_its_copy_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, _) = start(folder.path());
    let meeting = Meeting::new(folder.path(), child.pid()).unwrap();
    child.say("copy");
    let pid: u32 = child.wait_for("copy").parse().unwrap();
    let error = meeting.copy(Path::new("/"), &open(child.pid()), std::process::id()).unwrap_err();
    assert!(matches!(error, Error::Denied { .. }), "{error}");
    // Its connection was given up with the refusal.
    until(|| threads(pid) == [('Z', 0)]);
    let nobody = Meeting::new(folder.path(), child.pid()).unwrap();
    assert!(nobody.copy(Path::new("/"), &open(child.pid()), pid).is_err(), "nobody came");
}
