//! `nvidia-smi` printed again and again: what is used of each card, and by each process.

use std::sync::LazyLock;

use regex::Regex;

use super::{Rows, What, Whose, amount};
use crate::log::numbers::Entity;
use crate::log::numbers::amounts::Unit;

const MIB: Unit = Unit::Exact(1_048_576.0);

#[derive(Debug)]
pub(super) struct Table {
    card: Option<u32>,
    lines: u32,
}

struct Forms {
    card: Regex,
    memory: Regex,
    process: Regex,
}

static FORMS: LazyLock<Forms> = LazyLock::new(|| {
    let form = |text: &str| Regex::new(text).expect("a correct pattern");
    Forms {
        card: form(r"^\| +([0-9]{1,3}) +\S.*\| *[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:"),
        memory: form(r"\| +([0-9]{1,9})MiB / +([0-9]{1,9})MiB \|"),
        process: form(r"^\| +([0-9]{1,3}) +(?:\S+ +\S+ +)?([0-9]{1,9}) +[CG+M]{1,3} +(\S.*?) +([0-9]{1,9})MiB \|$"),
    }
});

pub(super) fn begin(text: &str) -> Option<Table> {
    text.starts_with("| NVIDIA-SMI ").then_some(Table { card: None, lines: 0 })
}

impl Table {
    pub(super) fn row(&mut self, text: &str, rows: &mut Rows) -> bool {
        const LINES: u32 = 1000;
        self.lines += 1;
        let text = text.trim_end();
        if let Some(card) = FORMS.card.captures(text) {
            self.card = card[1].parse().ok();
        } else if let Some(memory) = FORMS.memory.captures(text) {
            if let (Some(card), Ok(used), Ok(total)) = (self.card.take(), memory[1].parse::<f64>(), memory[2].parse::<f64>()) {
                let mut used = amount("memory used", Whose::Card, What::Used, used, 1.0, MIB);
                used.limit = Some(total);
                rows.amounts.push((used, Entity { text: format!("gpu {card}"), device: Some(card), ..Entity::default() }));
            }
        } else if let Some(process) = FORMS.process.captures(text)
            && let (Ok(card), Ok(pid), Ok(used)) =
                (process[1].parse::<u32>(), process[2].parse::<u32>(), process[4].parse::<f64>())
        {
            let entity =
                Entity { text: format!("gpu {card}, pid {pid}"), device: Some(card), pid: Some(pid), ..Entity::default() };
            rows.amounts.push((amount("memory of a process", Whose::Card, What::Used, used, 1.0, MIB), entity));
        }
        self.lines < LINES && (text.is_empty() || text.starts_with(['|', '+']))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;

    #[test]
    fn cards_and_processes() {
        let text = "\
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 525.105.17   Driver Version: 525.105.17   CUDA Version: 12.0     |
|-------------------------------+----------------------+----------------------+
|   0  NVIDIA A100-SXM...  Off  | 00000000:00:04.0 Off |                    0 |
| N/A   34C    P0    45W / 400W |  12345MiB / 40960MiB |     99%      Default |
|                               |                      |             Disabled |
+-------------------------------+----------------------+----------------------+

+-----------------------------------------------------------------------------+
|  GPU   GI   CI        PID   Type   Process name                  GPU Memory |
|=============================================================================|
|    0   N/A  N/A      1234      C   python train.py                 12000MiB |
+-----------------------------------------------------------------------------+";
        const MIB: f64 = 1_048_576.0;
        let expected = [
            ("memory used".to_owned(), "gpu 0".to_owned(), 12345.0 * MIB, Some(40960.0 * MIB)),
            ("memory of a process".to_owned(), "gpu 0, pid 1234".to_owned(), 12000.0 * MIB, None),
        ];
        assert_eq!(read(text), expected);
    }
}
