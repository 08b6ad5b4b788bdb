//! Memory snapshots of PyTorch for `report`: one shows what is there, its trace what was, several of one process what grew.
//!
//! Two snapshots show a difference and no more: a cache that fills up makes the same one. A verdict comes from a trace whose
//! low tide rises, by the same test as that of any other memory, or from a line that grows from each of several snapshots to the
//! next.

mod growth;
mod oom;
mod usage;

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;

use lowtide_ingest::snapshot::stack::Frame;
use lowtide_ingest::snapshot::sums::{self, Line};
use lowtide_ingest::snapshot::timeline::Trace;
use lowtide_ingest::snapshot::{self, Snapshot};
use lowtide_model::{
    AllocatedGrown, Bytes, Finding, LineGrown, MOST_LINES as MOST_LINES_GROWN, Report, Seconds, Site, SnapshotLine, Verdict,
};

use crate::explain::explain;
use crate::input::Judged;

/// Devices that are told of, at most.
const MOST_DEVICES: usize = 16;
/// Lines that are told of each.
const MOST_LINES: usize = 40;
/// Frames of a stack that are told.
const MOST_FRAMES: usize = 24;
/// Files of source that are looked into for what stands in a line are no larger.
const SOURCE: u64 = 16 << 20;

/// A snapshot that was read, and what to call it.
struct Named {
    name: String,
    snapshot: Snapshot,
}

/// Judges snapshots of one process, in the order in which they were taken.
///
/// # Errors
/// The name of the one that cannot be read, and why.
pub fn judge(files: &[(&Path, &str)]) -> Result<Judged, String> {
    let mut snapshots = Vec::new();
    for (path, name) in files {
        let file = File::open(path).map_err(|error| format!("cannot read {name}: {error}"))?;
        let snapshot = snapshot::read(file).map_err(|error| format!("{name}: {error}"))?;
        snapshots.push(Named { name: (*name).to_owned(), snapshot });
    }
    let mut report = Report::empty(Verdict::Undecided);
    let mut said = Vec::new();
    order(&mut snapshots, &mut said);
    for named in &snapshots {
        if named.snapshot.cut {
            let what =
                format!("{} breaks off after {}; what stands before that was read", named.name, Bytes(named.snapshot.bytes));
            report.warnings.push(what);
        }
    }
    if snapshots.windows(2).any(|pair| !one_process(&pair[0].snapshot, &pair[1].snapshot)) {
        let what = "the snapshots have no segment of memory in common: are they of one process? Lines were compared all the same";
        report.warnings.push(what.to_owned());
    }
    let Some(last) = snapshots.last() else { return Err("no snapshot was given".to_owned()) };
    let devices: Vec<u32> = last.snapshot.devices().into_iter().take(MOST_DEVICES).collect();
    if devices.is_empty() {
        report.summary = "The snapshot holds no GPU memory.".to_owned();
        report.warnings.push(format!("{}: no segments and no trace; was CUDA in use when it was taken?", last.name));
    }
    for device in devices {
        of_device(&mut report, &snapshots, device);
    }
    finish(&mut report, &snapshots);
    explain(&mut report);
    said.insert(0, "read as a memory snapshot of PyTorch".to_owned());
    Ok(Judged { report, said, curve: lowtide_report::Curve::default() })
}

/// Puts snapshots into the order of their traces, where all have one.
fn order(snapshots: &mut [Named], said: &mut Vec<String>) {
    if snapshots.len() < 2 {
        return;
    }
    let time = |named: &Named| last_time(&named.snapshot);
    if snapshots.iter().all(|named| time(named).is_some()) && !snapshots.is_sorted_by_key(time) {
        snapshots.sort_by_cached_key(time);
        let names: Vec<&str> = snapshots.iter().map(|named| named.name.as_str()).collect();
        said.push(format!("by the times of their traces the order is {}", names.join(", ")));
    }
}

fn last_time(snapshot: &Snapshot) -> Option<i64> {
    let last = |device| snapshot.events(device).rev().find_map(|event| event.time_us);
    (0..snapshot.traces() as u32).filter_map(last).max()
}

/// Whether a segment of one lies where one of the other does.
fn one_process(one: &Snapshot, other: &Snapshot) -> bool {
    let places = |snapshot: &Snapshot| -> HashSet<(u32, u64)> {
        snapshot.segments.iter().map(|segment| (segment.device, segment.address)).collect()
    };
    let (one, other) = (places(one), places(other));
    one.is_empty() || other.is_empty() || one.intersection(&other).next().is_some()
}

