//! `torch.cuda.memory_summary()`: one point for each table and device.
//!
//! Units are of 1024 in all versions (`_format_size` in torch/cuda/memory.py), written `KB` in older ones. What it rounds to has
//! four digits and more.

use std::sync::LazyLock;

use regex::Regex;

use super::{Rows, What, Whose, amount};
use crate::log::numbers::Entity;
use crate::log::numbers::amounts::Unit;

#[derive(Debug)]
pub(super) struct Table {
    device: u32,
    lines: u32,
}

static TITLE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"PyTorch CUDA memory summary, device ID ([0-9]{1,4})").expect("a correct pattern"));
static ROW: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\| (Allocated memory|GPU reserved memory) +\| +([0-9]{1,12}) (B|[KMGTP]i?B) +\|").expect("a correct pattern")
});

pub(super) fn begin(text: &str) -> Option<Table> {
    let title = TITLE.captures(text)?;
    Some(Table { device: title[1].parse().ok()?, lines: 0 })
}

impl Table {
    pub(super) fn row(&mut self, text: &str, rows: &mut Rows) -> bool {
        const LINES: u32 = 64;
        self.lines += 1;
        let Some(row) = ROW.captures(text) else { return text.starts_with('|') && self.lines < LINES };
        let Ok(value) = row[2].parse::<f64>() else { return true };
        let power = "BKMGTP".find(&row[3][..1]).unwrap_or(0) as i32;
        let factor = 1024.0_f64.powi(power);
        let what = if &row[1] == "Allocated memory" { What::Used } else { What::Reserved };
        let entity = Entity { text: format!("gpu {}", self.device), device: Some(self.device), ..Entity::default() };
        rows.amounts.push((amount(&row[1], Whose::Allocator, what, value, 1.0, Unit::Exact(factor)), entity));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;

    #[test]
    fn old_and_new_units() {
        let text = |unit: &str| {
            format!(
                "|===========================================================================|\n\
                 |                  PyTorch CUDA memory summary, device ID 1                 |\n\
                 |---------------------------------------------------------------------------|\n\
                 |            CUDA OOMs: 1            |        cudaMalloc retries: 1         |\n\
                 |        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n\
                 | Allocated memory      |   14732 {unit} |   14761 {unit} |   22297 {unit} |    7564 {unit} |\n\
                 |       from large pool |   13550 {unit} |   13592 {unit} |   20938 {unit} |    7388 {unit} |\n\
                 | GPU reserved memory   |   22528 {unit} |   22528 {unit} |   22528 {unit} |       0 {unit} |\n"
            )
        };
        for unit in ["KB", "KiB"] {
            let told = read(&text(unit));
            let expected = [("Allocated memory", 14732.0), ("GPU reserved memory", 22528.0)];
            let expected = expected.map(|(name, value)| (name.to_owned(), "gpu 1".to_owned(), value * 1024.0, None));
            assert_eq!(told, expected, "{unit}");
        }
    }
}
