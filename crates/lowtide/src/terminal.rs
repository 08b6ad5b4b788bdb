//! What the terminal can show, and the few lines that lowtide says on its own.

use std::io::{IsTerminal, Write};
use std::os::fd::AsRawFd;

/// Used where neither the terminal nor COLUMNS tells.
const DEFAULT_WIDTH: usize = 100;

/// Says one line on stderr, with lowtide's name before it. A closed stderr is no reason to fail.
pub fn say(text: &str) {
    // One write: lines of other processes cannot come in between.
    let _ = std::io::stderr().write_all(format!("lowtide: {text}\n").as_bytes());
}

/// As [`say`], while the target may be in the middle of a line (a progress bar).
pub fn say_in_between(text: &str) {
    let stderr = std::io::stderr();
    let before = if stderr.is_terminal() { "\n" } else { "" };
    let _ = stderr.lock().write_all(format!("{before}lowtide: {text}\n").as_bytes());
}

/// Whether to colour what goes to this stream: NO_COLOR and CLICOLOR_FORCE (<https://no-color.org>,
/// <https://bixense.com/clicolors>), else whether it is a terminal that understands colours.
pub fn color(stream: &impl IsTerminal) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if set("NO_COLOR") {
        return false;
    }
    if std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0") {
        return true;
    }
    stream.is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Columns to fill: the terminal's, else COLUMNS, else [`DEFAULT_WIDTH`].
pub fn width(stream: &impl AsRawFd) -> usize {
    let of_terminal = || {
        // SAFETY: TIOCGWINSZ fills in the winsize given to it, and it outlives the call.
        unsafe {
            let mut size: libc::winsize = std::mem::zeroed();
            (libc::ioctl(stream.as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) == 0 && size.ws_col > 0)
                .then_some(usize::from(size.ws_col))
        }
    };
    let of_environment = || std::env::var("COLUMNS").ok()?.trim().parse().ok().filter(|width| *width > 0);
    of_terminal().or_else(of_environment).unwrap_or(DEFAULT_WIDTH).clamp(40, 400)
}
