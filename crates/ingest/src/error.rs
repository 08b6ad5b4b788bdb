//! Why a file cannot be read, where, and what to do about it.

use crate::HINTS;

/// A file that cannot be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}{problem}", prefix(.name))]
pub struct IngestError {
    /// The file's name, empty where unknown.
    pub name: String,
    /// What is wrong with it.
    pub problem: Problem,
}

fn prefix(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("{name}: ") }
}

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Problem {
    /// Nothing in it.
    #[error("the file is empty")]
    Empty,
    /// Binary data.
    #[error("not text (a zero byte at offset {offset}), and not a recording of lowtide; unpack it first if it is compressed")]
    NotText {
        /// Where the first zero byte is.
        offset: usize,
    },
    /// No known format.
    #[error(
        "not a format that lowtide knows. Looked for: a recording of lowtide, a memory snapshot of PyTorch, mprof data, the JSON of a Prometheus range query, \
         and a table with a header (CSV, TSV, semicolons, psrecord, pidstat -r, sar -r). For a table without a header, say what its \
         columns are: --column time=1 --column memory=2:MiB"
    )]
    Unknown,
    /// A table without time.
    #[error("no column of time among: {}. Name it: --column time=NAME", list(.columns))]
    NoTime {
        /// The header.
        columns: Vec<String>,
    },
    /// A table without memory.
    #[error("no column of memory among: {}. Name it, with its unit: --column memory=NAME:MiB", list(.columns))]
    NoMemory {
        /// The header.
        columns: Vec<String>,
    },
    /// A hint names a column that is not there.
    #[error("--column names `{wanted}`, but the columns are: {}", list(.columns))]
    NoSuchColumn {
        /// The name in the hint.
        wanted: String,
        /// The header.
        columns: Vec<String>,
    },
    /// A hint that cannot be read.
    #[error("--column `{hint}` is not KIND=NAME or KIND=NAME:UNIT, as in `memory=rss_mb:MB`; KIND is one of {HINTS}")]
    BadHint {
        /// The hint.
        hint: String,
    },
    /// Many rows that cannot be read.
    #[error("{bad} of {rows} rows cannot be read, the first one in line {line}, column {column}: `{text}`{}", why(.expected))]
    BadRows {
        /// How many.
        bad: u64,
        /// Of how many.
        rows: u64,
        /// The first bad one's line, counted from 1.
        line: u64,
        /// The first bad one's column, counted from 1; one past the last where columns are missing.
        column: usize,
        /// What stands there, cut to some length.
        text: String,
        /// What should stand there.
        expected: &'static str,
    },
    /// A header without rows.
    #[error("there is a header but no row of numbers below it")]
    NoRows,
    /// Time goes back.
    #[error(
        "time goes backwards in line {line} (and {count} times in all). If the file holds several runs, give one at a time; if \
         it holds several processes, name the column that tells them apart: --column pid=NAME"
    )]
    TimeBackwards {
        /// The first such line, counted from 1.
        line: u64,
        /// How many rows are older than the one before.
        count: u64,
    },
    /// A line beyond the bound.
    #[error("line {line} is longer than 1 MiB: not a table of measurements")]
    LineTooLong {
        /// Counted from 1.
        line: u64,
    },
    /// Columns beyond the bound.
    #[error("{count} columns; at most 4096 are read. Cut the file to the columns that matter")]
    TooManyColumns {
        /// How many there are.
        count: usize,
    },
    /// Ticks beyond the bound.
    #[error("more than 5 million moments in the file; cut it into parts, or take every tenth row")]
    TooManyTicks,
    /// Readings beyond the bound.
    #[error("more than 10 million measurements in the file; cut it into parts, or take every tenth row")]
    TooManyReadings,
    /// JSON that breaks.
    #[error("broken JSON in line {line}, column {column}: {message}. Is the download complete?")]
    Json {
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
        /// What the parser says.
        message: String,
    },
    /// JSON that is no range query.
    #[error(
        "JSON, but {what}; lowtide reads what the range query of Prometheus answers \
         (GET /api/v1/query_range?query=process_resident_memory_bytes&start=...&end=...&step=15s)"
    )]
    NotARange {
        /// What it is instead.
        what: String,
    },
    /// mprof data without a measurement.
    #[error("mprof data without any MEM line: the program ended before the first measurement")]
    NoMemLines,
}

fn why(expected: &str) -> String {
    if expected.is_empty() { String::new() } else { format!(", where {expected} should be") }
}

/// Names for a message: quoted, a bounded number of them.
fn list(columns: &[String]) -> String {
    const MOST: usize = 30;
    if columns.is_empty() {
        return "(none)".to_owned();
    }
    let mut text: Vec<String> = columns.iter().take(MOST).map(|column| format!("`{}`", crate::text::cut(column))).collect();
    if columns.len() > MOST {
        text.push(format!("and {} more", columns.len() - MOST));
    }
    text.join(", ")
}
