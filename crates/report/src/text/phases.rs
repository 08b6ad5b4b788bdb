//! What each phase needs while it lasts, and what stays of it, by the marks of its process.

use lowtide_model::{Bytes, PhaseReport, Report};

use super::epochs::{chosen, whose};
use super::page::{Page, Style};
use super::table::{self, Column, Row};
use super::words;

/// Rows of a process where not all was asked for: those with the most time.
const SHORT: usize = 6;

/// The table, for each process with phases.
pub fn table(page: &mut Page, report: &Report, verbose: bool) {
    for line in chosen(report, verbose) {
        let all: Vec<&PhaseReport> = report.phases.iter().filter(|row| row.id == line.id).collect();
        if all.is_empty() {
            continue;
        }
        let shown = if verbose { all.len() } else { all.len().min(SHORT) };
        write(page, &all[..shown], &format!("{}phase", whose(line.pid, line.rank, report)));
        if shown < all.len() {
            let text = format!("{} left out", words::pieces((all.len() - shown) as u64, "phase", "phases"));
            page.remark(text);
        }
    }
}

fn write(page: &mut Page, rows: &[&PhaseReport], title: &str) {
    let columns = [
        Column::text(title, 24, 0),
        Column::number("times", 2),
        Column::number("in all", 3),
        Column::number("steps", 1),
        Column::number("floor", 1),
        Column::number("peak", 0),
        Column::number("spike", 0),
        Column::number("stays live", 1),
    ];
    let size = |bytes: Option<u64>| bytes.map_or_else(|| "-".to_owned(), |bytes| Bytes(bytes).to_string());
    let left = |bytes: Option<f64>| bytes.filter(|b| b.is_finite()).map_or_else(|| "-".to_owned(), words::signed);
    let rows: Vec<Row> = rows
        .iter()
        .map(|row| Row {
            style: Style::Plain,
            cells: vec![
                row.name.clone(),
                row.count.to_string(),
                words::span(row.seconds),
                row.steps.to_string(),
                size(row.floor_bytes),
                size(row.peak_bytes),
                size(row.spike_bytes),
                left(row.live_left_bytes),
            ],
        })
        .collect();
    page.blank();
    table::write(page, &columns, &rows);
}
