//! Containers: tuple, list, dict, set, deque.

use super::{Label, Sink};
use crate::read::Reader;

/// Items of a deque's block (Modules/_collectionsmodule.c, `BLOCKLEN`).
const BLOCK_ITEMS: u64 = 64;

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
    let (Some(len), Some(mut block)) = (read.len(object), read.pointer(object + 24)) else { return };
    let Some(mut index) = read.image.u64(object + 40).filter(|index| *index < BLOCK_ITEMS) else { return };
    let mut done = 0;
    while done < len {
        let here = (BLOCK_ITEMS - index).min(len - done);
        let before = done;
        read.words(block + 8 + 8 * index, here, |n, item| {
            if item != 0 {
                sink.edge(item, Label::Index(before + n));
            }
        });
        done += here;
        index = 0;
        match block.checked_add(8 + 8 * BLOCK_ITEMS).and_then(|at| read.pointer(at)) {
            // A ring of blocks would hold a walk for as long as the claimed length says.
            Some(next) if next != block && done < len => block = next,
            _ => return,
        }
    }
}
