//! `nvidia-smi --query-gpu=timestamp,index,memory.used,... --format=csv -l 1`, with and without units.

use super::{Rows, What, Whose, amount};
use crate::log::numbers::Entity;
use crate::log::numbers::amounts::Unit;
use crate::when;

#[derive(Debug)]
pub(super) struct Table {
    columns: usize,
    used: usize,
    total: Option<usize>,
    index: Option<usize>,
    pid: Option<usize>,
    time: Option<usize>,
}

pub(super) fn begin(text: &str) -> Option<Table> {
    // `memory.used [MiB]` of cards, `used_gpu_memory [MiB]` of processes (`--query-compute-apps`).
    let is_used = |name: &&str| matches!(*name, "memory.used [MiB]" | "used_gpu_memory [MiB]" | "used_memory [MiB]");
    if !text.contains("[MiB]") {
        return None;
    }
    let names: Vec<&str> = text.split(',').map(str::trim).collect();
    let at = |wanted: &[&str]| names.iter().position(|name| wanted.contains(name));
    Some(Table {
        columns: names.len(),
        used: names.iter().position(is_used)?,
        total: at(&["memory.total [MiB]"]),
        index: at(&["index", "gpu_bus_id", "uuid", "gpu_uuid", "pci.bus_id"]),
        pid: at(&["pid"]),
        time: at(&["timestamp"]),
    })
}

impl Table {
    pub(super) fn row(&mut self, text: &str, rows: &mut Rows) -> bool {
        let cells: Vec<&str> = text.split(',').map(str::trim).collect();
        if cells.len() != self.columns {
            return text.is_empty();
        }
        let number = |at: usize| cells[at].strip_suffix("MiB").unwrap_or(cells[at]).trim().parse::<f64>().ok();
        rows.time_s = self.time.and_then(|at| when::parse(cells[at], false)).map(|(seconds, _)| seconds);
        // `[N/A]` where the driver does not tell.
        let Some(value) = number(self.used).filter(|value| value.is_finite()) else { return true };
        let mut used = amount("memory.used", Whose::Card, What::Used, value, 1.0, Unit::Exact(1_048_576.0));
        used.limit = self.total.and_then(number);
        let mut entity = Entity::default();
        if let Some(at) = self.index {
            entity.device = cells[at].parse().ok();
            entity.text = format!("gpu {}", crate::text::cut(cells[at]));
        }
        if let Some(pid) = self.pid.and_then(|at| cells[at].parse::<u32>().ok()) {
            entity.pid = Some(pid);
            entity.text.push_str(if entity.text.is_empty() { "" } else { ", " });
            entity.text.push_str(&format!("pid {pid}"));
        }
        rows.amounts.push((used, entity));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;

    #[test]
    fn with_and_without_units() {
        const MIB: f64 = 1_048_576.0;
        let header = "timestamp, index, memory.used [MiB], memory.total [MiB]\n";
        for row in ["2026/01/01 10:00:00.123, 1, 12345 MiB, 24576 MiB", "2026/01/01 10:00:00.123, 1, 12345, 24576"] {
            let told = read(&format!("{header}{row}\n"));
            assert_eq!(told, [("memory.used".to_owned(), "gpu 1".to_owned(), 12345.0 * MIB, Some(24576.0 * MIB))]);
        }
        assert!(read(&format!("{header}2026/01/01 10:00:00, 1, [N/A], 24576\n")).is_empty());
        let told = read("pid, used_gpu_memory [MiB]\n4242, 100 MiB\n");
        assert_eq!(told, [("memory.used".to_owned(), "pid 4242".to_owned(), 100.0 * MIB, None)]);
    }
}