/// What is found of one device.
fn of_device(report: &mut Report, snapshots: &[Named], device: u32) {
    let Some(last) = snapshots.last().map(|named| &named.snapshot) else { return };
    let by_line: Vec<Vec<Line<'_>>> =
        snapshots.iter().map(|named| sums::by_line(&named.snapshot, &sums::live(&named.snapshot, device))).collect();
    let trace = Trace::of(last, device);
    let mut series = growth::Series::default();
    let timeline = trace.as_ref().map(|trace| trace.play(|moment| series.push(&moment)));
    let mut section = usage::section(last, device, &by_line);
    if let (Some(trace), Some(timeline)) = (&trace, &timeline) {
        section.events = timeline.events as u64;
        section.seconds = series.seconds();
        section.peak = Some(timeline.peak.allocated);
        report.duration_s = report.duration_s.max(series.seconds().unwrap_or(0.0));
        let grown = growth::of_trace(last, device, trace, timeline, &series);
        raise(report, grown);
        report.findings.extend(oom::findings(last, device, trace, timeline));
        report.findings.extend(usage::peak(last, device, trace, timeline));
    }
    if snapshots.len() > 1 {
        let grown = growth::of_snapshots(device, &by_line);
        raise(report, grown);
    }
    report.findings.extend(usage::findings(last, device, &by_line[by_line.len() - 1], &section));
    report.snapshots.push(section);
}

/// The most certain verdict stands; what grew comes first.
fn raise(report: &mut Report, grown: growth::Grown) {
    let rank = |verdict| match verdict {
        Verdict::Undecided => 0,
        Verdict::NoLeak => 1,
        Verdict::LikelyLeak => 2,
        Verdict::Leak => 3,
    };
    let better = rank(grown.verdict) > rank(report.verdict);
    if better {
        report.verdict = grown.verdict;
    }
    if grown.verdict == Verdict::NoLeak {
        report.detectable_bytes_per_second = grown.detectable;
    }
    report.more_seconds_needed = report.more_seconds_needed.max(grown.more_s);
    match grown.finding {
        Some(finding) if better => report.findings.insert(0, finding),
        // One that says less of the same line adds nothing.
        Some(finding) if !report.findings.iter().any(|known| known.class.grows() && known.site == finding.site) => {
            let at = report.findings.iter().take_while(|known| known.class.grows()).count();
            report.findings.insert(at, finding);
        }
        _ => {}
    }
}

fn finish(report: &mut Report, snapshots: &[Named]) {
    let source = if snapshots.len() == 1 { "a memory snapshot of PyTorch" } else { "memory snapshots of PyTorch" };
    source.clone_into(&mut report.run.source);
    let traced = report.snapshots.iter().any(|section| section.events > 0);
    if !traced && !report.snapshots.is_empty() {
        report.blind_spots.push(
            "what happened before: the snapshot has no trace (_record_memory_history was off, or kept state only)".to_owned(),
        );
    }
    let (unknown, all) = report.snapshots.iter().flat_map(|section| &section.lines).fold((0, 0_u64), |(unknown, all), line| {
        (unknown + if line.file.is_empty() { line.bytes } else { 0 }, all.saturating_add(line.bytes))
    });
    if unknown > 0 {
        let share = 100.0 * unknown as f64 / all as f64;
        report.blind_spots.push(format!("who allocated {} ({share:.0} %): recording was off then", Bytes(unknown)));
    }
    let grew = report.leak().map(|leak| leak.text.clone());
    if report.summary.is_empty() {
        report.summary = match (report.verdict, grew) {
            (Verdict::Leak, Some(text)) => format!("It leaks GPU memory: {text}."),
            (Verdict::LikelyLeak, Some(text)) => format!("It probably leaks GPU memory: {text}."),
            (Verdict::NoLeak, _) => format!("No leak seen in a trace of {}.", Seconds(report.duration_s)),
            (_, Some(text)) => format!(
                "{text}. Two moments show a difference, not a leak: a further snapshot at the same point of a later epoch, or one \
                 with a trace of a minute, would tell."
            ),
            _ if snapshots.len() > 1 => {
                "Nothing grew from one snapshot to the next; take them at the same point of two epochs that lie further apart."
                    .to_owned()
            }
            _ if report.duration_s > 0.0 => format!(
                "The trace of {} is too short, or swings too much, to tell; a later snapshot shows what grew.",
                Seconds(report.duration_s)
            ),
            _ => "One snapshot shows what is there, not what grows: give a later one of the same process, too.".to_owned(),
        };
    }
}

/// `gpu0`.
fn resource(device: u32) -> String {
    format!("gpu{device}")
}

/// `train.py:55 in step()`; what nothing was recorded of has no place.
fn place(site: Option<&Frame<'_>>) -> String {
    let Some(site) = site else { return "an unknown place (nothing was recorded of it)".to_owned() };
    let file = site.file.rsplit('/').next().unwrap_or(site.file);
    let name = clean(site.name);
    match site.line {
        0 => name,
        line => format!("{}:{line} in {name}()", clean(file)),
    }
}

