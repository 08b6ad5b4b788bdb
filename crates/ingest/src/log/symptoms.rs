//! Errors that a process reports because another one is gone. They say nothing of memory, but that a reason stands elsewhere.

use std::sync::LazyLock;

use regex::bytes::Regex;

/// The longest line that is one.
const LONGEST: usize = 512;

static FORM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?-u)(?:^|[ .:])(EOFError|ConnectionResetError|BrokenPipeError|[Cc]onnection (?:reset|closed) by (?:remote )?peer|[Bb]roken pipe|DistNetworkError|NCCL communicator was aborted)",
    )
    .expect("a correct pattern")
});

/// The first of a log.
#[derive(Debug, Default)]
pub(super) struct Symptoms {
    first: Option<(u64, String)>,
    count: u64,
}

impl Symptoms {
    pub(super) fn line(&mut self, bytes: &[u8], number: u64) {
        if bytes.len() > LONGEST || self.count >= 1000 || bytes.starts_with(b"    ") {
            return;
        }
        if let Some(found) = FORM.captures(bytes).and_then(|caps| caps.get(1)) {
            self.count += 1;
            self.first.get_or_insert_with(|| (number, String::from_utf8_lossy(found.as_bytes()).into_owned()));
        }
    }

    /// What is missing, for a log that tells of no end.
    pub(super) fn say(self) -> Option<String> {
        let (line, what) = self.first?;
        let more = if self.count > 1 { format!(" (and {} more of the sort)", self.count - 1) } else { String::new() };
        Some(format!(
            "line {line}: `{what}`{more} says that another process of the run was gone, not why: give that one's own log, the kernel's \
             (`dmesg | lowtide report -`), or the scheduler's"
        ))
    }
}
