//! Made-up runs: what the driver and PyTorch's allocator say, second by second, and the verdict on it.

use lowtide_model::{
    AllocatedGrown, Class, DeviceFacts, Event, ExitStatus, Finding, Gpu, GpuDriver, GpuId, GpuSample, GpuUser, GpuUserId,
    GpuUserSample, Grown, HolderGrown, InnerFacts, Kind, LineGrown, Look, Mark, MarkKind, Mode, ProcId, ProcSample, Process,
    Report, Role, RunEnd, RunInfo, Scope, ScopeMark, Signal, Site, Tick, Verdict,
};

use crate::Analyser;

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;
const TOTAL: u64 = 80 * GIB;

/// What one second is like.
#[derive(Clone, Copy, Default)]
struct Second {
    allocated: u64,
    reserved: u64,
    peak: u64,
    split: u64,
    pools: u64,
    share_ppm: Option<u32>,
    /// Beyond what is reserved.
    outside: u64,
    /// Of a process that is none of the run.
    other: Option<u64>,
}

/// What a run is like.
#[derive(Clone, Copy)]
struct Run {
    seconds: u64,
    /// Marks come from inside.
    marks: bool,
    /// The driver tells what each process has.
    per_process: bool,
    /// The driver lists processes.
    lists: bool,
}

const RUN: Run = Run { seconds: 120, marks: true, per_process: true, lists: true };

fn steady() -> Second {
    Second { allocated: 10 * GIB, reserved: 14 * GIB, peak: 13 * GIB, outside: GIB / 2, ..Second::default() }
}

fn start() -> Vec<Event> {
    let info = RunInfo {
        version: String::new(),
        mode: Mode::Run,
        command: vec!["train".into()],
        host: String::new(),
        started_unix_s: 0.0,
        interval_s: 1.0,
        root_pid: 100,
        rank: None,
        signal: Signal::AnonShmem,
    };
    let process = Process {
        id: ProcId(0),
        pid: 100,
        ppid: 1,
        parent: None,
        start_s: 0.0,
        name: "python".into(),
        command: "python train.py".into(),
        role: Role::Trainer,
        role_reason: String::new(),
        rank: None,
    };
    vec![Event::Start(info), Event::Process(process)]
}

fn card(id: u32, resource: &str) -> Event {
    let (resource, name, uuid) = (resource.to_owned(), "Emulated".to_owned(), String::new());
    Event::Gpu(Gpu { id: GpuId(id), resource, name, uuid, driver: GpuDriver::Nvml, emulated: true })
}

fn user(id: u32, gpu: u32, process: Option<u32>) -> Event {
    let (id, gpu, pid) = (GpuUserId(id), GpuId(gpu), if process.is_some() { 100 } else { 999 });
    let name = if process.is_some() { String::new() } else { "blender".to_owned() };
    Event::GpuUser(GpuUser { id, gpu, pid, process: process.map(ProcId), device: None, name })
}

fn facts(second: &Second) -> InnerFacts {
    let device = DeviceFacts {
        index: 0,
        allocated: second.allocated,
        reserved: second.reserved,
        peak: second.peak,
        inactive_split: Some(second.split),
        private_pools: Some(second.pools),
        share_ppm: second.share_ppm,
        ..DeviceFacts::default()
    };
    InnerFacts { devices: vec![device], ..InnerFacts::default() }
}

fn mark(t_s: f64, what: MarkKind, second: &Second) -> Event {
    Event::Mark(Mark { t_s, id: ProcId(0), what, steps: t_s as u64 + 1, facts: Some(facts(second)) })
}

fn tick(t_s: f64) -> Tick {
    let sample = ProcSample { anon: 500 * MIB, threads: 4, ..ProcSample::empty(ProcId(0)) };
    Tick { t_s, procs: vec![sample], ..Tick::default() }
}

fn report(run: Run, at: impl Fn(u64) -> Second) -> Report {
    let mut events = start();
    events.extend([card(0, "gpu0"), user(0, 0, Some(0)), user(1, 0, None)]);
    for t in 0..run.seconds {
        let (t_s, now) = (t as f64, at(t));
        if run.marks {
            events.push(mark(t_s + 0.9, MarkKind::Step, &now));
        }
        let used = now.reserved + now.outside;
        let all = used + now.other.unwrap_or(0);
        let mut tick = tick(t_s + 1.0);
        tick.gpus = vec![GpuSample { id: GpuId(0), total: TOTAL, used: all, free: TOTAL - all, reserved: 0 }];
        if run.lists {
            tick.gpu_users.push(GpuUserSample { id: GpuUserId(0), used: run.per_process.then_some(used) });
            let other = |used| GpuUserSample { id: GpuUserId(1), used: run.per_process.then_some(used) };
            tick.gpu_users.extend(now.other.map(other));
        }
        events.push(Event::Tick(tick));
    }
    events.push(Event::End(RunEnd { t_s: run.seconds as f64, status: ExitStatus::Code(0), reason: String::new(), oom_kills: 0 }));
    judged(&events)
}

