//! Files that other tools wrote, read as the events of a run.
//!
//! A file is told by its content, not by its name: `mprof` data, a Prometheus range query, or a table (CSV of
//! any dialect, psrecord, pidstat, sar, lowtide's own export) whose header says what its columns are. Every
//! reader fills one `sheet::Sheet`; `timeline` makes of it the events that a live run would have been:
//! processes that come and go, their roles, ticks in order of time.
//!
//! Invariants: what is guessed is said ([`Imported::said`]); what the file does not hold stays zero or `None`,
//! never made up; no input makes this panic or take more memory than a small multiple of the input.

mod error;
mod header;
mod hints;
mod lives;
pub mod log;
mod mprof;
mod number;
mod order;
pub mod pickle;
mod plan;
mod prometheus;
mod roles;
mod rows;
pub mod scalars;
mod sheet;
pub mod snapshot;
mod table;
mod text;
mod timeline;
mod units;
mod when;
mod words;

use lowtide_model::Event;

pub use error::{IngestError, Problem};

/// What the user says about a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// Given by `--column`: `time=elapsed`, `memory=rss_mb:MB`, `pid=2`. The left side is what the column is (see
    /// [`HINTS`]), the right side its name in the header or its number counted from 1, with a unit where the
    /// header has none or a wrong one.
    pub columns: Vec<String>,
    /// The file's name, for messages only.
    pub name: String,
}

/// What `--column` can say that a column is.
pub const HINTS: &str = "time, memory, rss, anon, file, shmem, swap, pss, uss, threads, fds, maps, pid, ppid, command, name, role, rank, total, available, used";

/// A file as the events of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The run: [`Event::Start`] first, then processes, exits and ticks in order of time. There is no
    /// [`Event::End`]: these files do not say how a run ended.
    pub events: Vec<Event>,
    /// What the file was told to be: `zoo trace CSV`, `mprof data`.
    pub what: String,
    /// What was guessed, left out or taken for something else, as sentences for the report.
    pub said: Vec<String>,
}

/// Read a file of a kind told by its content.
///
/// # Errors
/// Says what is wrong with the file, where, and what to do about it.
pub fn read(bytes: &[u8], hints: &Hints) -> Result<Imported, IngestError> {
    sheet(bytes, hints).and_then(timeline::build).map_err(|problem| IngestError { name: hints.name.clone(), problem })
}

fn sheet(bytes: &[u8], hints: &Hints) -> Result<sheet::Sheet, Problem> {
    let text = text::decode(bytes)?;
    if text.trim().is_empty() {
        return Err(Problem::Empty);
    }
    if mprof::looks_like(&text) {
        return mprof::read(&text);
    }
    if prometheus::looks_like(&text) {
        return prometheus::read(&text);
    }
    rows::read(&text, &hints::parse(&hints.columns)?)
}
