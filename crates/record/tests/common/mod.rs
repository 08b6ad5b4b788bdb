//! Made-up runs, and strategies for events of every kind.

#![allow(dead_code, clippy::unwrap_used)]

use lowtide_model::{AllocatedGrown, Grown, HolderGrown, LineGrown, Look, ObjectGrown, OnDevice, PartGrown, Site, Sort};
use lowtide_model::{
    Cgroup, CgroupId, CgroupSample, CgroupVersion, Event, Exit, ExitStatus, Mode, Note, NoteKind, ProcId, ProcSample, Process,
    Role, Rollup, RunEnd, RunInfo, Signal, SystemSample, Tick, WatchCost,
};
use lowtide_model::{Gpu, GpuDriver, GpuId, GpuSample, GpuUser, GpuUserId, GpuUserSample};
use proptest::prelude::*;

pub fn start() -> Event {
    Event::Start(RunInfo {
        version: "0.1.0".to_owned(),
        mode: Mode::Run,
        command: vec!["python".to_owned(), "train.py".to_owned()],
        host: "node".to_owned(),
        started_unix_s: 1_700_000_000.25,
        interval_s: 1.0,
        root_pid: 42,
        rank: Some(0),
        signal: Signal::AnonShmem,
    })
}

pub fn process(id: u32, role: Role) -> Event {
    Event::Process(Process {
        id: ProcId(id),
        pid: 1000 + id,
        ppid: 1000,
        parent: (id > 0).then_some(ProcId(0)),
        start_s: 0.5,
        name: "python".to_owned(),
        command: "python train.py".to_owned(),
        role,
        role_reason: "because".to_owned(),
        rank: None,
    })
}

pub fn end(t_s: f64) -> Event {
    Event::End(RunEnd { t_s, status: ExitStatus::Code(0), reason: String::new(), oom_kills: 0 })
}

/// A tick of `procs` processes, each with `anon(id)` bytes.
pub fn tick(t_s: f64, procs: u32, anon: impl Fn(u32) -> u64) -> Event {
    let procs = (0..procs).map(|id| ProcSample { anon: anon(id), threads: 4, ..ProcSample::empty(ProcId(id)) });
    Event::Tick(Tick { t_s, procs: procs.collect(), ..Tick::default() })
}

pub fn ticks(events: &[Event]) -> impl Iterator<Item = &Tick> {
    events.iter().filter_map(|event| if let Event::Tick(tick) = event { Some(tick) } else { None })
}

/// Times on whole microseconds, which a recording keeps exactly.
fn time() -> impl Strategy<Value = f64> {
    (-1_000_000_000i64..1_000_000_000_000).prop_map(|us| us as f64 / 1e6)
}

fn size() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), (0u64..1 << 24).prop_map(|pages| pages * 4096), (0u64..1 << 24).prop_map(|kib| kib * 1024), 0u64..3]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![".{0,20}".prop_map(String::from), Just("\"quoted\"\n\u{1f600}\0".to_owned())]
}

fn rollup() -> impl Strategy<Value = Rollup> {
    prop::array::uniform6(size()).prop_map(|[pss, uss, private_dirty, pss_anon, pss_file, pss_shmem]| Rollup {
        pss,
        uss,
        private_dirty,
        pss_anon,
        pss_file,
        pss_shmem,
    })
}

fn sample() -> impl Strategy<Value = ProcSample> {
    let counts = (any::<u32>(), any::<Option<u32>>(), prop::option::of(0u32..9));
    (0u32..12, prop::array::uniform4(size()), counts, prop::option::of(rollup()), prop::array::uniform3(prop::option::of(size())))
        .prop_map(|(id, [anon, file, shmem, swap], (threads, fds, maps), rollup, [private_anon, data, mapped])| ProcSample {
            id: ProcId(id),
            anon,
            file,
            shmem,
            swap,
            data,
            size: mapped,
            threads,
            fds,
            maps,
            rollup,
            private_anon,
        })
}

