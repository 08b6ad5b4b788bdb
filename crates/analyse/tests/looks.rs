//! Looks into a process name who holds its growth, and never anybody where there is none, or whose growth is of another size.

mod common;

use lowtide_analyse::Analyser;
use lowtide_model::{
    Event, Finding, Grown, HolderGrown, Kind, Look, ObjectGrown, PartGrown, ProcId, ProcSample, Report, Site, Sort, Tick, Verdict,
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

/// A run of 90 s that grows by so many MiB per second, and two looks into it.
fn run(rate: f64, holders: Vec<HolderGrown>, native: f64) -> Report {
    let mut analyser = Analyser::new();
    common::start(-100.0).iter().for_each(|event| analyser.push(event));
    let look = |t_s, grown| Event::Look(Look { t_s, id: ProcId(0), copied: false, pause_us: 40_000, objects: 9, grown });
    for t in 0..90 {
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
        let anon = (100.0 + rate * t_s) * MIB + f64::from(t % 3) * 4096.0;
        let sample = ProcSample { anon: anon as u64, ..ProcSample::empty(ProcId(0)) };
        analyser.push(&Event::Tick(Tick { t_s: t_s + 0.1, procs: vec![sample], system: None, cgroups: Vec::new() }));
    }
    analyser.report()
}

fn leak(report: &Report) -> &Finding {
    report.leak().unwrap_or_else(|| panic!("a leak: {report:#?}"))
}

#[test]
fn who_explains_the_growth_is_named() {
    let report = run(1.0, vec![holder("boxes", 15.0), holder("scores", 4.0), holder("small", 0.1)], 0.0);
    let finding = leak(&report);
    let held = finding.holder.as_ref().expect("somebody");
    assert_eq!((held.name.as_str(), held.length, finding.kind), ("boxes", Some([10, 30]), Some(Kind::PythonObjects)));
    assert!((0.6..0.9).contains(&held.explains), "{held:?}");
    assert_eq!(finding.site.as_ref().map(|site| site.line), Some(9));
    assert_eq!(finding.objects[0].kind, "numpy.ndarray");
    assert!(finding.evidence.iter().any(|said| said.contains("scores")), "{:?}", finding.evidence);
    assert!(!finding.evidence.iter().any(|said| said.contains("small")), "{:?}", finding.evidence);
    assert_eq!((report.cost.looks, report.cost.stops_ms.len()), (2, 2));
}

#[test]
fn a_look_changes_no_verdict() {
    let level = run(0.0, vec![holder("boxes", 15.0)], 0.0);
    assert_eq!(level.verdict, Verdict::NoLeak);
    assert!(level.findings.iter().all(|finding| finding.holder.is_none() && finding.site.is_none()));
    assert_eq!(run(1.0, vec![], 0.0).verdict, run(1.0, vec![holder("boxes", 15.0)], 0.0).verdict);
}

#[test]
fn what_its_source_limits_may_still_be_filling_up() {
    let limited = |mib| HolderGrown { bounded: true, why: "it has a limit".into(), ..holder("boxes", mib) };
    let verdict = |holders, native| run(1.0, holders, native).verdict;
    assert_eq!(verdict(vec![holder("boxes", 15.0)], 0.0), Verdict::Leak);
    assert_eq!(verdict(vec![limited(15.0)], 0.0), Verdict::LikelyLeak);
    assert_eq!(verdict(vec![limited(15.0), holder("scores", 6.0)], 0.0), Verdict::Leak, "another one explains as much");
    assert_eq!(verdict(vec![limited(3.0)], 0.0), Verdict::Leak, "it explains little");
    assert_eq!(verdict(vec![limited(6.0)], 0.7), Verdict::Leak, "most is native memory");
    let report = run(1.0, vec![limited(15.0)], 0.0);
    assert!(leak(&report).confidence < 0.95);
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
    let bounded = HolderGrown { bounded: true, why: "it has a limit".into(), ..holder("boxes", 15.0) };
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
