//! Tables that programs print again and again: a file each. A header opens one, its rows are amounts, any other line ends it.

mod docker_stats;
mod free;
mod kubectl_top;
pub(super) mod memory_summary;
mod metrics_csv;
mod nvidia_csv;
mod nvidia_smi;
mod ps;
mod ultralytics;

use super::Entity;
use super::amounts::{Amount, Unit};
use super::name::{What, Whose};

/// One table's own state between its lines.
#[derive(Debug)]
enum Open {
    Summary(memory_summary::Table),
    Smi(nvidia_smi::Table),
    SmiCsv(nvidia_csv::Table),
    Free(free::Table),
    Ps(ps::Table),
    Docker(docker_stats::Table),
    Kubectl(kubectl_top::Table),
    Metrics(metrics_csv::Table),
    Ultralytics(ultralytics::Table),
}

/// What a line of a table holds.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub form: &'static str,
    pub amounts: Vec<(Amount, Entity)>,
    /// The time in the line, seconds.
    pub time_s: Option<f64>,
    /// The seconds of the line's progress bar.
    pub elapsed_s: Option<f64>,
    /// The step in the line.
    pub step: Option<f64>,
    /// The epoch in the line.
    pub epoch: Option<f64>,
    /// A name that was left out, and why.
    pub passed: Option<(&'static str, &'static str)>,
    /// PyTorch's table as far as it was read.
    pub summary: Option<memory_summary::Summary>,
}

/// The table that one writer is in the middle of.
#[derive(Debug, Default)]
pub(super) struct Tables {
    open: Option<Open>,
}

impl Tables {
    /// Reads a line if it belongs to a table.
    pub(super) fn line(&mut self, text: &str) -> Option<Rows> {
        if let Some(open) = begin(text) {
            self.open = Some(open);
            return Some(Rows::default());
        }
        let mut rows = Rows::default();
        let (form, goes_on) = match self.open.as_mut()? {
            Open::Summary(table) => ("torch.cuda.memory_summary", table.row(text, &mut rows)),
            Open::Smi(table) => ("nvidia-smi", table.row(text, &mut rows)),
            Open::SmiCsv(table) => ("nvidia-smi as CSV", table.row(text, &mut rows)),
            Open::Free(table) => ("free", table.row(text, &mut rows)),
            Open::Ps(table) => ("ps and top", table.row(text, &mut rows)),
            Open::Docker(table) => ("docker stats", table.row(text, &mut rows)),
            Open::Kubectl(table) => ("kubectl top", table.row(text, &mut rows)),
            Open::Metrics(table) => ("CSV of metrics", table.row(text, &mut rows)),
            Open::Ultralytics(table) => ("Ultralytics", table.row(text, &mut rows)),
        };
        rows.form = form;
        if !goes_on {
            self.open = None;
            return None;
        }
        Some(rows)
    }
}

fn begin(text: &str) -> Option<Open> {
    // A header has none of what a sentence has; most lines end here.
    let first = *text.trim_start().as_bytes().first()?;
    match first {
        b'|' => memory_summary::begin(text).map(Open::Summary).or_else(|| nvidia_smi::begin(text).map(Open::Smi)),
        b'+' => None,
        _ => nvidia_csv::begin(text)
            .map(Open::SmiCsv)
            .or_else(|| free::begin(text).map(Open::Free))
            .or_else(|| ps::begin(text).map(Open::Ps))
            .or_else(|| docker_stats::begin(text).map(Open::Docker))
            .or_else(|| kubectl_top::begin(text).map(Open::Kubectl))
            .or_else(|| metrics_csv::begin(text).map(Open::Metrics))
            .or_else(|| ultralytics::begin(text).map(Open::Ultralytics)),
    }
}

/// An amount of a table.
fn amount(name: &str, whose: Whose, what: What, value: f64, last_digit: f64, unit: Unit) -> Amount {
    Amount { name: name.to_owned(), whose, what, value, last_digit, unit, limit: None, at: 0 }
}

/// A number with its unit in one word: `12345MiB`, `1.2GiB`, `1234Mi`, `1.2g`, `123456`.
fn word(text: &str, bare: Option<f64>) -> Option<(f64, f64, f64)> {
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let value: f64 = number.parse().ok().filter(|value: &f64| value.is_finite())?;
    let decimals = number.split_once('.').map_or(0, |(_, part)| part.len().min(12));
    let power = |exponent: i32| 1024.0_f64.powi(exponent);
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" => bare?,
        "b" => 1.0,
        "k" | "ki" | "kib" => power(1),
        "m" | "mi" | "mib" => power(2),
        "g" | "gi" | "gib" => power(3),
        "t" | "ti" | "tib" => power(4),
        // Docker's decimal ones.
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        _ => return None,
    };
    Some((value * factor, factor * 10.0_f64.powi(-(decimals as i32)), factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the lines of a table say: entity, value in bytes, limit in bytes.
    pub(super) fn read(text: &str) -> Vec<(String, String, f64, Option<f64>)> {
        let mut tables = Tables::default();
        let rows = text.lines().filter_map(|line| tables.line(line));
        rows.flat_map(|rows| rows.amounts)
            .map(|(amount, entity)| {
                let factor = amount.unit.factor();
                (amount.name, entity.text, amount.value * factor, amount.limit.map(|limit| limit * factor))
            })
            .collect()
    }

    /// PyTorch's table at its end.
    pub(super) fn summary(text: &str) -> Option<memory_summary::Summary> {
        let mut tables = Tables::default();
        text.lines().filter_map(|line| tables.line(line)?.summary).last()
    }

    #[test]
    fn a_sentence_is_no_table() {
        for line in ["PID of the trainer: 12", "free memory total used", "NAME of the pod", "| Allocated memory |"] {
            assert!(read(line).is_empty(), "{line}");
        }
    }
}
