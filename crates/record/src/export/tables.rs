//! The tables of a run, the same for every format. Sizes in bytes, times in seconds after the run's start.

#![cfg_attr(not(all(feature = "sqlite", feature = "parquet")), allow(dead_code))]

use std::collections::BTreeMap;
use std::sync::Arc;

use lowtide_model::{
    Cgroup, CgroupId, CgroupSample, Event, ExitStatus, Gpu, GpuSample, GpuUser, GpuUserId, GpuUserSample, Note, ProcId,
    ProcSample, Process, Rollup, RunEnd, RunInfo, SystemSample, Tick,
};

use super::looks::{GROWN, LOOKS, look_row, look_rows};
use super::marks::{MARKS, mark_row};
use super::table::{Sink, Table, Value, table, word};

/// All of them.
pub(super) const TABLES: [&Table; 12] = [
    &RUNS,
    &PROCESSES,
    &GPUS,
    &TICKS,
    &PROCESS_TICKS,
    &CGROUP_TICKS,
    &GPU_TICKS,
    &GPU_USER_TICKS,
    &NOTES,
    &MARKS,
    &LOOKS,
    &GROWN,
];

table! {
    /// One row: the run.
    RUNS "runs", run_row(run: &RunInfo, end: Option<&RunEnd>) {
        version: Text = run.version.as_str(),
        mode: Text = &word(&run.mode),
        command: Text = run.command.join(" ").as_str(),
        host: Text = run.host.as_str(),
        started_unix_s: Real = run.started_unix_s,
        interval_s: Real = run.interval_s,
        root_pid: Integer = run.root_pid,
        rank: Integer = run.rank,
        signal: Text = &word(&run.signal),
        end_s: Real = end.map(|end| end.t_s),
        exit_code: Integer = end.and_then(|end| if let ExitStatus::Code(code) = end.status { Some(code) } else { None }),
        exit_signal: Integer = end.and_then(|end| if let ExitStatus::Signal(signal) = end.status { Some(signal) } else { None }),
        end_reason: Text = end.map(|end| end.reason.as_str()),
        oom_kills: Integer = end.map(|end| end.oom_kills),
    }
}

table! {
    /// What is known of each process at the end.
    PROCESSES "processes", process_row(known: &Known) {
        process_index: Integer = known.process.id.0,
        pid: Integer = known.process.pid,
        ppid: Integer = known.process.ppid,
        parent_index: Integer = known.process.parent.map(|id| id.0),
        role: Text = &known.role,
        role_reason: Text = known.process.role_reason.as_str(),
        rank: Integer = known.process.rank,
        name: Text = &known.name,
        command: Text = known.process.command.as_str(),
        start_s: Real = known.process.start_s,
        exit_s: Real = known.exit_s,
    }
}

table! {
    /// The machine, by tick.
    TICKS "ticks", machine_row(t_s: f64, processes: usize, system: Option<&SystemSample>) {
        t_s: Real = t_s,
        processes: Integer = processes as u64,
        total_bytes: Integer = system.map(|s| s.total),
        available_bytes: Integer = system.map(|s| s.available),
        swap_total_bytes: Integer = system.map(|s| s.swap_total),
        swap_used_bytes: Integer = system.map(|s| s.swap_used),
        shmem_bytes: Integer = system.map(|s| s.shmem),
        cached_bytes: Integer = system.map(|s| s.cached),
        dev_shm_used_bytes: Integer = system.map(|s| s.dev_shm_used),
        dev_shm_size_bytes: Integer = system.map(|s| s.dev_shm_size),
        oom_kills: Integer = system.map(|s| s.oom_kills),
        psi_full_us: Integer = system.map(|s| s.psi_full_us),
    }
}

table! {
    /// Each process, by tick.
    PROCESS_TICKS "process_ticks", sample_row(t_s: f64, known: Option<&Known>, sample: &ProcSample, rollup: Option<&Rollup>, gpu_bytes: Option<u64>) {
        t_s: Real = t_s,
        process_index: Integer = sample.id.0,
        pid: Integer = known.map(|known| known.process.pid),
        ppid: Integer = known.map(|known| known.process.ppid),
        role: Text = known.map(|known| &known.role),
        rank: Integer = known.and_then(|known| known.process.rank),
        name: Text = known.map(|known| &known.name),
        anon_bytes: Integer = sample.anon,
        file_bytes: Integer = sample.file,
        shmem_bytes: Integer = sample.shmem,
        swap_bytes: Integer = sample.swap,
        threads: Integer = sample.threads,
        fds: Integer = sample.fds,
        maps: Integer = sample.maps,
        pss_bytes: Integer = rollup.map(|r| r.pss),
        uss_bytes: Integer = rollup.map(|r| r.uss),
        private_dirty_bytes: Integer = rollup.map(|r| r.private_dirty),
        pss_anon_bytes: Integer = rollup.map(|r| r.pss_anon),
        pss_file_bytes: Integer = rollup.map(|r| r.pss_file),
        pss_shmem_bytes: Integer = rollup.map(|r| r.pss_shmem),
        private_anon_bytes: Integer = sample.private_anon,
        data_bytes: Integer = sample.data,
        size_bytes: Integer = sample.size,
        gpu_bytes: Integer = gpu_bytes,
    }
}

