//! Pages as text for a terminal, as Markdown for the documentation, as JSON for programs.

use std::fmt::Write;

use crate::{Cause, Language, all};

/// The page of a cause as plain text in lines of at most so many characters.
#[must_use]
pub fn text(cause: &Cause, width: usize) -> String {
    let width = width.clamp(40, 110);
    let mut page = format!("{}  {}  ({})\n", cause.id, cause.title, cause.severity.words());
    for (head, body) in parts(cause) {
        page.push('\n');
        page.push_str(head);
        page.push('\n');
        page.push_str(&wrapped(body, width, "  "));
    }
    for (head, code) in [("before", cause.fix.before), ("after", cause.fix.after)] {
        let _ = write!(page, "\n  {head}:\n");
        for line in code.lines() {
            let _ = writeln!(page, "{}", format!("      {line}").trim_end());
        }
    }
    page.push_str("\nSources\n");
    for source in cause.sources {
        let _ = writeln!(page, "  {source}");
    }
    page
}

/// The page of a cause as Markdown.
#[must_use]
pub fn markdown(cause: &Cause) -> String {
    let mut page = format!("# {}: {}\n\n*{}*, `{}`\n", cause.id, cause.title, cause.severity.words(), cause.name);
    for (head, body) in parts(cause) {
        let _ = write!(page, "\n## {head}\n\n{}", wrapped(body, 118, ""));
    }
    let language = match cause.fix.language {
        Language::Python => "python",
        Language::Shell => "sh",
    };
    for (head, code) in [("Before", cause.fix.before), ("After", cause.fix.after)] {
        let _ = write!(page, "\n{head}:\n\n```{language}\n{code}\n```\n");
    }
    page.push_str("\n## Sources\n\n");
    for source in cause.sources {
        let link = if source.starts_with("http") { format!("<{source}>") } else { format!("`{source}`") };
        let _ = writeln!(page, "- {link}");
    }
    page
}

fn parts(cause: &Cause) -> [(&'static str, &'static str); 5] {
    [
        ("What happens", cause.happens),
        ("Why memory stays", cause.keeps),
        ("How it shows", cause.shows),
        ("When it is harmless", cause.harmless),
        ("Fix", cause.fix.text),
    ]
}

/// All causes, a line each.
#[must_use]
pub fn list() -> String {
    all().fold(String::new(), |mut list, cause| {
        let _ = writeln!(list, "{}  {:21}  {}", cause.id, cause.severity.words(), cause.title);
        list
    })
}

/// The table of contents of the pages.
#[must_use]
pub fn index() -> String {
    let mut page = "# Causes\n\nWhy training runs need more and more memory. `lowtide causes ID` shows the same pages.\n\n| id | what | does |\n|---|---|---|\n".to_owned();
    for cause in all() {
        let _ = writeln!(page, "| [{0}]({0}.md) | {1} | {2} |", cause.id, cause.title, cause.severity.words());
    }
    page
}

/// The page of a cause as JSON.
#[must_use]
pub fn json(cause: &Cause) -> String {
    pretty(cause)
}

/// All pages as JSON.
#[must_use]
pub fn json_list() -> String {
    pretty(&all().collect::<Vec<_>>())
}

fn pretty(value: &impl serde::Serialize) -> String {
    // Nothing in a page can fail to be written: strings and names only.
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

fn wrapped(body: &str, width: usize, indent: &str) -> String {
    let mut lines = String::new();
    let mut used = 0;
    for word in body.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && indent.len() + used + 1 + length > width {
            lines.push('\n');
            used = 0;
        }
        lines.push_str(if used == 0 { indent } else { " " });
        used += length + usize::from(used > 0);
        lines.push_str(word);
    }
    lines.push('\n');
    lines
}
