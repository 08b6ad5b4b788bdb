//! From what grows to findings and a verdict.

use lowtide_model::{Bytes, Class, Finding, Growth, Kind, ProcId, ProcessRef, Role, Seconds, Signal, Verdict};

use crate::analyser::Analyser;
use crate::gpu;
use crate::growth::{Assessment, Series};
use crate::judge::{Judged, Outcome};
use crate::looks;
use crate::marks::{self, Line};
use crate::series::Track;
use crate::unmapped;

/// Excursions and constant costs below this are not worth a line.
pub const WORTH_A_LINE: f64 = 16.0 * 1024.0 * 1024.0;
/// Nor are they below this share of the floor.
pub const WORTH_A_SHARE: f64 = 0.05;

/// The verdict on host memory and GPUs together.
pub fn verdict(run: &Analyser, assessment: &Assessment) -> Verdict {
    let host = host_verdict(run, assessment);
    match gpu::verdict(&assessment.gpus).map(|(verdict, _)| verdict) {
        None => host,
        Some(gpu) => [Verdict::Leak, Verdict::LikelyLeak, Verdict::Undecided]
            .into_iter()
            .find(|verdict| host == *verdict || gpu == *verdict)
            .unwrap_or(Verdict::NoLeak),
    }
}

/// The verdict on host memory, by what grows and what is open.
pub fn host_verdict(run: &Analyser, assessment: &Assessment) -> Verdict {
    let growing = assessment.growing();
    if growing.iter().any(|s| s.judged.outcome == Outcome::Leaking && !weak(run, s)) {
        return Verdict::Leak;
    }
    if !growing.is_empty() {
        return Verdict::LikelyLeak;
    }
    let settled = assessment.watched().is_some_and(|judged| matches!(judged.outcome, Outcome::Flat | Outcome::Stopped));
    let told = settled && assessment.open().next().is_none() && assessment.live_rises.is_none();
    if told { Verdict::NoLeak } else { Verdict::Undecided }
}

/// Growth that cannot be more than likely, whatever its shape: file pages may be in it, or other people's memory, or looks
/// show that it may have an end, or one that may show so is on its way.
fn weak(run: &Analyser, series: &Series) -> bool {
    let others = run.signal() != Signal::AnonShmem || series.is_dev_shm();
    others || looks::may_end(run, series) || looks::is_awaited(run, series)
}

/// All findings about memory, the one that matters most first.
pub fn findings(run: &Analyser, assessment: &Assessment) -> Vec<Finding> {
    let mut findings = grouped(&assessment.growing()).iter().map(|group| growth(run, assessment, group)).collect::<Vec<_>>();
    let of_gpus = gpu::findings(run, &assessment.gpus);
    // What grows comes first, host memory before GPUs unless those are full sooner.
    let (growing, others): (Vec<Finding>, Vec<Finding>) = of_gpus.into_iter().partition(Finding::grows);
    let end_s =
        |finding: &Finding| finding.oom.as_ref().and_then(|oom| oom.seconds).map_or(f64::INFINITY, |[_, middle, _]| middle);
    let sooner = growing.iter().any(|gpu| findings.first().is_none_or(|host| end_s(gpu) < end_s(host)));
    let at = if sooner { 0 } else { findings.len() };
    findings.splice(at..at, growing);
    findings.extend(others);
    findings.extend(stopped(run, assessment));
    findings.extend(excursions(run, assessment));
    marks::late_gc::name(run, &mut findings);
    let bounded =
        findings.iter().find(|f| f.class == Class::BoundedGrowth).and_then(|f| f.process.as_ref()).map(|p| p.role_label.clone());
    findings
        .extend(overhead(run, assessment).into_iter().filter(|(label, _)| Some(*label) != bounded.as_deref()).map(|(_, f)| f));
    findings.extend(file_pages(run, assessment));
    findings
}

/// Growing series by role and kind: four leaking workers are one finding.
fn grouped<'a>(growing: &[&'a Series]) -> Vec<Vec<&'a Series>> {
    let mut groups: Vec<Vec<&Series>> = Vec::new();
    for series in growing {
        // A tree whose processes multiply grows by their memory: that is the same finding.
        let multiply = groups.first().is_some_and(|g| g[0].kind == Kind::Processes);
        if multiply && (series.process.is_none() || series.copied) && matches!(series.kind, Kind::Anonymous) {
            continue;
        }
        let same = |g: &&mut Vec<&Series>| {
            g[0].role == series.role
                && g[0].kind == series.kind
                && (g[0].copied == series.copied || g[0].process == series.process)
        };
        match groups.iter_mut().find(same) {
            Some(group) if group.iter().any(|s| s.process == series.process) => {}
            Some(group) => group.push(series),
            None => groups.push(vec![series]),
        }
    }
    groups
}

