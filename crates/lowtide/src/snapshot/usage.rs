//! What is there: a device's memory, whose it is, what of it is stuck, and the peak of the trace.

use lowtide_ingest::snapshot::sums::{self, Line};
use lowtide_ingest::snapshot::timeline::{Timeline, Trace};
use lowtide_ingest::snapshot::{Snapshot, fragments};
use lowtide_model::{Bytes, Class, Finding, Kind, SnapshotReport};

use super::{MOST_LINES, finding, holders, most_of, site, told};

/// Free memory in segments that are in use is worth a word from so much on, and this share of what is reserved.
const STUCK: u64 = 64 << 20;
const STUCK_SHARE: f64 = 0.1;
/// A peak is worth a word from this much above what is there at the end, and this share of it.
const PEAK: u64 = 64 << 20;
const PEAK_SHARE: f64 = 0.1;

/// The report's section about a device.
pub fn section(snapshot: &Snapshot, device: u32, by_line: &[Vec<Line<'_>>]) -> SnapshotReport {
    let used = fragments::usage(snapshot, device);
    SnapshotReport {
        files: by_line.len() as u64,
        device,
        reserved: used.reserved,
        allocated: used.allocated,
        requested: used.requested,
        pending: used.pending,
        split: used.split,
        releasable: used.releasable,
        largest_free: used.largest_free,
        in_private_pools: fragments::in_private_pools(snapshot, device),
        segments: used.segments,
        events: 0,
        seconds: None,
        peak: None,
        lines: lines(snapshot, by_line),
    }
}

fn lines(snapshot: &Snapshot, by_line: &[Vec<Line<'_>>]) -> Vec<lowtide_model::SnapshotLine> {
    let Some(last) = by_line.last() else { return Vec::new() };
    if by_line.len() == 1 {
        return last.iter().take(MOST_LINES).map(|line| told(snapshot, line)).collect();
    }
    let changes = sums::changes(&by_line[0], last);
    let tell = |change: &sums::Change<'_>| {
        let line = Line { site: change.site, amount: change.after, stack: change.stack };
        let mut told = told(snapshot, &line);
        (told.bytes_delta, told.blocks_delta) = (Some(change.bytes()), Some(change.blocks()));
        told
    };
    changes.iter().take(MOST_LINES).map(tell).collect()
}

/// What holds it, and what of it is stuck.
pub fn findings(snapshot: &Snapshot, device: u32, lines: &[Line<'_>], of: &SnapshotReport) -> Vec<Finding> {
    let mut findings = Vec::new();
    if of.reserved > 0 {
        let text = format!("{} of GPU {device} are reserved, {} of them allocated", Bytes(of.reserved), Bytes(of.allocated));
        let mut held = finding(Class::Overhead, Kind::GpuAllocated, device, text);
        held.bytes = Some(of.allocated);
        held.evidence = holders(lines, 5);
        held.site = lines.iter().find_map(|line| line.site.as_ref()).and_then(site);
        findings.push(held);
    }
    if of.split >= STUCK && of.split as f64 >= STUCK_SHARE * of.reserved as f64 {
        findings.push(stuck(snapshot, device, of));
    }
    let untidy =
        snapshot.segments.iter().filter(|segment| segment.device == device && !fragments::tiles(snapshot, segment)).count();
    if untidy > 0 {
        let text = format!(
            "{untidy} segments of GPU {device} are not as large as their blocks together: the snapshot does not fit itself"
        );
        findings.push(finding(Class::Overhead, Kind::GpuReserved, device, text));
    }
    findings
}

fn stuck(snapshot: &Snapshot, device: u32, of: &SnapshotReport) -> Finding {
    let text = format!(
        "{} ({:.0} % of what is reserved) are free between blocks that are in use: empty_cache() cannot give them back",
        Bytes(of.split),
        100.0 * of.split as f64 / of.reserved as f64
    );
    let mut stuck = finding(Class::Overhead, Kind::GpuReserved, device, text);
    stuck.bytes = Some(of.split);
    stuck.evidence.push(format!("the largest free block has {}: a larger request needs a new segment", Bytes(of.largest_free)));
    if of.releasable > 0 {
        stuck
            .evidence
            .push(format!("{} more are free as whole segments: empty_cache() would give these back", Bytes(of.releasable)));
    }
    let expandable = snapshot.segments.iter().any(|segment| segment.device == device && segment.expandable);
    stuck.fix = Some(if expandable {
        "expandable_segments is on already; make batches of more equal sizes, or allocate what stays before what comes and goes"
            .to_owned()
    } else {
        "make batches of more equal sizes; else try PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128 or expandable_segments:True, which \
         helps against such holes only and can hide a leak for longer"
            .to_owned()
    });
    stuck
}

/// The peak of the trace, where it stands out.
pub fn peak(snapshot: &Snapshot, device: u32, trace: &Trace, timeline: &Timeline) -> Option<Finding> {
    let (peak, end) = (timeline.peak, timeline.end);
    let above = peak.allocated.saturating_sub(end.allocated);
    if above < PEAK || (above as f64) < PEAK_SHARE * end.allocated as f64 {
        return None;
    }
    let live = trace.live_at(&[peak.after]);
    let lines = sums::by_line(snapshot, &live[0]);
    let text = format!(
        "at the peak of the trace {} were allocated, {} more than at its end{}",
        Bytes(peak.allocated),
        Bytes(above),
        most_of(&lines)
    );
    let mut found = finding(Class::Spikes, Kind::GpuAllocated, device, text);
    found.bytes = Some(above);
    found.evidence = holders(&lines, 5);
    found.site = lines.iter().find_map(|line| line.site.as_ref()).and_then(site);
    Some(found)
}