fn judged(events: &[Event]) -> Report {
    let mut analyser = Analyser::new();
    events.iter().for_each(|event| analyser.push(event));
    analyser.report()
}

fn growing(report: &Report) -> Vec<&Finding> {
    report.findings.iter().filter(|finding| finding.grows()).collect()
}

/// The only finding of growth.
fn only(report: &Report) -> &Finding {
    let [finding] = growing(report)[..] else { panic!("{:#?}", report.findings) };
    finding
}

#[test]
fn what_is_level_is_no_leak() {
    let report = report(RUN, |_| steady());
    assert_eq!((report.verdict, growing(&report).len()), (Verdict::NoLeak, 0), "{:#?}", report.findings);
    let row = &report.gpus[0];
    assert_eq!((row.total_bytes, row.used_bytes, row.emulated), (Some(TOTAL), Some(14 * GIB + GIB / 2), true));
    let holder = &row.processes[0];
    assert_eq!((holder.allocated_bytes, holder.outside_bytes), (Some(10 * GIB), Some(GIB / 2)));
}

#[test]
fn tensors_that_stay_alive_are_a_leak_with_a_forecast_against_the_card() {
    let grown = |t: u64| {
        let allocated = 10 * GIB + t * 100 * MIB;
        Second { allocated, peak: allocated + 3 * GIB, reserved: allocated + 4 * GIB, ..steady() }
    };
    let report = report(RUN, grown);
    assert_eq!(report.verdict, Verdict::Leak, "{:#?}", report.findings);
    let finding = only(&report);
    assert_eq!((finding.class, finding.kind, finding.resource.as_str()), (Class::Leak, Some(Kind::GpuAllocated), "gpu0"));
    assert!(finding.fix.as_ref().is_some_and(|fix| fix.contains("cures no leak")), "{finding:#?}");
    let growth = finding.growth.as_ref().expect("a rate");
    assert!((growth.bytes_per_second / (100.0 * MIB as f64) - 1.0).abs() < 0.05, "{growth:?}");
    assert!(growth.bytes_per_step.is_some_and(|step| (step / (100.0 * MIB as f64) - 1.0).abs() < 0.1), "{growth:?}");
    let oom = finding.oom.as_ref().expect("a forecast");
    let last = grown(RUN.seconds - 1);
    let room = (TOTAL - last.reserved - GIB / 2 + last.reserved - last.peak) as f64;
    let middle = oom.seconds.expect("seconds")[1];
    assert_eq!((oom.limit.as_str(), oom.limit_bytes), ("gpu0", TOTAL));
    assert!((middle / (room / (100.0 * MIB as f64)) - 1.0).abs() < 0.06, "{middle} for {room}");
}

#[test]
fn the_share_that_a_process_may_have_is_its_limit() {
    let half = |t: u64| {
        let allocated = 10 * GIB + t * 100 * MIB;
        Second { allocated, peak: allocated, reserved: allocated + GIB, share_ppm: Some(500_000), ..steady() }
    };
    let report = report(RUN, half);
    assert_eq!(only(&report).oom.as_ref().map(|oom| oom.limit_bytes), Some(TOTAL / 2));
}

#[test]
fn fragments_are_growth_of_what_is_reserved() {
    let report = report(RUN, |t| Second { reserved: 14 * GIB + t * 50 * MIB, split: GIB + t * 50 * MIB, ..steady() });
    assert_eq!(report.verdict, Verdict::Leak, "{:#?}", report.findings);
    let finding = only(&report);
    assert_eq!((finding.class, finding.kind), (Class::GpuReservedGrowth, Some(Kind::GpuReserved)));
    let fix = finding.fix.as_deref().unwrap_or_default();
    assert!(
        finding.text.contains("fragmentation") && fix.contains("max_split_size_mb") && fix.contains("hides a leak"),
        "{finding:#?}"
    );
    assert!(!fix.contains("empty_cache"));
}

