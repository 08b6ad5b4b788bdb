//! REPORT: a [`lowtide_model::Report`] as text for people and as JSON for programs.
//!
//! Nothing is decided here: a verdict, a number or a name that the report does not hold is left out, never
//! made up. What a report holds may come from a hostile process (its command line is its own choice), so
//! every piece of text is escaped in one place, [`text()`]'s page, before it reaches a terminal.

mod compare;
mod curve;
mod github;
mod html;
mod json;
mod junit;
mod markdown;
mod redact;
mod sarif;
mod text;

pub use compare::{compare_json, compare_markdown, compare_text};
pub use curve::{Curve, Gather, LoggedCurve};
pub use github::github;
pub use html::{Context, html};
pub use json::json;
pub use junit::junit;
pub use markdown::markdown;
pub use redact::{Redaction, redact};
pub use sarif::sarif;
pub use text::{Frame, Part, TextOptions, beginning, part, pieces, short, source_text, text};

/// The JSON schema (draft 2020-12) that every output of [`json()`] fulfils.
pub const JSON_SCHEMA: &str = include_str!("../schema/lowtide.report.1.json");

/// The JSON schema (draft 2020-12) that every output of [`compare_json`] fulfils.
pub const COMPARE_SCHEMA: &str = include_str!("../schema/lowtide.compare.1.json");

/// A finding in one sentence, with what it stands for where that is known.
fn sentence(finding: &lowtide_model::Finding) -> String {
    match &finding.why {
        Some(why) if finding.class == lowtide_model::Class::Source => format!("{}. {why}", finding.text),
        _ => finding.text.clone(),
    }
}
