//! Looks into a process name who holds its growth, and never anybody where there is none, or whose growth is of another size.

mod common;

use lowtide_analyse::{Analyser, Review};
use lowtide_model::{
    Class, Event, ExitStatus, Finding, Grown, HolderGrown, HypothesisState, InnerFacts, Kind, Look, MALLOC_HOLES, Mark, MarkKind,
    Note, NoteKind, ObjectGrown, PartGrown, ProcId, ProcSample, Process, Report, Role, RunEnd, Scope, ScopeMark, Site, Sort,
    SystemSample, Tick, Verdict,
};

const MIB: f64 = 1024.0 * 1024.0;
const APART_S: f64 = 20.0;

fn holder(name: &str, mib: f64) -> HolderGrown {
    HolderGrown {
        path: vec!["module __main__".into(), format!("{name}: list")],
        name: name.into(),
        kind: "list".into(),
        len: Some([10, 30]),
        bytes: (mib * MIB) as i64,
        objects: vec![ObjectGrown {
            kind: "numpy.ndarray".into(),
            count_delta: 20,
            bytes_delta: (mib * MIB) as i64,
            ..Default::default()
        }],
        site: Some(Site { file: "train.py".into(), line: 9, column: None, text: format!("{name}.append(x)") }),
        ..HolderGrown::default()
    }
}

/// What a run of 90 s says that does at each second what `sample` says of it, after these looks.
fn made(processes: &[Process], looks: &[Look], sample: impl Fn(ProcId, u32) -> ProcSample) -> Analyser {
    let mut analyser = Analyser::new();
    analyser.push(&Event::Start(common::info(&["python", "train.py"])));
    processes.iter().for_each(|process| analyser.push(&Event::Process(process.clone())));
    for t in 0..90 {
        looks.iter().filter(|look| look.t_s as u32 == t).for_each(|look| analyser.push(&Event::Look(look.clone())));
        let procs = processes.iter().map(|process| sample(process.id, t)).collect();
        analyser.push(&Event::Tick(Tick { t_s: f64::from(t) + 0.1, procs, ..Tick::default() }));
    }
    analyser
}

fn look(t_s: f64, id: u32, grown: Option<Grown>) -> Look {
    Look {
        t_s,
        id: ProcId(id),
        copied: false,
        pause_us: 40_000,
        objects: 9,
        grown,
        allocated: Vec::new(),
        devices: Vec::new(),
        budget: None,
    }
}

fn process(id: u32, role: Role) -> Process {
    Process { role, ..common::trainer(id, 7 + id, 1, -100.0, None) }
}

#[test]
fn who_keeps_open_files_is_named_by_their_number() {
    let opener =
        |opens: &str, more: u64| HolderGrown { opens: opens.into(), len: Some([10, 10 + more]), ..holder("writers", 0.01) };
    let run_with = |holders: Vec<HolderGrown>| {
        let looks = [look(40.0, 0, None), look(60.0, 0, Some(Grown { seconds: 20.0, holders, ..Grown::default() }))];
        let sample = |id, t| ProcSample { anon: 100 << 20, fds: Some(20 + 2 * t), ..ProcSample::empty(id) };
        made(&[process(0, Role::Trainer)], &looks, sample).report()
    };
    let run = |holder: HolderGrown| run_with(vec![holder]);
    // Forty more in that time, two for each element.
    let found = run(opener("files", 20));
    let finding = leak(&found);
    assert_eq!((finding.kind, finding.holder.as_ref().map(|held| held.name.as_str())), (Some(Kind::Fds), Some("writers")));
    // Processes of a loader come with queues, and these with threads and files.
    let found = run(opener("processes and files", 20));
    assert_eq!(leak(&found).holder.as_ref().map(|held| held.name.as_str()), Some("writers"));
    // The books of a library have what the program keeps as well.
    let books = HolderGrown { site: None, name: "threading._active".into(), ..opener("threads", 20) };
    let named = |holders| {
        let report = run_with(holders);
        leak(&report).holder.as_ref().map(|held| held.name.clone())
    };
    assert_eq!(named(vec![books.clone(), opener("threads", 20)]), Some("writers".to_owned()));
    assert_eq!(named(vec![books]), Some("threading._active".to_owned()));
    for other in [opener("", 20), opener("files", 500), opener("files", 1), HolderGrown { bounded: true, ..opener("files", 20) }]
    {
        assert_eq!(leak(&run(other.clone())).holder, None, "{other:?}");
    }
}