#[test]
fn what_follows_the_largest_batch_is_no_leak() {
    let report = report(RUN, |t| Second { reserved: 14 * GIB + t * 50 * MIB, peak: 13 * GIB + t * 50 * MIB, ..steady() });
    assert_eq!((report.verdict, growing(&report).len()), (Verdict::NoLeak, 0), "{:#?}", report.findings);
    let finding = report.findings.iter().find(|f| f.class == Class::GpuReservedGrowth).expect("said all the same");
    assert!(finding.text.contains("largest batch"), "{finding:#?}");
}

#[test]
fn pools_and_unused_blocks_are_told_apart() {
    let pools = report(RUN, |t| Second { reserved: 14 * GIB + t * 50 * MIB, pools: t * 50 * MIB, ..steady() });
    assert!(only(&pools).text.contains("private pools"), "{:#?}", pools.findings);
    let unused = report(RUN, |t| Second { reserved: 14 * GIB + t * 50 * MIB, ..steady() });
    assert!(only(&unused).fix.as_ref().is_some_and(|fix| fix.contains("stream")), "{:#?}", unused.findings);
}

#[test]
fn what_grows_outside_the_allocator_is_told_from_the_context() {
    let report = report(RUN, |t| Second { outside: GIB / 2 + t * 30 * MIB, ..steady() });
    assert_eq!(report.verdict, Verdict::Leak, "{:#?}", report.findings);
    let finding = only(&report);
    assert_eq!((finding.class, finding.kind), (Class::Leak, Some(Kind::GpuOutside)));
    assert!(finding.evidence.iter().any(|line| line.contains("512 MiB were there from the start")), "{finding:#?}");
}

#[test]
fn another_process_is_named_and_is_not_ours() {
    let report = report(RUN, |t| Second { other: Some(5 * GIB + t * 100 * MIB), ..steady() });
    assert_eq!((report.verdict, growing(&report).len()), (Verdict::NoLeak, 0), "{:#?}", report.findings);
    let finding = report.findings.iter().find(|finding| finding.text.contains("blender")).expect("named");
    assert!(finding.text.contains("pid 999") && finding.text.contains("grows by"), "{finding:#?}");
    assert!(report.gpus[0].others_bytes.is_some_and(|bytes| bytes > 16 * GIB));
}

#[test]
fn without_numbers_of_processes_only_what_is_certain_is_claimed() {
    let outside = |t: u64| Second { outside: GIB / 2 + t * 30 * MIB, ..steady() };
    let alone = report(Run { per_process: false, ..RUN }, outside);
    assert_eq!(alone.verdict, Verdict::LikelyLeak, "nobody else is listed: {:#?}", alone.findings);
    assert_eq!(only(&alone).kind, Some(Kind::GpuOutside));
    for (lists, other) in [(false, None), (true, Some(GIB))] {
        let hidden = report(Run { per_process: false, lists, ..RUN }, |t| Second { other, ..outside(t) });
        assert_eq!(hidden.verdict, Verdict::Undecided, "{lists} {other:?}: {:#?}", hidden.findings);
        assert!(hidden.findings.iter().any(|finding| finding.text.contains("does not tell whose")), "{:#?}", hidden.findings);
    }
    let grown = |t: u64| Second { allocated: 10 * GIB + t * 50 * MIB, reserved: 14 * GIB + t * 50 * MIB, ..steady() };
    let inner = report(Run { per_process: false, lists: false, ..RUN }, grown);
    assert_eq!((inner.verdict, only(&inner).kind), (Verdict::Leak, Some(Kind::GpuAllocated)), "PyTorch tells it");
}

#[test]
fn from_outside_alone_growth_is_likely_at_most() {
    let grown = |t: u64| Second { reserved: 14 * GIB + t * 50 * MIB, ..steady() };
    let report = report(Run { marks: false, ..RUN }, grown);
    assert_eq!(report.verdict, Verdict::LikelyLeak, "{:#?}", report.findings);
    assert!(only(&report).evidence.iter().any(|line| line.contains("from outside")));
}

