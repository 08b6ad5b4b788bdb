//! Numbers that a log says of memory: a line for each series.

use lowtide_model::{Bytes, LoggedReport, Rate, Verdict};

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
        Column::number("low", 0),
        Column::number("peak", 3),
        Column::text("low tide is", 12, 0),
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
    let cells = vec![name, one.points.to_string(), amount(one.first), amount(one.floor), amount(one.peak), word(one)];
    Row { style, cells }
}

/// What its low tide does, in a word: `+20 MiB per minute`, `level`.
fn word(one: &LoggedReport) -> String {
    let change = |value: f64| match one.unit {
        "percent" => format!("+{} %", words::three_digits(value)),
        _ => Rate(value).to_string(),
    };
    match (one.verdict, one.growth) {
        (_, Some(growth)) => match one.axis.strip_suffix('s') {
            Some(axis) if !one.axis.starts_with("seconds") => format!("rising, {} per {axis}", change(growth)),
            _ => {
                let span = words::span_for_bytes(if one.unit == "percent" { 0.0 } else { growth });
                format!("rising, {} per {}", change(growth * span.seconds), span.name)
            }
        },
        (Some(Verdict::NoLeak), None) => "level".to_owned(),
        (Some(_), None) => "not told yet".to_owned(),
        (None, None) if one.points < LoggedReport::FEWEST => "too few to tell".to_owned(),
        (None, None) if one.what == "peak" => "a peak: not judged".to_owned(),
        (None, None) => "rising, explained".to_owned(),
    }
}