#[test]
fn who_keeps_the_maps_of_growing_shared_memory_is_named_where_it_is_one() {
    let keeper = |name: &str, opens: &str| HolderGrown { opens: opens.into(), cause: "LT706".into(), ..holder(name, 0.0) };
    let run = |holders: Vec<HolderGrown>| {
        let parts = vec![PartGrown { name: "native heap".into(), sort: Sort::Native, bytes: 9 << 20 }];
        let grown = Grown { seconds: 20.0, total: 9 << 20, parts, holders };
        let looks = [look(40.0, 0, None), look(60.0, 0, Some(grown))];
        let sample = |id, t| ProcSample { anon: 100 << 20, shmem: u64::from(t) << 20, ..ProcSample::empty(id) };
        let report = made(&[process(0, Role::Trainer)], &looks, sample).report();
        let found = leak(&report);
        assert_eq!(found.kind, Some(Kind::Shmem));
        assert!(
            !found.evidence.iter().any(|said| said.contains("native heap") || said.contains("library")),
            "{:?}",
            found.evidence
        );
        (found.holder.as_ref().map(|held| held.name.clone()), found.cause.clone())
    };
    assert_eq!(run(vec![keeper("segments", "maps of files")]), (Some("segments".to_owned()), None), "told by its sort of memory");
    assert_eq!(run(vec![keeper("segments", "")]), (None, None));
    assert_eq!(run(vec![keeper("one", "maps of files"), keeper("other", "maps of files")]), (None, None), "it may be either");
}

#[test]
fn what_to_do_about_a_process_beside_the_trainer_is_by_what_it_is() {
    let sample = |id: ProcId, t| ProcSample { anon: (100 << 20) + u64::from(id.0 * t) * (1 << 20), ..ProcSample::empty(id) };
    let next = |role| {
        let report = made(&[process(0, Role::Trainer), process(1, role)], &[], sample).report();
        let workers = report.hypotheses.iter().find(|each| each.name == "leaking workers").expect("it is asked");
        assert_eq!(workers.state, HypothesisState::Holds, "{workers:?}");
        workers.action.contains("persistent_workers")
    };
    assert!(next(Role::DataloaderWorker));
    assert!(!next(Role::Other), "a server of the program's own has no Dataset");
}

#[test]
fn what_multiplies_costs_what_each_of_them_takes() {
    // The trainer loads 300 MiB within four seconds, and starts a process of 100 KiB in each second from then on: the set of processes
    // is never the same at two ticks.
    let mut analyser = Analyser::new();
    common::start(0.0).iter().for_each(|event| analyser.push(event));
    for t in 0..90_u32 {
        let trainer = ProcSample { anon: u64::from(t.min(4)) * (75 << 20), ..ProcSample::empty(ProcId(0)) };
        let started = 1..=t.saturating_sub(4);
        if t > 4 {
            let child = Process { start_s: f64::from(t), ..common::trainer(t - 4, 100 + t, 7, 0.0, None) };
            analyser.push(&Event::Process(Process { role: Role::Other, ..child }));
        }
        let children = started.map(|id| ProcSample { anon: 100 << 10, ..ProcSample::empty(ProcId(id)) });
        let procs = std::iter::once(trainer).chain(children).collect();
        analyser.push(&Event::Tick(Tick { t_s: f64::from(t) + 0.1, procs, ..Tick::default() }));
    }
    let report = analyser.report();
    let found = leak(&report);
    assert_eq!(found.kind, Some(Kind::Processes));
    let rate = found.growth.as_ref().expect("a rate").bytes_per_second;
    assert!((80e3..125e3).contains(&rate), "{rate}: {found:?}");
}

#[test]
fn of_a_role_that_grows_thinly_one_is_looked_into() {
    // Eight workers, 12 KiB a second each: none of them by itself is worth a verdict for minutes.
    let workers: Vec<Process> = (1..9).map(|id| process(id, Role::DataloaderWorker)).collect();
    let sample = |id, t| ProcSample { anon: (100 << 20) + u64::from(t) * (12 << 10), ..ProcSample::empty(id) };
    let analyser = made(&workers, &[], sample);
    let Review { report, suspicion, .. } = analyser.review();
    let suspicion = suspicion.unwrap_or_else(|| panic!("somebody: {report:#?}"));
    assert!(suspicion.claimed && (1..9).contains(&suspicion.id.0), "{suspicion:?}");
    let grown = Grown { seconds: 20.0, total: 1 << 20, holders: vec![holder("log", 0.2)], ..Grown::default() };
    let looks = [look(40.0, 3, None), look(60.0, 3, Some(grown))];
    let found = made(&workers, &looks, sample).report();
    let finding = leak(&found);
    assert_eq!(finding.holder.as_ref().map(|held| held.name.as_str()), Some("log"), "{finding:?}");
    assert!(finding.evidence.iter().any(|said| said.contains("pid 10")), "{:?}", finding.evidence);
}

