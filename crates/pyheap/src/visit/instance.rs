//! Attributes of instances, wherever the version keeps them.

use super::{Label, Sink};
use crate::offsets::Attributes;
use crate::read::Reader;
use crate::types::{Kind, Type, flags};

/// Where the attributes of an instance are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a dict, at this address.
    Dict(u64),
    /// In an array of values: where the first is, and how many there is room for.
    Values(u64, u64),
    /// Nowhere: it has none.
    None,
}

/// Visits the attributes of an instance.
#[inline]
pub fn attributes(read: Reader<'_>, kind: &Type, object: u64, sink: &mut impl Sink) {
    match place(read, kind, object) {
        Place::Dict(dict) => sink.edge(dict, Label::Named("__dict__")),
        Place::Values(values, room) => {
            if let Some(keys) = read.keys(kind.cached_keys) {
                read.split(&keys, values, room, |_, entry| sink.edge(entry.value, Label::Attribute(entry.key)));
            }
        }
        Place::None => {}
    }
}

/// The first of these attributes that an instance has of its own.
#[must_use]
pub fn attribute(read: Reader<'_>, kind: &Type, object: u64, names: &[&str]) -> Option<u64> {
    match place(read, kind, object) {
        Place::Dict(dict) => names.iter().find_map(|name| read.dict_get(dict, name)),
        Place::Values(values, room) => {
            let mut found = None;
            read.split(&read.keys(kind.cached_keys)?, values, room, |_, entry| {
                if names.iter().any(|name| read.is_text(entry.key, name)) {
                    found = Some(entry.value);
                }
            });
            found
        }
        Place::None => None,
    }
}

/// Where the attributes of an instance are.
#[inline]
#[must_use]
pub fn place(read: Reader<'_>, kind: &Type, object: u64) -> Place {
    if kind.has(flags::MANAGED_DICT) && read.layout.attributes != Attributes::Dict {
        return managed(read, kind, object);
    }
    match kind.dictoffset {
        0 => Place::None,
        // A class keeps its own attributes in tp_dict, a module and a function in theirs: visited as what they are.
        _ if matches!(kind.kind, Kind::Module | Kind::Function) || kind.kind == Kind::Type && kind.dictoffset == 264 => {
            Place::None
        }
        offset => slot(read, kind, object, offset).and_then(|at| read.pointer(at)).map_or(Place::None, Place::Dict),
    }
}

/// `tp_dictoffset`: from the start, or negative from the end of a variable-sized object, rounded up to whole words.
fn slot(read: Reader<'_>, kind: &Type, object: u64, offset: i64) -> Option<u64> {
    if offset > 0 {
        return object.checked_add(offset.unsigned_abs());
    }
    let size = (kind.basic + super::item_bytes(read, kind, object)).next_multiple_of(8);
    object.checked_add(size.checked_sub(offset.unsigned_abs())?)
}

/// The words before the object.
fn managed(read: Reader<'_>, kind: &Type, object: u64) -> Place {
    let before = |distance: u64| object.checked_sub(distance).and_then(|at| read.image.u64(at));
    let dict = || before(24).filter(|dict| *dict != 0).map_or(Place::None, Place::Dict);
    match read.layout.attributes {
        Attributes::Dict => Place::None,
        Attributes::Apart => match before(32) {
            Some(values) if values != 0 => Place::Values(values, u64::MAX),
            _ => dict(),
        },
        Attributes::Tagged => match before(24) {
            Some(tagged) if tagged & 1 == 1 => Place::Values(tagged + 1, u64::MAX),
            _ => dict(),
        },
        Attributes::Inline => {
            let inline = object.checked_add(kind.basic).filter(|_| kind.has(flags::INLINE_VALUES));
            match (before(24), inline) {
                (Some(0) | None, Some(values)) => match read.image.array(values) {
                    Some([capacity, _, _, 1]) => Place::Values(values + 8, u64::from(capacity)),
                    _ => Place::None,
                },
                _ => dict(),
            }
        }
    }
}
