//! What PEFT's and accelerate's examples print of an epoch: `GPU Memory before entering the train : 1916`, and the same of the CPU.
//!
//! Whole units of 2^20 bytes (`b2mb` in `TorchTracemalloc`), with or without `MB` behind. Before an epoch nothing of a batch is
//! left, so it is a low tide; the differences (`end-begin`, `max-begin`) are none.

use std::sync::LazyLock;

use regex::Regex;

use super::super::Line;
use super::super::amounts::{Amount, Unit};
use super::super::name::{What, Whose};

static LINE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?-u:\b)(GPU|XPU|NPU|CPU) (Memory before entering|Total Peak Memory consumed during) the ([a-z]{2,12})(?: \(max\))? ?: ([0-9]{1,9})(?:MB)?[ \t]*$")
        .expect("a correct pattern")
});

pub(super) fn read(line: &Line<'_>, amounts: &mut Vec<Amount>) {
    let Some(found) = LINE.captures(line.text) else { return };
    let (Ok(value), Some(number)) = (found[4].parse::<f64>(), found.get(4)) else { return };
    let whose = if &found[1] == "CPU" { Whose::Process } else { Whose::Allocator };
    let before = found[2].starts_with("Memory before");
    let what = if before { What::Used } else { What::Peak };
    let name = format!("{} memory {} {}", &found[1], if before { "before" } else { "at the peak of" }, &found[3]);
    amounts.push(Amount {
        name,
        whose,
        what,
        value,
        last_digit: 1.0,
        unit: Unit::Exact(1_048_576.0),
        limit: None,
        at: number.start(),
    });
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;
    use super::*;

    #[test]
    fn its_lines() {
        for (line, whose, what, value) in [
            ("GPU Memory before entering the train : 1916", Whose::Allocator, What::Used, 1916.0),
            ("GPU Memory before entering the eval : 1916MB", Whose::Allocator, What::Used, 1916.0),
            ("GPU Total Peak Memory consumed during the train (max): 9404", Whose::Allocator, What::Peak, 9404.0),
            ("CPU Memory before entering the train : 19411", Whose::Process, What::Used, 19_411.0),
            ("CPU Total Peak Memory consumed during the train (max): 19411", Whose::Process, What::Peak, 19_411.0),
        ] {
            let told = read(super::read, line);
            assert_eq!((told.len(), told[0].whose, told[0].what, told[0].value), (1, whose, what, value), "{line}");
        }
        for line in [
            "GPU Memory consumed at the end of the train (end-begin): 66",
            "GPU Peak Memory consumed during the train (max-begin): 7488",
            "GPU Memory before entering the train : 1.9",
        ] {
            assert!(read(super::read, line).is_empty(), "{line}");
        }
    }
}