#[test]
fn a_process_is_suspected_before_anything_is_claimed_and_never_without_growth() {
    let at = |seconds: u32, rate: f64| {
        let mut analyser = Analyser::new();
        common::start(-100.0).iter().for_each(|event| analyser.push(event));
        for t in 0..seconds {
            let anon = (100.0 + rate * f64::from(t)) * MIB + f64::from(t % 3) * 4096.0;
            let sample = ProcSample { anon: anon as u64, ..ProcSample::empty(ProcId(0)) };
            analyser.push(&Event::Tick(Tick { t_s: f64::from(t) + 0.1, procs: vec![sample], ..Tick::default() }));
        }
        let Review { report, suspicion, .. } = analyser.review();
        (report, suspicion)
    };
    let (report, suspicion) = at(13, 2.0);
    assert_eq!((report.verdict, suspicion.map(|one| (one.pid, one.claimed))), (Verdict::Undecided, Some((7, false))));
    let (report, suspicion) = at(60, 2.0);
    assert_eq!((report.verdict, suspicion.map(|one| one.claimed)), (Verdict::LikelyLeak, Some(true)));
    for seconds in [3, 13, 30, 60] {
        assert_eq!(at(seconds, 0.0).1, None);
    }
}

#[test]
fn why_nobody_is_named_is_said() {
    let sample = |id: ProcId, t| ProcSample { anon: (100 << 20) + u64::from(t) * (1 << 20), ..ProcSample::empty(id) };
    let mut once = made(&[process(0, Role::Trainer)], &[look(40.0, 0, None)], sample);
    let end = RunEnd { t_s: 90.0, status: ExitStatus::Code(0), reason: String::new(), oom_kills: 0 };
    once.push(&Event::End(end));
    let report = once.report();
    assert!(leak(&report).evidence.iter().any(|said| said.contains("before a second look")), "{:?}", leak(&report).evidence);
    let level = |id: ProcId, t| if id.0 == 0 { sample(id, 0) } else { sample(id, t) };
    let mut beside = made(&[process(0, Role::Trainer), process(1, Role::Outside)], &[], level);
    let text = "it is linked".to_owned();
    beside.push(&Event::Note(Note { t_s: 90.0, kind: NoteKind::Linked, text, process: Some(ProcId(1)) }));
    let Review { report, suspicion, .. } = beside.review();
    assert!(leak(&report).evidence.iter().any(|said| said.contains("lowtide heap 8")), "{:?}", leak(&report).evidence);
    assert_eq!(suspicion, None);
}

/// A run of 90 s that grows by so many MiB per second, and two looks into it.
fn run(rate: f64, holders: Vec<HolderGrown>, native: f64) -> Report {
    run_for(90, rate, holders, native)
}

/// The same for so many seconds.
fn run_for(seconds: u32, rate: f64, holders: Vec<HolderGrown>, native: f64) -> Report {
    run_with(None, seconds, rate, holders, native, |_| None)
}

/// The same on a machine with so much memory.
fn run_within(system: Option<SystemSample>, seconds: u32, rate: f64, holders: Vec<HolderGrown>, native: f64) -> Report {
    run_with(system, seconds, rate, holders, native, |_| None)
}

/// The same, where marks come with these facts.
fn run_with(
    system: Option<SystemSample>,
    seconds: u32,
    rate: f64,
    holders: Vec<HolderGrown>,
    native: f64,
    facts: impl Fn(u32) -> Option<InnerFacts>,
) -> Report {
    let mut analyser = Analyser::new();
    common::start(-100.0).iter().for_each(|event| analyser.push(event));
    let look = |t_s, grown| Event::Look(look(t_s, 0, grown));
    for t in 0..seconds {
        let t_s = f64::from(t);
        if t == 40 {
            analyser.push(&look(t_s, None));
        }
        if t == 60 {
            let total = (rate * APART_S * MIB) as i64;
            let part = |name: &str, sort, bytes| PartGrown { name: name.into(), sort, bytes };
            let native = (native * total as f64) as i64;
            let parts = vec![part("numpy arrays", Sort::Held, total - native), part("native heap", Sort::Native, native)];
            analyser.push(&look(t_s, Some(Grown { seconds: APART_S, total, parts, holders: holders.clone() })));
        }
        if let Some(facts) = facts(t) {
            let what = MarkKind::Step;
            analyser.push(&Event::Mark(Mark { t_s, id: ProcId(0), what, steps: u64::from(t) + 1, facts: Some(facts) }));
        }
        let anon = (100.0 + rate * t_s) * MIB + f64::from(t % 3) * 4096.0;
        let sample = ProcSample { anon: anon as u64, ..ProcSample::empty(ProcId(0)) };
        analyser.push(&Event::Tick(Tick { t_s: t_s + 0.1, procs: vec![sample], system, ..Tick::default() }));
    }
    analyser.report()
}

fn leak(report: &Report) -> &Finding {
    report.leak().unwrap_or_else(|| panic!("a leak: {report:#?}"))
}