fn growth(run: &Analyser, assessment: &Assessment, group: &[&Series]) -> Finding {
    let first = group[0];
    let judged = &first.judged;
    let counts = matches!(first.kind, Kind::Processes | Kind::Fds | Kind::Threads);
    let mut rate: f64 = group.iter().map(|s| s.judged.rate).sum();
    // Independent errors add in squares.
    let half_width = |judged: &Judged| (judged.ci95[1] - judged.ci95[0]) / 2.0;
    let mut half = group.iter().map(|s| half_width(&s.judged).powi(2)).sum::<f64>().sqrt();
    let mut unit = if counts { "count" } else { "bytes" };
    // Processes that multiply are told by their number, and their growth by what they take together.
    if first.kind == Kind::Processes {
        let by_number = || run.bytes_of_newcomers(judged.since_s, judged.until_s).map(|bytes| (rate * bytes, half * bytes));
        let together = run.tree_growth(judged.since_s, judged.until_s).map(|(slope, error)| (slope, 1.96 * error));
        if let Some((slope, width)) = together.or_else(by_number) {
            (rate, half, unit) = (slope, width, "bytes");
        }
    }
    let period = judged.excursions.period_s;
    let track = first.process.and_then(|id| run.store().tracks.get(&id));

    let mut finding = Finding::new(Class::Leak, resource(assessment, first), sentence(first, group, track));
    finding.confidence = if judged.outcome == Outcome::Leaking && !weak(run, first) { 0.99 } else { 0.9 };
    finding.kind = Some(first.kind);
    finding.growth = Some(Growth {
        bytes_per_cycle: (period > 0.0).then_some(rate * period),
        unit,
        ..Growth::per_second(rate, [(rate - half).max(0.0), rate + half])
    });
    finding.process = Some(process_ref(run, first, group));
    finding.evidence = evidence(run, first);
    if unit == "bytes" {
        marks::finding::complete(run, assessment, group, &mut finding);
    }
    looks::complete(run, group, &mut finding);
    // Where the line that adds to it is known, it is known that nothing limits it.
    if unit == "bytes" && judged.outcome == Outcome::Leaking && finding.site.is_none() {
        let span = Seconds(judged.until_s - judged.since_s);
        finding
            .evidence
            .push(format!("what fills up evenly to a bound, and takes longer than {span}, looks the same until then"));
    }
    // What has ended fills up nothing any more.
    let goes_on = run.over() || track.and_then(|track| gone(run, track)).is_none();
    if goes_on && unit == "bytes" && matches!(first.kind, Kind::Anonymous | Kind::Shmem | Kind::Processes) {
        let above = run.store().tree.memory().last().unwrap_or(0.0) - run.tree_floor();
        finding.oom =
            run.limits().forecast(rate, [rate - half, rate + half], above.max(0.0), run.tree_spike(), finding.resource == "shm");
        marks::finding::forecast(run, first, &mut finding);
    }
    finding
}

fn resource(assessment: &Assessment, series: &Series) -> &'static str {
    let dev_shm = assessment.series.iter().any(|s| s.is_dev_shm() && s.judged.grows());
    match series.kind {
        Kind::Processes => "processes",
        Kind::Fds => "fds",
        Kind::Threads => "threads",
        Kind::Shmem if dev_shm || series.is_dev_shm() => "shm",
        _ => "ram",
    }
}

