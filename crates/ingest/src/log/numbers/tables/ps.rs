//! `ps` and `top -b` printed again and again: resident memory of each process of 16 MiB and more, in KiB or with a letter (`1.2g`).

use super::{Rows, What, Whose, amount, word};
use crate::log::numbers::Entity;
use crate::log::numbers::amounts::Unit;

/// Less than any Python that trains; lists of all processes have hundreds of them.
const LEAST: f64 = 16.0 * 1_048_576.0;

#[derive(Debug)]
pub(super) struct Table {
    columns: usize,
    pid: usize,
    resident: usize,
}

pub(super) fn begin(text: &str) -> Option<Table> {
    // Most lines end here.
    if !text.contains("PID") {
        return None;
    }
    let names: Vec<&str> = text.split_whitespace().collect();
    let at = |wanted: &[&str]| names.iter().position(|name| wanted.contains(name));
    let (pid, resident) = (at(&["PID"])?, at(&["RSS", "RES"])?);
    let upper = names.iter().all(|name| !name.bytes().any(|b| b.is_ascii_lowercase()));
    (upper && names.len() >= 2).then_some(Table { columns: names.len(), pid, resident })
}

impl Table {
    pub(super) fn row(&mut self, text: &str, rows: &mut Rows) -> bool {
        let cells: Vec<&str> = text.split_whitespace().collect();
        if cells.len() < self.columns {
            return false;
        }
        let Ok(pid) = cells[self.pid].parse::<u32>() else { return false };
        let Some((bytes, digit, _)) = word(cells[self.resident], Some(1024.0)) else { return false };
        if bytes < LEAST {
            return true;
        }
        // The command is last, and its own words follow.
        let command = cells[self.columns - 1].rsplit('/').next().unwrap_or("");
        let command = crate::text::cut(command);
        let entity = Entity { text: format!("{command}, pid {pid}"), pid: Some(pid), ..Entity::default() };
        rows.amounts.push((amount("resident", Whose::Process, What::Used, bytes, digit, Unit::Exact(1.0)), entity));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;

    #[test]
    fn both_programs() {
        let told = read(
            "USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n\
             root        4242  0.5  1.0 123456 65536 ?        Sl   10:00   0:01 /usr/bin/python3 train.py\n\
             \n",
        );
        assert_eq!(told, [("resident".to_owned(), "python3, pid 4242".to_owned(), 65536.0 * 1024.0, None)]);
        let told = read(
            "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n\
             4242 root      20   0   10.1g   1.5g  12345 R 100.0   9.0   1:23.45 python\n",
        );
        assert_eq!(told, [("resident".to_owned(), "python, pid 4242".to_owned(), 1.5 * 1_073_741_824.0, None)]);
    }
}