#[test]
fn who_explains_the_growth_is_named() {
    let at = |line| Site { file: "train.py".into(), line, column: None, text: String::new() };
    let boxes = HolderGrown { sites: vec![at(12), at(30)], ..holder("boxes", 15.0) };
    let scores = HolderGrown { cause: "LT301".into(), ..holder("scores", 4.0) };
    let report = run(1.0, vec![boxes, scores, holder("small", 0.1)], 0.0);
    let finding = leak(&report);
    let held = finding.holder.as_ref().expect("somebody");
    assert_eq!((held.name.as_str(), held.length, finding.kind), ("boxes", Some([10, 30]), Some(Kind::PythonObjects)));
    assert!((0.6..0.9).contains(&held.explains), "{held:?}");
    assert_eq!(finding.lines().map(|site| site.line).collect::<Vec<_>>(), [9, 12, 30]);
    assert_eq!(finding.objects[0].kind, "numpy.ndarray");
    let [beside] = finding.beside.as_slice() else { panic!("scores, and nothing that is small: {:?}", finding.beside) };
    assert_eq!((beside.holder.name.as_str(), beside.holder.bytes_delta), ("scores", 4 << 20));
    assert_eq!((beside.site.as_ref().map(|site| site.line), beside.cause.as_deref()), (Some(9), Some("LT301")));
    assert!((0.15..0.25).contains(&beside.holder.explains), "{beside:?}");
    assert!(finding.evidence.iter().any(|said| said.contains("boxes and 1 more grew by 19 MiB")), "{:?}", finding.evidence);
    assert_eq!((report.cost.looks, report.cost.stops_ms.len()), (2, 2));
}

#[test]
fn who_holds_the_same_is_named_beside_the_holder() {
    let boxes = HolderGrown { also: vec!["cache".into()], ..holder("boxes", 15.0) };
    let report = run(1.0, vec![boxes], 0.0);
    let finding = leak(&report);
    assert_eq!(finding.holder.as_ref().expect("somebody").also, ["cache"]);
    let said = |words: &str| finding.evidence.iter().any(|said| said.contains(words));
    assert!(said("cache holds most of it as well: both must let go") && !said("accounts for"), "{:?}", finding.evidence);
    let leaked = HolderGrown { unaccounted: 14 << 20, ..holder("boxes", 15.0) };
    let report = run(1.0, vec![leaked], 0.0);
    let finding = leak(&report);
    assert!(
        finding.evidence.iter().any(|said| said.contains("14 MiB of it there are references that no Python object accounts for")),
        "{:?}",
        finding.evidence
    );
}

#[test]
fn what_lies_on_a_gpu_is_no_part_of_the_growth_of_ram() {
    // Samples moved to a device: 900 MiB there, 14 MiB of objects here.
    let samples = HolderGrown {
        elsewhere: (900.0 * MIB) as i64,
        objects: vec![ObjectGrown {
            kind: "torch.Tensor".into(),
            device: "cuda:0".into(),
            bytes_delta: (914.0 * MIB) as i64,
            ..Default::default()
        }],
        ..holder("samples", 914.0)
    };
    let report = run(1.0, vec![samples.clone()], 0.0);
    let finding = leak(&report);
    let held = finding.holder.as_ref().expect("somebody");
    assert_eq!((held.name.as_str(), held.bytes_delta), ("samples", (14.0 * MIB) as i64));
    assert!((0.6..0.8).contains(&held.explains), "{held:?}");
    assert_eq!((finding.kind, finding.objects[0].device.as_str()), (Some(Kind::PythonObjects), "cuda:0"));
    // Nor does it explain any.
    let all = HolderGrown { elsewhere: samples.bytes, ..samples };
    assert_eq!(leak(&run(1.0, vec![all], 0.0)).holder, None);
}

#[test]
fn a_look_changes_no_verdict() {
    let level = run(0.0, vec![holder("boxes", 15.0)], 0.0);
    assert_eq!(level.verdict, Verdict::NoLeak);
    assert!(level.findings.iter().all(|finding| finding.holder.is_none() && finding.site.is_none()));
    assert_eq!(run(1.0, vec![], 0.0).verdict, run(1.0, vec![holder("boxes", 15.0)], 0.0).verdict);
}

#[test]
fn a_leak_is_claimed_when_the_look_has_come_that_may_show_a_limit() {
    let verdict = |first_s: f64, seconds: u32, ended: bool| {
        let mut analyser = Analyser::new();
        common::start(-100.0).iter().for_each(|event| analyser.push(event));
        for t in 0..seconds {
            let t_s = f64::from(t);
            if t_s == first_s {
                analyser.push(&Event::Look(look(t_s, 0, None)));
            }
            let anon = (100.0 + t_s) * MIB + f64::from(t % 3) * 4096.0;
            let sample = ProcSample { anon: anon as u64, ..ProcSample::empty(ProcId(0)) };
            analyser.push(&Event::Tick(Tick { t_s: t_s + 0.1, procs: vec![sample], ..Tick::default() }));
        }
        if ended {
            let (t_s, status) = (f64::from(seconds), ExitStatus::Code(0));
            analyser.push(&Event::End(RunEnd { t_s, status, reason: String::new(), oom_kills: 0 }));
        }
        analyser.report().verdict
    };
    assert_eq!(verdict(f64::MAX, 90, false), Verdict::Leak, "nobody looks");
    assert_eq!(verdict(70.0, 90, false), Verdict::LikelyLeak, "the second look is on its way");
    assert_eq!(verdict(70.0, 90, true), Verdict::Leak, "it will not come");
    assert_eq!(verdict(20.0, 90, false), Verdict::Leak, "it has not come");
}

