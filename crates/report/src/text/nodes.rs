//! What each federated node leaves behind per round, by the marks of its process.

use lowtide_model::{NodeReport, Report};

use super::epochs::{chosen, whose};
use super::page::{Page, Style};
use super::table::{self, Column, Row};
use super::words;

/// Rows of a process where not all was asked for: those that leave most.
const SHORT: usize = 6;

/// The table, for each process with nodes.
pub fn table(page: &mut Page, report: &Report, verbose: bool) {
    for line in chosen(report, verbose) {
        let all: Vec<&NodeReport> = report.nodes.iter().filter(|row| row.id == line.id).collect();
        if all.is_empty() {
            continue;
        }
        let shown = if verbose { all.len() } else { all.len().min(SHORT) };
        write(page, &all[..shown], &format!("{}node", whose(line.pid, line.rank, report)));
        if shown < all.len() {
            let text = format!("{} left out", words::pieces((all.len() - shown) as u64, "node", "nodes"));
            page.remark(text);
        }
    }
}

fn write(page: &mut Page, rows: &[&NodeReport], title: &str) {
    let gpu = rows.iter().any(|row| row.allocated_bytes_per_round.is_some());
    let mut columns = vec![
        Column::text(title, 24, 0),
        Column::number("rounds", 1),
        Column::number("steps", 2),
        Column::number("live per round", 0),
    ];
    if gpu {
        columns.push(Column::number("allocated per round", 0));
    }
    let change = |bytes: Option<f64>| bytes.filter(|b| b.is_finite()).map_or_else(|| "-".to_owned(), words::signed);
    let rows: Vec<Row> = rows
        .iter()
        .map(|row| {
            let mut cells =
                vec![row.name.clone(), row.rounds.to_string(), row.steps.to_string(), change(row.live_bytes_per_round)];
            if gpu {
                cells.push(change(row.allocated_bytes_per_round));
            }
            Row { style: Style::Plain, cells }
        })
        .collect();
    page.blank();
    table::write(page, &columns, &rows);
}
