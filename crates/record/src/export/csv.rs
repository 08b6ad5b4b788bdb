//! CSV: one row per process and tick; the first row of a tick also says what the machine and the innermost cgroup had. `lowtide report`
//! reads it again.

use std::borrow::Borrow;
use std::io::{BufWriter, Write};
use std::path::Path;

use lowtide_model::{Event, Tick};

use super::table::{Sink, Table, Value};
use super::tables::{PROCESS_TICKS, Rows};
use super::{Draft, failed};
use crate::error::RecordError;

/// What a row says besides the process.
const AROUND: [&str; 8] = [
    "system_total_bytes",
    "system_available_bytes",
    "dev_shm_used_bytes",
    "cgroup_usage_bytes",
    "cgroup_inactive_file_bytes",
    "cgroup_limit_bytes",
    "gpu_total_bytes",
    "gpu_used_bytes",
];

/// Writes the ticks of a run as CSV to `out`.
pub fn csv<E: Borrow<Event>>(events: impl IntoIterator<Item = E>, out: &Path) -> Result<(), RecordError> {
    let (draft, file) = Draft::create(out)?;
    let mut file = BufWriter::new(file);
    write(events, &mut file).map_err(failed(out))?;
    file.flush().map_err(RecordError::io("write", out))?;
    draft.done()
}

fn write<E: Borrow<Event>>(events: impl IntoIterator<Item = E>, file: &mut impl Write) -> std::io::Result<()> {
    let mut line = String::new();
    for name in PROCESS_TICKS.columns.iter().map(|(name, _)| *name).chain(AROUND) {
        cell(&mut line, name);
    }
    end_line(&mut line, file)?;
    let mut rows = Rows::default();
    for event in events {
        let event = event.borrow();
        let Event::Tick(tick) = event else {
            let Ok(()) = rows.event(event, &mut Nowhere);
            continue;
        };
        let mut around = around(tick);
        for sample in &tick.procs {
            for value in rows.sample(tick, sample) {
                match value {
                    Value::Null => cell(&mut line, ""),
                    Value::Integer(number) => cell(&mut line, &number.to_string()),
                    Value::Real(number) => cell(&mut line, &number.to_string()),
                    Value::Text(text) => cell(&mut line, &text),
                }
            }
            for value in around {
                cell(&mut line, &value.map_or(String::new(), |value| value.to_string()));
            }
            // Once a tick: a sum over rows shall not count the machine once for each process.
            around = [None; 8];
            end_line(&mut line, file)?;
        }
    }
    Ok(())
}

fn around(tick: &Tick) -> [Option<u64>; 8] {
    let (system, cgroup) = (tick.system.as_ref(), tick.cgroups.first());
    [
        system.map(|system| system.total),
        system.map(|system| system.available),
        system.map(|system| system.dev_shm_used),
        cgroup.map(|cgroup| cgroup.usage),
        cgroup.map(|cgroup| cgroup.inactive_file),
        cgroup.and_then(|cgroup| cgroup.limit),
        tick.gpus.iter().map(|gpu| gpu.total).reduce(u64::saturating_add),
        tick.gpus.iter().map(|gpu| gpu.used).reduce(u64::saturating_add),
    ]
}

/// Appends a cell, quoted where it must be (RFC 4180), and a comma.
fn cell(line: &mut String, text: &str) {
    if text.contains([',', '"', '\n', '\r']) {
        line.push('"');
        line.push_str(&text.replace('"', "\"\""));
        line.push('"');
    } else {
        line.push_str(text);
    }
    line.push(',');
}

fn end_line(line: &mut String, file: &mut impl Write) -> std::io::Result<()> {
    line.pop();
    line.push('\n');
    file.write_all(line.as_bytes())?;
    line.clear();
    Ok(())
}

/// Events that are no tick make no rows here.
struct Nowhere;

impl Sink for Nowhere {
    type Error = std::convert::Infallible;

    fn row(&mut self, _table: &'static Table, _values: &[Value]) -> Result<(), Self::Error> {
        Ok(())
    }
}
