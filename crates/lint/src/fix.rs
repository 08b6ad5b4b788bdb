//! Changes to a file that take a finding away.

use ruff_text_size::{Ranged, TextRange};

use crate::model::Expr;

/// A change to one file that takes a finding away, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// Whether the program does the same afterwards, but for the memory.
    pub safety: Safety,
    /// Its parts, which are made all or none.
    pub edits: Vec<Edit>,
}

/// Whether a program does the same after a fix, but for the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Safety {
    /// The source does not show everything that it would take to be sure.
    Unsafe,
    /// It does.
    Safe,
}

/// A part of a file gets another text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Bytes of the source's text.
    pub range: TextRange,
    /// What stands there afterwards.
    pub text: String,
}

impl Edit {
    /// Text behind an expression, which gets parentheses where it needs them: `.detach()`.
    #[must_use]
    pub fn behind(expr: &Expr, text: &str) -> Vec<Self> {
        let insert = |at, text: String| Self { range: TextRange::empty(at), text };
        let whole = matches!(
            expr,
            Expr::Name(_)
                | Expr::Attribute(_)
                | Expr::Subscript(_)
                | Expr::Call(_)
                | Expr::List(_)
                | Expr::Dict(_)
                | Expr::Set(_)
                | Expr::ListComp(_)
                | Expr::DictComp(_)
                | Expr::SetComp(_)
        );
        if whole {
            vec![insert(expr.end(), text.to_owned())]
        } else {
            vec![insert(expr.start(), "(".to_owned()), insert(expr.end(), format!("){text}"))]
        }
    }

    /// Another text in place of what is there.
    #[must_use]
    pub fn replace(range: TextRange, text: impl Into<String>) -> Self {
        Self { range, text: text.into() }
    }
}

/// Makes those fixes that do not touch one another, in the order of the text; which were made. The others are for the next
/// time that the file is read.
#[must_use]
pub fn apply(text: &str, fixes: &[&Fix]) -> (String, Vec<usize>) {
    let mut fixes: Vec<(usize, Vec<&Edit>)> = fixes.iter().map(|fix| sorted(fix)).enumerate().collect();
    fixes.sort_by_key(|(_, edits)| edits.first().map(|edit| edit.range.start()));
    let mut taken: Vec<&Edit> = Vec::new();
    let mut made = Vec::new();
    for (which, edits) in fixes {
        // A fix spans all between its first edit and its last one.
        let (Some(first), Some(last)) = (edits.first(), edits.last()) else { continue };
        let free = taken.last().is_none_or(|before| before.range.end() < first.range.start());
        let inside = text.is_char_boundary(first.range.start().to_usize())
            && text.is_char_boundary(last.range.end().to_usize())
            && edits.windows(2).all(|pair| pair[0].range.end() <= pair[1].range.start());
        if free && inside {
            taken.extend(edits);
            made.push(which);
        }
    }
    let mut fixed = String::with_capacity(text.len() + 64);
    let mut at = 0;
    for edit in taken {
        fixed.push_str(text.get(at..edit.range.start().to_usize()).unwrap_or_default());
        fixed.push_str(&edit.text);
        at = edit.range.end().to_usize();
    }
    fixed.push_str(text.get(at..).unwrap_or_default());
    (fixed, made)
}

fn sorted(fix: &Fix) -> Vec<&Edit> {
    let mut edits: Vec<&Edit> = fix.edits.iter().collect();
    edits.sort_by_key(|edit| (edit.range.start(), edit.range.end()));
    edits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fix(edits: &[(u32, u32, &str)]) -> Fix {
        let edits = edits.iter().map(|(from, to, text)| Edit::replace(TextRange::new((*from).into(), (*to).into()), *text));
        Fix { safety: Safety::Safe, edits: edits.collect() }
    }

    #[test]
    fn fixes_that_touch_wait_for_the_next_pass() {
        let (one, two, three) = (fix(&[(8, 8, ")"), (4, 4, "(")]), fix(&[(6, 7, "x")]), fix(&[(10, 11, "z")]));
        assert_eq!(apply("a = b + c, d", &[&three, &two, &one]), ("a = (b + )c,zd".to_owned(), vec![2, 0]));
        assert_eq!(apply("a", &[]), ("a".to_owned(), vec![]));
    }

    #[test]
    fn what_lies_outside_of_the_text_is_not_made() {
        for wrong in [fix(&[(5, 9, "x")]), fix(&[(1, 1, "x")])] {
            assert_eq!(apply("ü = 1", &[&wrong]), ("ü = 1".to_owned(), vec![]), "{wrong:?}");
        }
    }
}
