//! A table's rows as readings: whose each cell is, in bytes, at which second.

use std::borrow::Cow;

use lowtide_model::{ProcId, ProcSample, Role, Signal};

use crate::Problem;
use crate::header::{Field, Measure, Whose};
use crate::hints::Hint;
use crate::number::{self, Cell};
use crate::plan::{Plan, Values};
use crate::sheet::{Identity, Of, Reading, Sheet};
use crate::table::{self, Dialect, Table, Writer};
use crate::text::cut;
use crate::when;

/// Bad rows that are skipped whatever their share.
const FEW_BAD: u64 = 3;
/// Above one bad row in so many the file is not what it was taken for.
const BAD_SHARE: u64 = 20;

/// Read a table.
pub(crate) fn read(text: &str, hints: &[Hint]) -> Result<Sheet, Problem> {
    let table = table::find(text, hints)?;
    let plan = Plan::make(&table, text)?;
    let mut sheet = Sheet::new(what(&table));
    plan.describe(&table, &mut sheet);
    let mut rows = Rows { table: &table, plan: &plan, sheet: &mut sheet, counted: Counted::default() };
    let mut cells = Vec::new();
    for record in table.records(text) {
        let (line, record) = record?;
        if line > table.header_line && !record.trim().is_empty() && !record.trim_start().starts_with('#') {
            table.split(record, &mut cells);
            rows.row(line, &cells);
            rows.sheet.bounded()?;
        }
    }
    let counted = rows.counted;
    counted.judge(&mut sheet)?;
    if sheet.readings.is_empty() {
        return Err(Problem::NoRows);
    }
    Ok(sheet)
}

fn what(table: &Table) -> String {
    match (table.writer, table.dialect) {
        (Writer::Zoo, _) => "zoo trace CSV".to_owned(),
        (Writer::Lowtide, _) => "CSV export of lowtide".to_owned(),
        (Writer::Psrecord, _) => "psrecord log".to_owned(),
        (Writer::Pidstat, _) => "pidstat -r output".to_owned(),
        (Writer::Sar, _) => "sar -r output".to_owned(),
        (Writer::Anyone, Dialect::Delimited(',')) => "CSV".to_owned(),
        (Writer::Anyone, Dialect::Delimited('\t')) => "TSV".to_owned(),
        (Writer::Anyone, Dialect::Delimited(c)) => format!("CSV with `{c}`"),
        (Writer::Anyone, Dialect::Blanks) => "table".to_owned(),
    }
}

/// Rows that were read, and the first that could not be.
#[derive(Default)]
struct Counted {
    good: u64,
    bad: u64,
    first: Option<Bad>,
}

/// A cell that cannot be read.
struct Bad {
    line: u64,
    column: usize,
    text: String,
    expected: &'static str,
}

impl Counted {
    fn judge(self, sheet: &mut Sheet) -> Result<(), Problem> {
        let Some(first) = self.first else { return Ok(()) };
        let rows = self.good + self.bad;
        if self.bad > FEW_BAD.max(rows / BAD_SHARE) || self.good == 0 {
            let Bad { line, column, text, expected } = first;
            return Err(Problem::BadRows { bad: self.bad, rows, line, column, text, expected });
        }
        sheet.said.push(format!(
            "Left out {} of {rows} rows that could not be read, the first in line {}, column {}: `{}`.",
            self.bad, first.line, first.column, first.text
        ));
        Ok(())
    }
}

struct Rows<'a> {
    table: &'a Table,
    plan: &'a Plan,
    sheet: &'a mut Sheet,
    counted: Counted,
}

