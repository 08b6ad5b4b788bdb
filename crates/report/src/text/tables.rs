//! The two tables: every process in its tree, and memory by role.

use lowtide_model::{Bytes, Report};

use super::page::{Page, Style};
use super::table::{self, Column, Row};
use super::tree;
use super::words;

/// Rows of the tree where not all was asked for.
const SHORT_TREE: usize = 16;
/// Rows of the tree where there is room.
const LONG_TREE: usize = 400;

/// The tree, with `->` in front of the process to watch.
pub fn processes(page: &mut Page, report: &Report, verbose: bool) {
    if report.processes.is_empty() {
        return;
    }
    // Processes end one after the other, and an end is only seen at a tick.
    let slack_s = (3.0 * report.sampling.interval_s).max(2.0);
    let all = tree::rows(&report.processes, slack_s, verbose);
    let most = if page.lays_out() { SHORT_TREE } else { LONG_TREE };
    let (shown, rest) = if verbose { (all, Vec::new()) } else { tree::shorten(all, &report.processes, most) };
    let fastest = report.processes.iter().map(|process| process.growth).fold(0.0, f64::max);
    let span = words::span_for_bytes(fastest);
    let columns = [
        Column::mark(),
        Column::number("pid", 2),
        Column::text("process", 34, 0),
        Column::number("last", 0),
        Column::number("peak", 4),
        Column::number(&format!("growth/{}", span.short), 0),
        Column::text("command", 12, 3),
    ];
    let rows: Vec<Row> = shown
        .iter()
        .map(|row| {
            let process = &report.processes[row.first];
            let single = row.count == 1;
            let style = match () {
                () if process.watch => Style::Bold,
                () if row.ended => Style::Dim,
                () => Style::Plain,
            };
            let cells = vec![
                if process.watch { "->" } else { "" }.to_owned(),
                if single { process.pid.to_string() } else { String::new() },
                format!("{}{}", row.branch, row.label),
                if row.ended && row.bytes == 0 { "-".to_owned() } else { Bytes(row.bytes).to_string() },
                Bytes(row.peak_bytes).to_string(),
                if process.growth > 0.0 { words::signed(process.growth * span.seconds) } else { "-".to_owned() },
                process.name.clone(),
            ];
            Row { style, cells }
        })
        .collect();
    page.blank();
    table::write(page, &columns, &rows);
    if !rest.is_empty() {
        let count: usize = rest.iter().map(|row| row.count).sum();
        let bytes = rest.iter().map(|row| row.total_bytes).fold(0, u64::saturating_add);
        page.remark(format!("and {count} more, {} together", Bytes(bytes)));
    }
}

/// Memory by role: what it comes back down to, what it reached, how far it rose in between.
pub fn roles(page: &mut Page, report: &Report) {
    // A single process has said it all in the tree; spikes and the floor of a run are still worth a row.
    if report.roles.is_empty() {
        return;
    }
    let fastest = report.roles.iter().filter_map(|role| role.growth.or(role.growth_upper)).fold(0.0, f64::max);
    let span = words::span_for_bytes(fastest);
    let columns = [
        Column::text("by role", 27, 0),
        Column::number("procs", 3),
        Column::number("floor", 0),
        Column::number("spike", 2),
        Column::number("peak", 0),
        Column::number("shared", 4),
        Column::number("last", 1),
        Column::number(&format!("growth/{}", span.short), 0),
    ];
    let tree_only = report.roles.len() == 2 && report.roles[0].role.is_empty();
    let rows: Vec<Row> = report
        .roles
        .iter()
        .take(if tree_only { 1 } else { usize::MAX })
        .map(|role| {
            let growth = match (role.growth, role.growth_upper) {
                (Some(growth), _) => words::signed(growth * span.seconds),
                (None, Some(upper)) => format!("< {}", Bytes((upper.max(0.0) * span.seconds) as u64)),
                (None, None) => "?".to_owned(),
            };
            let label =
                if role.label.is_empty() { if role.role.is_empty() { "whole tree" } else { &role.role } } else { &role.label };
            let cells = vec![
                label.to_owned(),
                role.count.to_string(),
                Bytes(role.floor_bytes).to_string(),
                Bytes(role.spike_bytes).to_string(),
                Bytes(role.peak_bytes).to_string(),
                Bytes(role.shm_bytes).to_string(),
                Bytes(role.end_bytes).to_string(),
                growth,
            ];
            Row { style: if role.role.is_empty() { Style::Bold } else { Style::Plain }, cells }
        })
        .collect();
    page.blank();
    table::write(page, &columns, &rows);
}
