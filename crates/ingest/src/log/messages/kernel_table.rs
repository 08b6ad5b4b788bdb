//! The kernel's table of tasks: who had how much when it chose its victim. Sizes are in pages, page tables in bytes.

use std::collections::BTreeMap;

use super::kernel::PAGE;
use super::{Family, Message};
use crate::log::prefix::Source;

/// So many tasks are kept, those with the most memory.
const KEPT: usize = 64;

/// A row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    /// Its pid: of a thread, for old kernels.
    pub pid: u32,
    /// Its thread group: what is called a pid elsewhere.
    pub tgid: u32,
    /// Its user.
    pub uid: u32,
    /// Its address space in bytes.
    pub total_vm: f64,
    /// Its resident memory in bytes.
    pub rss: f64,
    /// Its anonymous resident memory in bytes, from 6.8 on.
    pub rss_anon: Option<f64>,
    /// Its resident file pages in bytes, from 6.8 on.
    pub rss_file: Option<f64>,
    /// Its resident shared memory in bytes, from 6.8 on.
    pub rss_shmem: Option<f64>,
    /// Its page tables in bytes.
    pub pgtables: Option<f64>,
    /// What it has in swap, in bytes.
    pub swap: f64,
    /// By how much its score was set.
    pub oom_score_adj: f64,
    /// Its name, at most 15 characters.
    pub name: String,
}

/// A table as it is read.
pub(in crate::log) struct Table {
    columns: Vec<String>,
    line: u64,
    source: Source,
    tasks: Vec<Task>,
    count: u64,
    rss: f64,
    bad: u64,
}

impl Table {
    /// The header of a table, or none.
    pub(in crate::log) fn begin(line: &[u8], number: u64, source: &Source) -> Option<Self> {
        let first = line.iter().position(|byte| *byte != b' ')?;
        if line[first] != b'[' || !line.windows(8).any(|window| window == b"total_vm") {
            return None;
        }
        let text = std::str::from_utf8(line).ok()?.replace(['[', ']'], " ");
        let columns: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let whole = columns.first()? == "pid" && columns.last()? == "name" && columns.len() <= 16;
        whole.then(|| Self { columns, line: number, source: source.clone(), tasks: Vec::new(), count: 0, rss: 0.0, bad: 0 })
    }

    /// Takes a row; false where the line is none, and the table is over.
    pub(in crate::log) fn row(&mut self, line: &[u8]) -> bool {
        let text = String::from_utf8_lossy(line);
        let Some(body) = text.trim_start().strip_prefix('[') else { return false };
        let Some((pid, rest)) = body.split_once(']') else { return false };
        if pid.trim().parse::<u32>().is_err() {
            return false;
        }
        match self.task(pid, rest) {
            Some(task) => {
                self.count += 1;
                self.rss += task.rss;
                self.keep(task);
            }
            None => self.bad += 1,
        }
        true
    }

    fn task(&self, pid: &str, rest: &str) -> Option<Task> {
        let mut task = Task { pid: pid.trim().parse().ok()?, ..Task::default() };
        let mut rest = rest.trim();
        for column in &self.columns[1..self.columns.len() - 1] {
            let end = rest.find(' ')?;
            let (cell, after) = rest.split_at(end);
            rest = after.trim_start();
            let value: f64 = cell.parse::<i64>().ok()? as f64;
            match column.as_str() {
                "uid" => task.uid = value as u32,
                "tgid" => task.tgid = value as u32,
                "total_vm" => task.total_vm = value * PAGE,
                "rss" => task.rss = value * PAGE,
                "rss_anon" => task.rss_anon = Some(value * PAGE),
                "rss_file" => task.rss_file = Some(value * PAGE),
                "rss_shmem" => task.rss_shmem = Some(value * PAGE),
                "pgtables_bytes" => task.pgtables = Some(value),
                "nr_ptes" => task.pgtables = Some(value * PAGE),
                "swapents" => task.swap = value * PAGE,
                "oom_score_adj" => task.oom_score_adj = value,
                // What later kernels may add is left out.
                _ => {}
            }
        }
        (!rest.is_empty()).then(|| task.name = rest.to_owned())?;
        Some(task)
    }

    fn keep(&mut self, task: Task) {
        if self.tasks.len() < KEPT {
            self.tasks.push(task);
        } else if let Some(least) = self.tasks.iter_mut().min_by(|a, b| a.rss.total_cmp(&b.rss))
            && least.rss < task.rss
        {
            *least = task;
        }
    }

    /// The table as a part of a kernel's report.
    pub(in crate::log) fn end(mut self) -> Option<Message> {
        if self.tasks.is_empty() {
            return None;
        }
        self.tasks.sort_by(|a, b| b.rss.total_cmp(&a.rss));
        let numbers = [("tasks".to_owned(), self.count as f64), ("tasks_rss".to_owned(), self.rss)];
        let refused = if self.bad > 0 {
            vec![format!("line {}: {} rows of the kernel's table below cannot be read", self.line, self.bad)]
        } else {
            Vec::new()
        };
        Some(Message {
            family: Family::KernelPart,
            line: self.line,
            numbers: BTreeMap::from(numbers),
            words: BTreeMap::from([("part", "table".to_owned())]),
            tasks: self.tasks,
            source: self.source,
            excerpt: String::new(),
            refused,
            end: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn one(header: &str, row: &str) -> Task {
        let mut table = Table::begin(header.as_bytes(), 1, &Source::default()).unwrap();
        assert!(table.row(row.as_bytes()));
        assert!(!table.row(b"oom-kill:constraint=CONSTRAINT_NONE"));
        table.end().unwrap().tasks.remove(0)
    }

    #[test]
    fn three_generations() {
        let old = one(
            "[ pid ]   uid  tgid total_vm      rss nr_ptes swapents oom_score_adj name",
            "[ 7747]     0  7748  3226957  2875051    5692        0             0 python",
        );
        assert_eq!((old.pid, old.tgid, old.rss, old.pgtables), (7747, 7748, 2_875_051.0 * 4096.0, Some(5692.0 * 4096.0)));
        let middle = one(
            "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name",
            "[ 561762]     0 561762     5871     1793    77824      240             0 python3",
        );
        assert_eq!((middle.total_vm, middle.pgtables, middle.swap), (5871.0 * 4096.0, Some(77824.0), 240.0 * 4096.0));
        let new = one(
            "[  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem pgtables_bytes swapents oom_score_adj name",
            "[    156]     0   156   153531   153345   153345        0         0  1269760        0             0 mm test",
        );
        assert_eq!((new.rss_anon, new.rss_shmem, new.name.as_str()), (Some(153_345.0 * 4096.0), Some(0.0), "mm test"));
    }
}
