//! Everything without a visitor of its own: its words are searched.

use super::{Label, Sink, item_bytes};
use crate::read::Reader;
use crate::types::{Kind, Type};

/// Bytes of one object that are searched at most.
const LIMIT: u64 = 1 << 13;

/// Searches what the visitor of its kind does not describe: all of an unknown type, the end of a subclass.
#[inline]
pub fn rest(read: Reader<'_>, kind: &Type, object: u64, sink: &mut impl Sink) {
    match kind.kind {
        // Their basic size has to do with where items begin, and their slots lie behind the items.
        Kind::Str | Kind::Int | Kind::Bytes if kind.item != 0 && kind.members.is_empty() => return,
        Kind::Tuple if kind.members.is_empty() => return,
        // Slots of metaclasses are rare, what they hold is named by their members.
        Kind::Type => return members(read, kind, object, sink),
        _ => {}
    }
    let items = if kind.kind == Kind::Other { item_bytes(read, kind, object) } else { 0 };
    let from = kind.described.max(16).next_multiple_of(8);
    let to = (kind.basic + items).min(from.saturating_add(LIMIT));
    if to <= from {
        return;
    }
    let dict = u64::try_from(kind.dictoffset).unwrap_or(0);
    read.words(object.saturating_add(from), (to - from) / 8, |index, word| {
        let offset = from + index * 8;
        if word > 4096 && word % 8 == 0 && offset != kind.weaklist && (offset != dict || dict == 0) {
            sink.guess(word, Label::Word(offset as u32));
        }
    });
}

fn members(read: Reader<'_>, kind: &Type, object: u64, sink: &mut impl Sink) {
    let from = read.layout.heap_type_size;
    for (offset, _) in kind.members.iter().filter(|(offset, _)| *offset >= from && *offset < from + LIMIT) {
        if let Some(word) = object.checked_add(*offset).and_then(|at| read.pointer(at)) {
            sink.guess(word, Label::Word(*offset as u32));
        }
    }
}

/// `functools.lru_cache`: entries are linked to their neighbours by borrowed references, which are the two words behind the
/// head (Modules/_functoolsmodule.c, `lru_list_elem`); each is owned by the cache's dict alone.
pub fn lru(read: Reader<'_>, kind: &Type, object: u64, sink: &mut impl Sink) {
    let words = kind.basic.min(LIMIT) / 8;
    let Some(count) = words.checked_sub(4) else { return };
    read.words(object.saturating_add(32), count, |index, word| {
        let offset = 32 + index * 8;
        if word > 4096 && word % 8 == 0 && offset != kind.weaklist {
            let label = match (kind.kind, offset) {
                (Kind::LruLink, 40) => Label::Named("key"),
                (Kind::LruLink, 48) => Label::Named("result"),
                (Kind::LruCache, 72) => Label::Named("cache"),
                _ if i64::try_from(offset) == Ok(kind.dictoffset) => Label::Named("__dict__"),
                _ => Label::Word(offset as u32),
            };
            sink.guess(word, label);
        }
    });
}
