//! Containers: tuple, list, dict, set, deque.

use super::{Label, Sink};
use crate::python::chain;
use crate::read::Reader;

/// Items of a deque's block (Modules/_collectionsmodule.c, `BLOCKLEN`).
const BLOCK_ITEMS: u64 = 64;

/// Blocks of one deque that are followed: a billion items.
const BLOCKS_LIMIT: usize = 1 << 24;

pub fn tuple(read: Reader<'_>, object: u64, sink: &mut impl Sink) {
    read.tuple(object, u64::MAX, |index, item| {
        if item != 0 {
            sink.edge(item, Label::Index(index));
        }
    });
}

pub fn list(read: Reader<'_>, object: u64, sink: &mut impl Sink) {
    let Some(len) = read.len(object).filter(|len| *len > 0) else { return };
    let Some(items) = read.pointer(object + 24) else { return };
    read.words(items, len, |index, item| {
        if item != 0 {
            sink.edge(item, Label::Index(index));
        }
    });
}

pub fn dict(read: Reader<'_>, object: u64, sink: &mut impl Sink) {
    read.dict(object, |_, entry| {
        sink.edge(entry.key, Label::Key);
        sink.edge(entry.value, Label::Value(entry.key));
    });
}

/// Its keys have a list of their own (Objects/odictobject.c, `_odictnode`), which has a reference to each as well.
pub fn ordered_dict(read: Reader<'_>, object: u64, sink: &mut impl Sink) {
    read.dict(object, |_, entry| {
        sink.edge(entry.key, Label::Key);
        sink.edge(entry.key, Label::Key);
        sink.edge(entry.value, Label::Value(entry.key));
    });
}

/// `setentry` is a key and its hash; an unused one has no key, a removed one the hash -1 and a key that is no object of
/// interest (`<dummy key>`, Objects/setobject.c).
pub fn set(read: Reader<'_>, object: u64, sink: &mut impl Sink) {
    let (Some(mask), Some(table)) = (read.image.u64(object + 32), read.pointer(object + 40)) else { return };
    let Some(words) = mask.checked_add(1).and_then(|slots| slots.checked_mul(2)) else { return };
    let mut key = 0;
    read.words(table, words, |index, word| {
        if index % 2 == 0 {
            key = word;
        } else if key != 0 && word != u64::MAX {
            sink.edge(key, Label::Item);
        }
    });
}

/// Blocks of 64 items with a link at each end.
pub fn deque(read: Reader<'_>, object: u64, sink: &mut impl Sink) {
    let (Some(len), Some(first)) = (read.len(object), read.pointer(object + 24)) else { return };
    let Some(start) = read.image.u64(object + 40).filter(|start| *start < BLOCK_ITEMS) else { return };
    let count = (start.saturating_add(len)).div_ceil(BLOCK_ITEMS);
    let next = |block: u64| read.pointer(block.checked_add(8 + 8 * BLOCK_ITEMS)?);
    let blocks = chain(Some(first), usize::try_from(count).unwrap_or(usize::MAX).min(BLOCKS_LIMIT), next);
    let (mut done, mut from) = (0, start);
    for block in blocks {
        let here = (BLOCK_ITEMS - from).min(len - done);
        read.words(block.saturating_add(8 + 8 * from), here, |n, item| {
            if item != 0 {
                sink.edge(item, Label::Index(done + n));
            }
        });
        done += here;
        from = 0;
    }
}
