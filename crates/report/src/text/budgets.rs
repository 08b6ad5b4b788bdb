//! What memory is for: parameters, gradients, optimizer state, batches, holes, ... at a low tide and near the peak of each phase.

use lowtide_model::{BudgetReport, Bytes, Report};

use super::page::{Page, Style};
use super::table::{self, Column, Row};
use super::words;

/// A part that nowhere has this share of the largest moment is one of the smaller ones, where not all was asked for.
const WORTH: f64 = 0.005;

/// What is shown however little it is: what a person asks for first.
const ALWAYS: [&str; 3] = ["parameters", "gradients", "optimizer state"];

/// The table, for each process that was looked into for it.
pub fn table(page: &mut Page, report: &Report, verbose: bool) {
    let mut of: Vec<_> = report.budgets.iter().map(|row| row.id).collect();
    of.dedup();
    for id in &of {
        let moments: Vec<&BudgetReport> = report.budgets.iter().filter(|row| row.id == *id).collect();
        write(page, &moments, if of.len() > 1 { moments.first().map(|row| row.pid) } else { None }, verbose);
    }
}

fn write(page: &mut Page, moments: &[&BudgetReport], pid: Option<u32>, verbose: bool) {
    let title = pid.map_or_else(|| "memory is for".to_owned(), |pid| format!("pid {pid}, memory is for"));
    let name = |row: &BudgetReport| row.phase.clone().unwrap_or_else(|| "at rest".to_owned());
    let mut columns = vec![Column::text(&title, 24, 0)];
    columns.extend(moments.iter().map(|row| Column::number(&name(row), 0)));
    let size = |bytes: u64| if bytes == 0 { "-".to_owned() } else { Bytes(bytes).to_string() };
    let of = |row: &BudgetReport, part: &str| {
        row.parts.iter().filter(|one| one.name == part).map(|one| one.bytes).fold(0, u64::saturating_add)
    };
    let largest = moments.iter().map(|row| row.bytes).max().unwrap_or(0);
    let least = if verbose { 1 } else { ((largest as f64 * WORTH) as u64).max(1) };
    let names = names(moments);
    let (shown, small): (Vec<&str>, Vec<&str>) =
        names.into_iter().partition(|name| ALWAYS.contains(name) || moments.iter().any(|row| of(row, name) >= least));
    let row = |name: &str, style, bytes: &dyn Fn(&BudgetReport) -> u64| Row {
        style,
        cells: std::iter::once(name.to_owned()).chain(moments.iter().map(|row| size(bytes(row)))).collect(),
    };
    let mut rows: Vec<Row> = shown.iter().map(|name| row(name, Style::Plain, &|moment| of(moment, name))).collect();
    if !small.is_empty() {
        let rest = |moment: &BudgetReport| small.iter().map(|name| of(moment, name)).fold(0, u64::saturating_add);
        rows.push(row(&words::pieces(small.len() as u64, "smaller part", "smaller parts"), Style::Plain, &rest));
    }
    rows.push(row("all", Style::Plain, &|moment| moment.bytes));
    if moments.iter().any(|moment| moment.most_bytes.is_some()) {
        rows.push(row("most measured in it", Style::Dim, &|moment| moment.most_bytes.map_or(0, |most| most.max(moment.bytes))));
    }
    // They are of different times: what grew meanwhile is in the later ones.
    let when = moments.iter().map(|moment| words::span(moment.t_s));
    rows.push(Row { style: Style::Dim, cells: std::iter::once("looked at after".to_owned()).chain(when).collect() });
    page.blank();
    table::write(page, &columns, &rows);
}

/// All parts, in the order in which each moment has them.
fn names<'a>(moments: &[&'a BudgetReport]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for moment in moments {
        let mut next = 0;
        for part in &moment.parts {
            match names.iter().position(|name| *name == part.name) {
                Some(at) => next = at + 1,
                None => {
                    names.insert(next, &part.name);
                    next += 1;
                }
            }
        }
    }
    names
}
