//! Pieces of Markdown as GitHub and GitLab read it. What is foreign can make no markup of its own.

use crate::text::clean;

/// Letters of a foreign word that are shown; nobody reads more in a table.
const LONGEST: usize = 300;

/// Foreign text in running text: nothing in it is markup, a mention or a link, and it makes no line of its own.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in shortened(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            // A mention writes to somebody, a number with a hash links to an issue.
            '@' | '#' => {
                out.push(c);
                out.push_str("<!-- -->");
            }
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '|' | '!' | '~' | '$' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    // What looks like an address becomes a link by itself.
    out.replace("://", ":<!-- -->//").replace("www.", "www<!-- -->.")
}

/// Foreign text as code, also in a table, where a bar would end the cell.
pub(crate) fn code(text: &str) -> String {
    let text = shortened(text).replace('|', "\u{00A6}");
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') || text.trim().is_empty() { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

fn shortened(text: &str) -> String {
    let cut: String = text.chars().take(LONGEST).collect();
    let dots = if cut.len() < text.len() { "..." } else { "" };
    clean(&cut) + dots
}

/// A table; its cells are Markdown already. Columns named with a `>` in front stand right.
pub(crate) fn table(titles: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: &mut dyn Iterator<Item = &str>| format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
    let mut out = line(&mut titles.iter().map(|title| title.trim_start_matches('>')));
    out.push_str(&line(&mut titles.iter().map(|title| if title.starts_with('>') { "---:" } else { "---" })));
    for row in rows {
        out.push_str(&line(&mut row.iter().map(String::as_str)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_makes_no_markup() {
        assert_eq!(plain("<b>*x*</b>"), "&lt;b&gt;\\*x\\*&lt;/b&gt;");
        assert_eq!(plain("a\n# b @c"), "a\\\\n #<!-- --> b @<!-- -->c".replace("\\\\n ", "\\\\n"));
        assert_eq!(plain("https://x.y|z"), "https:<!-- -->//x.y\\|z");
        assert_eq!(code("a`b|c"), "``a`b\u{00A6}c``");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(code("\u{1b}[2J"), "`\\u{1b}[2J`");
        assert_eq!(plain(&"x".repeat(10_000_000)).len(), LONGEST + 3);
    }
}
