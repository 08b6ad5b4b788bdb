//! Ray's table below its message: who used most of the node's memory. Its GB are powers of 1024.

use std::collections::BTreeMap;

use super::{Family, Message};
use crate::log::prefix::Source;

/// Rows that are kept; Ray prints ten.
const MOST: usize = 16;
/// Of a command's characters.
const COMMAND: usize = 80;
const GIB: f64 = 1_073_741_824.0;

/// A table as it is read.
pub(in crate::log) struct RayTable {
    line: u64,
    source: Source,
    /// Pid, bytes, command.
    rows: Vec<(u32, f64, String)>,
}

impl RayTable {
    /// The header of a table, or none: `PID  MEM(GB)  COMMAND`, before Ray 2 `PID  MEM  COMMAND`.
    pub(in crate::log) fn begin(line: &[u8], number: u64, source: &Source) -> Option<Self> {
        let words: Vec<&[u8]> = words(line).take(4).collect();
        let header = matches!(words[..], [b"PID", b"MEM(GB)" | b"MEM", b"COMMAND"]);
        header.then(|| Self { line: number, source: source.clone(), rows: Vec::new() })
    }

    /// Takes a row; false where the line is none, and the table is over.
    pub(in crate::log) fn row(&mut self, line: &[u8]) -> bool {
        let text = String::from_utf8_lossy(line);
        let mut words = text.split_whitespace();
        let (Some(pid), Some(used)) = (words.next().and_then(|word| word.parse().ok()), words.next()) else { return false };
        // `8.47`, and before Ray 2 `1.09GiB`.
        let Some(used) = used.strip_suffix("GiB").unwrap_or(used).parse::<f64>().ok().filter(|used| (0.0..1e6).contains(used))
        else {
            return false;
        };
        if self.rows.len() < MOST {
            let command: String = words.collect::<Vec<_>>().join(" ").chars().take(COMMAND).collect();
            self.rows.push((pid, (used * GIB).round(), command));
        }
        true
    }

    /// The table as a part of Ray's message.
    pub(in crate::log) fn end(self) -> Option<Message> {
        let (pid, used, command) = self.rows.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let most = if command.is_empty() { format!("pid {pid}") } else { format!("{command} (pid {pid})") };
        Some(Message {
            family: Family::Ray,
            line: self.line,
            numbers: self.rows.iter().map(|(pid, used, _)| (format!("process_{pid}_used"), *used)).collect(),
            words: BTreeMap::from([("part", "users".to_owned()), ("most", most), ("most_used", format!("{used:.0}"))]),
            tasks: Vec::new(),
            source: self.source,
            excerpt: String::new(),
            refused: Vec::new(),
            end: 0,
        })
    }
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn two_generations() {
        for (header, rows) in [
            ("PID\tMEM(GB)\tCOMMAND", ["410728\t8.47\tpython train.py --big", "510953\t7.19\tray::allocate_memory"]),
            ("PID     MEM     COMMAND", ["410728  8.47GiB python train.py --big", "510953\t7.19GiB ray::allocate_memory"]),
        ] {
            let mut table = RayTable::begin(header.as_bytes(), 3, &Source::default()).unwrap();
            assert!(rows.iter().all(|row| table.row(row.as_bytes())));
            assert!(!table.row(b"Refer to the documentation on how to address the out of memory issue"));
            let message = table.end().unwrap();
            assert_eq!(message.numbers["process_410728_used"], (8.47 * GIB).round());
            assert_eq!(message.numbers["process_510953_used"], (7.19 * GIB).round());
            assert_eq!(message.words["most"], "python train.py --big (pid 410728)");
        }
        for other in ["  PID TTY          TIME CMD", "PID MEM COMMAND more", "the PID MEM COMMAND"] {
            assert!(RayTable::begin(other.as_bytes(), 1, &Source::default()).is_none(), "{other}");
        }
    }
}
