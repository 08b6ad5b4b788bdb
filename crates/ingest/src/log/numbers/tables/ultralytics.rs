//! What Ultralytics' trainers print (YOLOv5 and newer): a header `Epoch  GPU_mem  box_loss ...`, and a progress bar below it that
//! begins with `70/100  6.73G`.
//!
//! `torch.cuda.memory_reserved()` with three digits; `G` were of 10^9 bytes, in newer versions they are of 2^30 (7 % more). The bar
//! overwrites its line, so that there is a number for each time it was drawn.

use super::{Rows, What, Whose, amount};
use crate::log::numbers::Entity;
use crate::log::numbers::amounts::Unit;
use crate::log::numbers::clock;

#[derive(Debug)]
pub(super) struct Table;

pub(super) fn begin(text: &str) -> Option<Table> {
    let mut words = text.split_whitespace();
    let named = words.next()?.eq_ignore_ascii_case("epoch") && words.next()?.eq_ignore_ascii_case("gpu_mem");
    // Losses and what else is in the table.
    (named && words.next().is_some()).then_some(Table)
}

impl Table {
    pub(super) fn row(&mut self, text: &str, rows: &mut Rows) -> bool {
        let mut words = text.split_whitespace();
        let Some(first) = words.next() else { return true };
        let Some((epoch, epochs)) = first.split_once('/') else { return false };
        let (Ok(epoch), Ok(_)) = (epoch.parse::<u32>(), epochs.parse::<u32>()) else { return false };
        let Some(number) = words.next().and_then(|word| word.strip_suffix('G')) else { return false };
        let Ok(value) = number.parse::<f64>() else { return false };
        if !number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') || !value.is_finite() {
            return false;
        }
        let decimals = number.split_once('.').map_or(0, |(_, part)| part.len().min(12) as i32);
        rows.epoch = Some(f64::from(epoch));
        rows.elapsed_s = clock::elapsed(text);
        let entity = Entity::default();
        rows.amounts.push((
            amount("GPU_mem", Whose::Allocator, What::Reserved, value, 10.0_f64.powi(-decimals), Unit::Decimal(1e9)),
            entity,
        ));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::Tables;
    use super::super::tests::read;

    #[test]
    fn old_and_new_bars() {
        let old = "      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n    \
                   70/1000      6.73G      1.081     0.4706      1.084         10        640: 100%|##########| 16/16 [00:05<00:00,  2.78it/s]\n                 \
                   Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|##########| 8/8 [00:03<00:00,  2.17it/s]\n";
        assert_eq!(read(old), [("GPU_mem".to_owned(), String::new(), 6.73e9, None)]);
        let yolov5 = "     Epoch   gpu_mem       box       obj       cls    labels  img_size\n     0/299      3.4G     0.1     0.05    0.02   12   640: 100%|###| 8/8 [00:02<00:00, 3.9it/s]";
        assert_eq!(read(yolov5).len(), 1);
        let mut tables = Tables::default();
        let _ = tables.line("      Epoch    GPU_mem   box_loss");
        let new =
            "     12/300      3.87G       3.63      5.712      4.189        176        640: 100% ____ 8/8 3.1it/s 1:02<0:05";
        let rows = tables.line(new).expect("a row");
        assert_eq!((rows.epoch, rows.elapsed_s), (Some(12.0), Some(62.0)));
        for line in ["  12/300  nanG 3.6", "  12/300  3.87 3.6", "all 722 1444", "1/x 3G"] {
            let _ = tables.line("      Epoch    GPU_mem   box_loss");
            assert!(tables.line(line).is_none(), "{line}");
        }
    }
}
