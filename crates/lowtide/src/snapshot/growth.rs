//! What grows: by a trace's low tides, and from one snapshot to the next.

use lowtide_analyse::judge::{self, Ask, Judged, Outcome};
use lowtide_analyse::pyramid::Pyramid;
use lowtide_ingest::snapshot::Snapshot;
use lowtide_ingest::snapshot::sums::{self, Change, Line};
use lowtide_ingest::snapshot::timeline::{Moment, Timeline, Trace};
use lowtide_model::{Bytes, Class, Finding, Growth, Kind, ObjectGrown, Rate, Verdict};

use super::{finding, place, site};

/// The least that a device's allocated memory must have grown by to be worth a word, bytes.
const LEAST: i64 = 1 << 20;
/// The same for one line from each of several snapshots to the next.
const LEAST_EACH: i64 = 64 << 10;
/// Snapshots from which on a line that grew from each to the next is called a likely leak.
const SEVERAL: usize = 3;
/// The share of a stretch at whose two ends low tides are compared.
const END: f64 = 0.25;

/// What is said of growth.
pub struct Grown {
    pub verdict: Verdict,
    pub finding: Option<Finding>,
    /// Seconds still to record.
    pub more_s: f64,
    /// The smallest steady growth that would have shown, bytes per second.
    pub detectable: Option<f64>,
}

/// A trace's allocated memory over time.
#[derive(Default)]
pub struct Series {
    pyramid: Pyramid,
    begin_us: Option<i64>,
    end_us: i64,
}

impl Series {
    /// One more moment; what has no time is left out.
    pub fn push(&mut self, moment: &Moment) {
        let Some(time_us) = moment.time_us else { return };
        let begin = *self.begin_us.get_or_insert(time_us);
        self.end_us = time_us;
        self.pyramid.push(seconds(begin, time_us), moment.allocated as f64);
    }

    /// From its first to its last moment.
    pub fn seconds(&self) -> Option<f64> {
        self.begin_us.map(|begin| seconds(begin, self.end_us).max(0.0))
    }
}

fn seconds(from_us: i64, to_us: i64) -> f64 {
    to_us.saturating_sub(from_us) as f64 / 1e6
}

/// Judges the trace as any other memory is judged, and names the line that holds what its low tides have more.
pub fn of_trace(snapshot: &Snapshot, device: u32, trace: &Trace, timeline: &Timeline, series: &Series) -> Grown {
    let nothing = Grown { verdict: Verdict::Undecided, finding: None, more_s: 0.0, detectable: None };
    let Some(begin_us) = series.begin_us else { return nothing };
    if series.pyramid.windows().is_empty() {
        return nothing;
    }
    let judged = judge::judge(series.pyramid.windows(), Ask::bytes(false, timeline.start.allocated == 0));
    let verdict = match judged.outcome {
        Outcome::Leaking => Verdict::Leak,
        Outcome::Rising => Verdict::LikelyLeak,
        Outcome::Flat | Outcome::Stopped => Verdict::NoLeak,
        Outcome::TooShort | Outcome::Unclear => Verdict::Undecided,
    };
    let detectable = Some(judged.detectable).filter(|rate| rate.is_finite());
    let more_s = if verdict == Verdict::Undecided { judged.more_s } else { 0.0 };
    let finding = judged.grows().then(|| between_tides(snapshot, device, trace, timeline, &judged, begin_us)).flatten();
    Grown { verdict, finding, more_s, detectable }
}

