//! Two runs side by side: text for people, JSON for programs, Markdown for an issue or a pull request.

use lowtide_model::{Bytes, Change, ComparedRow, ComparedRun, Comparison, Measured, Quantity, Seconds, Unit, budget_moment};

use crate::TextOptions;
use crate::markdown::pieces as markdown;
use crate::text::page::{GUTTER, Page, Style};
use crate::text::table::{self, Column, Row};

/// The comparison as one pretty-printed JSON object that ends with a newline: `lowtide.compare/1`. Numbers that are not
/// finite become `null`.
#[must_use]
pub fn compare_json(comparison: &Comparison) -> String {
    let value = serde_json::to_value(comparison).expect("a comparison holds only what JSON can hold");
    crate::json::plain(&format!("{value:#}\n"))
}

/// The comparison as text, lines ended by `\n`; no control character of a run comes through.
#[must_use]
pub fn compare_text(comparison: &Comparison, options: &TextOptions) -> String {
    let mut page = Page::new(options.width.max(40), options.color);
    let style = match comparison.outcome {
        Change::Fixed | Change::Better => Style::Green,
        Change::NoDifference => Style::Plain,
        Change::Worse => Style::Red,
    };
    let end = comparison.summary.find([':', ';']).map_or(comparison.summary.len(), |at| at + 1);
    let (first, rest) = comparison.summary.split_at(end);
    page.paragraph((style, first.to_owned()), GUTTER, &[(style, rest.trim_start().to_owned())]);
    page.labelled("price", &comparison.price);
    if let Some(budget) = &comparison.budget {
        page.labelled("for", budget);
    }
    for (label, runs) in [("before", &comparison.before), ("after", &comparison.after)] {
        for run in runs {
            page.labelled(label, &format!("{}: {}", run.file, about(run)));
        }
    }
    let shown = |row: &&ComparedRow| options.verbose || row.role.is_none() && row.phase.is_none() || row.differs == Some(true);
    let (budget, other): (Vec<_>, Vec<_>) =
        comparison.rows.iter().filter(shown).partition(|row: &&ComparedRow| row.quantity == Quantity::Budget);
    page.blank();
    rows_of(&mut page, "", other.iter().map(|row| (name(row), *row)));
    // A table for each moment: what it is called is longer than what its parts are.
    for rows in budget.chunk_by(|a, b| moment(a) == moment(b)) {
        page.blank();
        rows_of(&mut page, &moment(rows[0]), rows.iter().map(|row| (budget_part(row), *row)));
    }
    let shown = budget.len() + other.len();
    if shown < comparison.rows.len() {
        let text = format!(
            "{} more rows of roles, phases and what memory is for, none of which is known to differ: --verbose",
            comparison.rows.len() - shown
        );
        page.remark(text);
    }
    for note in &comparison.notes {
        page.labelled("note", note);
    }
    page.finish()
}

fn rows_of<'a>(page: &mut Page, title: &str, rows: impl Iterator<Item = (String, &'a ComparedRow)>) {
    let columns = [
        Column::text(title, 20, 0),
        Column::number("before", 0),
        Column::number("after", 0),
        Column::number("difference", 0),
        Column::number("95 % interval", 1),
        Column::number("would have been seen", 3),
        Column::text("differs", 8, 0),
    ];
    let row = |(name, row): (String, &ComparedRow)| Row {
        style: if row.differs == Some(true) { Style::Bold } else { Style::Plain },
        cells: cells(name, row),
    };
    table::write(page, &columns, &rows.map(row).collect::<Vec<_>>());
}

