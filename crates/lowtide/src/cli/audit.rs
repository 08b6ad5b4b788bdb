//! `lowtide check --audit datasets`: a table instead of findings.

use std::io::Write;
use std::path::PathBuf;

use lowtide_causes::{Audited, Does};
use lowtide_lint::check::Workers;
use lowtide_lint::program::Files;
use lowtide_report::pieces;
use serde_json::json;

use crate::exit::Failure;
use crate::output::{Destination, Format, Output};
use crate::terminal::say;

/// What can be audited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Subject {
    /// Classes that can be sent to a device: which move their data, which only note where to
    Datasets,
}

/// Prints the table.
pub fn datasets(files: &dyn Files, parts: &[&[PathBuf]], output: &Output) -> Result<(), Failure> {
    let (Destination::Console(format) | Destination::File(_, format)) = &output.destination else {
        return Err(Failure::usage("an audit has no measurements to export".to_owned()));
    };
    if !matches!(format, Format::Text | Format::Json) {
        return Err(Failure::usage("an audit is a table: --format text or json".to_owned()));
    }
    let (rows, errors) = lowtide_causes::datasets(files, parts);
    errors.iter().for_each(|error| say(&error.to_string()));
    let rendered = if *format == Format::Json { as_json(&rows) } else { as_text(&rows) };
    if let Destination::File(..) = &output.destination {
        return output.write_file(&rendered);
    }
    // A reader that closes the pipe early has read enough.
    let _ = std::io::stdout().lock().write_all(rendered.as_bytes());
    Ok(())
}

fn place(row: &Audited) -> String {
    format!("{}:{}", row.site.file.display(), row.site.line)
}

fn read_by(row: &Audited) -> &'static str {
    match (row.is_data, row.workers) {
        (true, Some(Workers::None)) => "a loader without workers",
        (true, Some(Workers::Some)) => "a loader with workers",
        (true, Some(Workers::Unknown)) => "a loader, workers by a setting",
        (true, None) => "a data set, no loader here",
        (false, _) => "no loader",
    }
}

fn as_text(rows: &[Audited]) -> String {
    let cells: Vec<[String; 5]> = rows
        .iter()
        .map(|row| {
            let attributes = row.attributes.iter().map(|name| format!("self.{name}")).collect::<Vec<_>>().join(", ");
            let does =
                if attributes.is_empty() { row.does.words().to_owned() } else { format!("{}: {attributes}", row.does.words()) };
            [row.name.clone(), does, read_by(row).to_owned(), row.calls.to_string(), place(row)]
        })
        .collect();
    let heads = ["method", "what it does", "read by", "calls", "place"].map(str::to_owned);
    let width = |at: usize| cells.iter().chain([&heads]).map(|row| row[at].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let mut text = String::new();
    for row in std::iter::once(&heads).chain(&cells) {
        let line: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text += line.join("  ").trim_end();
        text.push('\n');
    }
    let count = |does| rows.iter().filter(|row| row.does == does).count();
    text += &format!(
        "\n{} that can be sent to a device: {} move data (LT501), {} only note the device (LT506)\n",
        pieces(rows.len() as u64, "class", "classes"),
        count(Does::Moves),
        count(Does::Notes)
    );
    text
}

fn as_json(rows: &[Audited]) -> String {
    let classes: Vec<_> = rows
        .iter()
        .map(|row| {
            json!({
                "name": row.name, "file": row.site.file.display().to_string(), "line": row.site.line,
                "does": row.does, "attributes": row.attributes, "data_set": row.is_data, "calls": row.calls,
                "workers": row.workers.map(|workers| match workers {
                    Workers::None => "none",
                    Workers::Unknown => "unknown",
                    Workers::Some => "some",
                }),
            })
        })
        .collect();
    format!("{:#}\n", json!({ "schema": "lowtide.audit/1", "audit": "datasets", "classes": classes }))
}