fn system() -> impl Strategy<Value = SystemSample> {
    prop::collection::vec(size(), 10).prop_map(|v| SystemSample {
        total: v[0],
        available: v[1],
        swap_total: v[2],
        swap_used: v[3],
        shmem: v[4],
        cached: v[5],
        dev_shm_used: v[6],
        dev_shm_size: v[7],
        oom_kills: v[8],
        psi_full_us: v[9],
    })
}

fn cgroup_sample() -> impl Strategy<Value = CgroupSample> {
    (any::<u32>(), prop::collection::vec(size(), 9), prop::option::of(size()), prop::option::of(size())).prop_map(
        |(id, v, limit, high)| CgroupSample {
            id: CgroupId(id),
            usage: v[0],
            limit,
            high,
            peak: v[1],
            anon: v[2],
            shmem: v[3],
            file: v[4],
            inactive_file: v[5],
            oom_kills: v[6],
            limit_hits: v[7],
            psi_full_us: v[8],
        },
    )
}

fn gpu_sample() -> impl Strategy<Value = GpuSample> {
    (0u32..4, prop::array::uniform4(size())).prop_map(|(id, [total, used, free, reserved])| GpuSample {
        id: GpuId(id),
        total,
        used,
        free,
        reserved,
    })
}

fn gpu_user_sample() -> impl Strategy<Value = GpuUserSample> {
    (0u32..6, prop::option::of(size())).prop_map(|(id, used)| GpuUserSample { id: GpuUserId(id), used })
}

pub fn any_tick() -> impl Strategy<Value = Event> {
    let cgroups = prop::collection::vec(cgroup_sample(), 0..3);
    let gpus = (prop::collection::vec(gpu_sample(), 0..3), prop::collection::vec(gpu_user_sample(), 0..4));
    (time(), prop::collection::vec(sample(), 0..8), prop::option::of(system()), cgroups, gpus).prop_map(
        |(t_s, procs, system, cgroups, (gpus, gpu_users))| Event::Tick(Tick { t_s, procs, system, cgroups, gpus, gpu_users }),
    )
}

fn any_process() -> impl Strategy<Value = Event> {
    let who = (any::<u32>(), any::<u32>(), any::<u32>(), any::<Option<u32>>(), any::<Option<u32>>());
    (who, time(), text(), text(), prop::sample::select(Role::ALL.to_vec())).prop_map(
        |((id, pid, ppid, parent, rank), start_s, name, command, role)| {
            let (id, parent, role_reason) = (ProcId(id), parent.map(ProcId), name.clone());
            Event::Process(Process { id, pid, ppid, parent, start_s, name, command, role, role_reason, rank })
        },
    )
}

fn any_start() -> impl Strategy<Value = Event> {
    let mode = prop::sample::select(vec![Mode::Run, Mode::Attach, Mode::Import]);
    let signal = prop::sample::select(vec![Signal::AnonShmem, Signal::RssOnly, Signal::SystemOnly]);
    (mode, prop::collection::vec(text(), 0..4), text(), any::<u32>(), any::<Option<u32>>(), signal).prop_map(
        |(mode, command, host, root_pid, rank, signal)| {
            let (version, started_unix_s, interval_s) = (host.clone(), 1.5e9, 0.25);
            Event::Start(RunInfo { version, mode, command, host, started_unix_s, interval_s, root_pid, rank, signal })
        },
    )
}

fn any_note() -> impl Strategy<Value = Event> {
    let kind = prop::sample::select(vec![NoteKind::Unavailable, NoteKind::Warning, NoteKind::Gap, NoteKind::Outside]);
    (time(), kind, text(), any::<Option<u32>>())
        .prop_map(|(t_s, kind, text, process)| Event::Note(Note { t_s, kind, text, process: process.map(ProcId) }))
}

