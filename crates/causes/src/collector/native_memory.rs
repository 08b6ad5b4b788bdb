//! LT604: Memory is lost outside Python.

use crate::words::code;
use crate::{Cause, Fix, Language, Live, Memory, Severity};
use lowtide_lint::ask::{last_name, receiver};
use lowtide_lint::check::{Check, Confidence, Hit};
use lowtide_lint::model::{Call, Expr, Ranged};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT604",
    name: "native-memory",
    title: "Memory is lost outside Python",
    severity: Severity::Leak,
    happens: "A C or C++ library allocates and does not free: a decoder, a tokenizer, an extension of one's own.",
    keeps: "No Python object holds it, so that nothing in Python can free it.",
    shows: "The native heap's live bytes rise, and no type of Python object does. Source shows it only where a library of C is called through \
                ctypes; what an extension does inside stands in another language.",
    fix: Fix {
        text: "Update the library; call its close or release function; put the work into a process that is renewed \
                   now and then.",
        language: Language::Python,
        before: r#"for path in paths:
    decoder = Decoder(path)"#,
        after: r#"for path in paths:
    with Decoder(path) as decoder:
        work(decoder)"#,
    },
    harmless: "Pools that a library fills once.",
    sources: &["zoo/33_native_malloc.py"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.kind == Memory::Native && live.statement.is_none()).then_some(60)
}

/// Parts of the names of functions of C libraries that make what the caller has to free.
const MAKES: &[&str] = &["malloc", "calloc", "alloc", "memalign", "strdup", "new", "create", "clone"];
/// And of those that free it.
const FREES: &[&str] = &["free", "delete", "destroy", "release", "close", "dispose", "dealloc", "unref", "drop"];

/// A library of C, loaded by ctypes, makes something again and again, and nothing of it that frees is ever called. What such a
/// library does inside the source does not show.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files().filter(|(_, model)| model.source.text().contains("ctypes")) {
        let of_library: Vec<&Call> = model.calls.iter().filter(|call| is_of_library(check, file, call)).collect();
        let named = |call: &Call, words: &[&str]| last_name(&call.call.func).is_some_and(|name| has_word(name, words));
        if of_library.iter().any(|call| named(call, FREES)) {
            continue;
        }
        for call in of_library.iter().filter(|call| named(call, MAKES)) {
            let in_loop = check.long_loop(file, call.block).is_some();
            let again = || {
                model
                    .function_of(call.scope)
                    .is_some_and(|function| check.is_called_in_loop(file, function) || check.is_each_round(file, function))
            };
            if in_loop || again() {
                hits.push(Hit::new(file, call.call.start()).with(Confidence::Medium).saying(format!(
                    "{} makes something outside of Python each time, and no function of the library that frees is ever called",
                    code(check, file, &call.call.func)
                )));
            }
        }
    }
    hits
}

/// Whether one of the words stands in a name, as `img_create`, `cudaMalloc`, `malloc`.
fn has_word(name: &str, words: &[&str]) -> bool {
    let mut parts: Vec<String> = vec![String::new()];
    for letter in name.chars() {
        if letter == '_' || letter.is_uppercase() {
            parts.push(String::new());
        }
        if let Some(last) = parts.last_mut().filter(|_| letter != '_') {
            last.extend(letter.to_lowercase());
        }
    }
    parts.iter().any(|part| words.contains(&part.as_str()))
}

/// A function of what `ctypes.CDLL`, `cdll.LoadLibrary` or their like gave.
fn is_of_library<'p>(check: &Check<'_, 'p>, file: FileId, call: &Call<'p>) -> bool {
    let loads = |name: &str| {
        name.starts_with("ctypes.")
            && matches!(name.rsplit('.').next(), Some("CDLL" | "PyDLL" | "WinDLL" | "LoadLibrary" | "load_library"))
    };
    receiver(call.call).is_some_and(|library| {
        check.values(file, call.scope, library).into_iter().any(|(of, scope, value)| {
            matches!(value, Expr::Call(made) if check.flow.models.of(of).full_name(scope, &made.func).is_some_and(|name| loads(&name)))
        })
    })
}
