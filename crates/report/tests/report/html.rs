//! The page without a browser: complete, closed to the network, and safe whatever a report holds.

use std::collections::BTreeMap;

use lowtide_model::{
    Answer, DeviceFacts, Event, Exit, Gpu, GpuDriver, GpuId, GpuSample, InnerFacts, Mark, MarkKind, Mode, ProcId, ProcSample,
    Process, Report, Request, Role, RunInfo, Scope, ScopeMark, Signal, Tick,
};
use lowtide_report::{Context, Curve, Gather, TextOptions, html, text};

use super::samples;

fn process(id: u32, role: Role, start_s: f64) -> Event {
    Event::Process(Process {
        id: ProcId(id),
        pid: 4240 + id,
        ppid: 1,
        parent: None,
        start_s,
        name: "python".into(),
        command: "python train.py".into(),
        role,
        role_reason: String::new(),
        rank: None,
    })
}

/// A trainer that leaks, a worker that comes and goes, a phase with a name.
fn curve(phase: &str) -> Curve {
    let mut gather = Gather::default();
    gather.push(&Event::Start(RunInfo {
        version: "0".into(),
        mode: Mode::Run,
        command: Vec::new(),
        host: String::new(),
        started_unix_s: 0.0,
        interval_s: 1.0,
        root_pid: 1,
        rank: None,
        signal: Signal::AnonShmem,
    }));
    gather.push(&process(2, Role::Trainer, 0.0));
    gather.push(&process(3, Role::DataloaderWorker, 10.0));
    let begin = ScopeMark { scope: Scope::Phase, index: None, name: phase.to_owned() };
    gather.push(&Event::Mark(Mark { t_s: 20.0, id: ProcId(2), what: MarkKind::Begin(begin), steps: 0, facts: None }));
    for second in 0..100 {
        let sample = |id, mib: u64| ProcSample { anon: mib << 20, file: 50 << 20, ..ProcSample::empty(ProcId(id)) };
        let mut procs = vec![sample(2, 300 + second)];
        if (10..60).contains(&second) {
            procs.push(sample(3, if second == 10 { 300 } else { 370 }));
        }
        gather.push(&Event::Tick(Tick { t_s: second as f64, procs, ..Tick::default() }));
    }
    gather.push(&Event::Exit(Exit { id: ProcId(3), t_s: 60.0 }));
    gather.finish()
}

fn page(report: &Report) -> String {
    html(report, &curve("train"), &[])
}

