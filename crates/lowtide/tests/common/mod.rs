//! Starting lowtide with real targets, and shaking hands with them: a test waits for a line or a state, never
//! for a time. Deadlines only end what hangs.
#![allow(dead_code, clippy::unwrap_used, clippy::print_stderr, reason = "each test file uses a part of it")]

pub mod stepped;

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// What hangs so long will never come.
pub const HANGS: Duration = Duration::from_secs(60);

/// lowtide with its own folders, so that a test leaves nothing behind.
pub fn lowtide(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lowtide"));
    command
        .env("LOWTIDE_DIR", folder.join("runs"))
        .env("XDG_STATE_HOME", folder.join("state"))
        .env_remove("CLICOLOR_FORCE")
        .env_remove("COLUMNS")
        .stdin(Stdio::null());
    command
}

/// `lowtide run -- words`.
pub fn run(folder: &Path, words: &[&str]) -> Command {
    let mut command = lowtide(folder);
    command.arg("run").arg("--").args(words);
    command
}

/// A process of ours that is killed should the test end before it.
pub struct Guarded(pub Child);

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Guarded {
    pub fn start(command: &mut Command) -> Self {
        Self(command.spawn().unwrap())
    }

    pub fn pid(&self) -> i32 {
        self.0.id() as i32
    }

    pub fn signal(&self, signal: i32) {
        send(self.pid(), signal);
    }

    /// Waits for its end.
    pub fn end(&mut self) -> ExitStatus {
        self.end_within(HANGS)
    }

    /// The same for one that takes long.
    pub fn end_within(&mut self, limit: Duration) -> ExitStatus {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The lines that a process writes, read by a thread.
pub struct Lines(Receiver<String>);

impl Lines {
    pub fn of(stream: impl Read + Send + 'static) -> Self {
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        Self(lines)
    }

    /// The next line.
    pub fn next(&self) -> String {
        self.0.recv_timeout(HANGS).expect("another line")
    }

    /// Reads up to a line that is this; returns those before it.
    pub fn until(&self, wanted: &str) -> Vec<String> {
        let mut before = Vec::new();
        loop {
            let line = self.next();
            if line == wanted {
                return before;
            }
            before.push(line);
        }
    }

    /// All lines until the stream ends.
    pub fn rest(&self) -> Vec<String> {
        let mut rest = Vec::new();
        while let Ok(line) = self.0.recv_timeout(HANGS) {
            rest.push(line);
        }
        rest
    }
}

/// Runs to the end; a run that hangs is a failure.
pub fn output(command: &mut Command) -> Output {
    output_within(command, HANGS)
}

/// The same for one that takes long.
pub fn output_within(command: &mut Command, limit: Duration) -> Output {
    let mut child = Guarded(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let all = |mut stream: Box<dyn Read + Send>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).unwrap();
            bytes
        })
    };
    let stdout = all(Box::new(child.0.stdout.take().unwrap()));
    let stderr = all(Box::new(child.0.stderr.take().unwrap()));
    let status = child.end_within(limit);
    Output { status, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn send(pid: i32, signal: i32) {
    // SAFETY: kill(2) takes numbers only.
    let sent = unsafe { libc::kill(pid, signal) };
    assert_eq!(sent, 0, "kill {pid}: {}", std::io::Error::last_os_error());
}

/// Waits until something is so.
pub fn wait_until(what: &str, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + HANGS;
    while !so() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The state letter of a process (proc(5) stat), `None` when it is gone.
pub fn state(pid: i32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat[stat.rfind(')')? + 2..].chars().next()
}

/// The children of a process.
pub fn children(pid: i32) -> Vec<i32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    std::fs::read_to_string(path).unwrap_or_default().split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

/// Whether we may make namespaces.
pub fn can_unshare(flags: &[&str]) -> bool {
    let allowed =
        Command::new("unshare").args(flags).arg("true").stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    if !allowed {
        eprintln!("SKIPPED: unshare {flags:?} is not allowed here");
    }
    allowed
}
