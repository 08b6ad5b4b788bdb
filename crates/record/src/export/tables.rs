//! The tables of a run, the same for every format. Sizes in bytes, times in seconds after the run's start.

#![cfg_attr(not(all(feature = "sqlite", feature = "parquet")), allow(dead_code))]

use std::collections::BTreeMap;
use std::sync::Arc;

use lowtide_model::{
    Cgroup, CgroupId, CgroupSample, Event, ExitStatus, Note, ProcId, ProcSample, Process, RunEnd, RunInfo, SystemSample, Tick,
};

use super::marks::{MARKS, mark_row};

/// The type of a column. Every value may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Integer,
    Real,
    Text,
}

/// A value. Unsigned numbers beyond `i64` are cut to it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(Arc<str>),
}

/// A table's name and columns.
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) columns: &'static [(&'static str, Type)],
}

use Type::{Integer, Real, Text};

pub(super) const RUNS: Table = Table {
    name: "runs",
    columns: &[
        ("version", Text),
        ("mode", Text),
        ("command", Text),
        ("host", Text),
        ("started_unix_s", Real),
        ("interval_s", Real),
        ("root_pid", Integer),
        ("rank", Integer),
        ("signal", Text),
        ("end_s", Real),
        ("exit_code", Integer),
        ("exit_signal", Integer),
        ("end_reason", Text),
        ("oom_kills", Integer),
    ],
};

pub(super) const PROCESSES: Table = Table {
    name: "processes",
    columns: &[
        ("process_index", Integer),
        ("pid", Integer),
        ("ppid", Integer),
        ("parent_index", Integer),
        ("role", Text),
        ("role_reason", Text),
        ("rank", Integer),
        ("name", Text),
        ("command", Text),
        ("start_s", Real),
        ("exit_s", Real),
    ],
};

pub(super) const TICKS: Table = Table {
    name: "ticks",
    columns: &[
        ("t_s", Real),
        ("processes", Integer),
        ("total_bytes", Integer),
        ("available_bytes", Integer),
        ("swap_total_bytes", Integer),
        ("swap_used_bytes", Integer),
        ("shmem_bytes", Integer),
        ("cached_bytes", Integer),
        ("dev_shm_used_bytes", Integer),
        ("dev_shm_size_bytes", Integer),
        ("oom_kills", Integer),
        ("psi_full_us", Integer),
    ],
};

pub(super) const PROCESS_TICKS: Table = Table {
    name: "process_ticks",
    columns: &[
        ("t_s", Real),
        ("process_index", Integer),
        ("pid", Integer),
        ("ppid", Integer),
        ("role", Text),
        ("rank", Integer),
        ("name", Text),
        ("anon_bytes", Integer),
        ("file_bytes", Integer),
        ("shmem_bytes", Integer),
        ("swap_bytes", Integer),
        ("threads", Integer),
        ("fds", Integer),
        ("maps", Integer),
        ("pss_bytes", Integer),
        ("uss_bytes", Integer),
        ("private_dirty_bytes", Integer),
        ("pss_anon_bytes", Integer),
        ("pss_file_bytes", Integer),
        ("pss_shmem_bytes", Integer),
    ],
};

pub(super) const CGROUP_TICKS: Table = Table {
    name: "cgroup_ticks",
    columns: &[
        ("t_s", Real),
        ("cgroup_index", Integer),
        ("path", Text),
        ("usage_bytes", Integer),
        ("working_set_bytes", Integer),
        ("limit_bytes", Integer),
        ("high_bytes", Integer),
        ("peak_bytes", Integer),
        ("anon_bytes", Integer),
        ("shmem_bytes", Integer),
        ("file_bytes", Integer),
        ("inactive_file_bytes", Integer),
        ("oom_kills", Integer),
        ("limit_hits", Integer),
        ("psi_full_us", Integer),
    ],
};

pub(super) const NOTES: Table =
    Table { name: "notes", columns: &[("t_s", Real), ("kind", Text), ("text", Text), ("process_index", Integer)] };

