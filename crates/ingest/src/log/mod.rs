//! Logs of runs that are dead: what killed them, by every message that says so.
//!
//! Lines of any length are read once, with bounded memory (`lines`); what stands in front of them is taken off and
//! told (`prefix`); the lines of each writer become one text without blanks (`stream`), in which messages are found
//! however they are wrapped (`messages`). What belongs together becomes one incident (`incident`), and that a finding
//! (`explain`).

mod amount;
mod explain;
mod incident;
mod lines;
mod messages;
pub mod numbers;
mod prefix;
mod stream;
mod symptoms;

use std::collections::HashMap;
use std::io::Read;

use lowtide_model::Finding;

pub use incident::Incident;
pub use messages::kernel_table::Task;
pub use messages::{Family, Message};

use lines::Lines;
use messages::kernel_table::Table;
use messages::ray_table::RayTable;
use stream::{FORWARD, Stream};

/// Messages that are kept; a job of thousands of ranks tells the same thousands of times.
const MOST_MESSAGES: usize = 4096;
/// Writers that are told apart at a time.
const MOST_LANES: usize = 64;

/// What a log holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    /// Lines read.
    pub lines: u64,
    /// What ended the run, in the order of the log.
    pub incidents: Vec<Incident>,
    /// Messages beyond those that are kept.
    pub more: u64,
    /// What could not be read, with its place, and what says too little.
    pub said: Vec<String>,
    /// Amounts of memory that its lines say over and over.
    pub series: Vec<numbers::Series>,
    /// What stages of the run took, where a framework's own table says.
    pub stages: Vec<numbers::Stage>,
    /// The last table of `torch.cuda.memory_summary()` of each card.
    pub summaries: Vec<numbers::Summary>,
}

impl Log {
    /// What was found, as findings.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        self.incidents.iter().map(explain::finding).collect()
    }
}

/// What was looked for, for a log that holds nothing.
pub const LOOKED_FOR: &str = "messages of memory that ran out (PyTorch on CUDA, ROCm, XPU, MPS and CPU, DataLoader workers, torchrun, Ray, TensorFlow, JAX, \
     numpy, C++, Python), kills by the kernel, systemd-oomd and earlyoom, by Slurm, LSF, PBS, Kubernetes and Docker, `Killed`, exit codes \
     137, -9 and 247";

/// Reads a log to its end. It may have any size: memory does not grow with it.
///
/// # Errors
/// Only where reading fails; any bytes are a log.
pub fn read(input: impl Read) -> std::io::Result<Log> {
    read_with(input, Vec::new())
}

/// The same, with what the user says of names (`--column memory=NAME:MB`).
///
/// # Errors
/// Where a hint is none, or where reading fails.
pub fn read_named(input: impl Read, columns: &[String]) -> Result<Log, LogError> {
    Ok(read_with(input, crate::hints::parse(columns)?)?)
}

/// Why a log was not read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// A hint that cannot be read.
    #[error("{0}")]
    Hint(#[from] crate::Problem),
    /// The file cannot be read.
    #[error("{0}")]
    Read(#[from] std::io::Error),
}

fn read_with(input: impl Read, hints: Vec<crate::hints::Hint>) -> std::io::Result<Log> {
    let mut reader = Reader { numbers: numbers::Numbers::new(hints), ..Reader::default() };
    let mut lines = Lines::new(input);
    let mut count = 0;
    let mut last: (u64, prefix::Source) = (0, prefix::Source::default());
    while let Some(piece) = lines.next()? {
        count = piece.line;
        if piece.continues {
            reader.push(last.0, piece.bytes, piece.line, &last.1, false, true);
            continue;
        }
        let bare = prefix::strip(piece.bytes);
        let record = bare.record || piece.overwrites;
        reader.line(bare.lane, &bare.rest, piece.line, &bare.source);
        reader.symptoms.line(&bare.rest, piece.line);
        reader.numbers.line(bare.lane, &bare.rest, piece.line, &bare.source);
        reader.push(bare.lane, &bare.rest, piece.line, &bare.source, record, false);
        last = (bare.lane, bare.source);
    }
    Ok(reader.finish(count))
}

/// What is read so far.
#[derive(Default)]
struct Reader {
    lanes: HashMap<u64, Stream>,
    tables: HashMap<u64, Table>,
    users: HashMap<u64, RayTable>,
    messages: Vec<Message>,
    more: u64,
    numbers: numbers::Numbers,
    symptoms: symptoms::Symptoms,
}

impl Reader {
    /// What is told by lines as they stand.
    fn line(&mut self, lane: u64, bytes: &[u8], number: u64, source: &prefix::Source) {
        if let Some(table) = self.tables.get_mut(&lane) {
            if table.row(bytes) {
                return;
            }
            let over = self.tables.remove(&lane).and_then(Table::end);
            self.messages.extend(over.filter(|_| self.messages.len() < MOST_MESSAGES));
        }
        if let Some(table) = self.users.get_mut(&lane) {
            if table.row(bytes) {
                return;
            }
            let over = self.users.remove(&lane).and_then(RayTable::end);
            self.messages.extend(over.filter(|_| self.messages.len() < MOST_MESSAGES));
        }
        if self.users.len() < MOST_LANES
            && let Some(table) = RayTable::begin(bytes, number, source)
        {
            self.users.insert(lane, table);
        }
        if let Some(table) = Table::begin(bytes, number, source)
            && self.tables.len() < MOST_LANES
        {
            self.tables.insert(lane, table);
        }
    }

    fn push(&mut self, lane: u64, bytes: &[u8], line: u64, source: &prefix::Source, record: bool, continues: bool) {
        if self.lanes.len() >= MOST_LANES && !self.lanes.contains_key(&lane) {
            self.end_lanes();
        }
        let stream = self.lanes.entry(lane).or_default();
        stream.push(bytes, line, source, record, continues);
        if stream.is_full() {
            scan(stream, false, &mut self.messages, &mut self.more);
        }
    }

    /// Reads all writers' texts to their ends.
    fn end_lanes(&mut self) {
        for (_, mut stream) in self.lanes.drain() {
            scan(&mut stream, true, &mut self.messages, &mut self.more);
        }
    }

    fn finish(mut self, lines: u64) -> Log {
        self.end_lanes();
        self.messages.extend(self.tables.drain().filter_map(|(_, table)| table.end()));
        self.messages.extend(self.users.drain().filter_map(|(_, table)| table.end()));
        self.messages.sort_by_key(|message| (message.line, message.family));
        let mut said = Vec::new();
        let incidents = incident::join(self.messages, &mut said);
        if incidents.is_empty() {
            said.extend(self.symptoms.say());
        }
        let summaries = self.numbers.summaries();
        let (series, stages) = self.numbers.finish(&mut said);
        Log { lines, incidents, more: self.more, said, series, stages, summaries }
    }
}

fn scan(stream: &mut Stream, at_end: bool, messages: &mut Vec<Message>, more: &mut u64) {
    let length = stream.text().chars.len();
    let until = if at_end { length } else { length.saturating_sub(FORWARD) };
    let mut covered = std::mem::take(&mut stream.covered);
    messages::find(stream.text(), stream.scanned..until.max(stream.scanned), &mut covered, |message| {
        if messages.len() < MOST_MESSAGES {
            messages.push(message);
        } else {
            *more += 1;
        }
    });
    stream.covered = covered;
    stream.scanned = until.max(stream.scanned);
    stream.forget();
}
