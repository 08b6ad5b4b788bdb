//! What psutil's tuples look like when printed: `pmem(rss=15491072, vms=84025344, ...)`, `svmem(total=..., used=..., ...)`.
//!
//! Always bytes. `pfullmem` has `uss` and `pss` beside them. Of `svmem`, total less available is what is in use: `used` leaves
//! out what cannot be given back.

use super::super::Line;
use super::super::amounts::{Amount, Unit};
use super::super::name::{What, Whose};
use super::number_after;

pub(super) fn read(line: &Line<'_>, amounts: &mut Vec<Amount>) {
    const BYTES: Unit = Unit::Exact(1.0);
    if line.text.contains("pmem(rss=") || line.text.contains("pfullmem(rss=") {
        let found = number_after(line, &["rss"]);
        amounts.extend(found.map(|found| found.amount("rss", Whose::Process, What::Used, BYTES)));
    } else if line.text.contains("svmem(total=") {
        let (total, available) = (number_after(line, &["total"]), number_after(line, &["available"]));
        if let (Some(total), Some(available)) = (total, available) {
            let mut used = available.amount("memory in use", Whose::Machine, What::Used, BYTES);
            used.limit = Some(total.value);
            used.value = (total.value - available.value).max(0.0);
            amounts.push(used);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;
    use super::*;

    #[test]
    fn its_lines() {
        let told = read(
            super::read,
            "step 5 pmem(rss=15491072, vms=84025344, shared=5206016, text=2555904, lib=0, data=9891840, dirty=0)",
        );
        assert_eq!((told.len(), told[0].value, told[0].name.as_str()), (1, 15_491_072.0, "rss"));
        let told = read(super::read, "svmem(total=1000, available=400, percent=60.0, used=550, free=100)");
        assert_eq!((told.len(), told[0].value, told[0].limit, told[0].whose), (1, 600.0, Some(1000.0), Whose::Machine));
    }
}
