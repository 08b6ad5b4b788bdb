//! `free` printed again and again. It does not say its unit but with `-h`: a machine of 256 MiB to 16 TiB tells which of them
//! it can be; where two remain, nothing is read.

use super::{Rows, What, Whose, amount, word};
use crate::log::numbers::Entity;
use crate::log::numbers::amounts::Unit;

#[derive(Debug)]
pub(super) struct Table {
    /// The column of what can be had, counted from the first number.
    available: usize,
    lines: u32,
}

pub(super) fn begin(text: &str) -> Option<Table> {
    let mut names = text.split_whitespace();
    if names.next() != Some("total") || names.next() != Some("used") {
        return None;
    }
    let available = text.split_whitespace().position(|name| name == "available")?;
    Some(Table { available, lines: 0 })
}

impl Table {
    pub(super) fn row(&mut self, text: &str, rows: &mut Rows) -> bool {
        self.lines += 1;
        let Some(numbers) = text.trim_start().strip_prefix("Mem:") else { return self.lines < 4 };
        let cells: Vec<&str> = numbers.split_whitespace().collect();
        let (Some(total), Some(available)) = (cells.first(), cells.get(self.available)) else { return true };
        let bare = total.parse::<f64>().ok().map(unit_of);
        if bare == Some(None) {
            rows.passed = Some(("Mem", "the unit of `free` cannot be told by its numbers: use `free -h`, or `free -b`"));
            return true;
        }
        let read = |cell: &str| word(cell, bare.flatten());
        if let (Some((total, digit, _)), Some((available, ..))) = (read(total), read(available)) {
            let mut used =
                amount("memory in use", Whose::Machine, What::Used, (total - available).max(0.0), digit, Unit::Exact(1.0));
            used.limit = Some(total);
            rows.amounts.push((used, Entity::default()));
        }
        true
    }
}

/// Bytes in one, by the machine's whole memory; `None` where two units make sense.
fn unit_of(total: f64) -> Option<f64> {
    const LEAST: f64 = 256.0 * 1_048_576.0;
    const MOST: f64 = 16.0 * 1_099_511_627_776.0;
    let units = [1.0, 1024.0, 1024.0 * 1024.0, 1024.0 * 1024.0 * 1024.0];
    let mut fits = units.into_iter().filter(|unit| (LEAST..=MOST).contains(&(total * unit)));
    match (fits.next(), fits.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;

    fn of(mem: &str) -> Vec<(f64, Option<f64>)> {
        let header = "               total        used        free      shared  buff/cache   available\n";
        let told = read(&format!("{header}Mem:  {mem}\nSwap:  0 0 0\n"));
        told.into_iter().map(|(_, _, value, limit)| (value, limit)).collect()
    }

    #[test]
    fn units_that_can_be_told() {
        const MIB: f64 = 1_048_576.0;
        assert_eq!(of("24043 5012 1 2 3 18000"), [(6043.0 * MIB, Some(24043.0 * MIB))]);
        assert_eq!(of("24620000 5 1 2 3 18000000"), [(6_620_000.0 * 1024.0, Some(24_620_000.0 * 1024.0))]);
        assert_eq!(of("23Gi 4.9Gi 1Gi 2Mi 14Gi 18Gi"), [(5120.0 * MIB, Some(23.0 * 1024.0 * MIB))]);
        // 8 GB in KiB, or 8 TB in MiB.
        assert!(of("8388608 5 1 2 3 18000").is_empty());
    }
}
