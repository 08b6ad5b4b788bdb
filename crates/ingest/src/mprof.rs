//! `mprof` data (memory_profiler): a line per measurement.
//!
//! `CMDLINE command`, `MEM mebibytes unix-seconds`, with --multiprocess `CHLD pid mebibytes unix-seconds`, and
//! `FUNC name ...` for decorated functions. The profiled program and mprof write to one file, so that lines stand in
//! any order; a file that is written to twice holds two runs.

use lowtide_model::{ProcId, ProcSample, Signal};

use crate::Problem;
use crate::sheet::{Identity, Of, Reading, Sheet};
use crate::text::{Records, cut};

/// `MEM` and `CHLD` count in these (`_TWO_20` in memory_profiler.py).
const MIB: f64 = 1_048_576.0;
/// More is no memory of a process.
const MOST_MIB: f64 = (1_u64 << 36) as f64;

/// Whether a text is mprof data, by its first line.
pub(crate) fn looks_like(text: &str) -> bool {
    let line = text.trim_start().lines().next().unwrap_or("");
    let mut words = line.split(' ');
    match words.next() {
        Some("CMDLINE") => words.next().is_some(),
        Some("MEM") => words.next().is_some_and(|word| word.parse::<f64>().is_ok()),
        Some("CHLD" | "FUNC") => words.count() >= 3,
        _ => false,
    }
}

/// Read mprof data.
pub(crate) fn read(text: &str) -> Result<Sheet, Problem> {
    let mut runs = 1;
    let mut functions = 0_u64;
    let mut bad: Option<(u64, String)> = None;
    let (mut bad_lines, mut lines) = (0_u64, 0_u64);
    let mut sheet = empty();
    let mut main = sheet.identity(&Identity::default());
    for record in Records::lines(text) {
        let (line, record) = record?;
        let (kind, rest) = record.trim().split_once(' ').unwrap_or((record.trim(), ""));
        lines += 1;
        match kind {
            "" => {}
            "FUNC" => functions += 1,
            "CMDLINE" => {
                if !sheet.readings.is_empty() {
                    runs += 1;
                    sheet = empty();
                }
                sheet.command = rest.split_whitespace().map(str::to_owned).collect();
                main = sheet.identity(&Identity { command: sheet.command.join(" "), ..Identity::default() });
            }
            "MEM" | "CHLD" if measurement(&mut sheet, main, kind, rest, line).is_some() => sheet.bounded()?,
            _ => {
                bad_lines += 1;
                bad.get_or_insert((line, cut(record)));
            }
        }
    }
    if let Some((line, text)) = bad {
        if bad_lines > 3.max(lines / 20) {
            let expected = "`MEM mebibytes seconds`";
            return Err(Problem::BadRows { bad: bad_lines, rows: lines, line, column: 1, text, expected });
        }
        sheet.said.push(format!("Left out {bad_lines} lines that could not be read, the first in line {line}: `{text}`."));
    }
    if sheet.readings.is_empty() {
        return Err(Problem::NoMemLines);
    }
    if runs > 1 {
        sheet.said.push(format!("There are {runs} runs in the file; this is the last one."));
    }
    if functions > 0 {
        sheet.said.push(format!("The times of functions ({functions} FUNC lines) are not used."));
    }
    sheet.said.push("There is RSS only: growth of file pages cannot be told from growth of the program's own memory.".to_owned());
    if !text.contains("\nCHLD ") {
        sheet.said.push("With --include-children mprof adds the RSS of all processes up, shared pages several times.".to_owned());
    }
    Ok(sheet)
}

fn empty() -> Sheet {
    let mut sheet = Sheet::new("mprof data");
    sheet.signal = Signal::RssOnly;
    sheet.unix_s = Some(0.0);
    sheet.has_parents = true;
    sheet
}

/// Take a measurement in; `command` is the identity of the main process.
fn measurement(sheet: &mut Sheet, command: u32, kind: &str, rest: &str, line: u64) -> Option<()> {
    let mut words = rest.split_whitespace();
    let child = if kind == "CHLD" { Some(words.next()?.parse::<u32>().ok()?) } else { None };
    let mebibytes: f64 = words.next()?.parse().ok()?;
    let t_s: f64 = words.next()?.parse().ok()?;
    if !(0.0..=MOST_MIB).contains(&mebibytes) || !t_s.is_finite() {
        return None;
    }
    let main = sheet.series("main", 0, "");
    let (series, identity) = match child {
        None => (main, command),
        Some(pid) => (sheet.child_series(&format!("pid {pid}"), pid, main), sheet.identity(&Identity::default())),
    };
    // Zero stands for a child that was gone before it could be read.
    if mebibytes > 0.0 {
        let sample = ProcSample { anon: (mebibytes * MIB).round() as u64, ..ProcSample::empty(ProcId(0)) };
        sheet.readings.push(Reading { t_s, line, series, of: Of::Process(identity, sample) });
    }
    Some(())
}