fn sentence(first: &Series, group: &[&Series], track: Option<&Track>) -> String {
    let judged = &first.judged;
    let span = Seconds(judged.until_s - judged.since_s);
    let low = (judged.floor - judged.rise).max(0.0);
    match first.kind {
        Kind::Processes => {
            let per_minute = judged.rate * 60.0;
            format!(
                "the number of live processes rose from {low:.0} to {:.0} in {span}, {per_minute:+.1} per minute",
                judged.floor
            )
        }
        Kind::Fds | Kind::Threads => {
            let what = if first.kind == Kind::Fds { "open file descriptors" } else { "threads" };
            let whose = track.map_or(String::new(), |t| format!(" of pid {}", t.process.pid));
            format!("{what}{whose} rose from {low:.0} to {:.0} in {span}", judged.floor)
        }
        Kind::Shmem if first.is_dev_shm() => {
            format!("/dev/shm: its low-water mark rose from {} to {} in {span}", Bytes(low as u64), Bytes(judged.floor as u64))
        }
        _ if first.copied => format!(
            "pages shared since the fork are being copied: {} in {span}, although the resident memory stays as it is",
            Bytes(judged.rise as u64)
        ),
        _ if group.len() > 1 || first.members > 1 => {
            let rise: f64 = group.iter().map(|s| s.judged.rise).sum();
            format!("their low-water marks rose by {} together in {span}", Bytes(rise as u64))
        }
        _ if track.is_some_and(|t| t.process.role == Role::Outside) => {
            format!("a process outside the watched tree: its low-water mark rose by {} in {span}", Bytes(judged.rise as u64))
        }
        _ => {
            let what = if judged.between_steps { "what lives in its heap between two steps" } else { "its low-water mark" };
            format!("{what} rose from {} to {} in {span}", Bytes(low as u64), Bytes(judged.floor as u64))
        }
    }
}

fn evidence(run: &Analyser, first: &Series) -> Vec<String> {
    let judged = &first.judged;
    let mut evidence = vec![format!(
        "{} low tides from {} to {}, {:.0} standard errors from level{}",
        judged.tides,
        Seconds(judged.since_s),
        Seconds(judged.until_s),
        judged.t,
        if judged.one_step { "; half of it came in one step" } else { "" },
    )];
    if judged.since_s > 1.0 {
        evidence.push(format!("the first {} are left out as warm-up", Seconds(judged.since_s)));
    }
    if judged.excursions.height > WORTH_A_LINE && judged.excursions.count > 0 {
        evidence.push(format!(
            "{} spikes up to {} came back and do not count",
            judged.excursions.count,
            Bytes(judged.excursions.height as u64)
        ));
    }
    if judged.outcome == Outcome::Rising {
        evidence.push(format!(
            "only {} of it were seen: that it stops by itself is not ruled out",
            Seconds(judged.until_s - judged.since_s)
        ));
    }
    if first.is_dev_shm() {
        evidence.extend(unmapped::evidence(run.store()));
    }
    if let Some((ended_s, track)) = first.process.and_then(|id| run.store().tracks.get(&id)).and_then(|t| gone(run, t)) {
        let before = Seconds(run.last_s() - track.last_s);
        evidence.push(format!(
            "the process ended at {}, {before} before the end of what was seen, and rose until then",
            Seconds(ended_s)
        ));
    }
    if run.signal() == Signal::RssOnly {
        evidence.push("the file has RSS only: pages of mapped files may be part of the growth".to_owned());
    }
    evidence
}

/// When a process ended, where that was before the end of what was seen.
fn gone<'a>(run: &Analyser, track: &'a Track) -> Option<(f64, &'a Track)> {
    track.ended_s.filter(|_| !track.counts(run.last_s())).map(|ended_s| (ended_s, track))
}

/// Who a series is about.
fn process_ref(run: &Analyser, first: &Series, group: &[&Series]) -> ProcessRef {
    let host = run.host();
    let Some(role) = first.role else {
        return match first.kind {
            Kind::Processes => children_ref(run),
            Kind::Shmem => ProcessRef::of_role(Role::Other, "/dev/shm".to_owned(), host),
            _ => copied_ref(run),
        };
    };
    let several = group.iter().filter(|s| s.process.is_some()).count().max(first.members as usize);
    let track = first.process.and_then(|id| run.store().tracks.get(&id));
    let role_label = if several > 1 { format!("{several} × {}", role.label()) } else { role.label().to_owned() };
    ProcessRef {
        node: None,
        pid: track.map_or(0, |t| t.process.pid),
        role: role.schema_name(),
        role_label,
        name: track.map_or_else(String::new, |t| t.process.command.clone()),
        rank: track.and_then(|t| t.process.rank),
        host,
    }
}

/// The processes that multiply: the role with the most of them.
fn children_ref(run: &Analyser) -> ProcessRef {
    let most = run.store().roles.iter().filter(|(role, _)| **role != Role::Outside).max_by_key(|(_, group)| group.most);
    let (role, count) = most.map_or((Role::Other, 0), |(role, group)| (*role, group.most));
    ProcessRef::of_role(role, format!("{count} × {}", role.label()), run.host())
}

