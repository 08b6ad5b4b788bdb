//! Dicts (Objects/dictobject.c, Include/internal/pycore_dict.h): a table of keys, and values beside them or apart.

use super::Reader;
use crate::offsets::{Attributes, Keys as Kind};

/// The keys of a dict, or those that the instances of a class share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keys {
    /// Where they are.
    pub address: u64,
    /// How many dicts share them.
    pub references: u64,
    /// Slots of the hash table.
    pub size: u64,
    /// Entries in use, deleted ones among them.
    pub used: u64,
    /// Entries in use and free: how many values there is room for where they lie apart.
    pub room: u64,
    /// The first entry.
    pub entries: u64,
    /// Bytes per entry: hash, key, value, or key and value.
    pub stride: u64,
    /// Bytes of all of it.
    pub bytes: u64,
}

impl Keys {
    /// Where the key of an entry is.
    fn key(&self, index: u64) -> u64 {
        self.entries + index * self.stride + (self.stride - 16)
    }
}

/// One entry of a dict: two objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: u64,
    /// The value.
    pub value: u64,
}

/// `USABLE_FRACTION`.
fn usable(size: u64) -> u64 {
    (size << 1) / 3
}

impl Reader<'_> {
    /// Reads a table of keys; `None` where it does not fit its mapping.
    #[must_use]
    pub fn keys(&self, address: u64) -> Option<Keys> {
        let image = self.image;
        let references = image.u64(address)?;
        let (size, free, used, index_bytes, indices, stride) = match self.layout.keys {
            Kind::Wide => {
                let size = image.u64(address.checked_add(8)?)?;
                let width = match size {
                    0..=0xff => 1,
                    0x100..=0xffff => 2,
                    0x1_0000..=0xffff_ffff => 4,
                    _ => 8,
                };
                (size, image.u64(address + 24)?, image.u64(address + 32)?, size.checked_mul(width)?, 40, 24)
            }
            Kind::Packed => {
                let [size, index, kind, _] = image.array(address.checked_add(8)?)?;
                if size > 40 || index > 43 || kind > 2 {
                    return None;
                }
                (1 << size, image.u64(address + 16)?, image.u64(address + 24)?, 1 << index, 32, if kind == 0 { 24 } else { 16 })
            }
        };
        if !size.is_power_of_two() || size > 1 << 40 || used.saturating_add(free) > usable(size) {
            return None;
        }
        let entries = address.checked_add(indices + index_bytes)?;
        let bytes = indices + index_bytes + usable(size) * stride;
        image.is_mapped(address, bytes).then_some(Keys {
            address,
            references,
            size,
            used,
            room: used + free,
            entries,
            stride,
            bytes,
        })
    }

    /// `len(dict)`.
    #[must_use]
    pub fn dict_len(&self, dict: u64) -> Option<u64> {
        self.len(dict)
    }

    /// The keys of a dict and where its values are, if apart.
    #[must_use]
    pub fn dict_table(&self, dict: u64) -> Option<(Keys, Option<u64>)> {
        let [keys, values] = [self.image.u64(dict.checked_add(32)?)?, self.image.u64(dict.checked_add(40)?)?];
        Some((self.keys(keys)?, (values != 0).then(|| self.values(values))))
    }

    /// From a struct of values to the first value.
    fn values(&self, values: u64) -> u64 {
        if self.layout.attributes == Attributes::Inline { values.saturating_add(8) } else { values }
    }

    /// Calls `each` for every entry that has a value.
    #[inline]
    pub fn dict(&self, dict: u64, each: impl FnMut(u64, Entry)) {
        match self.dict_table(dict) {
            Some((keys, None)) => self.entries(&keys, each),
            Some((keys, Some(values))) => self.split(&keys, values, keys.room, each),
            None => {}
        }
    }

    /// Entries with their values beside them.
    #[inline]
    fn entries(&self, keys: &Keys, mut each: impl FnMut(u64, Entry)) {
        let words = keys.stride / 8;
        let (mut key, mut index, mut column) = (0, 0, 0);
        self.words(keys.entries, keys.used * words, |_, word| {
            column += 1;
            if column == words {
                if word != 0 && key != 0 {
                    each(index, Entry { key, value: word });
                }
                (index, column) = (index + 1, 0);
            } else {
                key = word;
            }
        });
    }

    /// Shared keys, with values in an array that has room for `room`.
    #[inline]
    pub fn split(&self, keys: &Keys, values: u64, room: u64, mut each: impl FnMut(u64, Entry)) {
        self.words(values, keys.used.min(room), |index, value| {
            if value != 0
                && let Some(key) = self.pointer(keys.key(index))
            {
                each(index, Entry { key, value });
            }
        });
    }

    /// The value under a str key.
    #[must_use]
    pub fn dict_get(&self, dict: u64, name: &str) -> Option<u64> {
        let mut found = None;
        self.dict(dict, |_, entry| {
            if found.is_none() && self.is_text(entry.key, name) {
                found = Some(entry.value);
            }
        });
        found
    }
}
