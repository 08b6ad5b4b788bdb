//! `kubectl top pod`: `NAME   CPU(cores)   MEMORY(bytes)`, and rows of `1234Mi`: the working set.

use super::{Rows, What, Whose, amount, word};
use crate::log::numbers::Entity;
use crate::log::numbers::amounts::Unit;

#[derive(Debug)]
pub(super) struct Table {
    columns: usize,
    names: usize,
    memory: usize,
}

pub(super) fn begin(text: &str) -> Option<Table> {
    if !text.contains("MEMORY(bytes)") {
        return None;
    }
    let names: Vec<&str> = text.split_whitespace().collect();
    let memory = names.iter().position(|name| *name == "MEMORY(bytes)")?;
    Some(Table { columns: names.len(), names: names.iter().position(|name| name.starts_with("CPU("))?, memory })
}

impl Table {
    pub(super) fn row(&mut self, text: &str, rows: &mut Rows) -> bool {
        let cells: Vec<&str> = text.split_whitespace().collect();
        if cells.len() != self.columns {
            return text.trim().is_empty();
        }
        let Some((used, digit, _)) = word(cells[self.memory], Some(1.0)) else { return false };
        let entity = Entity { text: crate::text::cut(&cells[..self.names].join("/")), ..Entity::default() };
        rows.amounts.push((amount("MEMORY(bytes)", Whose::Unsaid, What::Used, used, digit, Unit::Exact(1.0)), entity));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;

    #[test]
    fn its_rows() {
        const MIB: f64 = 1_048_576.0;
        let told = read("NAME      CPU(cores)   MEMORY(bytes)   \ntrain-0   1003m        1234Mi          \n");
        assert_eq!(told, [("MEMORY(bytes)".to_owned(), "train-0".to_owned(), 1234.0 * MIB, None)]);
    }
}