fn any_look() -> impl Strategy<Value = Event> {
    let numbers = (any::<u32>(), any::<bool>(), any::<u64>(), any::<u64>(), any::<i64>());
    (time(), 0i64..1_000_000_000, text(), numbers).prop_map(|(t_s, us, name, (id, copied, pause_us, objects, bytes))| {
        let object =
            ObjectGrown { kind: name.clone(), shape: vec![3, 4], grad_fn: copied, bytes_delta: bytes, ..ObjectGrown::default() };
        let holder = HolderGrown {
            path: vec!["module __main__".to_owned(), name.clone()],
            name: name.clone(),
            len: copied.then_some([1, pause_us]),
            bytes,
            objects: vec![object],
            site: Some(Site { file: "train.py".to_owned(), line: id, column: None, text: name.clone() }),
            sites: vec![Site { file: name.clone(), line: id, column: None, text: name.clone() }; usize::from(copied)],
            bounded: copied,
            making: copied,
            also: vec![name.clone(); usize::from(copied)],
            unaccounted: pause_us,
            ..HolderGrown::default()
        };
        let (holder_site, name_again) = (holder.site.clone(), name.clone());
        let parts = vec![PartGrown { name, sort: Sort::Native, bytes }];
        let grown = Grown { seconds: us as f64 / 1e6, total: bytes, parts, holders: vec![holder] };
        let line = LineGrown { site: holder_site, function: name_again.clone(), bytes, blocks: 3 };
        let files = vec![name_again];
        let allocated = AllocatedGrown { device: id, seconds: grown.seconds, bytes, lines: vec![line], files };
        let device = OnDevice { device: "cuda:0".to_owned(), name: "parameters".to_owned(), bytes: pause_us };
        let devices = vec![device];
        let (grown, allocated) = if us % 2 == 0 { (Some(grown), Vec::new()) } else { (None, vec![allocated]) };
        Event::Look(Look { t_s, id: ProcId(id), copied, pause_us, objects, grown, allocated, devices, budget: None })
    })
}

fn any_end() -> impl Strategy<Value = Event> {
    let status = prop_oneof![
        any::<i32>().prop_map(ExitStatus::Code),
        any::<i32>().prop_map(ExitStatus::Signal),
        Just(ExitStatus::Unknown)
    ];
    (time(), status, text(), any::<u64>())
        .prop_map(|(t_s, status, reason, oom_kills)| Event::End(RunEnd { t_s, status, reason, oom_kills }))
}

fn any_gpu() -> impl Strategy<Value = Event> {
    (any::<u32>(), text(), any::<bool>()).prop_map(|(id, name, emulated)| {
        let driver = if emulated { GpuDriver::Emulated } else { GpuDriver::Nvml };
        Event::Gpu(Gpu { id: GpuId(id), resource: "gpu0.mig1".to_owned(), uuid: name.clone(), name, driver, emulated })
    })
}

fn any_gpu_user() -> impl Strategy<Value = Event> {
    (any::<u32>(), any::<u32>(), any::<Option<u32>>(), any::<Option<u32>>(), text()).prop_map(
        |(id, pid, process, device, name)| {
            let (id, gpu) = (GpuUserId(id), GpuId(id / 2));
            Event::GpuUser(GpuUser { id, gpu, pid, process: process.map(ProcId), device, name })
        },
    )
}

/// Any event but a cost, of which only the last one is kept.
pub fn any_event() -> impl Strategy<Value = Event> {
    let version = prop::sample::select(vec![CgroupVersion::V1, CgroupVersion::V2]);
    prop_oneof![
        1 => any_start(),
        1 => any_process(),
        1 => (any::<u32>(), time()).prop_map(|(id, t_s)| Event::Exit(Exit { id: ProcId(id), t_s })),
        1 => (any::<u32>(), text(), version).prop_map(|(id, path, version)| Event::Cgroup(Cgroup { id: CgroupId(id), path, version })),
        1 => any_gpu(),
        1 => any_gpu_user(),
        5 => any_tick(),
        1 => any_note(),
        1 => any_look(),
        1 => any_end(),
    ]
}

pub fn cost(t_s: f64) -> Event {
    let cpu_s = t_s / 500.0;
    Event::Cost(WatchCost { t_s, cpu_s, rss_bytes: 8 << 20, rollup_reads: 77, longest_rollup_ms: 1.25, rollup_skipped: 1 })
}
