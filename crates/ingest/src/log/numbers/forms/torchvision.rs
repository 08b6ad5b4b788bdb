//! torchvision's and DETR's `MetricLogger`: `Epoch: [0]  [ 10/100]  eta: ...  time: ...  data: ...  max mem: 1234`.
//!
//! `torch.cuda.max_memory_allocated() / 1024 / 1024` (references/detection/utils.py), never reset: it only rises.

use super::super::Line;
use super::super::amounts::{Amount, Unit};
use super::super::name::{What, Whose};
use super::number_after;

pub(super) fn read(line: &Line<'_>, amounts: &mut Vec<Amount>) {
    if !line.text.contains("eta: ") {
        return;
    }
    let peak = number_after(line, &["max", "mem"]);
    amounts.extend(peak.map(|found| found.amount("max mem", Whose::Allocator, What::Peak, Unit::Exact(1_048_576.0))));
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;
    use super::*;

    #[test]
    fn its_lines() {
        let line = "Epoch: [0]  [ 10/117]  eta: 0:01:02  lr: 0.001  loss: 0.5 (0.6)  time: 0.12  data: 0.01  max mem: 1234";
        let told = read(super::read, line);
        assert_eq!((told[0].value, told[0].unit, told[0].what), (1234.0, Unit::Exact(1_048_576.0), What::Peak));
        assert!(read(super::read, "max mem: 1234").is_empty(), "somebody else's, without a unit");
    }
}