/// All of them.
pub(super) const TABLES: [&Table; 7] = [&RUNS, &PROCESSES, &TICKS, &PROCESS_TICKS, &CGROUP_TICKS, &NOTES, &MARKS];

/// Takes the rows as they come: the name of the table, and a value per column.
pub(super) trait Sink {
    type Error;
    fn row(&mut self, table: &'static Table, values: &[Value]) -> Result<(), Self::Error>;
}

/// What was last said about a process.
struct Known {
    process: Process,
    role: Arc<str>,
    name: Arc<str>,
    exit_s: Option<f64>,
}

/// Makes rows of events.
#[derive(Default)]
pub(super) struct Rows {
    run: Option<RunInfo>,
    end: Option<RunEnd>,
    processes: BTreeMap<ProcId, Known>,
    cgroups: BTreeMap<CgroupId, Arc<str>>,
}

impl Rows {
    /// Takes in an event and passes on the rows that it is.
    pub(super) fn event<S: Sink>(&mut self, event: &Event, sink: &mut S) -> Result<(), S::Error> {
        match event {
            Event::Start(run) => self.run = Some(run.clone()),
            Event::End(end) => self.end = Some(end.clone()),
            Event::Process(process) => self.process(process),
            Event::Exit(exit) => {
                if let Some(known) = self.processes.get_mut(&exit.id) {
                    known.exit_s = Some(exit.t_s);
                }
            }
            Event::Cgroup(Cgroup { id, path, .. }) => _ = self.cgroups.insert(*id, path.as_str().into()),
            Event::Note(note) => sink.row(&NOTES, &note_row(note))?,
            Event::Tick(tick) => self.tick(tick, sink)?,
            Event::Mark(mark) => sink.row(&MARKS, &mark_row(mark))?,
            Event::Cost(_) => {}
        }
        Ok(())
    }

    /// The rows that only the end of the run completes.
    pub(super) fn finish<S: Sink>(self, sink: &mut S) -> Result<(), S::Error> {
        if let Some(run) = &self.run {
            sink.row(&RUNS, &run_row(run, self.end.as_ref()))?;
        }
        self.processes.values().try_for_each(|known| sink.row(&PROCESSES, &process_row(known)))
    }

    fn process(&mut self, process: &Process) {
        let exit_s = self.processes.get(&process.id).and_then(|known| known.exit_s);
        let known = Known { process: process.clone(), role: word(&process.role), name: process.name.as_str().into(), exit_s };
        self.processes.insert(process.id, known);
    }

    fn tick<S: Sink>(&self, tick: &Tick, sink: &mut S) -> Result<(), S::Error> {
        sink.row(&TICKS, &machine_row(tick))?;
        for sample in &tick.procs {
            sink.row(&PROCESS_TICKS, &self.sample_row(tick.t_s, sample))?;
        }
        for sample in &tick.cgroups {
            sink.row(&CGROUP_TICKS, &self.cgroup_row(tick.t_s, sample))?;
        }
        Ok(())
    }

    /// A row of [`PROCESS_TICKS`].
    pub(super) fn sample_row(&self, t_s: f64, sample: &ProcSample) -> [Value; 20] {
        let known = self.processes.get(&sample.id);
        let rollup = |get: fn(&lowtide_model::Rollup) -> u64| optional(sample.rollup.as_ref().map(get));
        [
            Value::Real(t_s),
            integer(sample.id.0.into()),
            optional(known.map(|known| known.process.pid.into())),
            optional(known.map(|known| known.process.ppid.into())),
            known.map_or(Value::Null, |known| Value::Text(Arc::clone(&known.role))),
            optional(known.and_then(|known| known.process.rank).map(u64::from)),
            known.map_or(Value::Null, |known| Value::Text(Arc::clone(&known.name))),
            integer(sample.anon),
            integer(sample.file),
            integer(sample.shmem),
            integer(sample.swap),
            integer(sample.threads.into()),
            optional(sample.fds.map(u64::from)),
            optional(sample.maps.map(u64::from)),
            rollup(|rollup| rollup.pss),
            rollup(|rollup| rollup.uss),
            rollup(|rollup| rollup.private_dirty),
            rollup(|rollup| rollup.pss_anon),
            rollup(|rollup| rollup.pss_file),
            rollup(|rollup| rollup.pss_shmem),
        ]
    }

