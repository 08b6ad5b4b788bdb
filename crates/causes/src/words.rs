//! What rules say in the names of the source.

use lowtide_lint::check::Check;
use lowtide_lint::model::{Expr, Ranged, ScopeId};
use lowtide_lint::program::FileId;

/// Characters of an expression that are shown.
const MAX_CHARS: usize = 60;

/// An expression as it is written, in back quotes, on one line.
pub(crate) fn code(check: &Check, file: FileId, expr: &Expr) -> String {
    let text = check.flow.models.of(file).source.slice(expr.range());
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("`{}...`", &line[..end]),
        None => format!("`{line}`"),
    }
}

/// The function that a scope is a part of, in back quotes; the file's own code where it is in none.
pub(crate) fn function(check: &Check, file: FileId, scope: ScopeId) -> String {
    let model = check.flow.models.of(file);
    model.function_of(scope).map_or_else(|| "the file".to_owned(), |function| format!("`{}`", model.qualified_name(function)))
}
