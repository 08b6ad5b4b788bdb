//! Core files that others wrote: the kernel, and gdb's gcore where the machine has it.
#![allow(clippy::unwrap_used)]

mod common;

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{open, until};
use lowtide_remote::elf::Symbol;
use lowtide_remote::{Core, Error};
use lowtide_testkit::Child;

const HOLDS: &str = r#"
import ctypes, mmap, threading
page = mmap.mmap(-1, 65536, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
page[:5] = b"hello"
threading.Thread(target=threading.Event().wait, daemon=True).start()
print("ready", flush=True)
print("at", ctypes.addressof(ctypes.c_char.from_buffer(page)), flush=True)
input()
"#;

struct Truth {
    child: Child,
    at: u64,
    runtime: Symbol,
    /// The name of `int`'s type: a constant, which cores leave out.
    constant: (u64, Vec<u8>),
}

impl Truth {
    fn of(command: &mut Command) -> Self {
        let mut child = Child::start(command);
        let at = child.wait_for("at").parse().unwrap();
        let process = open(child.pid());
        let maps = process.maps().unwrap();
        let (module, runtime) = process.find_symbol(&maps, &["_PyRuntime"], &["libpython"]).unwrap();
        let kind = module.symbols(&["PyLong_Type"]).unwrap()[0].unwrap();
        let image = process.image().unwrap();
        // PyTypeObject.tp_name, after the head of 24 bytes of a variable-sized object.
        let name = image.u64(kind.address + 24).unwrap();
        let constant = (name, image.cstr(name, 64).unwrap().into_owned());
        assert_eq!(constant.1, b"int");
        Self { child, at, runtime, constant }
    }

    fn is_in(&self, core: &Core) {
        let image = core.image();
        assert_eq!(core.missing(), 0);
        assert_eq!(core.pid(), Some(self.child.pid()));
        assert!(core.threads() >= 2, "{}", core.threads());
        assert_eq!(image.cstr(self.at, 64).unwrap(), &b"hello"[..]);
        assert_eq!(core.find_symbol(&["_PyRuntime"], &["python"]).unwrap().1, self.runtime);
        assert_eq!(image.cstr(self.constant.0, 64).unwrap(), &self.constant.1[..]);
    }
}

fn python(folder: &Path) -> Command {
    let mut command = Command::new("sh");
    command.current_dir(folder).arg("-c").arg("ulimit -c unlimited 2>/dev/null; exec python3 -u -c \"$0\"").arg(HOLDS);
    command
}

fn core_in(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries
        .map(|entry| entry.path())
        .find(|path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"core")))
}

#[test]
fn the_kernels_core_has_what_the_process_had() {
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    // Where something else gets the cores, there is none to read.
    if !pattern.starts_with("core") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut truth = Truth::of(&mut python(folder.path()));
    truth.child.signal(libc::SIGABRT);
    truth.child.finish();
    // A limit of this machine may forbid them.
    let Some(path) = core_in(folder.path()) else { return };
    let core = Core::open(Path::new("/"), &path).unwrap();
    truth.is_in(&core);
    // Cut off in the middle.
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    let len = file.metadata().unwrap().len();
    file.set_len(len / 2).unwrap();
    let cut = Core::open(Path::new("/"), &path).unwrap();
    assert!(cut.missing() > 0 && cut.missing() <= len);
    assert_eq!(cut.maps(), core.maps());
    file.set_len(100).unwrap();
    assert!(matches!(Core::open(Path::new("/"), &path), Err(Error::Format { .. })));
}

#[test]
fn gcores_core_has_what_the_process_has() {
    let folder = tempfile::tempdir().unwrap();
    let truth = Truth::of(&mut python(folder.path()));
    let mut gcore = Command::new("gcore");
    gcore.current_dir(folder.path()).args(["-o", "core", &truth.child.pid().to_string()]).process_group(0);
    let Ok(status) = gcore.stdout(Stdio::null()).stderr(Stdio::null()).status() else { return };
    if !status.success() {
        return;
    }
    until(|| core_in(folder.path()).is_some());
    truth.is_in(&Core::open(Path::new("/"), &core_in(folder.path()).unwrap()).unwrap());
}
