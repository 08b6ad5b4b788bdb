//! The one sentence.

use lowtide_model::{Bytes, Finding, Rate, Report, Seconds, Verdict};

/// One sentence that says the verdict and what it rests on.
pub fn sentence(report: &Report) -> String {
    match report.verdict {
        Verdict::Leak => leak("It leaks", report.leak()),
        Verdict::LikelyLeak => leak("It probably leaks", report.leak()),
        Verdict::NoLeak => {
            let limit = report.detectable_bytes_per_second.map_or_else(
                || "memory comes back down to where it was".to_owned(),
                |rate| format!("steady growth of {}/min or more would have shown", Rate(rate * 60.0)),
            );
            format!("No leak seen in {}: {limit}.", Seconds(report.duration_s))
        }
        Verdict::Undecided => {
            format!("Not enough data yet: watch for {} more.", Seconds(report.more_seconds_needed))
        }
    }
}

fn leak(lead: &str, finding: Option<&Finding>) -> String {
    let Some(finding) = finding else { return format!("{lead}.") };
    let who = finding.process.as_ref().map_or(String::new(), |process| {
        let pid = if process.pid > 0 { format!(" (pid {})", process.pid) } else { String::new() };
        format!(" in {}{pid}", process.role_label)
    });
    let rate = finding.growth.as_ref().map_or(String::new(), |growth| {
        let per_minute = growth.bytes_per_second * 60.0;
        if growth.unit == "count" {
            format!("{per_minute:.1} {} per minute", finding.resource)
        } else {
            format!("{}/min", Rate(per_minute))
        }
    });
    let end = finding.oom.as_ref().and_then(|oom| Some((oom.seconds?, oom))).map_or(String::new(), |(seconds, oom)| {
        format!("; the {} limit of {} is met in about {}", oom.limit, Bytes(oom.limit_bytes), Seconds(seconds[1]))
    });
    format!("{lead}: {rate}{who}{end}.")
}
