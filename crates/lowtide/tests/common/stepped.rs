//! A Python program that goes on when it is told to.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

/// One that prints `ready`, and `done` after each line that it is given.
pub struct Stepped {
    pub child: Child,
    lines: BufReader<ChildStdout>,
}

impl Stepped {
    /// Starts it, and waits until it is ready.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut target = Self { child, lines };
        target.wait_for("ready");
        target
    }

    fn wait_for(&mut self, word: &str) {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        assert_eq!(line.trim(), word);
    }

    /// Has it do one thing more.
    pub fn step(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
        self.wait_for("done");
    }
}

impl Drop for Stepped {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