#[test]
fn what_its_source_limits_may_still_be_filling_up() {
    let limited = |mib| HolderGrown { bounded: true, why: "it has a limit".into(), ..holder("boxes", mib) };
    let verdict = |holders, native| run(1.0, holders, native).verdict;
    assert_eq!(verdict(vec![holder("boxes", 15.0)], 0.0), Verdict::Leak);
    assert_eq!(verdict(vec![limited(15.0)], 0.0), Verdict::Undecided);
    assert_eq!(verdict(vec![limited(6.0)], 0.0), Verdict::LikelyLeak, "most is held by somebody else, or by nobody");
    assert_eq!(verdict(vec![limited(15.0), holder("scores", 6.0)], 0.0), Verdict::Leak, "another one explains as much");
    assert_eq!(verdict(vec![limited(3.0)], 0.0), Verdict::Leak, "it explains little");
    assert_eq!(verdict(vec![limited(6.0)], 0.7), Verdict::Leak, "most is native memory");
    let report = run(1.0, vec![limited(15.0)], 0.0);
    assert!(report.leak().is_none() && report.more_seconds_needed > 0.0);
    let open = &report.hypotheses[0];
    assert!(open.state == HypothesisState::Open && open.evidence.contains("boxes grew by 15 MiB"), "{open:?}");
}

#[test]
fn what_no_name_leads_to_may_wait_for_the_collector() {
    let lost = || HolderGrown { unreachable: true, site: None, ..holder("contexts", 15.0) };
    let facts = |enabled, collections: fn(u32) -> u32| {
        move |t| Some(InnerFacts { gc_enabled: Some(enabled), gc_full: Some(collections(t)), ..InnerFacts::default() })
    };
    let run = |holders, facts: &dyn Fn(u32) -> Option<InnerFacts>| run_with(None, 90, 1.0, holders, 0.0, facts);
    let waits = run(vec![lost()], &|_| None);
    assert_eq!(waits.verdict, Verdict::Undecided);
    let open = &waits.hypotheses[0];
    assert!(open.state == HypothesisState::Open && open.evidence.contains("a full collection may free it"), "{open:?}");
    assert_eq!(run(vec![lost()], &facts(true, |_| 3)).verdict, Verdict::Undecided, "none came");
    assert_eq!(run(vec![lost()], &facts(true, |t| t / 60)).verdict, Verdict::Undecided, "one may free the last link alone");
    assert_eq!(run(vec![lost()], &facts(true, |t| t / 20)).verdict, Verdict::Leak, "some came, and nothing went");
    assert_eq!(run(vec![lost()], &facts(false, |_| 3)).verdict, Verdict::Leak, "the collector is off");
    assert_eq!(run(vec![lost(), holder("scores", 6.0)], &|_| None).verdict, Verdict::Leak, "another one explains as much");
    assert_eq!(run_for(400, 1.0, vec![lost()], 0.0).verdict, Verdict::LikelyLeak, "nothing came for minutes");
}

#[test]
fn a_limit_that_is_not_reached_for_minutes_limits_nothing() {
    let limited = HolderGrown { bounded: true, why: "it has a limit".into(), ..holder("boxes", 15.0) };
    let report = run_for(400, 1.0, vec![limited], 0.0);
    assert_eq!(report.verdict, Verdict::LikelyLeak);
    let finding = leak(&report);
    assert!(finding.holder.is_none() && finding.confidence < 0.95);
    assert!(finding.evidence.iter().any(|line| line.contains("boxes") && line.contains("it has a limit")), "{finding:?}");
}

