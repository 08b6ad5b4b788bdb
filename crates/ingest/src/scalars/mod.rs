//! Files of metrics: TensorBoard's event files and the binary logs of W&B. What their names say is memory becomes series, as the
//! numbers of a log do.
//!
//! Both are streams of framed protobuf messages; only the few fields that hold scalars are read (`wire`). A file that breaks off
//! was read as far as it goes, and that is said.

mod tfevents;
mod wandb;
mod wire;

use std::io::{BufReader, Read};

use crate::log::LogError;
use crate::log::numbers::{Numbers, Series};

/// The largest record that is read, bytes: images and histograms of larger ones are passed over.
const MOST_RECORD: u64 = 64 << 20;

/// The bytes that tell which one it is.
const START: u64 = 12;

/// What a file of metrics holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scalars {
    /// What it is: `TensorBoard event file`.
    pub what: &'static str,
    /// Scalars read.
    pub scalars: u64,
    /// Those that mean memory.
    pub series: Vec<Series>,
    /// What was left out, guessed or cut off.
    pub said: Vec<String>,
}

/// Whether a file is one, by its first 12 bytes.
#[must_use]
pub fn looks_like(start: &[u8]) -> bool {
    tfevents::looks_like(start) || wandb::looks_like(start)
}

/// Reads one to its end; `columns` is what the user says of names (`--column memory=TAG:MB`).
///
/// # Errors
/// Where a hint is none, or where reading fails.
pub fn read(input: impl Read, columns: &[String]) -> Result<Scalars, LogError> {
    let mut input = BufReader::with_capacity(1 << 16, input);
    // A pipe may give less than this at first.
    let mut start = Vec::new();
    input.by_ref().take(START).read_to_end(&mut start)?;
    let is_wandb = wandb::looks_like(&start);
    let mut input = (&start[..]).chain(input);
    let mut reader = Reader { numbers: Numbers::new(crate::hints::parse(columns)?), scalars: 0, said: Vec::new() };
    let what = if is_wandb {
        wandb::read(&mut input, &mut reader)?;
        "binary log of W&B"
    } else {
        tfevents::read(&mut input, &mut reader)?;
        "TensorBoard event file"
    };
    let mut said = reader.said;
    let (series, _) = reader.numbers.finish(&mut said);
    Ok(Scalars { what, scalars: reader.scalars, series, said })
}

/// What is read so far.
struct Reader {
    numbers: Numbers,
    scalars: u64,
    said: Vec<String>,
}

/// Fills a buffer; false where the file ends before.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<bool> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => return Ok(false),
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}