    fn cgroup_row(&self, t_s: f64, sample: &CgroupSample) -> [Value; 15] {
        [
            Value::Real(t_s),
            integer(sample.id.0.into()),
            self.cgroups.get(&sample.id).map_or(Value::Null, |path| Value::Text(Arc::clone(path))),
            integer(sample.usage),
            integer(sample.working_set()),
            optional(sample.limit),
            optional(sample.high),
            integer(sample.peak),
            integer(sample.anon),
            integer(sample.shmem),
            integer(sample.file),
            integer(sample.inactive_file),
            integer(sample.oom_kills),
            integer(sample.limit_hits),
            integer(sample.psi_full_us),
        ]
    }
}

fn machine_row(tick: &Tick) -> [Value; 12] {
    let system = |get: fn(&SystemSample) -> u64| optional(tick.system.as_ref().map(get));
    [
        Value::Real(tick.t_s),
        integer(tick.procs.len() as u64),
        system(|system| system.total),
        system(|system| system.available),
        system(|system| system.swap_total),
        system(|system| system.swap_used),
        system(|system| system.shmem),
        system(|system| system.cached),
        system(|system| system.dev_shm_used),
        system(|system| system.dev_shm_size),
        system(|system| system.oom_kills),
        system(|system| system.psi_full_us),
    ]
}

fn note_row(note: &Note) -> [Value; 4] {
    [Value::Real(note.t_s), Value::Text(word(&note.kind)), text(&note.text), optional(note.process.map(|id| id.0.into()))]
}

fn run_row(run: &RunInfo, end: Option<&RunEnd>) -> [Value; 14] {
    let (code, signal) = match end.map(|end| end.status) {
        Some(ExitStatus::Code(code)) => (Value::Integer(code.into()), Value::Null),
        Some(ExitStatus::Signal(signal)) => (Value::Null, Value::Integer(signal.into())),
        Some(ExitStatus::Unknown) | None => (Value::Null, Value::Null),
    };
    [
        text(&run.version),
        Value::Text(word(&run.mode)),
        text(&run.command.join(" ")),
        text(&run.host),
        Value::Real(run.started_unix_s),
        Value::Real(run.interval_s),
        integer(run.root_pid.into()),
        optional(run.rank.map(u64::from)),
        Value::Text(word(&run.signal)),
        end.map_or(Value::Null, |end| Value::Real(end.t_s)),
        code,
        signal,
        end.map_or(Value::Null, |end| text(&end.reason)),
        optional(end.map(|end| end.oom_kills)),
    ]
}

fn process_row(known: &Known) -> [Value; 11] {
    let process = &known.process;
    [
        integer(process.id.0.into()),
        integer(process.pid.into()),
        integer(process.ppid.into()),
        optional(process.parent.map(|id| id.0.into())),
        Value::Text(Arc::clone(&known.role)),
        text(&process.role_reason),
        optional(process.rank.map(u64::from)),
        Value::Text(Arc::clone(&known.name)),
        text(&process.command),
        Value::Real(process.start_s),
        known.exit_s.map_or(Value::Null, Value::Real),
    ]
}

pub(super) fn integer(value: u64) -> Value {
    Value::Integer(i64::try_from(value).unwrap_or(i64::MAX))
}

pub(super) fn optional(value: Option<u64>) -> Value {
    value.map_or(Value::Null, integer)
}

pub(super) fn text(value: &str) -> Value {
    Value::Text(value.into())
}

/// The name of a role, a kind or a mode as the recording has it: `dataloader_worker`.
pub(super) fn word<T: serde::Serialize>(value: &T) -> Arc<str> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word.into(),
        _ => "".into(),
    }
}
