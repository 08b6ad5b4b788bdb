//! What a reader should know before trusting a comparison.

use lowtide_model::{Matched, Seconds, Verdict};

use super::facts::Facts;

/// Runs whose lengths differ by more than this share are of different length.
const ALIKE: f64 = 0.1;

/// Whether all runs took about as many steps, or were watched for about as long.
pub(super) fn alike(sides: [&[Facts]; 2], by_step: bool) -> bool {
    let length = |run: &Facts| if by_step { run.steps() } else { Some(run.report.duration_s) };
    let (least, most) = range(sides.iter().flat_map(|side| side.iter()).filter_map(length));
    most - least <= ALIKE * most
}

pub(super) fn of(before: &[Facts], after: &[Facts], matched: Matched) -> Vec<String> {
    let mut notes = Vec::new();
    let sides = [("before", before), ("after", after)];
    let all = || before.iter().chain(after);
    let (short, long) = range(all().map(|run| run.report.duration_s));
    let steps = range(all().filter_map(Facts::steps));
    let by_step = matched.by == "step";
    let differ = |(least, most): (f64, f64)| most - least > ALIKE * most;
    match matched.until {
        Some(until) if by_step && differ(steps) => {
            notes.push(format!(
                "the runs have {:.0} to {:.0} steps: floor, peak and spike are those up to step {until:.0}",
                steps.0, steps.1
            ));
        }
        Some(until) if !by_step && differ((short, long)) => {
            let (short, long, until) = (Seconds(short), Seconds(long), Seconds(until));
            notes.push(format!(
                "the runs were watched for {short} to {long}: floor, peak and spike are those of the first {until}"
            ));
        }
        _ => {}
    }
    if !by_step && all().any(|run| run.steps().is_some()) {
        notes.push("steps are known on one side only: growth is compared by time, and the speed is not".to_owned());
    }
    for (name, side) in sides {
        for run in side {
            notes.extend(
                unfinished(run).map(|what| format!("{name}: {} {what}; what is said holds for what was recorded", run.file)),
            );
            if run.report.verdict == Verdict::Undecided {
                let more = Seconds(run.report.more_seconds_needed);
                notes.push(format!("{name}: {} was watched too short to say whether it leaks; {more} more would tell", run.file));
            }
            if run.parts.is_empty() {
                notes.push(format!("{name}: {} holds no measurement of a process", run.file));
            }
        }
    }
    for (name, side) in sides {
        let unread = side.iter().map(|run| run.report.sampling.rollup_skipped).max().unwrap_or(0);
        if unread > 1 {
            notes.push(format!(
                "{name}: {unread} processes were too big to tell the pages that they share: what they have of their own may be \
                 missing in the numbers of the whole tree"
            ));
        }
    }
    let most = |side: &[Facts]| side.iter().map(Facts::processes).max().unwrap_or(0);
    if most(before) != most(after) {
        notes.push(format!("at most {} processes before, {} after", most(before), most(after)));
    }
    let different = |of: fn(&Facts) -> String| all().any(|run| of(run) != of(&before[0]));
    if different(|run| run.report.run.host.clone()) {
        notes.push("the runs were on different machines: their speed is not that of the program alone".to_owned());
    }
    if different(|run| format!("{:?}", run.signal)) {
        notes.push(
            "the files do not count the same memory: one tells file pages from a program's own, the other does not".to_owned(),
        );
    }
    if before.len() + after.len() == 2 {
        notes.push(
            "one run a side: what two runs of one program differ by is assumed, not measured; several a side measure it"
                .to_owned(),
        );
    }
    let start = |run: &Facts| run.report.run.started_unix_s;
    let (first, last) = (range(before.iter().map(start)), range(after.iter().map(start)));
    if before.len() + after.len() > 2 && first.0 > 0.0 && last.0 > 0.0 && (first.1 < last.0 || last.1 < first.0) {
        notes.push(
            "all runs of one side come before all of the other: what the machine did meanwhile is part of the difference in \
             speed; take them in turn"
                .to_owned(),
        );
    }
    notes
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, 0.0), |(least, most), value| (least.min(value), most.max(value)))
}

fn unfinished(run: &Facts) -> Option<&'static str> {
    match run.report.run.ended.as_str() {
        "still running" => Some("is still running"),
        "broke off" => Some("breaks off"),
        _ => None,
    }
}
