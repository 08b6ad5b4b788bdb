//! Functions, code objects and classes.

use super::{Label, Sink, named};
use crate::offsets::fixed;
use crate::read::Reader;
use crate::types::{Type, flags};

/// A function, its defaults and closure first: those are what keeps things alive.
pub fn function(read: Reader<'_>, object: u64, sink: &mut impl Sink) {
    named(read, object, read.layout.function, sink);
}

/// A code object. What follows its fixed part are instructions and caches, whose words are borrowed.
pub fn code(read: Reader<'_>, object: u64, sink: &mut impl Sink) {
    named(read, object, read.layout.code, sink);
}

/// A class. Not its subclasses, which it only refers to weakly.
pub fn class(read: Reader<'_>, object: u64, kind: &Type, sink: &mut impl Sink) {
    const FIELDS: [(u64, &str); 5] = [
        (fixed::TP_DICT, "__dict__"),
        (fixed::TP_BASE, "__base__"),
        (fixed::TP_BASES, "__bases__"),
        (fixed::TP_MRO, "__mro__"),
        (352, "tp_cache"),
    ];
    named(read, object, &FIELDS, sink);
    let is_heap = read.image.u64(object + fixed::TP_FLAGS).is_some_and(|bits| bits & flags::HEAPTYPE != 0);
    if !is_heap {
        return;
    }
    named(read, object, read.layout.heap_type, sink);
    if let Some(keys) = read.pointer(object + read.layout.cached_keys).and_then(|keys| read.keys(keys)) {
        // The names of attributes: the keys are shared by the dicts of all instances.
        for index in 0..keys.used {
            if let Some(name) = read.pointer(keys.entries + index * keys.stride + keys.stride - 16) {
                sink.edge(name, Label::Named("attribute name"));
            }
        }
    }
    let _ = kind;
}
