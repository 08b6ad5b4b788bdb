//! Megatron-LM: `[Rank 0] (after 2 iterations) memory (MB) | allocated: 1234.5 | max allocated: 2345.6 | reserved: ... | max reserved: ...`.
//!
//! MB of 2^20 bytes (`report_memory` in megatron/training/utils.py).

use super::super::Line;
use super::super::amounts::{Amount, Unit};
use super::super::name::{What, Whose};
use super::number_after;

pub(super) fn read(line: &Line<'_>, amounts: &mut Vec<Amount>) {
    if !line.text.contains("memory (MB) |") {
        return;
    }
    let names: [(&[&str], &str, What); 3] = [
        (&["|", "allocated"], "allocated", What::Used),
        (&["max", "allocated"], "max allocated", What::Peak),
        (&["|", "reserved"], "reserved", What::Reserved),
    ];
    for (words, name, what) in names {
        let found = number_after(line, words);
        amounts.extend(found.map(|found| found.amount(name, Whose::Allocator, what, Unit::Exact(1_048_576.0))));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;

    #[test]
    fn its_lines() {
        let line = "(after 2 iterations) memory (MB) | allocated: 1234.5 | max allocated: 2345.6 | reserved: 3456.0 | max reserved: 3456.0";
        let told: Vec<(String, f64)> = read(super::read, line).into_iter().map(|amount| (amount.name, amount.value)).collect();
        let expected = [("allocated", 1234.5), ("max allocated", 2345.6), ("reserved", 3456.0)];
        assert_eq!(told, expected.map(|(name, value)| (name.to_owned(), value)));
    }
}
