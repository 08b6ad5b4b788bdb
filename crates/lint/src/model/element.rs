//! What a loop variable is an element of, through the wrappers that loops are written with.

use ruff_python_ast::Expr;

use crate::ask::{last_name, receiver};

/// What the values that a loop over `iterable` gives are taken from. `for i, x in enumerate(xs)` takes the second part from
/// `xs`; for a target that is not taken apart, `part` is none.
///
/// None where nothing is known, as for the keys of a dictionary.
#[must_use]
pub fn elements_of(iterable: &Expr, part: Option<usize>) -> Option<(&Expr, Option<usize>)> {
    let Expr::Call(call) = iterable else { return Some((iterable, part)) };
    let first = call.arguments.args.first();
    match (last_name(&call.func)?, part) {
        ("enumerate", Some(1)) => elements_of(first?, None),
        ("enumerate", _) | ("keys", _) => None,
        ("zip" | "zip_longest", Some(at)) => elements_of(call.arguments.args.get(at)?, None),
        ("items", Some(1)) | ("values", None) => Some((receiver(call)?, None)),
        ("values", part @ Some(_)) => Some((receiver(call)?, part)),
        ("items", _) => None,
        // Copies and orders hold the same elements.
        (
            "list" | "tuple" | "iter" | "reversed" | "sorted" | "set" | "islice" | "cycle" | "tqdm" | "trange" | "track"
            | "filter",
            part,
        ) => {
            let at = usize::from(last_name(&call.func) == Some("filter"));
            elements_of(call.arguments.args.get(at)?, part)
        }
        ("copy", part) => elements_of(receiver(call)?, part),
        _ => Some((iterable, part)),
    }
}