/// Whose pages are being copied: the forked role whose share grew most.
fn copied_ref(run: &Analyser) -> ProcessRef {
    let forked = run.store().tracks.values().filter(|t| t.process.role != Role::Trainer && t.process.role != Role::Outside);
    let most = forked.max_by(|a, b| a.copied.peak().total_cmp(&b.copied.peak()));
    let role = most.map_or(Role::Trainer, |t| t.process.role);
    ProcessRef::of_role(role, role.label().to_owned(), run.host())
}

/// A process as findings name it.
pub fn reference(run: &Analyser, id: Option<ProcId>) -> Option<ProcessRef> {
    let track = run.store().tracks.get(&id?)?;
    Some(ProcessRef {
        node: None,
        pid: track.process.pid,
        role: track.process.role.schema_name(),
        role_label: track.process.role.label().to_owned(),
        name: track.process.command.clone(),
        rank: track.process.rank,
        host: run.host(),
    })
}

/// Whether it rose before the training's first step only: imports and data are loaded then, and what came later is what
/// is asked about.
fn belongs_to_start(run: &Analyser, series: &Series) -> bool {
    let first_s = series.process.and_then(|id| run.marks().of(id)).and_then(Line::first_step_s);
    first_s.is_some_and(|first_s| series.judged.rose_from_to.1 <= first_s + FIRST_STEP_S)
}

/// Seconds from the first step to the next tick: what was there at the step is seen then.
const FIRST_STEP_S: f64 = 1.0;

/// Growth that ended at a ceiling.
fn stopped(run: &Analyser, assessment: &Assessment) -> Option<Finding> {
    let stopped = |s: &&Series| {
        matches!(s.kind, Kind::Anonymous | Kind::Shmem)
            && s.role != Some(Role::Outside)
            && s.judged.outcome == Outcome::Stopped
            && s.judged.rose_before >= WORTH_A_LINE
            && s.judged.rose_before >= 0.08 * s.process.and_then(|id| run.store().tracks.get(&id)).map_or(0.0, Track::peak)
            && !belongs_to_start(run, s)
    };
    let largest =
        assessment.series.iter().filter(stopped).max_by(|a, b| a.judged.rose_before.total_cmp(&b.judged.rose_before))?;
    let judged = &largest.judged;
    let (from, to) = judged.rose_from_to;
    let alike = assessment.series.iter().filter(stopped).filter(|s| s.role == largest.role && s.copied == largest.copied).count();
    let who = if alike > 1 { format!("{alike} × {}: each ", largest.role.map_or("other", Role::label)) } else { String::new() };
    let of_all = largest.is_dev_shm();
    let what = match () {
        () if largest.copied => "copied pages that it had shared",
        () if of_all => "its files rose",
        () => "rose",
    };
    let text = format!(
        "{who}{what} by {} from {} to {}, then level for {}: bounded, no leak",
        Bytes(judged.rose_before as u64),
        Seconds(from),
        Seconds(to),
        Seconds(judged.until_s - judged.since_s)
    );
    let mut finding = Finding::new(Class::BoundedGrowth, "ram", text);
    finding.kind = Some(largest.kind);
    finding.bytes = Some(judged.rose_before as u64);
    finding.confidence = 0.9;
    finding.process = match largest.process {
        None if of_all => Some(process_ref(run, largest, &[largest])),
        None => Some(copied_ref(run)),
        id => reference(run, id),
    };
    Some(finding)
}

