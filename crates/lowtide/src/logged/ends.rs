//! How a run ended, joined with what its numbers did until then.

use lowtide_model::{Finding, Report, Verdict};

use super::{Judged, tell};

/// Adds to each end what the numbers of the same memory did before it: growth, or a leap from a level tide.
pub fn join(report: &mut Report, all: &[Judged<'_>]) {
    for end in report.findings.iter_mut().filter(|finding| finding.ran_out()) {
        let gpu = end.resource.starts_with("gpu");
        let same = |one: &&Judged<'_>| {
            let resource = tell::resource(one.series);
            resource == end.resource || (!gpu && resource == "ram")
        };
        let best = all.iter().filter(same).filter(|one| one.judgement.verdict.is_some()).max_by(|a, b| {
            let key = |one: &Judged<'_>| super::rank(one.judgement.verdict);
            (key(a), a.judgement.rise()).partial_cmp(&(key(b), b.judgement.rise())).unwrap_or(std::cmp::Ordering::Equal)
        });
        if let Some(line) = best.and_then(|one| until(one, end)) {
            end.evidence.insert(0, line);
        }
    }
}

fn until(one: &Judged<'_>, end: &Finding) -> Option<String> {
    let told = tell::sentence(one.series, &one.judgement);
    let what = if end.is_kill() { "kill" } else { "error" };
    let lines = format!("{} {} to {}", tell::places(one.series), one.series.lines.0, one.series.lines.1);
    match one.judgement.verdict? {
        Verdict::Leak | Verdict::LikelyLeak => Some(format!("{told}, until the {what} ({lines}): it was growth")),
        Verdict::NoLeak => {
            Some(format!("{told} until the {what} ({lines}): what was asked for at the end was too much, not what had grown"))
        }
        Verdict::Undecided => None,
    }
}
