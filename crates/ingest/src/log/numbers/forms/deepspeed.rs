//! DeepSpeed's `see_memory_usage`: `MA 1.2 GB         Max_MA 1.3 GB         CA 1.5 GB         Max_CA 2 GB`, and
//! `CPU Virtual Memory:  used = 12.3 GB, percent = 5.6%`.
//!
//! All GB are of 2^30 bytes (deepspeed/runtime/utils.py); MA is what is allocated, CA what is reserved. The maxima are
//! reset at each call.

use super::super::Line;
use super::super::amounts::{Amount, Unit};
use super::super::name::{What, Whose};
use super::number_after;

const GIB: Unit = Unit::Exact(1_073_741_824.0);

pub(super) fn read(line: &Line<'_>, amounts: &mut Vec<Amount>) {
    if line.text.contains("CPU Virtual Memory:") {
        let used = number_after(line, &["used"]);
        amounts.extend(used.map(|found| found.amount("CPU Virtual Memory used", Whose::Machine, What::Used, GIB)));
        return;
    }
    if !(line.text.contains("MA ") && line.text.contains("Max_CA ")) {
        return;
    }
    for (word, what) in [("MA", What::Used), ("Max_MA", What::Peak), ("CA", What::Reserved)] {
        let found = number_after(line, &[word]);
        amounts.extend(found.map(|found| found.amount(word, Whose::Allocator, what, GIB)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;
    use super::*;

    #[test]
    fn its_lines() {
        let told = read(super::read, "MA 1.2 GB         Max_MA 1.3 GB         CA 1.5 GB         Max_CA 2 GB");
        let told: Vec<(String, f64, What)> = told.into_iter().map(|amount| (amount.name, amount.value, amount.what)).collect();
        let expected = [("MA", 1.2, What::Used), ("Max_MA", 1.3, What::Peak), ("CA", 1.5, What::Reserved)];
        assert_eq!(told, expected.map(|(name, value, what)| (name.to_owned(), value, what)));
        let host = read(super::read, "CPU Virtual Memory:  used = 12.3 GB, percent = 5.6%");
        assert_eq!((host[0].value, host[0].whose, host[0].unit), (12.3, Whose::Machine, GIB));
    }
}