impl Rows<'_> {
    fn row(&mut self, line: u64, cells: &[Cow<'_, str>]) {
        // sysstat ends with averages, and prints its header again and again.
        let is_average = self.table.dialect == Dialect::Blanks && cells.first().is_some_and(|cell| cell.ends_with(':'));
        let is_header = cells.len() > 1 && cells.len() == self.table.names.len() && cells[1..] == self.table.names[1..];
        if is_average || is_header {
            return;
        }
        match self.try_row(line, cells) {
            Ok(()) => self.counted.good += 1,
            Err((column, expected)) => {
                self.counted.bad += 1;
                let text = cut(cells.get(column).map_or("", |cell| cell));
                self.counted.first.get_or_insert(Bad { line, column: column + 1, text, expected });
            }
        }
    }

    fn try_row(&mut self, line: u64, cells: &[Cow<'_, str>]) -> Result<(), (usize, &'static str)> {
        let plan = self.plan;
        // A comma after the last field is harmless, more fields than names are not.
        let extra = cells.iter().skip(self.table.names.len()).position(|cell| !cell.is_empty());
        if let Some(at) = extra {
            return Err((self.table.names.len() + at, "the end of the row"));
        }
        let t_s = self.time(cells)?;
        let cell = |at: Option<usize>| at.and_then(|at| cells.get(at)).map_or("", |cell| cell.as_ref());
        let pid = match plan.pid {
            Some(at) => number_of(cells, at).ok_or((at, "a pid"))?,
            None => 0,
        };
        let identity = Identity {
            ppid: plan.ppid.and_then(|at| number_of(cells, at)).unwrap_or(0),
            command: cell(plan.command).to_owned(),
            name: cell(plan.name).to_owned(),
            role: role_of(cell(plan.role)),
            rank: plan.rank.and_then(|at| number_of(cells, at)),
        };
        let machine_row = plan.pid.is_some() && pid == 0 && self.table.writer == Writer::Zoo;
        for group in &plan.groups {
            let values = group.read(cells, self.table.comma_decimal())?;
            let of = match group.whose {
                _ if machine_row => machine_of_zoo(&values),
                Whose::Process => values.process(plan.signal).map(|sample| self.process(sample, &identity, &group.name)),
                Whose::Cgroup => values.cgroup().map(Of::Cgroup),
                Whose::Machine => {
                    if plan.signal == Signal::SystemOnly {
                        self.machine_as_process(t_s, line, &values);
                    }
                    values.machine().map(Of::Machine)
                }
            };
            let Some(of) = of else { continue };
            let process = plan.process.map(|at| cell(Some(at)));
            let series = self.series(&of, process, pid, &identity, &group.name);
            self.sheet.readings.push(Reading { t_s, line, series, of });
        }
        Ok(())
    }

    fn process(&mut self, sample: ProcSample, identity: &Identity, group: &str) -> Of {
        if identity.name.is_empty() && identity.command.is_empty() && !group.is_empty() {
            return Of::Process(self.sheet.identity(&Identity { name: group.to_owned(), ..identity.clone() }), sample);
        }
        Of::Process(self.sheet.identity(identity), sample)
    }

    /// The machine's used memory, as a process that stands for all.
    fn machine_as_process(&mut self, t_s: f64, line: u64, values: &Values) {
        let Some(anon) = values.machine_used() else { return };
        let identity = self.sheet.identity(&Identity { name: "machine".to_owned(), ..Identity::default() });
        let series = self.sheet.series("used", 0, "");
        let of = Of::Process(identity, ProcSample { anon, ..ProcSample::empty(ProcId(0)) });
        self.sheet.readings.push(Reading { t_s, line, series, of });
    }

    /// The series of a reading: by its number, else by pid, else by name and rank.
    fn series(&mut self, of: &Of, process: Option<&str>, pid: u32, identity: &Identity, group: &str) -> u32 {
        match (of, process) {
            (Of::Machine(_), _) => self.sheet.series("machine", 0, ""),
            // The file does not know its path.
            (Of::Cgroup(_), _) => self.sheet.series("cgroup", 0, ""),
            (_, Some(number)) => self.sheet.series(&format!("process {number}"), pid, ""),
            _ if self.plan.pid.is_some() => self.sheet.series(&format!("pid {pid}"), pid, ""),
            _ => self.sheet.series(&format!("{group}/{}/{:?}", identity.name, identity.rank), pid, ""),
        }
    }

    fn time(&self, cells: &[Cow<'_, str>]) -> Result<f64, (usize, &'static str)> {
        let plan = self.plan;
        let bad = (plan.time, "a time");
        let cell = cells.get(plan.time).ok_or(bad)?;
        let (value, sort) = when::parse(cell, self.table.comma_decimal()).ok_or(bad)?;
        if sort != plan.sort || !value.is_finite() {
            return Err(bad);
        }
        let day_s = match plan.day_time {
            Some(at) => {
                let cell = cells.get(at).ok_or((at, "a time of day"))?;
                when::parse(cell, true).filter(|(_, sort)| *sort == when::Sort::Clock).ok_or((at, "a time of day"))?.0
            }
            None => 0.0,
        };
        Ok(value * plan.time_scale + day_s)
    }
}

/// The zoo's row of the machine: its README says which columns it uses for what. Its used memory has no place
/// where the total is unknown.
fn machine_of_zoo(values: &Values) -> Option<Of> {
    Some(Of::Machine(lowtide_model::SystemSample {
        shmem: values.get(Measure::PssShmem).unwrap_or(0),
        cached: values.get(Measure::PssFile).unwrap_or(0),
        dev_shm_used: values.get(Measure::Uss).unwrap_or(0),
        ..Default::default()
    }))
}

fn number_of(cells: &[Cow<'_, str>], at: usize) -> Option<u32> {
    match number::cell(cells.get(at)?, false) {
        Cell::Number(value, None) if value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value) => Some(value as u32),
        _ => None,
    }
}

fn role_of(text: &str) -> Option<Role> {
    match text {
        "forked_child" => Some(Role::ForkedChild),
        "outside" => Some(Role::Outside),
        _ => Role::ALL.into_iter().find(|role| role.schema_name() == text || role.label() == text),
    }
}

/// Whether a column may be read at all.
pub(crate) fn is_measure(field: &Field) -> Option<Measure> {
    match field {
        Field::Measure(measure) => Some(*measure),
        _ => None,
    }
}
