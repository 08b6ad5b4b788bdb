//! Findings and expectations as test results in `JUnit`'s XML, which every CI shows.

use std::fmt::Write;

use lowtide_model::{Class, ExpectationState, Finding, Report};

use crate::github::is_telling;
use crate::text::invisible;

/// One suite: a case for each finding, all failed, and one for each expectation; one that passed where there is nothing. An
/// expectation that could not be checked is skipped: it neither holds nor fails.
#[must_use]
pub fn junit(report: &Report) -> String {
    let telling: Vec<&Finding> = report.findings.iter().filter(|finding| is_telling(finding)).collect();
    let of = |state: ExpectationState| report.expectations.iter().filter(|one| one.state == state).count();
    let failures = telling.len() + of(ExpectationState::Broken);
    let nothing = telling.is_empty() && report.expectations.is_empty();
    let tests = telling.len() + report.expectations.len() + usize::from(nothing);
    let (skipped, seconds) = (of(ExpectationState::Unknown), report.duration_s);
    let counts = format!("name=\"lowtide\" tests=\"{tests}\" failures=\"{failures}\" skipped=\"{skipped}\"");
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(xml, "<testsuites {counts}>");
    let _ = writeln!(xml, "  <testsuite {counts} time=\"{seconds:.3}\">");
    if nothing {
        let _ = writeln!(xml, "    <testcase classname=\"lowtide\" name=\"no leak pattern, no leak\"/>");
    }
    for finding in telling {
        case_of(&mut xml, finding);
    }
    for expectation in &report.expectations {
        let (name, reason) = (escaped(&expectation.text), escaped(&expectation.reason));
        let _ = write!(xml, "    <testcase classname=\"lowtide.expect\" name=\"{name}\"");
        let _ = match expectation.state {
            ExpectationState::Kept => writeln!(xml, "/>"),
            ExpectationState::Broken => {
                writeln!(xml, ">\n      <failure message=\"{reason}\" type=\"expectation\"/>\n    </testcase>")
            }
            ExpectationState::Unknown => writeln!(xml, ">\n      <skipped message=\"{reason}\"/>\n    </testcase>"),
        };
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

fn case_of(xml: &mut String, finding: &Finding) {
    let (class, place) = match &finding.site {
        Some(site) => (site.file.clone(), format!(":{}", site.line)),
        None => ("lowtide".to_owned(), String::new()),
    };
    let name = finding.cause.clone().unwrap_or_else(|| if finding.class == Class::Oom { "oom" } else { "leak" }.to_owned());
    let sentence = super::sentence(finding);
    let _ = writeln!(xml, "    <testcase classname=\"{}\" name=\"{}{}\">", escaped(&class), escaped(&name), escaped(&place));
    let _ = writeln!(xml, "      <failure message=\"{}\" type=\"{}\">", escaped(&sentence), escaped(&name));
    let text = finding.lines().map(|site| Some(&site.text));
    for line in text.chain([finding.why.as_ref(), finding.fix.as_ref()]).flatten() {
        let _ = writeln!(xml, "{}", escaped(line));
    }
    xml.push_str("      </failure>\n    </testcase>\n");
}

/// Letters of a text that are written: a line of megabytes helps nobody and chokes viewers.
const LONGEST: usize = 4000;

/// Text as XML 1.0 has it; what it cannot hold at all becomes a replacement character.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars().take(LONGEST) {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push('\t'),
            '\u{FFFE}' | '\u{FFFF}' => escaped.push('\u{FFFD}'),
            letter if invisible(letter) => escaped.push('\u{FFFD}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}
