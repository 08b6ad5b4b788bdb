//! `torch.cuda.memory_summary()`: one point for each table and device, and the last one as it is.
//!
//! Units are of 1024 in all versions (`_format_size` in torch/cuda/memory.py), written `KB` in older ones. What it rounds to has
//! four digits and more. A table that was printed once shows no growth, but where the memory was.

use std::sync::LazyLock;

use regex::Regex;

use super::{Rows, What, Whose, amount};
use crate::log::numbers::Entity;
use crate::log::numbers::amounts::Unit;

/// What a row says. Bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// When it was printed.
    pub now: u64,
    /// The most since the start, or since the peak was set back.
    pub peak: u64,
}

/// The last table of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The card.
    pub device: u32,
    /// The line of its title, counted from 1.
    pub line: u64,
    /// Tables of this device.
    pub tables: u64,
    /// Requests that failed.
    pub ooms: u64,
    /// Requests for which the cache had to be given back to the driver first.
    pub retries: u64,
    /// In tensors.
    pub allocated: Option<Usage>,
    /// In tensors, or waiting for another stream.
    pub active: Option<Usage>,
    /// What tensors asked for, without rounding; newer versions.
    pub requested: Option<Usage>,
    /// Held by the allocator.
    pub reserved: Option<Usage>,
    /// Free between blocks in use: `empty_cache()` cannot give it back.
    pub stuck: Option<Usage>,
}

#[derive(Debug)]
pub(super) struct Table {
    summary: Summary,
    lines: u32,
}

static TITLE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"PyTorch CUDA memory summary, device ID ([0-9]{1,4})").expect("a correct pattern"));
static COUNTS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\| +CUDA OOMs: ([0-9]{1,9}) +\| +cudaMalloc retries: ([0-9]{1,9}) +\|").expect("a correct pattern")
});
static ROW: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^\| (Allocated memory|Active memory|Requested memory|GPU reserved memory|Non-releasable memory) +\| +([0-9]{1,12}) (B|[KMGTP]i?B) +\|(?: +([0-9]{1,12}) (B|[KMGTP]i?B) +\|)?",
    )
    .expect("a correct pattern")
});

pub(super) fn begin(text: &str) -> Option<Table> {
    let title = TITLE.captures(text)?;
    Some(Table { summary: Summary { device: title[1].parse().ok()?, ..Summary::default() }, lines: 0 })
}

/// The value of a unit's last digit, bytes.
fn factor(unit: &str) -> f64 {
    let power = "BKMGTP".find(&unit[..1]).unwrap_or(0) as i32;
    1024.0_f64.powi(power)
}

impl Table {
    pub(super) fn row(&mut self, text: &str, rows: &mut Rows) -> bool {
        const LINES: u32 = 64;
        self.lines += 1;
        if let Some(counts) = COUNTS.captures(text) {
            self.summary.ooms = counts[1].parse().unwrap_or(0);
            self.summary.retries = counts[2].parse().unwrap_or(0);
            return true;
        }
        let Some(row) = ROW.captures(text) else { return text.starts_with('|') && self.lines < LINES };
        let Ok(value) = row[2].parse::<f64>() else { return true };
        let factor_now = factor(&row[3]);
        let peak = row
            .get(4)
            .zip(row.get(5))
            .and_then(|(value, unit)| Some(value.as_str().parse::<f64>().ok()? * factor(unit.as_str())));
        // A row that is cut has no peak.
        let usage = peak.map(|peak| Usage { now: (value * factor_now) as u64, peak: peak as u64 });
        let device = self.summary.device;
        let what = match &row[1] {
            "Allocated memory" => {
                self.summary.allocated = usage;
                Some(What::Used)
            }
            "GPU reserved memory" => {
                self.summary.reserved = usage;
                Some(What::Reserved)
            }
            "Active memory" => {
                self.summary.active = usage;
                None
            }
            "Requested memory" => {
                self.summary.requested = usage;
                None
            }
            _ => {
                self.summary.stuck = usage;
                None
            }
        };
        if let Some(what) = what {
            let entity = Entity { text: format!("gpu {device}"), device: Some(device), ..Entity::default() };
            rows.amounts.push((amount(&row[1], Whose::Allocator, what, value, 1.0, Unit::Exact(factor_now)), entity));
        }
        rows.summary = Some(self.summary.clone());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{read, summary};
    use super::*;

    fn text(unit: &str) -> String {
        format!(
            "|===========================================================================|\n\
             |                  PyTorch CUDA memory summary, device ID 1                 |\n\
             |---------------------------------------------------------------------------|\n\
             |            CUDA OOMs: 1            |        cudaMalloc retries: 3         |\n\
             |        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n\
             | Allocated memory      |   14732 {unit} |   14761 {unit} |   22297 {unit} |    7564 {unit} |\n\
             |       from large pool |   13550 {unit} |   13592 {unit} |   20938 {unit} |    7388 {unit} |\n\
             | GPU reserved memory   |   22528 {unit} |   22528 {unit} |   22528 {unit} |       0 {unit} |\n\
             | Non-releasable memory |    1060 {unit} |    1060 {unit} |   22528 {unit} |       0 {unit} |\n\
             | Allocations           |    1200    |    1500    |   10500    |    9300    |\n"
        )
    }

    #[test]
    fn old_and_new_units() {
        for unit in ["KB", "KiB"] {
            let told = read(&text(unit));
            let expected = [("Allocated memory", 14732.0), ("GPU reserved memory", 22528.0)];
            let expected = expected.map(|(name, value)| (name.to_owned(), "gpu 1".to_owned(), value * 1024.0, None));
            assert_eq!(told, expected, "{unit}");
        }
    }

    #[test]
    fn a_single_table_is_kept_whole() {
        let kib = |now: u64, peak: u64| Some(Usage { now: now << 10, peak: peak << 10 });
        let expected = Summary {
            device: 1,
            ooms: 1,
            retries: 3,
            allocated: kib(14732, 14761),
            reserved: kib(22528, 22528),
            stuck: kib(1060, 1060),
            ..Summary::default()
        };
        assert_eq!(summary(&text("KiB")), Some(expected.clone()));
        let cut = text("KiB").replace("|   22528 KiB |   22528 KiB |   22528 KiB |       0 KiB |", "|   22528 KiB |   225");
        assert_eq!(summary(&cut), Some(Summary { reserved: None, ..expected }), "a number that may be cut is none");
    }
}