/// Foreign text for a sentence: of bounded length.
fn clean(text: &str) -> String {
    text.chars().take(120).collect()
}

/// The line as a site of a finding, with what stands there, where the file is here.
fn site(frame: &Frame<'_>) -> Option<Site> {
    if frame.line == 0 || !frame.file.ends_with(".py") {
        return None;
    }
    Some(Site { file: frame.file.to_owned(), line: frame.line, column: None, text: text_of(frame).unwrap_or_default() })
}

fn text_of(frame: &Frame<'_>) -> Option<String> {
    let path = Path::new(frame.file);
    // A name without a folder is nobody's in particular.
    let size = std::fs::metadata(path).ok().filter(|file| path.is_absolute() && file.is_file())?.len();
    let source = (size <= SOURCE).then(|| std::fs::read_to_string(path).ok())??;
    let line = source.lines().nth(frame.line as usize - 1)?;
    Some(line.trim().chars().take(300).collect())
}

/// What became more on each device between two snapshots of one process, by the line that asked for it; without times.
///
/// # Errors
/// The file that cannot be read, and why.
pub fn grown(files: &[std::path::PathBuf; 2]) -> Result<Vec<AllocatedGrown>, String> {
    let read = |path: &std::path::PathBuf| {
        let file = File::open(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        snapshot::read(file).map_err(|error| format!("{}: {error}", path.display()))
    };
    let (before, after) = (read(&files[0])?, read(&files[1])?);
    let of = |device: u32| {
        let lines = |snapshot| sums::by_line(snapshot, &sums::live(snapshot, device));
        let (before, after) = (lines(&before), lines(&after));
        let changes = sums::changes(&before, &after);
        let line = |change: &sums::Change<'_>| LineGrown {
            site: change.site.as_ref().and_then(site),
            function: change.site.as_ref().map_or_else(String::new, |site| clean(site.name)),
            bytes: change.bytes(),
            blocks: change.blocks(),
        };
        AllocatedGrown {
            device,
            seconds: 0.0,
            bytes: changes.iter().map(sums::Change::bytes).fold(0, i64::saturating_add),
            lines: changes.iter().filter(|change| change.bytes() > 0).take(MOST_LINES_GROWN).map(line).collect(),
            files: Vec::new(),
        }
    };
    Ok(after.devices().into_iter().take(MOST_DEVICES).map(of).collect())
}

/// What a report says of a line.
fn told(snapshot: &Snapshot, line: &Line<'_>) -> SnapshotLine {
    let frames = line.stack.into_iter().flat_map(|stack| snapshot.stacks.frames(stack).collect::<Vec<_>>());
    let shown = |frame: Frame<'_>| {
        let file = frame.file.rsplit('/').next().unwrap_or(frame.file);
        clean(&if frame.line == 0 { frame.name.to_owned() } else { format!("{file}:{} {}", frame.line, frame.name) })
    };
    SnapshotLine {
        file: line.site.map_or(String::new(), |site| site.file.to_owned()),
        line: line.site.map_or(0, |site| site.line),
        function: line.site.map_or(String::new(), |site| clean(site.name)),
        bytes: line.amount.bytes,
        blocks: line.amount.blocks,
        bytes_delta: None,
        blocks_delta: None,
        stack: frames.map(shown).take(MOST_FRAMES).collect(),
    }
}

/// `; the largest part by train.py:55 in step() (65 MiB)`.
fn most_of(lines: &[Line<'_>]) -> String {
    let Some(first) = lines.first().filter(|line| line.amount.bytes > 0) else { return String::new() };
    format!("; the largest part by {} ({})", place(first.site.as_ref()), Bytes(first.amount.bytes))
}

/// The lines that hold most, as evidence.
fn holders(lines: &[Line<'_>], most: usize) -> Vec<String> {
    let total: u64 = lines.iter().map(|line| line.amount.bytes).fold(0, u64::saturating_add).max(1);
    let tell = |line: &Line<'_>| {
        let share = 100.0 * line.amount.bytes as f64 / total as f64;
        let blocks = lowtide_report::pieces(line.amount.blocks, "block", "blocks");
        format!("{} ({share:.0} %) in {blocks}: {}", Bytes(line.amount.bytes), place(line.site.as_ref()))
    };
    lines.iter().take(most).filter(|line| line.amount.bytes > 0).map(tell).collect()
}

/// A finding about a device's allocator.
fn finding(class: lowtide_model::Class, kind: lowtide_model::Kind, device: u32, text: String) -> Finding {
    Finding { kind: Some(kind), ..Finding::new(class, &resource(device), text) }
}
