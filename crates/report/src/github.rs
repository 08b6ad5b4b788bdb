//! Findings and expectations that do not hold as annotations of GitHub Actions: workflow commands, one a line.
//!
//! Form: <https://docs.github.com/actions/reference/workflow-commands-for-github-actions>.

use std::fmt::Write;

use lowtide_model::{Class, ExpectationState, Finding, Report, Verdict};

use crate::text::invisible;

/// A line for each finding that a reader should act on, and the verdict of a run.
#[must_use]
pub fn github(report: &Report) -> String {
    let mut lines = String::new();
    for finding in report.findings.iter().filter(|finding| is_telling(finding)) {
        let level = if finding.class == Class::Source { "warning" } else { "error" };
        let mut place = String::new();
        if let Some(site) = &finding.site {
            let _ = write!(place, "file={},line={},", property(site.file.trim_start_matches("./")), site.line);
            if let Some(column) = site.column {
                let _ = write!(place, "col={column},");
            }
        }
        let title = finding.cause.as_deref().unwrap_or("lowtide");
        let _ = writeln!(lines, "::{level} {place}title={}::{}", property(title), data(&super::sentence(finding)));
    }
    for expectation in &report.expectations {
        let (level, what) = match expectation.state {
            ExpectationState::Kept => continue,
            ExpectationState::Broken => ("error", "is broken"),
            ExpectationState::Unknown => ("warning", "was not checked"),
        };
        let text = format!("{} {what}: {}", expectation.text, expectation.reason);
        let _ = writeln!(lines, "::{level} title=lowtide expectation::{}", data(&text));
    }
    if report.verdict != Verdict::NoLeak && !report.summary.is_empty() {
        let _ = writeln!(lines, "::notice title=lowtide::{}", data(&report.summary));
    }
    lines
}

/// Whether somebody has to do something about it.
pub(crate) fn is_telling(finding: &Finding) -> bool {
    finding.class == Class::Source || finding.grows() || matches!(finding.class, Class::Oom | Class::Expectation)
}

/// Letters of a text that are shown.
const LONGEST: usize = 4000;

/// What may not stand in a command's text: nor do characters that act or that nobody sees reach the log that it is printed to.
fn data(text: &str) -> String {
    let visible = |c: char| if invisible(c) && c != '\n' && c != '\r' { '\u{FFFD}' } else { c };
    let text: String = text.chars().take(LONGEST).map(visible).collect();
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// And in a property of it.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