#[test]
fn growth_that_stops_is_bounded() {
    let report = report(Run { seconds: 200, ..RUN }, |t| {
        let allocated = 10 * GIB + t.min(60) * 50 * MIB;
        Second { allocated, reserved: allocated + 4 * GIB, peak: allocated + 3 * GIB, ..steady() }
    });
    assert_eq!((report.verdict, growing(&report).len()), (Verdict::NoLeak, 0), "{:#?}", report.findings);
    let bounded = |finding: &&Finding| finding.class == Class::BoundedGrowth && finding.kind == Some(Kind::GpuAllocated);
    assert!(report.findings.iter().any(|finding| bounded(&finding)), "{:#?}", report.findings);
}

#[test]
fn a_validation_that_needs_more_than_training_is_a_spike() {
    let mut events = start();
    events.extend([card(0, "gpu0"), user(0, 0, Some(0))]);
    let phase = |name: &str| MarkKind::Begin(ScopeMark { scope: Scope::Phase, index: None, name: name.to_owned() });
    for t in 0..90_u64 {
        let validated = if t > 20 { 9 * GIB } else { 0 };
        let now = Second { peak: 13 * GIB + validated, reserved: 14 * GIB + validated, ..steady() };
        match t {
            1 => events.push(mark(1.0, phase("train"), &now)),
            20 => events.extend([mark(20.0, MarkKind::End(Scope::Phase), &now), mark(20.1, phase("validation"), &now)]),
            25 => events.push(mark(25.0, MarkKind::End(Scope::Phase), &now)),
            _ => events.push(mark(t as f64, MarkKind::Step, &now)),
        }
        events.push(Event::Tick(tick(t as f64 + 0.5)));
    }
    let report = judged(&events);
    let spike = report.findings.iter().find(|finding| finding.class == Class::Spikes).expect("a spike");
    assert_eq!((spike.phase.as_deref(), spike.bytes), (Some("validation"), Some(9 * GIB)));
    assert!(spike.fix.as_ref().is_some_and(|fix| fix.contains("no_grad")), "{spike:#?}");
    assert!(growing(&report).is_empty(), "{:#?}", report.findings);
}

#[test]
fn each_of_eight_cards_is_judged_by_itself() {
    let mut events = start();
    for gpu in 0..8 {
        events.extend([card(gpu, &format!("gpu{gpu}")), user(gpu, gpu, Some(0))]);
    }
    for t in 0..120_u64 {
        let device = |index: u32| {
            let grown = if index == 5 { t * 20 * MIB } else { 0 };
            DeviceFacts {
                index,
                allocated: GIB + grown,
                reserved: 2 * GIB + grown,
                peak: 2 * GIB + grown,
                ..DeviceFacts::default()
            }
        };
        let facts = InnerFacts { devices: (0..8).map(device).collect(), ..InnerFacts::default() };
        let (id, what) = (ProcId(0), MarkKind::Step);
        events.push(Event::Mark(Mark { t_s: t as f64, id, what, steps: t + 1, facts: Some(facts) }));
        let mut tick = tick(t as f64 + 0.5);
        for index in 0..8 {
            let used = device(index).reserved + GIB;
            tick.gpus.push(GpuSample { id: GpuId(index), total: TOTAL, used, free: TOTAL - used, reserved: 0 });
            tick.gpu_users.push(GpuUserSample { id: GpuUserId(index), used: Some(used) });
        }
        events.push(Event::Tick(tick));
    }
    let report = judged(&events);
    assert_eq!((report.verdict, only(&report).resource.as_str()), (Verdict::Leak, "gpu5"), "{:#?}", report.findings);
    assert_eq!(report.gpus.len(), 8);
}

#[test]
fn an_instance_of_a_card_is_a_card() {
    let mut events = start();
    events.extend([card(0, "gpu0.mig0"), card(1, "gpu0.mig1"), user(0, 1, Some(0))]);
    for t in 0..120_u64 {
        let grown = t * 20 * MIB;
        let now = Second { allocated: GIB + grown, reserved: 2 * GIB + grown, peak: GIB + grown, ..Second::default() };
        events.push(mark(t as f64, MarkKind::Step, &now));
        let mut tick = tick(t as f64 + 0.5);
        for (id, used) in [(0, 0), (1, now.reserved)] {
            tick.gpus.push(GpuSample { id: GpuId(id), total: 10 * GIB, used, free: 10 * GIB - used, reserved: 0 });
        }
        tick.gpu_users.push(GpuUserSample { id: GpuUserId(0), used: Some(now.reserved) });
        events.push(Event::Tick(tick));
    }
    let report = judged(&events);
    assert_eq!((report.verdict, only(&report).resource.as_str()), (Verdict::Leak, "gpu0.mig1"), "{:#?}", report.findings);
    assert_eq!(report.gpus.iter().map(|gpu| gpu.resource.as_str()).collect::<Vec<_>>(), ["gpu0.mig1"]);
}