#[test]
fn holes_between_what_is_limited_fill_up_with_it() {
    let verdict = |sort| {
        let mut analyser = Analyser::new();
        common::start(-100.0).iter().for_each(|event| analyser.push(event));
        let cache = HolderGrown { bounded: true, ..holder("cache", 8.5) };
        let part = |name: &str, sort, mib: f64| PartGrown { name: name.into(), sort, bytes: (mib * MIB) as i64 };
        let parts = vec![part("data of Datasets", Sort::Held, 8.5), part("the rest", sort, 11.5)];
        let grown = Grown { seconds: APART_S, total: (APART_S * MIB) as i64, parts, holders: vec![cache] };
        for t in 0..90_u32 {
            let t_s = f64::from(t);
            match t {
                40 => analyser.push(&Event::Look(look(t_s, 0, None))),
                60 => analyser.push(&Event::Look(look(t_s, 0, Some(grown.clone())))),
                _ => {}
            }
            let sample = ProcSample { anon: ((100.0 + t_s) * MIB) as u64, ..ProcSample::empty(ProcId(0)) };
            analyser.push(&Event::Tick(Tick { t_s: t_s + 0.1, procs: vec![sample], ..Tick::default() }));
        }
        analyser.report().verdict
    };
    assert_eq!(verdict(Sort::Holes), Verdict::Undecided);
    assert_eq!(verdict(Sort::Other), Verdict::LikelyLeak, "of most of it nothing is known");
}

#[test]
fn what_is_limited_may_fill_for_all_of_a_first_epoch() {
    let mut analyser = Analyser::new();
    common::start(-100.0).iter().for_each(|event| analyser.push(event));
    let cache = HolderGrown { bounded: true, why: "its keys are positions".into(), ..holder("cache", 15.0) };
    let epoch = |t_s: f64, index| {
        let what = MarkKind::Begin(ScopeMark { scope: Scope::Epoch, index: Some(index), name: String::new() });
        Event::Mark(Mark { t_s, id: ProcId(0), what, steps: t_s as u64, facts: None })
    };
    for t in 0..900_u32 {
        let t_s = f64::from(t);
        if t == 0 || t == 600 {
            analyser.push(&epoch(t_s, u64::from(t > 0)));
        }
        let grown = Grown { seconds: APART_S, total: (APART_S * MIB) as i64, parts: Vec::new(), holders: vec![cache.clone()] };
        match t {
            40 => analyser.push(&Event::Look(look(t_s, 0, None))),
            60 => analyser.push(&Event::Look(look(t_s, 0, Some(grown)))),
            _ => {}
        }
        let what = MarkKind::Step;
        analyser.push(&Event::Mark(Mark { t_s, id: ProcId(0), what, steps: u64::from(t) + 1, facts: None }));
        let sample = ProcSample { anon: ((100.0 + t_s) * MIB) as u64, ..ProcSample::empty(ProcId(0)) };
        analyser.push(&Event::Tick(Tick { t_s: t_s + 0.1, procs: vec![sample], ..Tick::default() }));
        if t == 550 {
            assert_eq!(analyser.report().verdict, Verdict::Undecided, "the first epoch is not over");
        }
    }
    assert_eq!(analyser.report().verdict, Verdict::LikelyLeak, "it went on in the second");
}

#[test]
fn what_is_being_made_may_fill_until_the_training_begins() {
    let mut analyser = Analyser::new();
    common::start(-100.0).iter().for_each(|event| analyser.push(event));
    let images =
        HolderGrown { bounded: true, making: true, why: "it is filled while it is made".into(), ..holder("images", 15.0) };
    for t in 0..1000_u32 {
        let t_s = f64::from(t);
        let grown = Grown { seconds: APART_S, total: (APART_S * MIB) as i64, parts: Vec::new(), holders: vec![images.clone()] };
        match t {
            40 => analyser.push(&Event::Look(look(t_s, 0, None))),
            60 => analyser.push(&Event::Look(look(t_s, 0, Some(grown)))),
            600.. => {
                let (what, steps) = (MarkKind::Step, u64::from(t) - 599);
                analyser.push(&Event::Mark(Mark { t_s, id: ProcId(0), what, steps, facts: None }));
            }
            _ => {}
        }
        let sample = ProcSample { anon: ((100.0 + t_s) * MIB) as u64, ..ProcSample::empty(ProcId(0)) };
        analyser.push(&Event::Tick(Tick { t_s: t_s + 0.1, procs: vec![sample], ..Tick::default() }));
        if t == 590 {
            assert_eq!(analyser.report().verdict, Verdict::Undecided, "nothing was trained yet");
        }
    }
    assert_eq!(analyser.report().verdict, Verdict::LikelyLeak, "it went on with the training");

    // There is not the memory for five minutes of it.
    let small = SystemSample { total: 2 << 30, available: 256 << 20, ..SystemSample::default() };
    assert_eq!(run_within(None, 400, 1.0, vec![images.clone()], 0.0).verdict, Verdict::Undecided);
    assert_ne!(run_within(Some(small), 400, 1.0, vec![images], 0.0).verdict, Verdict::Undecided);
}