/// The text that a reader sees, without markup and scripts.
fn seen(page: &str) -> String {
    let body = page.split_once("<main>").and_then(|(_, rest)| rest.split_once("</main>")).unwrap().0;
    // What stands between backticks in a sentence is code here.
    let body = body.replace("<code>", "`").replace("</code>", "`");
    let mut out = String::new();
    let mut inside = false;
    for c in body.chars() {
        match c {
            '<' => inside = true,
            '>' => {
                inside = false;
                out.push(' ');
            }
            _ if !inside => out.push(c),
            _ => {}
        }
    }
    let unescaped = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&#x2f;", "/"), ("&amp;", "&")];
    let out = unescaped.iter().fold(out, |out, (from, to)| out.replace(from, to));
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn data(page: &str) -> serde_json::Value {
    let block = page.split_once("id=\"data\">").and_then(|(_, rest)| rest.split_once("</script>")).unwrap().0;
    serde_json::from_str(block).unwrap()
}

#[test]
fn says_of_every_report_what_the_text_says_first() {
    for (name, report) in samples::all() {
        let seen = seen(&page(&report));
        let text = text(&report, &TextOptions { width: 4000, ..TextOptions::default() });
        let first: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
        assert!(first.len() > 1, "{name}");
        for line in first {
            // Its label stands in an element of its own, and so does what was seen beside the verdict, far to the right.
            // Where the text counts what it leaves out, the page has it all.
            let (label, rest) = line.split_once(' ').unwrap_or((line, ""));
            let short = line.trim().strip_prefix("and ").is_some_and(|rest| rest.ends_with(" more"));
            for part in rest.split("          ").filter(|_| !short) {
                let words = part.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(seen.contains(label) && seen.contains(&words), "{name}: {words}\n{seen}");
            }
        }
    }
}

#[test]
fn asks_nothing_of_a_network_and_lets_only_its_own_scripts_run() {
    for (name, report) in samples::all() {
        let page = page(&report);
        let policy = page.split_once("Content-Security-Policy\" content=\"").unwrap().1.split_once('"').unwrap().0;
        assert!(policy.starts_with("default-src &#x27;none&#x27;;"), "{policy}");
        assert!(!policy.contains("script-src &#x27;unsafe"), "{policy}");
        // Addresses stand in the comments of the chart library alone.
        let ours = page.replace("https://github.com/leeoniya/uPlot", "");
        for asks in ["http:", "https:", "src=", "@import", "url(", "fetch(", "XMLHttp", "WebSocket", "import("] {
            assert!(!ours.contains(asks), "{name}: {asks}");
        }
        assert!(page.len() < 200_000, "{name}: {}", page.len());
    }
}

const HOSTILE: &str =
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u{2028}\u{202e}\u{1b}[2J\0'\"`{{7*7}}{%x%}&amp;";

/// Everything that a report has a name in, hostile.
fn hostile() -> Report {
    let mut report = samples::held_by_two();
    report.run.command = HOSTILE.into();
    report.run.host = HOSTILE.into();
    report.run.recording = Some(HOSTILE.into());
    report.summary = HOSTILE.into();
    report.blind_spots = vec![HOSTILE.into()];
    report.warnings = vec![HOSTILE.into()];
    report.processes.iter_mut().for_each(|process| process.name = HOSTILE.into());
    report.limits.iter_mut().for_each(|limit| (limit.path, limit.name) = (HOSTILE.into(), HOSTILE.into()));
    for finding in &mut report.findings {
        finding.text = HOSTILE.into();
        finding.evidence = vec![HOSTILE.into()];
        (finding.why, finding.fix, finding.cause) = (Some(HOSTILE.into()), Some(HOSTILE.into()), Some(HOSTILE.into()));
        for holder in finding.holder.iter_mut().chain(finding.beside.iter_mut().map(|other| &mut other.holder)) {
            holder.path = vec![HOSTILE.into()];
            (holder.name, holder.kind) = (HOSTILE.into(), HOSTILE.into());
        }
        for other in &mut finding.beside {
            (other.site, other.cause) = (finding.site.clone(), Some(HOSTILE.into()));
        }
        finding.objects.iter_mut().for_each(|object| object.kind = HOSTILE.into());
        for site in finding.site.iter_mut().chain(&mut finding.sites) {
            (site.file, site.text) = (HOSTILE.into(), HOSTILE.into());
        }
        if let Some(process) = &mut finding.process {
            (process.name, process.node) = (HOSTILE.into(), Some(HOSTILE.into()));
        }
    }
    report
}

#[test]
fn hostile_names_stay_text() {
    let sources = [Context { file: HOSTILE.into(), line: 88, first: 87, lines: vec![HOSTILE.into(); 3] }];
    let mut check = hostile();
    check.run.source = "check".into();
    for page in [html(&hostile(), &curve(HOSTILE), &sources), html(&check, &Curve::default(), &sources)] {
        let scripts = page.matches("<script").count();
        assert_eq!(scripts, page.matches("</script>").count());
        assert_eq!(scripts, if page.contains("id=\"data\"") { 3 } else { 1 });
        for harm in ["<img", "alert(1)<", "\u{2028}", "\u{202e}", "\u{1b}", "\0"] {
            assert!(!page.contains(harm), "{harm:?}");
        }
        // They are seen all the same, with what is invisible made visible.
        assert!(seen(&page).contains("<script>alert(1)</script><img src=x onerror=alert(2)>"), "{}", seen(&page));
        assert!(seen(&page).contains("\\u{202e}\\u{1b}[2J\\0"));
    }
    let page = html(&hostile(), &curve(HOSTILE), &sources);
    assert!(data(&page)["phases"][0]["n"].as_str().unwrap().starts_with("</script>"));
}

#[test]
fn endless_lines_are_cut() {
    let mut report = samples::held();
    let endless = "x".repeat(10 << 20);
    report.run.command.clone_from(&endless);
    report.processes[0].name.clone_from(&endless);
    report.findings[0].site.as_mut().unwrap().text.clone_from(&endless);
    let file = report.findings[0].site.as_ref().unwrap().file.clone();
    let sources = [Context { file, line: 88, first: 88, lines: vec![endless] }];
    let page = html(&report, &curve("train"), &sources);
    assert!(page.len() < 200_000, "{}", page.len());
}

#[test]
fn the_curve_has_what_was_measured() {
    let data = data(&page(&samples::leak()));
    let roles = data["roles"].as_array().unwrap();
    let sizes = |role: usize, sort: &str| {
        roles[role][sort].as_array().unwrap().iter().map(|kib| kib.as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(roles.len(), 2);
    assert_eq!(data["t"].as_array().unwrap().len(), 100);
    assert_eq!((sizes(0, "anon")[0], sizes(0, "anon")[99]), (300 << 10, 399 << 10));
    // Of the worker only what it added to what it shares with its parent.
    let worker = sizes(1, "anon");
    assert_eq!((worker[9], worker[10], worker[60]), (0, 0, 0));
    assert!(worker[11].abs_diff(70 << 10) <= 1 && worker[59] == worker[11], "{}", worker[11]);
    assert_eq!(sizes(0, "file")[0], 50 << 10);
    assert_eq!(roles[0].get("swap"), None);
    assert_eq!(data["phases"][0]["n"], "train");
    assert_eq!(data["lives"][1]["b"], 60);
    assert_eq!(data["trend"]["rate"].as_f64(), Some(446.0));
    let seconds = data["oom"]["seconds"].as_array().unwrap();
    assert_eq!(seconds.len(), 3);
}

/// A day of 30 processes whose memory never holds still, measured every two seconds: a validation each minute, eight workers that
/// are started anew for each epoch, two GPUs, a look every quarter of an hour.
fn day() -> Curve {
    const HOUR: u32 = 3600;
    let mut gather = Gather::default();
    let mut state = 1_u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 34) & !0xfff
    };
    for rank in 0..22 {
        let role = if rank < 2 { Role::Trainer } else { Role::CompileWorker };
        gather.push(&process(rank, role, 0.0));
    }
    for card in 0..2_u32 {
        gather.push(&Event::Gpu(Gpu {
            id: GpuId(card),
            resource: format!("gpu{card}"),
            name: "A card".into(),
            uuid: String::new(),
            driver: GpuDriver::Nvml,
            emulated: false,
        }));
    }
    for t in (0..24 * HOUR).step_by(2) {
        let (epoch, t_s) = (t / 60, f64::from(t));
        let workers = (0..8).map(|worker| 100 + 8 * epoch + worker);
        if t % 60 == 0 {
            let old = workers.clone().map(|id| id.wrapping_sub(8));
            old.for_each(|id| gather.push(&Event::Exit(Exit { id: ProcId(id), t_s })));
            workers.clone().for_each(|id| gather.push(&process(id, Role::DataloaderWorker, t_s)));
        }
        if matches!(t % 60, 0 | 50) {
            let name = if t % 60 == 0 { "train" } else { "validation" };
            let begin = ScopeMark { scope: Scope::Phase, index: None, name: name.into() };
            gather.push(&Event::Mark(Mark { t_s, id: ProcId(0), what: MarkKind::Begin(begin), steps: 0, facts: None }));
        }
        if t % 900 == 0 {
            let answer =
                Answer { request: Request::Trim, number: 1, value: None, free: None, pause_us: 40_000, why: String::new() };
            gather.push(&Event::Mark(Mark { t_s, id: ProcId(0), what: MarkKind::Answer(answer), steps: 0, facts: None }));
        }
        for card in 0..2 {
            let device = DeviceFacts { index: card, allocated: noise(), reserved: 1 << 31, ..DeviceFacts::default() };
            let facts = Some(InnerFacts { devices: vec![device], ..InnerFacts::default() });
            gather.push(&Event::Mark(Mark { t_s, id: ProcId(card), what: MarkKind::Step, steps: u64::from(t), facts }));
        }
        let mut sample =
            |id| ProcSample { anon: noise(), shmem: noise(), file: noise(), swap: noise(), ..ProcSample::empty(ProcId(id)) };
        let procs = (0..22).chain(workers).map(&mut sample).collect();
        let gpus = (0..2).map(|card| GpuSample { id: GpuId(card), total: 1 << 36, used: 1 << 35, free: 1 << 35, reserved: 0 });
        gather.push(&Event::Tick(Tick { t_s, procs, gpus: gpus.collect(), ..Tick::default() }));
    }
    gather.finish()
}

#[test]
fn a_days_page_has_less_than_two_megabytes() {
    let page = html(&samples::leak(), &day(), &[]);
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    let data = data(&page);
    assert!(data["t"].as_array().unwrap().len() > 512, "the curve is there");
    assert_eq!(data["cards"].as_array().unwrap().len(), 2);
    assert!(data["lives"].as_array().unwrap().len() > 1000 && data["phases"].as_array().unwrap().len() > 1000);
}

#[test]
fn a_weeks_page_of_200_processes_has_less_than_five_megabytes_and_every_low_tide() {
    const MINUTES: u32 = 7 * 24 * 60;
    let mut gather = Gather::default();
    let mut state = 7_u64;
    let mut noise = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 34) & 0x3f_f000
    };
    for id in 0..200 {
        gather.push(&process(id, if id < 8 { Role::Trainer } else { Role::CompileWorker }, 0.0));
    }
    // The least of all processes together, minute by minute. KiB.
    let mut measured: Vec<u64> = Vec::new();
    for minute in 0..MINUTES {
        let t_s = 60.0 * f64::from(minute);
        let spike = if minute % 60 > 57 { 4 << 30 } else { 0 };
        // Now and then, for one minute, there is much less.
        let dip = if minute % 997 == 500 { 200 << 20 } else { 0 };
        let procs: Vec<ProcSample> = (0..200)
            .map(|id| {
                let trainer = if id == 0 { u64::from(minute) * 8192 + spike } else { 0 };
                ProcSample { anon: (500 << 20) - dip + trainer + noise(), ..ProcSample::empty(ProcId(id)) }
            })
            .collect();
        measured.push(procs.iter().map(|sample| sample.anon >> 10).sum());
        if minute % 10 == 0 {
            let name = if minute % 60 == 50 { "validation" } else { "train" };
            let begin = ScopeMark { scope: Scope::Phase, index: None, name: name.into() };
            gather.push(&Event::Mark(Mark { t_s, id: ProcId(0), what: MarkKind::Begin(begin), steps: 0, facts: None }));
        }
        gather.push(&Event::Tick(Tick { t_s, procs, ..Tick::default() }));
    }
    let page = html(&samples::leak(), &gather.finish(), &[]);
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    let data = data(&page);
    let times = data["t"].as_array().unwrap();
    assert!(times.len() > 512);
    let shown: BTreeMap<usize, u64> = (0..times.len())
        .map(|at| {
            let sum = data["roles"].as_array().unwrap().iter().map(|role| role["anon"][at].as_u64().unwrap()).sum();
            ((times[at].as_f64().unwrap() / 60.0).round() as usize, sum)
        })
        .collect();
    // A span of the curve has at most 20 minutes: the least and the most of those around a minute are those of its span.
    const SPAN: usize = 10080_usize.div_ceil(512);
    let (mut tides, mut spikes) = (0, 0);
    for (minute, sum) in measured.iter().enumerate() {
        let around = &measured[minute.saturating_sub(SPAN)..(minute + SPAN + 1).min(measured.len())];
        let (least, most) = (around.iter().min() == Some(sum), around.iter().max() == Some(sum));
        (tides, spikes) = (tides + u32::from(least), spikes + u32::from(most));
        if least || most {
            assert_eq!(shown.get(&minute), Some(sum), "minute {minute}");
        }
    }
    assert!(tides > 100 && spikes > 100, "{tides} low tides, {spikes} spikes");
}

