//! What each epoch, round or node took, by the marks of its process.

use lowtide_model::{Bytes, EpochReport, ProgressReport, Report};

use super::page::{Page, Style};
use super::table::{self, Column, Row};
use super::words;

/// Rows of a process where not all was asked for: its first, and its last ones.
const SHORT: usize = 8;
/// Processes where not all was asked for.
const PROCESSES: usize = 3;

/// The table, for each process with marks.
pub fn table(page: &mut Page, report: &Report, verbose: bool) {
    let processes = chosen(report, verbose);
    for line in &processes {
        let all: Vec<&EpochReport> = report.epochs.iter().filter(|row| row.id == line.id).collect();
        if all.is_empty() {
            continue;
        }
        let skipped = if verbose { 0 } else { all.len().saturating_sub(SHORT) };
        let shown: Vec<&EpochReport> =
            all.iter().enumerate().filter(|(i, _)| *i == 0 || *i > skipped).map(|(_, row)| *row).collect();
        write(page, &shown, &format!("{}epoch", whose(line.pid, line.rank, report)));
        if skipped > 0 {
            let text = format!(
                "{} left out after the first; --verbose shows all that are kept",
                words::pieces(skipped as u64, "row", "rows")
            );
            page.remark(text);
        }
    }
    let more = report.progress.len() - processes.len();
    if more > 0 {
        let text = format!("{} more with marks; --verbose shows all", words::pieces(more as u64, "process", "processes"));
        page.remark(text);
    }
}

/// The processes whose tables are shown: where not all was asked for, the one that leaks and a few to hold it against.
pub fn chosen(report: &Report, verbose: bool) -> Vec<&ProgressReport> {
    let leaking = report.leak().and_then(|leak| leak.process.as_ref()).map(|process| process.pid);
    let mut lines: Vec<&ProgressReport> = report.progress.iter().collect();
    if !verbose {
        lines.sort_by_key(|line| Some(line.pid) != leaking);
        lines.truncate(PROCESSES);
    }
    lines
}

/// `rank 1, ` where several processes have marks, else nothing.
pub fn whose(pid: u32, rank: Option<u32>, report: &Report) -> String {
    match rank {
        _ if report.progress.len() < 2 => String::new(),
        Some(rank) => format!("rank {rank}, "),
        None => format!("pid {pid}, "),
    }
}

fn write(page: &mut Page, rows: &[&EpochReport], title: &str) {
    let gpu = rows.iter().any(|row| row.reserved_bytes.is_some());
    let mut columns = vec![
        Column::text(title, 24, 0),
        Column::number("start", 4),
        Column::number("end", 3),
        Column::number("floor", 0),
        Column::number("delta", 0),
        Column::number("peak", 1),
        Column::number("live", 1),
    ];
    if gpu {
        columns.extend([Column::number("allocated", 0), Column::number("reserved", 1)]);
    }
    columns.extend([Column::number("steps", 2), Column::number("per step", 2)]);
    let losses = rows.iter().any(|row| row.loss.is_some());
    if losses {
        columns.push(Column::number("loss", 1));
    }
    let size = |bytes: Option<u64>| bytes.map_or_else(|| "-".to_owned(), |bytes| Bytes(bytes).to_string());
    let change = |bytes: Option<f64>| bytes.filter(|b| b.is_finite()).map_or_else(|| "-".to_owned(), words::signed);
    let rows: Vec<Row> = rows
        .iter()
        .map(|row| {
            let mut cells = vec![
                name(row),
                size(row.start_bytes),
                size(row.end_bytes),
                size(row.floor_bytes),
                change(row.delta_bytes),
                size(row.peak_bytes),
                change(row.live_delta_bytes),
            ];
            if gpu {
                cells.extend([size(row.allocated_bytes), size(row.reserved_bytes)]);
            }
            cells.extend([
                row.steps.to_string(),
                row.mean_step_s.filter(|s| s.is_finite()).map_or_else(|| "-".to_owned(), words::step),
            ]);
            if losses {
                cells.push(row.loss.filter(|loss| loss.is_finite()).map_or_else(|| "-".to_owned(), words::loss));
            }
            Row { style: if row.end_s.is_none() { Style::Dim } else { Style::Plain }, cells }
        })
        .collect();
    page.blank();
    table::write(page, &columns, &rows);
}

/// `round 2, node a, 3`, as far as there are such.
fn name(row: &EpochReport) -> String {
    let mut parts = Vec::new();
    parts.extend(row.round.map(|round| format!("round {round}")));
    parts.extend(row.node.clone().filter(|node| !node.is_empty()));
    parts.extend(row.epoch.map(|epoch| epoch.to_string()));
    let going_on = if row.end_s.is_none() { " (last)" } else { "" };
    format!("{}{going_on}", parts.join(", "))
}