#[test]
fn what_says_how_much_it_takes_is_no_leak_until_it_is_full() {
    // One more each second, 30 of them after 60 s.
    let window = |limit| HolderGrown { bounded: true, limit: Some(limit), ..holder("window", 15.0) };
    for seconds in [90, 400] {
        let report = run_for(seconds, 1.0, vec![window(1030)], 0.0);
        assert_eq!(report.verdict, Verdict::Undecided, "{seconds} s");
        assert!(report.leak().is_none() && report.more_seconds_needed > 1060.0 - f64::from(seconds), "{report:#?}");
        let said = &report.hypotheses[0].evidence;
        assert!(
            said.contains("it fills up to 1030 elements (30 when it was looked into); at this rate it is full in 1"),
            "{said}"
        );
    }
    let late = run_for(400, 1.0, vec![window(40)], 0.0);
    assert_eq!(late.verdict, Verdict::LikelyLeak, "it was full long ago");
    let both = run_for(400, 1.0, vec![window(1030), HolderGrown { bounded: true, ..holder("others", 6.0) }], 0.0);
    assert_eq!(both.verdict, Verdict::LikelyLeak, "of the other one nobody knows");
    let small = SystemSample { total: 2 << 30, available: 700 << 20, ..SystemSample::default() };
    let within = |limit| run_within(Some(small), 400, 1.0, vec![window(limit)], 0.0).verdict;
    assert_eq!(within(1030), Verdict::Undecided, "less than 700 MiB are to come");
    assert_eq!(within(3030), Verdict::LikelyLeak, "it never gets there");
}

#[test]
fn a_bound_that_takes_longer_looks_the_same_as_long_as_no_line_is_known() {
    let said =
        |holders| leak(&run(1.0, holders, 0.0)).evidence.iter().any(|line| line.starts_with("what fills up evenly to a bound"));
    assert!(said(vec![]));
    assert!(!said(vec![holder("boxes", 15.0)]));
}

#[test]
fn what_grew_too_little_or_too_much_or_is_bounded_is_not_named() {
    let bounded = HolderGrown { bounded: true, why: "it has a limit".into(), ..holder("boxes", 8.0) };
    for (one, said) in [(holder("boxes", 3.0), "only"), (holder("boxes", 90.0), "comes and goes"), (bounded, "it has a limit")] {
        let report = run(1.0, vec![one], 0.0);
        let finding = leak(&report);
        assert_eq!((&finding.holder, &finding.site, finding.objects.len()), (&None, &None, 0));
        assert!(finding.evidence.iter().any(|line| line.contains("boxes") && line.contains(said)), "{:?}", finding.evidence);
    }
}

#[test]
fn native_memory_has_no_holder() {
    let report = run(1.0, vec![holder("boxes", 0.5)], 0.95);
    let finding = leak(&report);
    assert_eq!((&finding.holder, finding.kind), (&None, Some(Kind::NativeHeap)));
    assert!(finding.evidence.iter().any(|line| line.contains("native heap by 19 MiB")), "{:?}", finding.evidence);
}

/// What is said of 20 MiB of which so many are free, by this name, and so many held; `alive`: marks tell of so many MiB a second that live
/// in the heap.
fn with_holes(name: &str, free: f64, alive: Option<f64>, held: f64) -> Report {
    between(name, free, alive, holder("boxes", held))
}

/// The same with this holder.
fn between(name: &str, free: f64, alive: Option<f64>, held: HolderGrown) -> Report {
    let part = |name: &str, sort, mib: f64| PartGrown { name: name.into(), sort, bytes: (mib * MIB) as i64 };
    let parts = vec![part(name, Sort::Holes, free), part("native heap", Sort::Native, 20.0 - free)];
    let grown = Grown { seconds: APART_S, total: (20.0 * MIB) as i64, parts, holders: vec![held] };
    let mut events: Vec<Event> = vec![Event::Look(look(40.0, 0, None)), Event::Look(look(60.0, 0, Some(grown)))];
    let facts = |t: u32, rate: f64| InnerFacts {
        heap_used: Some(((50.0 + rate * f64::from(t)) * MIB) as u64),
        heap_free: Some(9 << 20),
        ..InnerFacts::default()
    };
    let mark = |t: u32, rate| Mark {
        t_s: f64::from(t),
        id: ProcId(0),
        what: MarkKind::Step,
        steps: u64::from(t) + 1,
        facts: Some(facts(t, rate)),
    };
    events.extend((0..90).filter_map(|t| Some(Event::Mark(mark(t, alive?)))));
    let mut analyser = Analyser::new();
    common::start(-100.0).iter().for_each(|event| analyser.push(event));
    for t in 0..90 {
        let now = |event: &&Event| match event {
            Event::Look(look) => look.t_s as u32 == t,
            Event::Mark(mark) => mark.t_s as u32 == t,
            _ => false,
        };
        events.iter().filter(now).for_each(|event| analyser.push(event));
        let sample = ProcSample { anon: (100 + u64::from(t)) << 20, ..ProcSample::empty(ProcId(0)) };
        analyser.push(&Event::Tick(Tick { t_s: f64::from(t) + 0.1, procs: vec![sample], ..Tick::default() }));
    }
    analyser.report()
}