#[test]
fn a_redacted_curve_has_no_paths() {
    let mut curve = curve("/home/me/secret.csv epoch");
    curve.redact(&mut lowtide_report::Redaction::default());
    let page = html(&samples::leak(), &curve, &[]);
    assert_eq!(data(&page)["phases"][0]["n"], "[phase 1]");
}

#[test]
fn no_label_stands_without_a_word_beside_it() {
    let mut log = samples::leak();
    log.run.source = "log of 5 lines".into();
    log.verdict = lowtide_model::Verdict::Undecided;
    log.sampling.ticks = 0;
    log.findings.clear();
    for report in samples::all().into_iter().map(|(_, report)| report).chain([log]) {
        let page = html(&report, &Curve::default(), &[]);
        assert!(!page.contains("<dd><div></div></dd>"), "{}", seen(&page));
    }
}

#[test]
fn what_check_found_is_a_page_of_findings() {
    let mut report = samples::held();
    report.run.source = "check".into();
    report.summary = "1 pattern that leaks in 2 files".into();
    let page = html(&report, &Curve::default(), &[]);
    let seen = seen(&page);
    assert!(seen.contains("1 pattern that leaks in 2 files") && seen.contains("train.py:88"), "{seen}");
    assert!(!page.contains("id=\"plot\"") && !page.contains("UNDECIDED"));
}
