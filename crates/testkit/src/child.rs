//! A real child process that says when it is ready, takes orders a line at a time, and ends with its test.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

/// A child in a process group of its own; on drop the whole group is killed and collected.
#[derive(Debug)]
pub struct Child {
    child: std::process::Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Child {
    /// Starts it and waits for a line on its standard output that begins with `ready`. Panics, with what it said instead,
    /// if it ends before that.
    #[must_use]
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0).spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut child = Self { child, stdin, stdout };
        child.wait_for("ready");
        child
    }

    /// The same for a Python program, given as text, with an interpreter by name or path.
    #[must_use]
    pub fn python(interpreter: &str, program: &str) -> Self {
        Self::start(Command::new(interpreter).args(["-u", "-c", program]))
    }

    /// The same for a shell program.
    #[must_use]
    pub fn shell(program: &str) -> Self {
        Self::start(Command::new("sh").args(["-c", program]))
    }

    /// Its pid.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes a line to its standard input.
    pub fn say(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{line}").unwrap();
        stdin.flush().unwrap();
    }

    /// Reads its output up to a line that begins so, and returns the rest of that line.
    pub fn wait_for(&mut self, start: &str) -> String {
        let mut said = String::new();
        loop {
            let mut line = String::new();
            let count = self.stdout.read_line(&mut line).unwrap();
            assert!(count > 0, "the child ended without saying `{start}`; it said: {said}");
            if let Some(rest) = line.strip_prefix(start) {
                return rest.trim().to_owned();
            }
            said.push_str(&line);
        }
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: i32) {
        // SAFETY: kill takes two integers; the child is not collected yet, so the pid is its own.
        unsafe { libc::kill(i32::try_from(self.child.id()).unwrap(), signal) };
    }

    /// Closes its standard input and waits for its end.
    pub fn finish(&mut self) -> std::process::ExitStatus {
        self.stdin = None;
        self.child.wait().unwrap()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if let Ok(group) = i32::try_from(self.child.id()) {
            // SAFETY: kill takes two integers; a negative pid names the group that `start` made for this child.
            unsafe { libc::kill(-group, libc::SIGKILL) };
        }
        let _ = self.child.wait();
    }
}

/// A process that is nobody's child any more (a daemon that a test made); killed on drop.
#[derive(Debug)]
pub struct Orphan(pub u32);

impl Orphan {
    /// Ends it now.
    pub fn kill(&self) {
        if let Ok(pid) = i32::try_from(self.0)
            && pid > 1
        {
            // SAFETY: kill takes two integers.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    }
}

impl Drop for Orphan {
    fn drop(&mut self) {
        self.kill();
    }
}
