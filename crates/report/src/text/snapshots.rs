//! What memory snapshots show: how each device's memory is used, and whose it is by line.

use lowtide_model::{Bytes, SnapshotLine, SnapshotReport};

use super::page::{Page, Style};
use super::table::{self, Column, Row};
use super::words;

/// Lines shown where not all was asked for.
const SHORT: usize = 8;

/// A line of sums and a table for each device.
pub fn tables(page: &mut Page, snapshots: &[SnapshotReport], verbose: bool) {
    for snapshot in snapshots {
        page.blank();
        page.labelled(&format!("gpu {}", snapshot.device), &sums(snapshot));
        let shown = if verbose { snapshot.lines.len() } else { snapshot.lines.len().min(SHORT) };
        if shown == 0 {
            continue;
        }
        write(page, &snapshot.lines[..shown]);
        if shown < snapshot.lines.len() {
            let rest = &snapshot.lines[shown..];
            let bytes = rest.iter().map(|line| line.bytes).fold(0, u64::saturating_add);
            let text = format!("and {} more, {} together", words::pieces(rest.len() as u64, "line", "lines"), Bytes(bytes));
            page.remark(text);
        }
        if verbose {
            stacks(page, &snapshot.lines);
        }
    }
}

/// `6172 MiB reserved: 2191 allocated (2180 asked for), 1541 free in segments in use, 2440 free as whole segments`.
fn sums(of: &SnapshotReport) -> String {
    let mut parts = vec![format!("{} allocated ({} asked for)", Bytes(of.allocated), Bytes(of.requested))];
    let named = [
        (of.pending, "freed and waiting for another stream"),
        (of.split, "free, but in segments that are in use"),
        (of.releasable, "free as whole segments"),
    ];
    parts.extend(named.iter().filter(|(bytes, _)| *bytes > 0).map(|(bytes, what)| format!("{} {what}", Bytes(*bytes))));
    let mut text = format!("{} reserved: {}", Bytes(of.reserved), parts.join(", "));
    if of.largest_free > 0 {
        text.push_str(&format!("; largest free block {}", Bytes(of.largest_free)));
    }
    if of.in_private_pools > 0 {
        text.push_str(&format!("; {} of it in pools of their own", Bytes(of.in_private_pools)));
    }
    if let Some(peak) = of.peak {
        text.push_str(&format!("; peak of the trace {}", Bytes(peak)));
    }
    text
}

fn write(page: &mut Page, lines: &[SnapshotLine]) {
    let compared = lines.iter().any(|line| line.bytes_delta.is_some());
    let mut columns = vec![Column::number("bytes", 0), Column::number("blocks", 2)];
    if compared {
        columns.push(Column::number("change", 0));
    }
    columns.push(Column::text("allocated by", 24, 0));
    let rows: Vec<Row> = lines
        .iter()
        .map(|line| {
            let mut cells = vec![Bytes(line.bytes).to_string(), line.blocks.to_string()];
            if compared {
                let change = line.bytes_delta.filter(|bytes| *bytes != 0);
                cells.push(change.map_or_else(|| "-".to_owned(), |bytes| words::signed(bytes as f64)));
            }
            cells.push(place(line));
            Row { style: Style::Plain, cells }
        })
        .collect();
    table::write(page, &columns, &rows);
}

/// `/home/user/train.py:55 step`.
fn place(line: &SnapshotLine) -> String {
    match (line.file.is_empty(), line.line) {
        (true, _) => "(nothing was recorded of these)".to_owned(),
        (false, 0) => format!("{} {}", line.file, line.function),
        (false, number) => format!("{}:{number} {}", line.file, line.function),
    }
}

fn stacks(page: &mut Page, lines: &[SnapshotLine]) {
    for line in lines.iter().filter(|line| line.stack.len() > 1) {
        page.labelled("stack", &line.stack.join("  <-  "));
    }
}
