//! What is said while the target runs: one line when a leak is established, one when the end is near; and one where a leak turns out
//! to be none, since nobody reads a report as soon as a warning.

use lowtide_model::{Notice, Report, Seconds, Verdict};

/// "Near": somebody can still save a checkpoint.
const NEAR_S: f64 = 600.0;

/// Remembers what was said already.
#[derive(Default)]
pub struct Notices {
    leak: bool,
    oom: bool,
}

impl Notices {
    /// What is new in this report. A leak is said again where it was taken back.
    pub fn new_in(&mut self, report: &Report) -> Vec<Notice> {
        let mut new = Vec::new();
        if !self.leak && report.verdict == Verdict::Leak {
            self.leak = true;
            new.push(Notice::Leak(report.summary.clone()));
        } else if self.leak && report.verdict == Verdict::NoLeak {
            self.leak = false;
            new.push(Notice::NoLeak(format!("what was said of a leak is taken back: {}", report.summary)));
        }
        if !self.oom
            && let Some((middle_s, limit)) = nearest_end(report).filter(|(middle_s, _)| *middle_s <= NEAR_S)
        {
            self.oom = true;
            new.push(Notice::OomNear(format!("out of memory in about {} (limit: {limit})", Seconds(middle_s))));
        }
        new
    }
}

/// The nearest forecast: seconds and the limit's name.
fn nearest_end(report: &Report) -> Option<(f64, &str)> {
    let forecasts = report.findings.iter().filter_map(|finding| finding.oom.as_ref());
    forecasts
        .filter_map(|oom| oom.seconds.map(|[_, middle_s, _]| (middle_s, oom.limit.as_str())))
        .min_by(|a, b| a.0.total_cmp(&b.0))
}

#[cfg(test)]
mod tests {
    use lowtide_model::Class;

    use super::*;
    use crate::fail_on::tests::{oom, report};

    #[test]
    fn each_is_said_once() {
        let mut notices = Notices::default();
        let mut now = report(Verdict::LikelyLeak);
        assert_eq!(notices.new_in(&now), []);
        now.verdict = Verdict::Leak;
        now.summary = "it leaks".to_owned();
        now.findings = vec![oom(Class::Leak, "cgroup", Some(7200.0), 0.0)];
        assert_eq!(notices.new_in(&now), [Notice::Leak("it leaks".to_owned())]);
        now.findings.push(oom(Class::Leak, "system", Some(300.0), 0.0));
        let near = notices.new_in(&now);
        assert!(matches!(&near[..], [Notice::OomNear(text)] if text.contains("5 min") && text.contains("system")), "{near:?}");
        assert_eq!(notices.new_in(&now), []);
    }

    #[test]
    fn what_turns_out_to_be_none_is_taken_back() {
        let mut notices = Notices::default();
        let mut say = |verdict, summary: &str| notices.new_in(&Report { summary: summary.to_owned(), ..report(verdict) });
        assert_eq!(say(Verdict::NoLeak, "level"), []);
        assert_eq!(say(Verdict::Leak, "it leaks"), [Notice::Leak("it leaks".to_owned())]);
        assert_eq!(say(Verdict::Undecided, "it slows down"), [], "that takes nothing back yet");
        let back = say(Verdict::NoLeak, "level");
        assert_eq!(back, [Notice::NoLeak("what was said of a leak is taken back: level".to_owned())]);
        assert_eq!(say(Verdict::NoLeak, "level"), []);
        assert_eq!(say(Verdict::Leak, "it leaks"), [Notice::Leak("it leaks".to_owned())]);
    }
}