/// Spikes and sawteeth: what came back.
fn excursions(run: &Analyser, assessment: &Assessment) -> Option<Finding> {
    let worth = |s: &&Series| {
        let found = &s.judged.excursions;
        matches!(s.kind, Kind::Anonymous | Kind::Shmem)
            && s.role != Some(Role::Outside)
            && s.process.is_some()
            && !s.copied
            && found.height >= WORTH_A_LINE.max(WORTH_A_SHARE * s.judged.floor)
    };
    let highest = assessment
        .series
        .iter()
        .filter(worth)
        .max_by(|a, b| a.judged.excursions.height.total_cmp(&b.judged.excursions.height))?;
    let found = &highest.judged.excursions;
    // A spike is over most of the time, or comes at once; a sawtooth rises most of the time, bit by bit.
    let sawtooth = found.share > 0.6 && found.steepest < 0.6 * found.height;
    let (class, name) = if sawtooth { (Class::Sawtooth, "sawteeth") } else { (Class::Spikes, "spikes") };
    let name = if found.count == 1 { if sawtooth { "sawtooth" } else { "spike" } } else { name };
    let period = if found.period_s > 0.0 { format!(", about every {}", Seconds(found.period_s)) } else { String::new() };
    let (height, who) = (Bytes(found.height as u64), highest.role.map_or("run", Role::label));
    let text = if found.count == 0 || found.longest_s <= 0.0 {
        format!("the {who} swings by up to {height} from sample to sample, and comes back: harmless while there is room for it")
    } else {
        let within = Seconds(found.longest_s);
        format!(
            "{} {name} of up to {height} in the {who} came back within {within}{period}: harmless while there is room for them",
            found.count
        )
    };
    let mut finding = Finding::new(class, "ram", text);
    finding.kind = Some(highest.kind);
    finding.bytes = Some(found.height as u64);
    finding.process = reference(run, highest.process);
    Some(finding)
}

/// Children whose cost is constant.
fn overhead(run: &Analyser, assessment: &Assessment) -> Vec<(&'static str, Finding)> {
    let level = |judged: &Judged| matches!(judged.outcome, Outcome::Flat | Outcome::Stopped | Outcome::TooShort);
    let mut findings = Vec::new();
    for role in run.store().roles.keys() {
        if matches!(role, Role::Trainer | Role::Launcher | Role::Outside) {
            continue;
        }
        let of_role = |s: &&Series| s.role == Some(*role) && s.kind == Kind::Anonymous;
        if assessment.series.iter().filter(of_role).any(|s| !level(&s.judged)) {
            continue;
        }
        let alive: Vec<&Track> =
            run.store().tracks.values().filter(|t| t.process.role == *role && t.counts(run.last_s())).collect();
        let mut shares: Vec<f64> = alive.iter().filter_map(|t| t.share()).collect();
        let usual = if shares.is_empty() { 1.0 } else { crate::trend::median(&mut shares) };
        let bytes = alive.iter().map(|t| t.bytes_as(usual)).fold(0, u64::saturating_add);
        if alive.is_empty() || (bytes as f64) < WORTH_A_LINE {
            continue;
        }
        let label = format!("{} × {}", alive.len(), role.label());
        let text = format!("{label}: {}, constant cost", Bytes(bytes));
        let mut finding = Finding::new(Class::Overhead, "ram", text);
        finding.bytes = Some(bytes);
        finding.kind = Some(Kind::Anonymous);
        finding.process = Some(ProcessRef::of_role(*role, label, run.host()));
        findings.push((role.label(), finding));
    }
    findings
}

/// Pages of mapped files: the kernel drops them when it needs the room.
fn file_pages(run: &Analyser, assessment: &Assessment) -> Option<Finding> {
    // Libraries are mapped files too: what counts is what came after the start-up of the process's own memory.
    let started = |id: ProcId| {
        let own = assessment.series.iter().find(|s| s.process == Some(id) && s.kind == Kind::Anonymous && !s.copied)?;
        Some(if own.judged.rose_before > 0.0 { own.judged.rose_from_to.0 } else { own.judged.since_s })
    };
    let rise = |s: &Series| {
        let (id, track) = s.process.and_then(|id| Some((id, run.store().tracks.get(&id)?)))?;
        let started = started(id)?;
        let before = track.file.windows().iter().take_while(|w| w.start_s <= started).last()?.high;
        Some((id, s.judged.floor, s.judged.floor - before))
    };
    let files = assessment.series.iter().filter(|s| s.kind == Kind::File).filter_map(rise);
    let (id, floor, rose) = files.max_by(|a, b| a.2.total_cmp(&b.2))?;
    if rose < (4.0 * WORTH_A_LINE).max(0.1 * floor) {
        return None;
    }
    let text =
        format!("{} of mapped files became resident: the kernel drops them when it needs the room, no leak", Bytes(rose as u64));
    let mut finding = Finding::new(Class::FileCache, "ram", text);
    finding.kind = Some(Kind::File);
    finding.bytes = Some(rose as u64);
    finding.process = reference(run, Some(id));
    Some(finding)
}
