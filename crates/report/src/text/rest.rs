//! Below the tables: the limits, what was weighed, warnings.

use lowtide_model::{Bytes, HypothesisState, Report};

use super::page::{GUTTER, Page, Style};
use super::words;

/// Room for `ruled out` and two blanks.
const STATE: usize = 11;
/// Limits shown where not all was asked for; the tightest stand first.
const SHORT_LIMITS: usize = 3;

/// `limits cgroup 24 GiB, 14.2 GiB used (59 %) /user.slice`.
pub fn limits(page: &mut Page, report: &Report, verbose: bool) {
    if report.limits.is_empty() {
        return;
    }
    page.blank();
    let shown = if verbose { report.limits.len() } else { SHORT_LIMITS };
    for (at, limit) in report.limits.iter().take(shown).enumerate() {
        let share = if limit.bytes > 0 {
            format!(" ({})", words::percent(limit.used as f64 / limit.bytes as f64))
        } else {
            String::new()
        };
        let path = if limit.path.is_empty() { String::new() } else { format!("  {}", limit.path) };
        let text = format!("{} {}, {} used{share}{path}", limit.name, Bytes(limit.bytes), Bytes(limit.used));
        page.labelled(if at == 0 { "limits" } else { "" }, &text);
    }
}

/// Each explanation with what became of it, by what evidence, and what to do.
pub fn hypotheses(page: &mut Page, report: &Report) {
    if report.hypotheses.is_empty() {
        return;
    }
    page.blank();
    for hypothesis in &report.hypotheses {
        let style = match hypothesis.state {
            HypothesisState::Holds => Style::Bold,
            HypothesisState::RuledOut => Style::Dim,
            HypothesisState::Open => Style::Yellow,
        };
        let evidence = if hypothesis.evidence.is_empty() { String::new() } else { format!(": {}", hypothesis.evidence) };
        page.paragraph(
            (style, hypothesis.state.words().to_owned()),
            STATE,
            &[(Style::Plain, format!("{}{evidence}", hypothesis.name))],
        );
        if !hypothesis.action.is_empty() {
            page.paragraph(
                (Style::Plain, String::new()),
                STATE,
                &[(Style::Bold, "->".to_owned()), (Style::Plain, hypothesis.action.clone())],
            );
        }
    }
}

/// What went wrong on the way without touching the verdict.
pub fn warnings(page: &mut Page, report: &Report) {
    if report.warnings.is_empty() {
        return;
    }
    page.blank();
    for warning in &report.warnings {
        page.paragraph((Style::Yellow, "warn".to_owned()), GUTTER, &[(Style::Plain, warning.clone())]);
    }
}
