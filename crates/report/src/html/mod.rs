//! The report as one page that needs nothing else: no network, no other file.
//!
//! What stands in it is the text report's own pieces, laid out by a template; the curve is drawn by a script from numbers
//! in the page. Everything that may be foreign is cleaned and escaped where it enters the template ([`written`]), and
//! a policy in the page lets no script run but its own two, known by their hashes.

mod data;
mod parts;

use std::sync::LazyLock;

use base64::Engine;
use lowtide_model::{Report, Verdict};
use minijinja::{AutoEscape, Environment, Value, context, value::ValueKind};
use sha2::{Digest, Sha256};

use crate::curve::Curve;
use crate::text::page;

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = concat!(include_str!("vendor/uPlot.min.css"), "\n", include_str!("page.css"));
/// With its licence, which wants to be in every copy.
const UPLOT: &str = concat!("/*\n", include_str!("vendor/uPlot.LICENSE"), "*/\n", include_str!("vendor/uPlot.iife.min.js"));
const SCRIPT: &str = include_str!("page.js");
/// Characters of one piece of foreign text; what is longer loses its middle.
const LONGEST: usize = 2000;

/// Lines of a source file around one that a report is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// The file, as the report has it.
    pub file: String,
    /// The line that it is about, from 1.
    pub line: u32,
    /// The number of the first of `lines`.
    pub first: u32,
    /// The lines.
    pub lines: Vec<String>,
}

/// The report as a page. `sources` are lines around those that it names, as far as they could be read.
///
/// # Panics
/// Never, unless the page's own template is broken, which the tests of this crate would show.
#[must_use]
pub fn html(report: &Report, curve: &Curve, sources: &[Context]) -> String {
    let check = report.run.source == "check";
    let values = context! {
        policy => POLICY.as_str(),
        version => env!("CARGO_PKG_VERSION"),
        css => Value::from_safe_string(STYLE.to_owned()),
        uplot => Value::from_safe_string(UPLOT.to_owned()),
        script => Value::from_safe_string(SCRIPT.to_owned()),
        data => Value::from_safe_string(if check { String::new() } else { data::block(report, curve) }),
        check,
        ..parts::values(report, curve, sources)
    };
    let mut engine = Environment::empty();
    engine.set_auto_escape_callback(|_| AutoEscape::Html);
    engine.set_formatter(written);
    engine.add_filter("ticks", ticks);
    let page = engine.template_from_str(TEMPLATE).and_then(|template| template.render(values));
    page.expect("the template is the crate's own, and needs nothing that a report may lack")
}

/// Nothing from anywhere, and no script but ours.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = |script: &str| base64::engine::general_purpose::STANDARD.encode(Sha256::digest(script));
    format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{}' 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(UPLOT),
        hash(SCRIPT)
    )
});

/// Where every value of the template is written: text is cleaned before it is escaped.
fn written(out: &mut minijinja::Output<'_>, state: &mut minijinja::State<'_, '_>, value: &Value) -> Result<(), minijinja::Error> {
    match value.as_str() {
        Some(text) if value.kind() == ValueKind::String && !value.is_safe() => {
            minijinja::escape_formatter(out, state, &Value::from(clean(text)))
        }
        _ => minijinja::escape_formatter(out, state, value),
    }
}

/// Text in which what stands between two backticks is code. Cleaned and escaped here.
fn ticks(text: &str) -> Value {
    let escaped = |text: &str| {
        clean(text).chars().fold(String::new(), |out, c| match c {
            '&' => out + "&amp;",
            '<' => out + "&lt;",
            '>' => out + "&gt;",
            '"' => out + "&quot;",
            '\'' => out + "&#x27;",
            c => out + c.encode_utf8(&mut [0; 4]),
        })
    };
    let parts: Vec<&str> = text.split('`').collect();
    // One that has no other is only a character.
    if parts.len().is_multiple_of(2) {
        return Value::from_safe_string(escaped(text));
    }
    let code = |(at, part): (usize, &&str)| match at % 2 {
        0 => escaped(part),
        _ => format!("<code>{}</code>", escaped(part)),
    };
    Value::from_safe_string(parts.iter().enumerate().map(code).collect())
}

/// Text with what is not plainly visible made visible, and cut where it is endless.
fn clean(text: &str) -> String {
    // Cut before it is cleaned: lines of many megabytes exist.
    let few = |text: &str| page::cut(text, LONGEST);
    match text.char_indices().nth(4 * LONGEST) {
        None => few(text),
        Some((end, _)) => few(&text[..end]),
    }
}

/// The verdict's class in the style sheet, its mark, and its word.
fn verdict_words(verdict: Verdict) -> (&'static str, &'static str, &'static str) {
    match verdict {
        Verdict::Leak => ("leak", "▲", "LEAK"),
        Verdict::LikelyLeak => ("likely", "△", "LIKELY LEAK"),
        Verdict::NoLeak => ("fine", "✓", "NO LEAK"),
        Verdict::Undecided => ("open", "?", "UNDECIDED"),
    }
}
