//! Finding the table in a text: its header, what separates its fields, what tool wrote it.

use std::borrow::Cow;

use crate::Problem;
use crate::header::{self, Field, Told, Unit};
use crate::hints::Hint;
use crate::text::{Records, fields};
use crate::when;

/// The most columns that are read.
const MOST_COLUMNS: usize = 4096;
/// The header stands within this many records, below what tools print first.
const HEADER_WITHIN: usize = 200;

/// What separates fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// One character, and quotes.
    Delimited(char),
    /// Runs of blanks; the last column takes the rest of the line.
    Blanks,
}

/// Who wrote the table, where its header tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    Zoo,
    Lowtide,
    Psrecord,
    Pidstat,
    Sar,
    Anyone,
}

/// A table, found.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub dialect: Dialect,
    pub writer: Writer,
    /// Names as in the header; numbers where there is none.
    pub names: Vec<String>,
    /// What each column is.
    pub columns: Vec<Told>,
    /// The rows stand below this line.
    pub header_line: u64,
}

impl Table {
    /// The records of the table's text.
    pub(crate) fn records<'a>(&self, text: &'a str) -> Records<'a> {
        records(text, self.dialect)
    }

    /// The cells of a record.
    pub(crate) fn split<'a>(&self, record: &'a str, into: &mut Vec<Cow<'a, str>>) {
        match self.dialect {
            Dialect::Delimited(delimiter) => fields(record, delimiter, into),
            Dialect::Blanks => blank_fields(record, self.names.len(), into),
        }
    }

    /// Whether a single comma is the decimal mark.
    pub(crate) fn comma_decimal(&self) -> bool {
        self.dialect != Dialect::Delimited(',')
    }
}

fn records(text: &str, dialect: Dialect) -> Records<'_> {
    match dialect {
        Dialect::Delimited(delimiter) => Records::quoted(text, delimiter),
        Dialect::Blanks => Records::lines(text),
    }
}

/// Find the table.
pub(crate) fn find(text: &str, hints: &[Hint]) -> Result<Table, Problem> {
    let mut nearest: Option<Problem> = None;
    let mut lines = Vec::new();
    for record in Records::lines(text).take(HEADER_WITHIN + 1) {
        let (line, record) = record?;
        if !record.trim().is_empty() {
            lines.push((line, record));
        }
    }
    for (at, (line, record)) in lines.iter().enumerate().take(HEADER_WITHIN) {
        let next = lines[at + 1..].iter().map(|(_, next)| *next).find(|next| !next.trim_start().starts_with('#'));
        match candidate(record, *line, next, hints) {
            Ok(Some(table)) => return Ok(table),
            Ok(None) => {}
            Err(problem @ Problem::TooManyColumns { .. }) => return Err(problem),
            Err(problem) => nearest = nearest.or(Some(problem)),
        }
    }
    Err(nearest.unwrap_or(Problem::Unknown))
}

/// A line as the header of a table; `Err` where it is one that lacks something.
fn candidate(record: &str, line: u64, next: Option<&str>, hints: &[Hint]) -> Result<Option<Table>, Problem> {
    let body = record.trim_start_matches(['#', ' ']);
    let Some((dialect, mut names)) = split_header(body, next) else { return Ok(None) };
    if names.len() > MOST_COLUMNS {
        return Err(Problem::TooManyColumns { count: names.len() });
    }
    let numbers = names.iter().filter(|name| when::parse(name, true).is_some()).count();
    // sysstat prints the time in the header's first field.
    if numbers == 1 && dialect == Dialect::Blanks && when::parse(&names[0], true).is_some() {
        "time".clone_into(&mut names[0]);
    }
    let headless =
        numbers > 0 && numbers * 2 >= names.len() && names.iter().all(|name| !hints.iter().any(|hint| hint.column == *name));
    if headless {
        names = (1..=names.len()).map(|number| number.to_string()).collect();
    }
    let writer = writer_of(&names);
    let mut columns: Vec<Told> = names.iter().map(|name| header::tell(name)).collect();
    known_units(writer, &mut columns, &names);
    apply(hints, &names, &mut columns)?;
    choose_time(&names, &mut columns);
    let has = |wanted: fn(&Field) -> bool| columns.iter().any(|column| wanted(&column.field));
    let memory = has(
        |field| matches!(field, Field::Measure(measure) if measure.is_memory() || matches!(measure, header::Measure::Used | header::Measure::Available)),
    );
    match (has(|field| *field == Field::Time), memory) {
        (true, true) => {
            let header_line = if headless { line - 1 } else { line };
            Ok(Some(Table { dialect, writer, names, columns, header_line }))
        }
        _ if headless => Ok(None),
        (false, _) => Err(Problem::NoTime { columns: names }),
        (true, false) => Err(Problem::NoMemory { columns: names }),
    }
}

