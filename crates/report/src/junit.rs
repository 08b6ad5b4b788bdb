//! Findings as test results in `JUnit`'s XML, which every CI shows. A run is one test case, a finding in source another.

use std::fmt::Write;

use lowtide_model::{Class, Finding, Report};

use crate::github::is_telling;

/// One suite: a case for each finding, all failed; one that passed where there is none.
#[must_use]
pub fn junit(report: &Report) -> String {
    let telling: Vec<&Finding> = report.findings.iter().filter(|finding| is_telling(finding)).collect();
    let (count, seconds) = (telling.len(), report.duration_s);
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(xml, "<testsuites name=\"lowtide\" tests=\"{}\" failures=\"{count}\">", count.max(1));
    let _ = writeln!(xml, "  <testsuite name=\"lowtide\" tests=\"{}\" failures=\"{count}\" time=\"{seconds:.3}\">", count.max(1));
    if telling.is_empty() {
        let _ = writeln!(xml, "    <testcase classname=\"lowtide\" name=\"no leak pattern, no leak\"/>");
    }
    for finding in telling {
        let (class, place) = match &finding.site {
            Some(site) => (site.file.clone(), format!(":{}", site.line)),
            None => ("lowtide".to_owned(), String::new()),
        };
        let name = finding.cause.clone().unwrap_or_else(|| if finding.class == Class::Oom { "oom" } else { "leak" }.to_owned());
        let sentence = super::sentence(finding);
        let _ = writeln!(xml, "    <testcase classname=\"{}\" name=\"{}{}\">", escaped(&class), escaped(&name), escaped(&place));
        let _ = writeln!(xml, "      <failure message=\"{}\" type=\"{}\">", escaped(&sentence), escaped(&name));
        let text = finding.site.as_ref().map(|site| &site.text);
        for line in [text, finding.why.as_ref(), finding.fix.as_ref()].into_iter().flatten() {
            let _ = writeln!(xml, "{}", escaped(line));
        }
        xml.push_str("      </failure>\n    </testcase>\n");
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

/// Text as XML 1.0 has it; what it cannot hold at all becomes a replacement character.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push('\t'),
            '\u{FFFE}' | '\u{FFFF}' => escaped.push('\u{FFFD}'),
            letter if letter.is_control() => escaped.push('\u{FFFD}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}