#[test]
fn who_holds_the_tensors_is_named_by_looks() {
    let mut events = start();
    for t in 0..120_u64 {
        let grown = t * 20 * MIB;
        events.push(mark(t as f64, MarkKind::Step, &Second { allocated: GIB + grown, reserved: 2 * GIB + grown, ..steady() }));
        events.push(Event::Tick(tick(t as f64 + 0.5)));
    }
    let bytes = (30 * 20 * MIB) as i64;
    let holder = |name: &str, elsewhere| HolderGrown { name: name.into(), bytes: elsewhere, elsewhere, ..HolderGrown::default() };
    let holders = vec![HolderGrown { bytes, ..holder("log", 0) }, holder("trainer.outputs", bytes)];
    let grown = Grown { seconds: 30.0, total: bytes, parts: Vec::new(), holders };
    let look = Look {
        t_s: 119.0,
        id: ProcId(0),
        copied: false,
        pause_us: 1,
        objects: 10,
        grown: Some(grown),
        allocated: Vec::new(),
        devices: Vec::new(),
        budget: None,
    };
    events.push(Event::Look(look));
    let report = judged(&events);
    let finding = only(&report);
    let held = finding.holder.as_ref().expect("a holder");
    assert_eq!((finding.kind, held.name.as_str(), held.bytes_delta), (Some(Kind::GpuAllocated), "trainer.outputs", bytes));
    assert_eq!(finding.resource, "gpu0", "no driver tells of the card, PyTorch of its number");
}

/// What grows by 20 MiB a second, by the allocator's history of 30 seconds.
fn by_history(device: u32, mib: i64, looked: bool) -> Finding {
    let mut events = start();
    for t in 0..120_u64 {
        let grown = t * 20 * MIB;
        events.push(mark(t as f64, MarkKind::Step, &Second { allocated: GIB + grown, reserved: 2 * GIB + grown, ..steady() }));
        events.push(Event::Tick(tick(t as f64 + 0.5)));
    }
    let at = |line| Site { file: "/src/train.py".to_owned(), line, column: None, text: String::new() };
    let look = |grown, allocated| Look {
        t_s: 100.0,
        id: ProcId(0),
        copied: true,
        pause_us: 2500,
        objects: 0,
        grown,
        allocated,
        devices: Vec::new(),
        budget: None,
    };
    if looked {
        let bytes = (30 * 20 * MIB) as i64;
        let holder = HolderGrown { name: "kept".into(), bytes, elsewhere: bytes, site: Some(at(90)), ..HolderGrown::default() };
        let grown = Grown { seconds: 30.0, total: bytes, parts: Vec::new(), holders: vec![holder] };
        events.push(Event::Look(look(Some(grown), Vec::new())));
    }
    let bytes = mib * MIB as i64;
    let line = LineGrown { site: Some(at(55)), function: "step".to_owned(), bytes, blocks: 300 };
    let lines = vec![LineGrown { bytes: MIB as i64, ..LineGrown::default() }, line];
    let grown = AllocatedGrown { device, seconds: 30.0, bytes: bytes + MIB as i64, lines, files: Vec::new() };
    events.push(Event::Look(look(None, vec![grown])));
    only(&judged(&events)).clone()
}

#[test]
fn who_asks_for_the_tensors_is_named_by_the_allocators_history() {
    let named = by_history(0, 594, false);
    assert_eq!(named.site.as_ref().map(|site| site.line), Some(55));
    let said = "two snapshots of PyTorch's allocator 30 s apart, which held it up for 2.5 ms in all: 595 MiB more, 99 % of what became more \
                in that time";
    assert_eq!(named.evidence[1], said);
    assert_eq!(named.evidence[2], "594 MiB of it in 300 blocks were asked for by train.py:55 in step()");
    assert_eq!(named.objects[0].count_delta, 300);
    assert_eq!(by_history(1, 594, false).site, None, "another device's");
    assert_eq!(by_history(0, 100, false).site, None, "too little of it to be the reason");
    let held = by_history(0, 594, true);
    assert_eq!(held.site.map(|site| site.line), Some(90), "the line that keeps it matters more");
    assert!(held.evidence.iter().any(|said| said.contains("train.py:55")), "{:#?}", held.evidence);
}