/// The names in a header, by the separator that cuts it into the most.
fn split_header(body: &str, next: Option<&str>) -> Option<(Dialect, Vec<String>)> {
    let owned = |cells: &mut Vec<Cow<'_, str>>| -> Vec<String> { cells.drain(..).map(Cow::into_owned).collect() };
    let mut cells = Vec::new();
    let mut best: Option<(Dialect, Vec<String>)> = None;
    for delimiter in [',', '\t', ';', '|'] {
        fields(body, delimiter, &mut cells);
        if cells.len() >= 2 && best.as_ref().is_none_or(|(_, names)| names.len() < cells.len()) {
            best = Some((Dialect::Delimited(delimiter), owned(&mut cells)));
        }
    }
    if let Some((Dialect::Delimited(delimiter), _)) = best {
        // Prose with a comma in it is no table: the next line must have as many fields.
        let next = next?;
        fields(next, delimiter, &mut cells);
        let names = best.as_ref().map_or(0, |(_, names)| names.len());
        if cells.len() == names || (cells.len() + 1 == names || cells.len() == names + 1) && names > 2 {
            return best;
        }
    }
    let next = next?.trim_start_matches(['#', ' ']);
    blank_fields(next, usize::MAX, &mut cells);
    let numbers = cells.iter().filter(|cell| when::parse(cell, true).is_some()).count();
    let count = cells.len();
    let wide: Vec<String> = body.split("  ").map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let names = if wide.len() == count {
        wide
    } else {
        blank_fields(body, usize::MAX, &mut cells);
        owned(&mut cells)
    };
    // The last column may hold blanks (a command line), so rows may have more cells.
    (names.len() >= 2 && numbers >= 2 && count >= names.len()).then_some((Dialect::Blanks, names))
}

/// Cells between blanks, at most so many; a date and its time, or a time and its `PM`, are one cell.
fn blank_fields<'a>(record: &'a str, most: usize, into: &mut Vec<Cow<'a, str>>) {
    into.clear();
    let mut rest = record.trim();
    while !rest.is_empty() {
        if into.len() + 1 == most {
            into.push(Cow::Borrowed(rest));
            return;
        }
        let first = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let mut end = first;
        let (cell, after) = rest.split_at(first);
        let next = after.trim_start().split(char::is_whitespace).next().unwrap_or("");
        let joined = match when::parse(cell, false) {
            Some((_, when::Sort::Clock)) => matches!(next, "AM" | "PM"),
            Some((_, when::Sort::DayOnly)) => matches!(when::parse(next, false), Some((_, when::Sort::Clock))),
            _ => false,
        };
        if joined {
            end = first + (after.len() - after.trim_start().len()) + next.len();
        }
        into.push(Cow::Borrowed(&rest[..end]));
        rest = rest[end..].trim_start();
    }
}

