//! A table that fits a width: elastic columns shrink, then columns that can be spared are dropped.

use super::page::{Block, Page, Span, Style, columns, cut};

/// Two blanks between columns.
const GAP: usize = 2;
/// Where nothing more can be spared, text may shrink to this.
const NARROWEST: usize = 3;

/// What a column is.
pub struct Column {
    pub title: String,
    /// Numbers stand right.
    pub right: bool,
    /// Text that may be cut in its middle, down to this width before a column is dropped.
    pub least: Option<usize>,
    /// Dropped where there is no room, the highest first; 0 is never dropped.
    pub spare: u8,
}

impl Column {
    pub fn number(title: &str, spare: u8) -> Self {
        Self { title: title.to_owned(), right: true, least: None, spare }
    }

    pub fn text(title: &str, least: usize, spare: u8) -> Self {
        Self { title: title.to_owned(), right: false, least: Some(least), spare }
    }

    pub fn mark() -> Self {
        Self { title: String::new(), right: false, least: None, spare: 0 }
    }
}

/// One row: a cell for each column, and how it looks.
pub struct Row {
    pub style: Style,
    pub cells: Vec<String>,
}

/// Writes the table with its titles.
pub fn write(page: &mut Page, table: &[Column], rows: &[Row]) {
    let titles = || table.iter().map(|column| (column.title.clone(), column.right)).collect();
    if page.take(|| Block::Table(titles(), rows.iter().map(|row| (row.style, row.cells.clone())).collect())) {
        return;
    }
    let wanted: Vec<usize> = table
        .iter()
        .enumerate()
        .map(|(at, column)| rows.iter().map(|row| columns(&row.cells[at])).max().unwrap_or(0).max(columns(&column.title)))
        .collect();
    let widths = fit(table, &wanted, page.width());
    let titles: Vec<&str> = table.iter().map(|column| column.title.as_str()).collect();
    page.row(&line(table, &widths, &titles, Style::Dim));
    for row in rows {
        let cells: Vec<&str> = row.cells.iter().map(String::as_str).collect();
        page.row(&line(table, &widths, &cells, row.style));
    }
}

/// The width of each column; `None` where it is dropped.
fn fit(table: &[Column], wanted: &[usize], room: usize) -> Vec<Option<usize>> {
    let mut widths: Vec<Option<usize>> = wanted.iter().copied().map(Some).collect();
    loop {
        let over = total(&widths).saturating_sub(room);
        let give: usize = table.iter().zip(&widths).map(|(column, width)| slack(column, *width, false)).sum();
        let spared =
            (0..table.len()).filter(|at| widths[*at].is_some() && table[*at].spare > 0).max_by_key(|at| table[*at].spare);
        match spared {
            Some(spared) if give < over => widths[spared] = None,
            Some(_) => return shrink(table, widths, over, false),
            None => return shrink(table, widths, over, give < over),
        }
    }
}

/// What a column can give; with `most` down to where it says hardly anything.
fn slack(column: &Column, width: Option<usize>, most: bool) -> usize {
    match (column.least, width) {
        (Some(least), Some(width)) => width.saturating_sub(if most { NARROWEST } else { least }),
        _ => 0,
    }
}

/// Takes `over` columns from the elastic ones, the last one first: what a row is stands in front.
fn shrink(table: &[Column], mut widths: Vec<Option<usize>>, mut over: usize, last_resort: bool) -> Vec<Option<usize>> {
    for (column, width) in table.iter().zip(&mut widths).rev() {
        let taken = over.min(slack(column, *width, last_resort));
        *width = width.map(|wide| wide - taken);
        over -= taken;
    }
    widths
}

fn total(widths: &[Option<usize>]) -> usize {
    let kept = widths.iter().flatten();
    kept.clone().sum::<usize>() + GAP * kept.count().saturating_sub(1)
}

fn line(table: &[Column], widths: &[Option<usize>], cells: &[&str], style: Style) -> Vec<Span> {
    let mut text = String::new();
    for ((column, width), cell) in table.iter().zip(widths).zip(cells) {
        let Some(width) = *width else { continue };
        if !text.is_empty() {
            text.push_str(&" ".repeat(GAP));
        }
        let cell = cut(cell, width);
        let pad = " ".repeat(width.saturating_sub(columns(&cell)));
        text.push_str(&if column.right { format!("{pad}{cell}") } else { format!("{cell}{pad}") });
    }
    vec![(style, text)]
}
