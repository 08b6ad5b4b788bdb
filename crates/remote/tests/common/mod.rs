//! Programs that the tests need beside themselves: the test binary, started again as one of its ignored tests.
#![allow(clippy::unwrap_used, dead_code)]

use std::path::Path;
use std::process::Command;

use lowtide_remote::Process;

/// This binary as another program: `name` is one of its ignored tests, which reads `HELPER` from the environment.
pub fn helper(name: &str, argument: impl ToString) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--ignored", "--nocapture", "--test-threads=1"]);
    command.env("HELPER", argument.to_string());
    command
}

/// What a helper was told; `None` where somebody runs all ignored tests.
pub fn told<T: std::str::FromStr>() -> Option<T> {
    std::env::var("HELPER").ok()?.parse().ok()
}

/// Opens a process of this machine.
pub fn open(pid: u32) -> Process {
    Process::open(Path::new("/"), pid).unwrap()
}

/// The state of each thread, as proc(5) has it, and who traces it.
pub fn threads(pid: u32) -> Vec<(char, u32)> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    tasks.flatten().filter_map(|task| status(&std::fs::read_to_string(task.path().join("status")).ok()?)).collect()
}

fn status(text: &str) -> Option<(char, u32)> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    Some((field("State:")?.chars().next()?, field("TracerPid:")?.parse().ok()?))
}

/// Looks again and again until it is so. Nextest ends a test that waits for ever.
pub fn until(mut so: impl FnMut() -> bool) {
    while !so() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// Small numbers without a crate (xorshift), the same on every run.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}
