//! fairseq: `2021-05-10 14:26:15 | INFO | train_inner | epoch 001: 100 / 34323 loss=9.2, ..., gb_free=12.8, wall=120`.
//!
//! `gb_free` is what the card has less the most that PyTorch had in use since the line before (fairseq/trainer.py), in units of
//! 2^30 bytes with one decimal. So with the card's size, which it says at its start, it is a peak; without that it says nothing.

use std::sync::LazyLock;

use regex::Regex;

use super::super::Line;
use super::super::amounts::{Amount, Unit};
use super::super::name::{What, Whose};

const GIB: f64 = 1_073_741_824.0;

static CARD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"; total memory = ([0-9]{1,4}\.[0-9]{1,3}) GB ; name = ").expect("a correct pattern"));
static FREE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?-u:\b)gb_free"?(?:=| |: ?"?)([0-9]{1,4}(?:\.[0-9])?)(?:[ ,"}]|$)"#).expect("a correct pattern")
});

/// What a card has, bytes.
pub(super) fn card(text: &str) -> Option<f64> {
    CARD.captures(text)?[1].parse::<f64>().ok().map(|gib| gib * GIB)
}

pub(super) fn read(line: &Line<'_>, amounts: &mut Vec<Amount>) {
    let Some(found) = FREE.captures(line.text).and_then(|found| found.get(1)) else { return };
    let (Some(card), Ok(free)) = (line.card, found.as_str().parse::<f64>()) else { return };
    let used = card / GIB - free;
    if used >= 0.0 {
        let name = "in use at most (gb_free)".to_owned();
        let (whose, what, unit) = (Whose::Allocator, What::Peak, Unit::Exact(GIB));
        amounts.push(Amount {
            name,
            whose,
            what,
            value: used,
            last_digit: 0.1,
            unit,
            limit: Some(card / GIB),
            at: found.start(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read_with;
    use super::*;

    #[test]
    fn its_lines() {
        let said = "fairseq.utils | rank   0: capabilities =  7.0  ; total memory = 31.750 GB ; name = Tesla V100-SXM2-32GB";
        let card = card(said);
        assert_eq!(card, Some(31.75 * GIB));
        for line in [
            "INFO | train_inner | epoch 001:  100 / 34323 loss=9.2, num_updates=100, gb_free=12.8, wall=60",
            "INFO | train | epoch 050 | loss 3.945 | train_wall 58 | gb_free 12.8 | wall 4187",
            r#"{"epoch": 27, "loss": "8.206", "gb_free": "12.8", "wall": "30542"}"#,
        ] {
            let told = read_with(read, line, card);
            assert_eq!((told.len(), told[0].what, told[0].limit), (1, What::Peak, Some(31.75)), "{line}");
            assert!((told[0].value - 18.95).abs() < 1e-9, "{line}");
            assert!(read_with(read, line, None).is_empty(), "of a card that nobody told of");
        }
        assert!(read_with(read, "gb_free=12.85.3", card).is_empty());
    }
}
