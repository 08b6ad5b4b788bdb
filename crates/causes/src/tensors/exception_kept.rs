//! LT207: An exception is kept, and with it every frame it went through.

use crate::kept::{Sort, sort};
use crate::words::{code, function};
use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::check::{Check, Hit};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT207",
    name: "exception-kept",
    title: "An exception is kept, and with it every frame it went through",
    severity: Severity::Leak,
    happens: "A caught exception is stored: in a list of errors, on an object, in a future that nobody asks.",
    keeps: "An exception holds its traceback, the traceback holds the frames, and the frames hold their locals: \
                the batch, the outputs, the loss.",
    shows: "Growth with the number of failures. A step that ran out of memory and was caught frees nothing while \
                its exception lives.",
    fix: Fix {
        text: "Keep the text; let the exception go at the end of `except`.",
        language: Language::Python,
        before: r#"try:
    step(batch)
except RuntimeError as error:
    errors.append(error)"#,
        after: r#"try:
    step(batch)
except RuntimeError as error:
    errors.append(str(error))"#,
    },
    harmless: "An exception that is raised again or dropped.",
    sources: &["https://docs.python.org/3/reference/compound_stmts.html"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    live.has_exceptions().then_some(94)
}

/// A caught exception is put somewhere for good.
fn rule(check: &Check) -> Vec<Hit> {
    let puts = check.kept_for_good().iter().filter(|put| sort(check, put) == Sort::Exception);
    puts.map(|put| {
        Hit::new(put.file, put.offset).saying(format!(
            "{} keeps each exception that {} catches, with all frames that it went through",
            code(check, put.file, put.container),
            function(check, put.file, put.scope)
        ))
    })
    .collect()
}