/// The comparison as Markdown.
#[must_use]
pub fn compare_markdown(comparison: &Comparison) -> String {
    let mut out =
        format!("**lowtide compare: {}**\n\n{}\n\n", markdown::plain(&comparison.summary), markdown::plain(&comparison.price));
    if let Some(budget) = &comparison.budget {
        out.push_str(&format!("What memory is for: {}\n\n", markdown::plain(budget)));
    }
    let runs = [("before", &comparison.before), ("after", &comparison.after)];
    let lines = runs.into_iter().flat_map(|(side, runs)| runs.iter().map(move |run| (side, run)));
    out.push_str(&markdown::table(
        &["", "recording", "command", "said of it alone"],
        lines.map(|(side, run)| vec![side.to_owned(), markdown::code(&run.file), markdown::code(&run.command), about(run)]),
    ));
    out.push('\n');
    out.push_str(&markdown::table(
        &["", ">before", ">after", ">difference", ">95 % interval", ">would have been seen", "differs"],
        comparison.rows.iter().map(|row| cells(markdown::plain(&name(row)), row)),
    ));
    for note in &comparison.notes {
        out.push_str(&format!("\n- {}", markdown::plain(note)));
    }
    if !comparison.notes.is_empty() {
        out.push('\n');
    }
    out
}

/// What is said of a run alone.
fn about(run: &ComparedRun) -> String {
    let verdict = run.verdict.words();
    let steps = run.steps.map_or(String::new(), |steps| format!(", {steps} steps"));
    let ended = if run.ended.is_empty() { String::new() } else { format!(", {}", run.ended) };
    format!("{verdict}; {}{steps}{ended}", Seconds(run.duration_s))
}

fn cells(name: String, row: &ComparedRow) -> Vec<String> {
    let dash = || "-".to_owned();
    let value = |measured: Option<Measured>| measured.map_or_else(dash, |measured| amount(row.unit, measured.value));
    let signed = |value: f64| if value > 0.0 { format!("+{}", amount(row.unit, value)) } else { amount(row.unit, value) };
    let interval = row.difference.and_then(|difference| difference.ci95);
    vec![
        name,
        value(row.before),
        value(row.after),
        row.difference.map_or_else(dash, |difference| signed(difference.value)),
        interval.map_or_else(dash, |[low, high]| format!("{} to {}", signed(low), signed(high))),
        row.smallest_seen.map_or_else(dash, |smallest| amount(row.unit, smallest)),
        match row.differs {
            Some(true) => "yes".to_owned(),
            Some(false) => "not seen".to_owned(),
            None => "untold".to_owned(),
        },
    ]
}

fn name(row: &ComparedRow) -> String {
    let quantity = match (row.quantity, row.unit) {
        (Quantity::Growth, Unit::BytesPerStep) => "growth per step",
        (Quantity::Growth, _) => "growth per minute",
        (Quantity::Floor, _) => "floor",
        (Quantity::Peak, _) => "peak",
        (Quantity::Spike, _) => "spike",
        (Quantity::StepTime, _) => "time per step",
        (Quantity::Budget, _) => return format!("{}: {}", moment(row), budget_part(row)),
    };
    let whose = row.role.as_deref().map(|role| role.replace('_', " ")).or_else(|| row.phase.clone());
    whose.map_or_else(|| quantity.to_owned(), |whose| format!("{whose}: {quantity}"))
}

fn moment(row: &ComparedRow) -> String {
    budget_moment(row.role.as_deref().unwrap_or_default(), row.resource.as_deref(), row.phase.as_deref())
}

fn budget_part(row: &ComparedRow) -> String {
    row.part.clone().unwrap_or_default()
}

fn amount(unit: Unit, value: f64) -> String {
    let bytes = |value: f64| {
        let sign = if value <= -0.5 { "-" } else { "" };
        format!("{sign}{}", Bytes(value.abs().round() as u64))
    };
    match unit {
        Unit::Bytes | Unit::BytesPerStep => bytes(value),
        Unit::BytesPerSecond => bytes(60.0 * value),
        Unit::Seconds if value.abs() < 1.0 => format!("{:.1} ms", 1000.0 * value),
        Unit::Seconds => format!("{value:.2} s"),
    }
}