#[test]
fn what_the_allocator_keeps_is_known_by_looks_alone() {
    let grown = |name: &str, free: f64, alive: Option<f64>| {
        let report = with_holes(name, free, alive, 0.5);
        let action = report.hypotheses.first().map(|first| first.action.contains("give it back"));
        let finding = leak(&report);
        (finding.class, finding.kind, action)
    };
    let kept = (Class::AllocatorRetention, Some(Kind::AllocatorHoles), Some(true));
    assert_eq!(grown(MALLOC_HOLES, 18.0, None), kept);
    assert_eq!(grown(MALLOC_HOLES, 18.0, Some(0.05)), kept);
    // Looked into when a phase was over that held more at the first look: what lives rises all the same.
    assert_eq!(grown(MALLOC_HOLES, 18.0, Some(0.8)), (Class::Leak, Some(Kind::Anonymous), Some(false)));
    assert_eq!(grown("free in Python's arenas", 18.0, None), (Class::Leak, Some(Kind::Anonymous), Some(false)));
    assert_eq!(grown(MALLOC_HOLES, 8.0, None).0, Class::Leak);
}

#[test]
fn holes_that_come_more_slowly_may_be_there_to_stay() {
    // By MiB at a second: even growth, and growth that falls to less than half.
    let verdict = |anon: &dyn Fn(f64) -> f64, free: f64| {
        let part = |name: &str, sort, mib: f64| PartGrown { name: name.into(), sort, bytes: (mib * MIB) as i64 };
        let parts = vec![part(MALLOC_HOLES, Sort::Holes, free), part("native heap", Sort::Native, 10.0 - free)];
        let grown = Grown { seconds: APART_S, total: (10.0 * MIB) as i64, parts, holders: vec![holder("boxes", 0.5)] };
        let mut analyser = Analyser::new();
        common::start(-100.0).iter().for_each(|event| analyser.push(event));
        for t in 0..100_u32 {
            let t_s = f64::from(t);
            match t {
                40 => analyser.push(&Event::Look(look(t_s, 0, None))),
                60 => analyser.push(&Event::Look(look(t_s, 0, Some(grown.clone())))),
                _ => {}
            }
            let sample = ProcSample { anon: ((300.0 + anon(t_s)) * MIB) as u64, ..ProcSample::empty(ProcId(0)) };
            analyser.push(&Event::Tick(Tick { t_s: t_s + 0.1, procs: vec![sample], ..Tick::default() }));
        }
        analyser.report().verdict
    };
    let slower = |t_s: f64| 0.8 * t_s - 0.0025 * t_s * t_s;
    assert_eq!(verdict(&slower, 9.0), Verdict::Undecided);
    assert_eq!(verdict(&slower, 2.0), Verdict::LikelyLeak, "what grows is no hole");
    assert_eq!(verdict(&|t_s| 0.6 * t_s, 9.0), Verdict::Leak, "they come as they began");
}

#[test]
fn what_is_kept_between_holes_is_named_for_them() {
    let named = |alive, held| leak(&with_holes(MALLOC_HOLES, 16.0, alive, held)).holder.as_ref().map(|held| held.name.clone());
    assert_eq!(named(Some(0.3), 3.0), Some("boxes".to_owned()), "what lives in the heap rises with it");
    let finding = with_holes(MALLOC_HOLES, 16.0, Some(0.3), 3.0);
    assert!(
        leak(&finding).evidence.iter().any(|said| said.contains("holes between what is kept")),
        "{:?}",
        leak(&finding).evidence
    );
    assert_eq!(named(Some(0.3), 1.0), None, "too little of what is no hole");
    assert_eq!(named(None, 3.0), None, "nobody tells what lives");
    let limited = HolderGrown { bounded: true, why: "it has a limit".into(), ..holder("boxes", 3.0) };
    let verdict = |alive| between(MALLOC_HOLES, 16.0, alive, limited.clone()).verdict;
    assert_eq!(verdict(Some(0.3)), Verdict::Undecided, "it may be filling up");
    assert_ne!(verdict(None), Verdict::Undecided);
}

#[test]
fn native_memory_is_that_of_the_holder_whose_elements_have_some() {
    let figures = |native| HolderGrown { native, ..holder("figs", 3.0) };
    let report = run(1.0, vec![figures(true)], 0.8);
    let finding = leak(&report);
    assert_eq!(finding.holder.as_ref().map(|holder| holder.name.as_str()), Some("figs"), "{:?}", finding.evidence);
    assert!(finding.evidence.iter().any(|said| said.contains("outside of Python's objects")), "{:?}", finding.evidence);
    assert_eq!(leak(&run(1.0, vec![figures(false)], 0.8)).holder, None);
    let limited = HolderGrown { bounded: true, ..figures(true) };
    assert_eq!(leak(&run(1.0, vec![limited], 0.8)).holder, None);
}