table! {
    /// Each memory cgroup, by tick.
    CGROUP_TICKS "cgroup_ticks", cgroup_row(t_s: f64, path: Option<&Arc<str>>, sample: &CgroupSample) {
        t_s: Real = t_s,
        cgroup_index: Integer = sample.id.0,
        path: Text = path,
        usage_bytes: Integer = sample.usage,
        working_set_bytes: Integer = sample.working_set(),
        limit_bytes: Integer = sample.limit,
        high_bytes: Integer = sample.high,
        peak_bytes: Integer = sample.peak,
        anon_bytes: Integer = sample.anon,
        shmem_bytes: Integer = sample.shmem,
        file_bytes: Integer = sample.file,
        inactive_file_bytes: Integer = sample.inactive_file,
        oom_kills: Integer = sample.oom_kills,
        limit_hits: Integer = sample.limit_hits,
        psi_full_us: Integer = sample.psi_full_us,
    }
}

table! {
    /// Each GPU, or instance of one.
    GPUS "gpus", gpu_row(gpu: &Gpu) {
        gpu_index: Integer = gpu.id.0,
        resource: Text = gpu.resource.as_str(),
        name: Text = gpu.name.as_str(),
        uuid: Text = gpu.uuid.as_str(),
        driver: Text = &word(&gpu.driver),
        emulated: Integer = gpu.emulated,
    }
}

table! {
    /// Each GPU, by tick.
    GPU_TICKS "gpu_ticks", gpu_tick_row(t_s: f64, sample: &GpuSample) {
        t_s: Real = t_s,
        gpu_index: Integer = sample.id.0,
        total_bytes: Integer = sample.total,
        used_bytes: Integer = sample.used,
        free_bytes: Integer = sample.free,
        reserved_bytes: Integer = sample.reserved,
    }
}

table! {
    /// What each process has on each GPU, by tick; without `process_index` it is none of the run.
    GPU_USER_TICKS "gpu_user_ticks", gpu_user_row(t_s: f64, user: Option<&GpuUser>, sample: &GpuUserSample) {
        t_s: Real = t_s,
        gpu_index: Integer = user.map(|user| user.gpu.0),
        pid: Integer = user.map(|user| user.pid),
        process_index: Integer = user.and_then(|user| user.process).map(|id| id.0),
        name: Text = user.map(|user| user.name.as_str()),
        used_bytes: Integer = sample.used,
    }
}

table! {
    /// What a reader should know.
    NOTES "notes", note_row(note: &Note) {
        t_s: Real = note.t_s,
        kind: Text = &word(&note.kind),
        text: Text = note.text.as_str(),
        process_index: Integer = note.process.map(|id| id.0),
    }
}

/// What was last said about a process.
pub(super) struct Known {
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
    gpu_users: BTreeMap<GpuUserId, GpuUser>,
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
            Event::Gpu(gpu) => sink.row(&GPUS, &gpu_row(gpu))?,
            Event::GpuUser(user) => _ = self.gpu_users.insert(user.id, user.clone()),
            Event::Note(note) => sink.row(&NOTES, &note_row(note))?,
            Event::Tick(tick) => self.tick(tick, sink)?,
            Event::Mark(mark) => sink.row(&MARKS, &mark_row(mark))?,
            Event::Look(look) => {
                sink.row(&LOOKS, &look_row(look))?;
                look_rows(look).iter().try_for_each(|row| sink.row(&GROWN, row))?;
            }
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
        sink.row(&TICKS, &machine_row(tick.t_s, tick.procs.len(), tick.system.as_ref()))?;
        for sample in &tick.procs {
            sink.row(&PROCESS_TICKS, &self.sample(tick, sample))?;
        }
        for sample in &tick.gpus {
            sink.row(&GPU_TICKS, &gpu_tick_row(tick.t_s, sample))?;
        }
        for sample in &tick.gpu_users {
            sink.row(&GPU_USER_TICKS, &gpu_user_row(tick.t_s, self.gpu_users.get(&sample.id), sample))?;
        }
        for sample in &tick.cgroups {
            sink.row(&CGROUP_TICKS, &cgroup_row(tick.t_s, self.cgroups.get(&sample.id), sample))?;
        }
        Ok(())
    }

    /// A row of [`PROCESS_TICKS`].
    pub(super) fn sample(&self, tick: &Tick, sample: &ProcSample) -> [Value; PROCESS_TICKS.columns.len()] {
        let on_gpus = tick.gpu_users.iter().filter(|user| self.process_of(user.id) == Some(sample.id));
        let gpu_bytes = on_gpus.filter_map(|user| user.used).reduce(u64::saturating_add);
        sample_row(tick.t_s, self.processes.get(&sample.id), sample, sample.rollup.as_ref(), gpu_bytes)
    }

    fn process_of(&self, user: GpuUserId) -> Option<ProcId> {
        self.gpu_users.get(&user)?.process
    }
}
