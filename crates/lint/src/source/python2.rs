//! Files written for Python 2 are named as such, instead of by the first thing that the parser trips over.

use ruff_python_parser::ParseError;
use ruff_source_file::LineIndex;

/// The first line, from 1, at which a parse error is explained by Python 2, and by what.
pub(super) fn sign(text: &str, index: &LineIndex, errors: &[ParseError]) -> Option<(usize, &'static str)> {
    errors.iter().take(20).find_map(|error| {
        let line = index.line_index(error.location.start());
        let range = index.line_range(line, text);
        let code = text.get(range.start().to_usize()..range.end().to_usize())?.trim();
        statement(code).map(|what| (line.get(), what))
    })
}

/// What of a line is valid in Python 2 only.
fn statement(code: &str) -> Option<&'static str> {
    // One-line blocks: `if x: print y`.
    let last = code.rsplit_once(": ").map_or(code, |(_, rest)| rest.trim());
    for part in [code, last] {
        if let Some(rest) = part.strip_prefix("print")
            && rest.starts_with([' ', '"', '\''])
            && !matches!(rest.trim_start().chars().next(), None | Some('(' | '=' | '.' | ','))
        {
            return Some("print statement");
        }
        if let Some(rest) = part.strip_prefix("exec ")
            && rest.starts_with(['"', '\'', '_']) | rest.contains(" in ")
        {
            return Some("exec statement");
        }
        if let Some(rest) = part.strip_prefix("raise ")
            && rest
                .split_once(", ")
                .is_some_and(|(name, _)| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '.' || c == '_'))
        {
            return Some("raise with a comma");
        }
    }
    if let Some(rest) = code.strip_prefix("except ")
        && rest.contains(',')
        && !rest.starts_with('(')
    {
        return Some("except with a comma");
    }
    if code.contains("<>") {
        return Some("<> for !=");
    }
    let number = |ends: &[char]| {
        code.split(|c: char| !c.is_alphanumeric()).any(|word| {
            word.strip_suffix(ends).is_some_and(|digits| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit()))
        })
    };
    if number(&['L', 'l']) {
        return Some("long number");
    }
    if code
        .split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '"')
        .any(|word| word.starts_with("ur'") || word.starts_with("ur\""))
    {
        return Some("ur string");
    }
    None
}
