//! What stands inside of expressions and texts.

use std::collections::HashSet;

use ruff_python_ast::Expr;
use ruff_python_ast::visitor::{Visitor, walk_expr};

/// Every name that an expression reads.
#[must_use]
pub fn names_in(expr: &Expr) -> HashSet<&str> {
    let mut names = HashSet::new();
    each_in(expr, &mut |expr| {
        if let Expr::Name(name) = expr {
            names.insert(name.id.as_str());
        }
    });
    names
}

/// What slices are taken of inside an expression: `kept` in `stack(kept[-8:])`.
#[must_use]
pub fn slices_in(expr: &Expr) -> Vec<&Expr> {
    let mut whole = Vec::new();
    each_in(expr, &mut |expr| {
        if let Expr::Subscript(item) = expr
            && item.slice.is_slice_expr()
        {
            whole.push(&*item.value);
        }
    });
    whole
}

/// Shows each expression inside of one, and itself.
fn each_in<'a>(expr: &'a Expr, see: &mut dyn FnMut(&'a Expr)) {
    struct Each<'s, 'a>(&'s mut dyn FnMut(&'a Expr));
    impl<'a> Visitor<'a> for Each<'_, 'a> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            (self.0)(expr);
            stacker::maybe_grow(128 << 10, 2 << 20, || walk_expr(self, expr));
        }
    }
    Each(see).visit_expr(expr);
}

/// How often a name stands in a text as a word.
#[must_use]
pub fn words(text: &str, name: &str) -> usize {
    let part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    text.match_indices(name)
        .filter(|(at, _)| !part(text[..*at].chars().next_back()) && !part(text[at + name.len()..].chars().next()))
        .count()
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn a_word_is_no_part_of_another() {
        assert_eq!(words("kept = []\nkept_all.kept(unkept, kept)", "kept"), 3);
        assert_eq!(words("x", "kept"), 0);
    }
}
