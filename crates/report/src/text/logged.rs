//! Numbers that a log says of memory: a line for each series.

use lowtide_model::{Bytes, LoggedReport, Verdict};

use super::page::{Page, Style};
use super::table::{self, Column, Row};
use super::words;

/// Series shown where not all was asked for.
const SHORT: usize = 12;

/// The table of series, and what was seen of each.
pub fn table(page: &mut Page, all: &[LoggedReport], verbose: bool) {
    if all.is_empty() {
        return;
    }
    page.blank();
    let shown = if verbose { all.len() } else { all.len().min(SHORT) };
    let columns = [
        Column::text("number", 12, 0),
        Column::number("times", 2),
        Column::number("first", 0),
        Column::number("low tide", 0),
        Column::number("peak", 3),
        Column::text("seen", 24, 0),
    ];
    let rows: Vec<Row> = all[..shown].iter().map(row).collect();
    table::write(page, &columns, &rows);
    if shown < all.len() {
        page.remark(format!("and {}; -v shows them", words::pieces((all.len() - shown) as u64, "more series", "more series")));
    }
}

fn row(one: &LoggedReport) -> Row {
    let style = match one.verdict {
        Some(Verdict::Leak) => Style::Red,
        Some(Verdict::LikelyLeak) => Style::Yellow,
        _ => Style::Plain,
    };
    let name = if one.entity.is_empty() { one.name.clone() } else { format!("{} ({})", one.name, one.entity) };
    let amount = |value: f64| match one.unit {
        "percent" => format!("{} %", words::three_digits(value)),
        _ => Bytes(value.max(0.0) as u64).to_string(),
    };
    let cells = vec![name, one.points.to_string(), amount(one.first), amount(one.floor), amount(one.peak), one.says.clone()];
    Row { style, cells }
}
