//! What `lowtide check` found in source, with the lines that it is about.

use std::collections::BTreeSet;

use lowtide_model::{Class, Finding, Report, Site};

use super::TextOptions;
use super::page::{Page, Style, clean, columns, cut_end};

/// How a tab is shown.
const TAB: &str = "    ";

/// The lines around a place in source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The number of the first of them, from 1.
    pub first: u32,
    /// Their text, indented as in the file.
    pub lines: Vec<String>,
}

/// Findings in source as text: place, pattern, lines, why, fix. Each pattern is explained where it comes first, all of them
/// where the text is to be verbose. The report's summary comes last. `frame` has the lines around a place; where it has none,
/// the line that the finding brings along is shown.
#[must_use]
pub fn source_text(report: &Report, options: &TextOptions, frame: &dyn Fn(&Site) -> Option<Frame>) -> String {
    let mut page = Page::new(options.width.max(40), options.color);
    let mut explained = BTreeSet::new();
    for finding in report.findings.iter().filter(|finding| finding.class == Class::Source) {
        let first = explained.insert(finding.cause.as_deref().unwrap_or_default());
        let frame = finding.site.as_ref().and_then(frame);
        one(&mut page, finding, frame, first || options.verbose);
        page.blank();
    }
    for warning in &report.warnings {
        page.labelled("", warning);
    }
    page.row(&[(if explained.is_empty() { Style::Green } else { Style::Yellow }, report.summary.clone())]);
    page.finish()
}

fn one(page: &mut Page, finding: &Finding, frame: Option<Frame>, explain: bool) {
    let cause = finding.cause.clone().unwrap_or_default();
    if let Some(site) = &finding.site {
        let column = site.column.map_or(String::new(), |column| format!(":{column}"));
        page.row(&[
            (Style::Bold, format!("{}:{}{column}", site.file, site.line)),
            (Style::Plain, "  ".to_owned()),
            (Style::Red, cause.clone()),
            (Style::Plain, format!("  {}", finding.text)),
        ]);
        match frame {
            Some(frame) => lines(page, site, &frame),
            None => page.row(&[(Style::Dim, format!("{:>6} | ", site.line)), (Style::Plain, site.text.clone())]),
        }
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

/// The lines without the indentation that all of them have, a mark under the place.
fn lines(page: &mut Page, site: &Site, frame: &Frame) {
    const NUMBER: usize = "123456 | ".len();
    let wide = |text: &str| text.replace('\t', TAB);
    let indented = |line: &&String| !line.trim().is_empty();
    let common = frame.lines.iter().filter(indented).map(|line| spaces(&wide(line))).min().unwrap_or_default();
    let room = page.width().saturating_sub(NUMBER);
    for (number, line) in (frame.first..).zip(&frame.lines) {
        let here = number == site.line;
        let text = cut_end(wide(line).get(common..).unwrap_or_default(), room);
        page.row(&[(Style::Dim, format!("{number:>6} | ")), (if here { Style::Plain } else { Style::Dim }, text)]);
        if let Some(column) = site.column.filter(|_| here) {
            let before: String = line.chars().take(column.saturating_sub(1) as usize).collect();
            let at = columns(&clean(&wide(&before))).saturating_sub(common);
            if at < room {
                page.row(&[(Style::Dim, "       | ".to_owned()), (Style::Red, format!("{:at$}^", ""))]);
            }
        }
    }
}

fn spaces(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(site: Site, frame: Option<Frame>) -> String {
        let mut report = Report::empty(lowtide_model::Verdict::Undecided);
        let mut finding = Finding::new(Class::Source, "", "`total` sums up `loss`".to_owned());
        (finding.cause, finding.site) = (Some("LT101".to_owned()), Some(site));
        report.findings.push(finding);
        source_text(&report, &TextOptions { width: 40, ..TextOptions::default() }, &|_| frame.clone())
    }

    fn site(column: u32) -> Site {
        Site { file: "a.py".to_owned(), line: 7, column: Some(column), text: "total += loss".to_owned() }
    }

    #[test]
    fn the_lines_around_stand_without_what_all_are_indented_by_and_a_mark_under_the_place() {
        let lines =
            ["\t\tfor x in loader:", "", "\t\t    total += loss\x1b", "\t\tprint(total, 'a long line that does not fit')"];
        let frame = Frame { first: 5, lines: lines.map(str::to_owned).to_vec() };
        let text = shown(site(7), Some(frame));
        let want = "     5 | for x in loader:\n     6 |\n     7 |     total += loss\\u{1b}\n       |     ^\n     8 | print(total, 'a long line ...\n";
        assert!(text.contains(want), "{text}");
    }

    #[test]
    fn a_place_whose_file_is_not_at_hand_has_its_own_line() {
        assert!(shown(site(1), None).contains("     7 | total += loss\n"));
    }
}