/// What lived at the lowest tide of the stretch's end and not at that of its beginning.
fn between_tides(
    snapshot: &Snapshot,
    device: u32,
    trace: &Trace,
    timeline: &Timeline,
    judged: &Judged,
    begin_us: i64,
) -> Option<Finding> {
    let span = judged.until_s - judged.since_s;
    let at = |low: &Moment| low.time_us.map(|time_us| seconds(begin_us, time_us));
    let lowest = |from: f64, to: f64| {
        let inside = timeline.lows.iter().filter(|low| at(low).is_some_and(|at| at >= from && at <= to));
        inside.min_by_key(|low| low.allocated)
    };
    let early = lowest(judged.since_s, judged.since_s + END * span)?;
    let late = lowest(judged.until_s - END * span, judged.until_s)?;
    let live = trace.live_at(&[early.after, late.after]);
    let lines: Vec<Vec<Line<'_>>> = live.iter().map(|live| sums::by_line(snapshot, live)).collect();
    let changes = sums::changes(&lines[0], &lines[1]);
    let growth = Growth::per_second(judged.rate, judged.ci95);
    let sure = judged.outcome == Outcome::Leaking;
    let between = format!("between two low tides {} apart", lowtide_model::Seconds(at(late)? - at(early)?));
    let mut found = grown(device, &changes, &between)?;
    found.confidence = if sure { 0.95 } else { 0.8 };
    found.growth = Some(growth);
    found.evidence.insert(0, format!("the low tide of the trace rises, over {} low tides", judged.tides));
    Some(found)
}

/// What grew from the first snapshot to the last.
pub fn of_snapshots(device: u32, by_line: &[Vec<Line<'_>>]) -> Grown {
    let mut grew = Grown { verdict: Verdict::Undecided, finding: None, more_s: 0.0, detectable: None };
    let Some((first, last)) = by_line.first().zip(by_line.last()) else { return grew };
    let changes = sums::changes(first, last);
    let many = by_line.len();
    let between = if many == 2 {
        "between the two snapshots".to_owned()
    } else {
        format!("between the first and the last of {many} snapshots")
    };
    let Some(mut found) = grown(device, &changes, &between) else { return grew };
    let each_time = || {
        by_line.windows(2).all(|pair| {
            let step = sums::changes(&pair[0], &pair[1]);
            step.iter().any(|change| change.site == changes[0].site && change.bytes() >= LEAST_EACH)
        })
    };
    if many >= SEVERAL && each_time() {
        grew.verdict = Verdict::LikelyLeak;
        found.confidence = 0.8;
        found.evidence.push("it grew from each snapshot to the next".to_owned());
    } else {
        found.confidence = 0.5;
        found.evidence.push("a difference of moments: what fills up and then stays would show it, too".to_owned());
    }
    grew.finding = Some(found);
    grew
}

/// The finding about lines that have more, if together they do.
fn grown(device: u32, changes: &[Change<'_>], between: &str) -> Option<Finding> {
    let total: i64 = changes.iter().map(Change::bytes).fold(0, i64::saturating_add);
    let first = changes.first()?;
    if total < LEAST || first.bytes() <= 0 {
        return None;
    }
    let more: i64 = changes.iter().map(Change::bytes).filter(|bytes| *bytes > 0).fold(0, i64::saturating_add);
    let amount = |bytes: i64| Rate(bytes as f64);
    let tell = |change: &Change<'_>| {
        let share = 100.0 * change.bytes() as f64 / more as f64;
        let now = Bytes(change.after.bytes);
        let blocks = change.blocks();
        format!(
            "{} ({share:.0} % of what was added) in {blocks:+} blocks, now {now}: {}",
            amount(change.bytes()),
            place(change.site.as_ref())
        )
    };
    let text = format!(
        "{} of GPU memory {between}, {} of it allocated by {}",
        amount(total),
        if first.bytes() >= total { "all".to_owned() } else { amount(first.bytes()).to_string() },
        place(first.site.as_ref())
    );
    let mut found = finding(Class::Leak, Kind::GpuAllocated, device, text);
    found.bytes = u64::try_from(total).ok();
    found.site = first.site.as_ref().and_then(site);
    found.objects = vec![ObjectGrown {
        kind: "block of the CUDA caching allocator".to_owned(),
        device: format!("cuda:{device}"),
        count_delta: first.blocks(),
        bytes_delta: first.bytes(),
        ..ObjectGrown::default()
    }];
    found.evidence = changes.iter().take_while(|change| change.bytes() > 0).take(5).map(tell).collect();
    Some(found)
}
