//! What `lowtide check` found in source, with the lines that it is about.

use std::collections::BTreeSet;

use lowtide_model::{Class, Finding, Report};

use super::TextOptions;
use super::page::{Page, Style};

/// Findings in source as text: place, pattern, line, why, fix. Each pattern is explained where it comes first, all of them
/// where the text is to be verbose. The report's summary comes last.
#[must_use]
pub fn source_text(report: &Report, options: &TextOptions) -> String {
    let mut page = Page::new(options.width.max(40), options.color);
    let mut explained = BTreeSet::new();
    for finding in report.findings.iter().filter(|finding| finding.class == Class::Source) {
        let first = explained.insert(finding.cause.as_deref().unwrap_or_default());
        one(&mut page, finding, first || options.verbose);
        page.blank();
    }
    for warning in &report.warnings {
        page.labelled("", warning);
    }
    page.row(&[(if explained.is_empty() { Style::Green } else { Style::Yellow }, report.summary.clone())]);
    page.finish()
}

fn one(page: &mut Page, finding: &Finding, explain: bool) {
    let cause = finding.cause.clone().unwrap_or_default();
    if let Some(site) = &finding.site {
        let column = site.column.map_or(String::new(), |column| format!(":{column}"));
        page.row(&[
            (Style::Bold, format!("{}:{}{column}", site.file, site.line)),
            (Style::Plain, "  ".to_owned()),
            (Style::Red, cause.clone()),
            (Style::Plain, format!("  {}", finding.text)),
        ]);
        page.row(&[(Style::Dim, format!("{:>6} | ", site.line)), (Style::Plain, site.text.clone())]);
    }
    for seen in &finding.evidence {
        page.labelled("seen", seen);
    }
    if explain {
        for (label, text) in [("why", &finding.why), ("fix", &finding.fix)] {
            if let Some(text) = text {
                page.labelled(label, text);
            }
        }
        page.row(&[(Style::Dim, format!("       more: lowtide causes {cause}"))]);
    }
}