fn writer_of(names: &[String]) -> Writer {
    let has = |wanted: &[&str]| wanted.iter().all(|wanted| names.iter().any(|name| name == wanted));
    match () {
        () if has(&["t", "pid", "ppid", "depth", "cmd", "rss", "anon", "pss_anon", "rss_shmem", "minflt"]) => Writer::Zoo,
        () if has(&["t_s", "pid", "anon_bytes", "shmem_bytes"]) => Writer::Lowtide,
        () if has(&["elapsed_time", "mem_real", "mem_virtual"]) || has(&["Elapsed time", "Real (MB)", "Virtual (MB)"]) => {
            Writer::Psrecord
        }
        () if has(&["PID", "VSZ", "RSS", "minflt/s"]) => Writer::Pidstat,
        () if has(&["kbmemfree", "kbmemused"]) => Writer::Sar,
        () => Writer::Anyone,
    }
}

/// Units that the tool's own text gives: the zoo's README; psrecord divides by 2^20; sysstat's kB are the kernel's.
fn known_units(writer: Writer, columns: &mut [Told], names: &[String]) {
    let factor = match writer {
        Writer::Zoo => 1.0,
        Writer::Psrecord => 1_048_576.0,
        Writer::Pidstat | Writer::Sar => 1024.0,
        Writer::Lowtide | Writer::Anyone => return,
    };
    for (column, name) in columns.iter_mut().zip(names) {
        column.unit = Unit::Named(factor);
        column.vague = false;
        // The fields of smaps_rollup are named as they are, `rss_file` is a part of RSS.
        if writer == Writer::Zoo && name == "depth" {
            column.field = Field::Unused("");
        }
    }
}

fn apply(hints: &[Hint], names: &[String], columns: &mut [Told]) -> Result<(), Problem> {
    let measures = hints.iter().any(|hint| matches!(hint.field, Field::Measure(measure) if !measure.is_count()));
    if measures {
        for column in columns.iter_mut() {
            if matches!(column.field, Field::Measure(measure) if !measure.is_count()) {
                column.field = Field::Unused("");
            }
        }
    }
    for hint in hints {
        let at = names
            .iter()
            .position(|name| *name == hint.column)
            .or_else(|| names.iter().position(|name| name.eq_ignore_ascii_case(&hint.column)))
            .or_else(|| hint.column.parse().ok().and_then(|number: usize| number.checked_sub(1)).filter(|at| *at < names.len()))
            .ok_or_else(|| Problem::NoSuchColumn { wanted: hint.column.clone(), columns: names.to_vec() })?;
        // One hint of a kind makes all other columns of that kind unused, except for measures of several processes.
        if !matches!(hint.field, Field::Measure(_)) {
            columns.iter_mut().filter(|column| column.field == hint.field).for_each(|column| column.field = Field::Unused(""));
        }
        columns[at].field = hint.field.clone();
        columns[at].vague = false;
        if let Some(factor) = hint.factor {
            columns[at].unit = Unit::Named(factor);
        }
        let same = hints.iter().filter(|other| other.field == hint.field).count();
        columns[at].group = if same > 1 { names[at].clone() } else { String::new() };
    }
    Ok(())
}

/// Take the column with the best name for time, where no hint names one.
fn choose_time(names: &[String], columns: &mut [Told]) {
    if columns.iter().any(|column| column.field == Field::Time) {
        return;
    }
    let free = |at: &usize| matches!(columns[*at].field, Field::Unused(_));
    // What ps and top call so is processor time: it is no clock.
    let lists_processes =
        names.iter().any(|name| name == "PID") && names.iter().any(|name| matches!(name.as_str(), "COMMAND" | "CMD"));
    let processor_time = |at: &usize| names[*at] == "TIME+" || (lists_processes && names[*at] == "TIME");
    let free = |at: &usize| free(at) && !processor_time(at);
    let best = (0..names.len()).filter(free).filter_map(|at| header::time_rank(&names[at]).map(|rank| (rank, at))).min();
    if let Some((_, at)) = best {
        columns[at].field = Field::Time;
    }
}
