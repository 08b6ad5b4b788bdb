//! mmengine and mmcv: `... Epoch(train)  [1][ 50/100]  lr: ...  eta: ...  time: ...  data_time: ...  memory: 1234  loss: ...`.
//!
//! `torch.cuda.max_memory_allocated()` in MB of 2^20 bytes (mmengine/device/utils.py); mmengine resets it each time it writes,
//! mmcv never does.

use super::super::Line;
use super::super::amounts::{Amount, Unit};
use super::super::name::{What, Whose};
use super::number_after;

pub(super) fn read(line: &Line<'_>, amounts: &mut Vec<Amount>) {
    if !line.text.contains("data_time: ") {
        return;
    }
    let peak = number_after(line, &["memory"]);
    amounts.extend(peak.map(|found| found.amount("memory", Whose::Allocator, What::Peak, Unit::Exact(1_048_576.0))));
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;
    use super::*;

    #[test]
    fn its_lines() {
        let line = "mmengine - INFO - Epoch(train)  [1][ 50/100]  lr: 1.0e-03  eta: 0:10:00  time: 0.3  data_time: 0.01  memory: 4321  loss: 0.5";
        let told = read(super::read, line);
        assert_eq!((told[0].value, told[0].what, told.len()), (4321.0, What::Peak, 1));
        assert!(read(super::read, "epoch 1 memory: 1234").is_empty());
    }
}
