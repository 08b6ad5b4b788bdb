//! LT604: Memory is lost outside Python.

use crate::{Cause, Fix, Language, Live, Memory, Severity};

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT604",
    name: "native-memory",
    title: "Memory is lost outside Python",
    severity: Severity::Leak,
    happens: "A C or C++ library allocates and does not free: a decoder, a tokenizer, an extension of one's own.",
    keeps: "No Python object holds it, so that nothing in Python can free it.",
    shows: "The native heap's live bytes rise, and no type of Python object does.",
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
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.kind == Memory::Native && live.statement.is_none()).then_some(60)
}
