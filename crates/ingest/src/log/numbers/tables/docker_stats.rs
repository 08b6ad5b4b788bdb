//! `docker stats`: `CONTAINER ID   NAME   CPU %   MEM USAGE / LIMIT   ...`, and rows of `1.2GiB / 31GiB`.

use std::sync::LazyLock;

use regex::Regex;

use super::{Rows, What, Whose, amount, word};
use crate::log::numbers::Entity;
use crate::log::numbers::amounts::Unit;

#[derive(Debug)]
pub(super) struct Table;

static ROW: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\S+ +(\S+) +[0-9.]+% +([0-9.]+[kKMGT]?i?B) / ([0-9.]+[kKMGT]?i?B) ").expect("a correct pattern")
});

pub(super) fn begin(text: &str) -> Option<Table> {
    (text.starts_with("CONTAINER") && text.contains("MEM USAGE / LIMIT")).then_some(Table)
}

impl Table {
    #[allow(clippy::unused_self, reason = "as every table")]
    pub(super) fn row(&mut self, text: &str, rows: &mut Rows) -> bool {
        let Some(row) = ROW.captures(text) else { return text.trim().is_empty() };
        if let (Some((used, digit, _)), Some((limit, ..))) = (word(&row[2], None), word(&row[3], None)) {
            let mut used = amount("MEM USAGE", Whose::Unsaid, What::Used, used, digit, Unit::Exact(1.0));
            used.limit = Some(limit);
            rows.amounts.push((used, Entity { text: crate::text::cut(&row[1]), ..Entity::default() }));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;

    #[test]
    fn its_rows() {
        const GIB: f64 = 1_073_741_824.0;
        let told = read(
            "CONTAINER ID   NAME      CPU %     MEM USAGE / LIMIT     MEM %     NET I/O     BLOCK I/O   PIDS\n\
             0123456789ab   train-1   99.5%     1.5GiB / 31.25GiB     4.80%     1kB / 0B    0B / 0B     12\n",
        );
        assert_eq!(told, [("MEM USAGE".to_owned(), "train-1".to_owned(), 1.5 * GIB, Some(31.25 * GIB))]);
    }
}
