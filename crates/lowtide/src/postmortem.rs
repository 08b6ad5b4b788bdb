//! The report of a run that is dead and left only its log.

use lowtide_ingest::log::{LOOKED_FOR, Log};
use lowtide_ingest::scalars::Scalars;
use lowtide_model::{Finding, Report, Verdict};

use crate::input::Judged;
use crate::logged;

/// What a log says. Whether memory grew it cannot say, so the verdict stays open; how the run ended it can.
pub fn judged(log: &Log) -> Judged {
    let mut report = Report::empty(Verdict::Undecided);
    report.findings = log.findings();
    report.findings.iter_mut().for_each(mask);
    report.warnings.clone_from(&log.said);
    if log.more > 0 {
        report.warnings.push(format!("{} more messages of the same sorts were left out", log.more));
    }
    report.blind_spots.push("memory over time: a log of messages has none; watch the next run with `lowtide run`".to_owned());
    let lines = lowtide_report::pieces(log.lines, "line", "lines");
    report.run.source = format!("log of {lines}");
    let mut stages = logged::of_stages(&log.stages);
    stages.extend(logged::of_summaries(&log.summaries));
    report.summary = match report.findings.first() {
        None if !stages.is_empty() => format!("whether memory grew is not in this log; {}", stages[0].text),
        Some(end) => {
            let more = match report.findings.len() {
                1 => String::new(),
                count => format!(" (and {} more)", count - 1),
            };
            format!("whether memory grew is not in this log; how it ended is: {}{more}", end.text)
        }
        None => "nothing in this log tells of memory".to_owned(),
    };
    report.findings.extend(stages);
    let said = if report.findings.is_empty() && log.series.is_empty() {
        vec![format!("read as a log of {lines}, which says nothing of memory. Looked for: {LOOKED_FOR}")]
    } else {
        vec![format!("read as a log of {lines}")]
    };
    logged::add(&mut report, &log.series);
    let curve = logged::curve(&report, &log.series);
    Judged { report, said, curve }
}

/// What a file of metrics says.
pub fn of_scalars(scalars: &Scalars) -> Judged {
    let mut report = Report::empty(Verdict::Undecided);
    report.warnings.clone_from(&scalars.said);
    report.run.source = format!("{} of {} scalars", scalars.what, scalars.scalars);
    report.summary = "none of its scalars is memory in use with a unit; name one: --column memory=TAG:MB".to_owned();
    logged::add(&mut report, &scalars.series);
    let said = vec![format!("read as a {} of {} scalars", scalars.what, scalars.scalars)];
    let curve = logged::curve(&report, &scalars.series);
    Judged { report, said, curve }
}

/// Masks secrets in what a log has of command lines.
fn mask(finding: &mut Finding) {
    let masked = |text: &str| {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        lowtide_collect::mask_secrets(&words).join(" ")
    };
    for line in &mut finding.evidence {
        *line = masked(line);
    }
    if let Some(process) = &mut finding.process {
        process.name = masked(&process.name);
    }
}
