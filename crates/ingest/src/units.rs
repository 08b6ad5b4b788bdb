//! The unit of a column whose header leaves it open, told by its numbers.

use lowtide_model::Bytes;

/// Pages of memory on every machine that trains today; sizes of resident memory are multiples of it.
const PAGE: f64 = 4096.0;

/// A unit and how it was told.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Guess {
    /// Bytes in one.
    pub factor: f64,
    /// Its name.
    pub name: &'static str,
    /// How it was told, as the end of a sentence.
    pub because: &'static str,
}

const fn guess(factor: f64, name: &'static str, because: &'static str) -> Guess {
    Guess { factor, name, because }
}

/// The unit of unlabelled amounts of memory of a process or machine.
pub(crate) fn of_unlabelled(values: &[f64]) -> Guess {
    let used: Vec<f64> = values.iter().copied().filter(|value| *value > 0.0).collect();
    let middle = median(&used);
    let whole = used.iter().all(|value| value.fract() == 0.0);
    if whole && middle >= 1e6 && used.iter().all(|value| value % PAGE == 0.0) {
        return guess(1.0, "bytes", "all are multiples of a page");
    }
    match (whole, middle) {
        (_, 1e9..) => guess(1.0, "bytes", "by their size"),
        // A trainer of 20 MB to 1 TB, in KiB, as ps and /proc write it.
        (true, 2e4..) => guess(1024.0, "KiB", "by their size"),
        (false, 1e6..) => guess(1024.0, "KiB", "by their size"),
        // A Python process with torch has no less than some 20 MiB.
        (_, 20.0..) => guess(1_048_576.0, "MiB", "by their size"),
        _ => guess(1_073_741_824.0, "GiB", "by their size"),
    }
}

/// Whether `MB` (or `GB`) is meant as a power of two: then all amounts are whole pages. Only numbers with enough
/// digits tell.
pub(crate) fn of_megabytes(decimal: f64, values: &[f64]) -> Guess {
    let binary = if decimal > 1e8 { 1_073_741_824.0 } else { 1_048_576.0 };
    const FEWEST: usize = 8;
    let used: Vec<f64> = values.iter().copied().filter(|value| *value > 0.0 && value.fract() != 0.0).collect();
    let near_page = |value: &&f64| {
        let pages = **value * binary / PAGE;
        // Numbers with too few digits come this near by chance in 4 of 100 cases.
        (pages - pages.round()).abs() <= 0.02
    };
    let hits = used.iter().filter(near_page).count();
    let is_binary = used.len() >= FEWEST && hits * 20 >= used.len() * 19;
    match (is_binary, decimal > 1e8) {
        (true, false) => guess(binary, "MiB", "all are whole pages then"),
        (true, true) => guess(binary, "GiB", "all are whole pages then"),
        (false, false) => guess(decimal, "MB of 10^6 bytes", "by its name"),
        (false, true) => guess(decimal, "GB of 10^9 bytes", "by its name"),
    }
}

/// The name of a factor, for a sentence.
pub(crate) fn name_of(factor: f64) -> &'static str {
    ["bytes", "KiB", "MiB", "GiB", "TiB", "kB", "MB", "GB"]
        .into_iter()
        .find(|name| Bytes::unit(name) == Some(factor))
        .unwrap_or("of its own unit")
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_units_by_size() {
        for (values, name) in [
            (vec![450_560_000.0, 450_564_096.0], "bytes"),
            (vec![8.1e9, 8.2e9], "bytes"),
            (vec![440_000.0, 440_004.0], "KiB"),
            (vec![430.5, 431.0], "MiB"),
            (vec![430.0, 431.0], "MiB"),
            (vec![1.5, 1.6], "GiB"),
            (vec![], "GiB"),
        ] {
            assert_eq!(of_unlabelled(&values).name, name, "{values:?}");
        }
    }

    #[test]
    fn tells_binary_megabytes_by_whole_pages() {
        let exact: Vec<f64> = (0..20).map(|i| f64::from(30_000 + 7 * i) * PAGE / 1_048_576.0).collect();
        assert_eq!(of_megabytes(1e6, &exact).name, "MiB");
        let rounded: Vec<f64> = exact.iter().map(|value| (value * 100.0).round() / 100.0).collect();
        assert_eq!(of_megabytes(1e6, &rounded).name, "MB of 10^6 bytes");
        let decimal: Vec<f64> = (0..20).map(|i| f64::from(30_000 + 7 * i) * PAGE / 1e6).collect();
        assert_eq!(of_megabytes(1e6, &decimal).name, "MB of 10^6 bytes");
    }
}
