//! `lowtide doctor`: what can be seen on this machine, and what to do about what cannot.

use std::io::Write;
use std::path::Path;

use lowtide_collect::{Check, CheckState};

use crate::exit::{self, Failure};
use crate::terminal;

/// Say what can be seen here, and what to do about what cannot.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Look at what can be seen of this process
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
}

/// Prints the table. A check that fails is an answer, not a failure.
pub fn doctor(args: &Args) -> Result<u8, Failure> {
    let checks = lowtide_collect::doctor(Path::new("/"), args.pid);
    let stdout = std::io::stdout();
    let table = table(&checks, terminal::width(&stdout), terminal::color(&stdout));
    let _ = stdout.lock().write_all(table.as_bytes());
    Ok(exit::DONE)
}

/// One line per check: state, name, what was found; below it the mend.
fn table(checks: &[Check], width: usize, color: bool) -> String {
    let widest = checks.iter().map(|check| check.name.chars().count()).max().unwrap_or(0);
    let indent = STATE_WIDTH + widest + 2;
    let mut table = String::new();
    for check in checks {
        let (state, code) = shown(check.state);
        let state = if color { format!("\x1b[{code}m{state:STATE_WIDTH$}\x1b[0m") } else { format!("{state:STATE_WIDTH$}") };
        table.push_str(&format!("{state}{:widest$}  ", check.name));
        table.push_str(&wrapped(&check.text, width, indent));
        if !check.mend.is_empty() {
            table.push_str(&" ".repeat(indent));
            table.push_str(&wrapped(&format!("-> {}", check.mend), width, indent));
        }
    }
    table
}

const STATE_WIDTH: usize = 9;

fn shown(state: CheckState) -> (&'static str, u8) {
    match state {
        CheckState::Fine => ("ok", 32),
        CheckState::Limited => ("limited", 33),
        CheckState::Missing => ("missing", 31),
    }
}

/// Words filled into lines; all but the first are indented.
fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let room = width.saturating_sub(indent).max(30);
    let mut lines = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > room {
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            used = 0;
        } else if used > 0 {
            lines.push(' ');
            used += 1;
        }
        lines.push_str(word);
        used += length;
    }
    lines.push('\n');
    lines
}
