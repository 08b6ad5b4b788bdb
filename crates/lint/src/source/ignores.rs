//! What the user says is none: `# lowtide: ignore[LT103] reason`.

use ruff_text_size::{Ranged, TextSize};

use super::Source;

/// How such a comment begins, and how it goes on.
const MARK: &str = "lowtide:";
const IGNORE: &str = "ignore";

/// The findings of a file that its author has looked at.
#[derive(Debug, Default)]
pub struct Ignores {
    /// Lines (from 1) and what is ignored there; nothing named: everything.
    lines: Vec<(usize, Vec<String>)>,
    /// The whole file: `# lowtide: ignore-file[LT103]` anywhere in it; the line of the comment.
    whole: Vec<(usize, Vec<String>)>,
}

impl Ignores {
    /// Reads the comments of a file. One behind code means its line, one on a line of its own the next line.
    #[must_use]
    pub fn of(source: &Source) -> Self {
        let mut ignores = Self::default();
        if !source.text.contains(MARK) {
            return ignores;
        }
        // Where a comment is and not the text of a string only the tokens tell.
        let parsed = ruff_python_parser::parse_unchecked_source(&source.text, super::kind(&source.path));
        for token in parsed.tokens().iter().filter(|token| token.kind().is_comment()) {
            // Others may have their say in the same comment: `# noqa: B019  # lowtide: ignore[LT306]`.
            let mut parts = source.slice(token.range()).split('#');
            let said = parts.find_map(|part| part.trim_start().strip_prefix(MARK)?.trim_start().strip_prefix(IGNORE));
            let Some(said) = said.filter(|rest| !rest.starts_with(char::is_alphanumeric)) else { continue };
            let (whole, said) = said.strip_prefix("-file").map_or((false, said), |rest| (true, rest));
            let ids = ids(said);
            let line = source.place(token.start()).line;
            if whole {
                ignores.whole.push((line, ids));
                continue;
            }
            let alone = source.line_text(token.start()).starts_with('#');
            ignores.lines.push((line + usize::from(alone), ids));
        }
        ignores
    }

    /// Whether a finding of this id and name at a statement is to be left out.
    #[must_use]
    pub fn cover(&self, source: &Source, offset: TextSize, id: &str, name: &str) -> bool {
        if self.lines.is_empty() && self.whole.is_empty() {
            return false;
        }
        // As on the command line: an id, its beginning or a name.
        let meant = |ids: &[String]| ids.is_empty() || ids.iter().any(|one| means(one, id, name));
        let line = source.place(offset).line;
        self.whole.iter().any(|(_, ids)| meant(ids)) || self.lines.iter().any(|(at, ids)| *at == line && meant(ids))
    }
}

impl Ignores {
    /// What is named in the comments, and the line (from 1) that it is said of.
    pub fn named(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines.iter().chain(&self.whole).flat_map(|(line, ids)| ids.iter().map(|id| (*line, id.as_str())))
    }

    /// Whether a name in such a comment means a rule: its id, the beginning of it (`LT` and a digit at least), or its name.
    #[must_use]
    pub fn means(one: &str, id: &str, name: &str) -> bool {
        means(one, id, name)
    }
}

fn means(one: &str, id: &str, name: &str) -> bool {
    one.len() >= 3 && id.get(..one.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(one)) || one == name
}

/// What stands in brackets, separated by commas; nothing where there are none.
fn ids(said: &str) -> Vec<String> {
    let inside = said.trim_start().strip_prefix('[').and_then(|rest| rest.split(']').next());
    inside.map_or_else(Vec::new, |ids| ids.split(',').map(|id| id.trim().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn covered(text: &str, line: usize) -> bool {
        let source = Source::parse(Path::new("a.py"), text.as_bytes()).expect("Python");
        let offset = text.lines().take(line - 1).map(|line| line.len() + 1).sum::<usize>();
        Ignores::of(&source).cover(&source, TextSize::try_from(offset).expect("small"), "LT103", "output-kept-with-graph")
    }

    #[test]
    fn a_line_or_the_next_one_or_the_file() {
        for (text, lines) in [
            ("a.append(x)  # lowtide: ignore[LT103] shown to nobody\nb = 1\n", [true, false]),
            ("a.append(x)  # lowtide: ignore\nb = 1\n", [true, false]),
            ("a.append(x)  # lowtide: ignore[LT101, lt103]\nb = 1\n", [true, false]),
            ("a.append(x)  # lowtide: ignore[output-kept-with-graph]\nb = 1\n", [true, false]),
            ("a.append(x)  # lowtide: ignore[LT101]\nb = 1\n", [false, false]),
            ("# lowtide: ignore[LT103]\na.append(x)\n", [false, true]),
            ("a.append(x)\n# lowtide: ignore-file[LT103]\n", [true, true]),
            ("a.append(x)  # noqa: B019  # lowtide: ignore[LT1] both\nb = 1\n", [true, false]),
            ("a.append(x)  #lowtide:ignore[LT103]\nb = 1\n", [true, false]),
            ("a.append(x)  # see lowtide: ignore\nb = 1\n", [false, false]),
            ("a.append(x)  # lowtide: ignored\nb = 1\n", [false, false]),
            ("a.append('# lowtide: ignore')\nb = 1\n", [false, false]),
        ] {
            assert_eq!([covered(text, 1), covered(text, 2)], lines, "{text}");
        }
    }
}
