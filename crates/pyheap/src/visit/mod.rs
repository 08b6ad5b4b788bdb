//! What an object refers to: every owned reference once, with a label that says by which name.
//!
//! The common types have exact visitors; of all others the words are searched for what looks like an object, with the names
//! of their members where the type gives any. Labels cost nothing where nobody asks for them: a walk ignores them, and only
//! the few objects on a path are visited again to learn their names.

mod code;
mod containers;
mod frames;
mod instance;
mod numpy;
mod words;

pub use frames::Frame;
pub(crate) use frames::untagged;
pub(crate) use instance::attribute;
pub use numpy::Ndarray;

use crate::offsets::fixed;
use crate::read::Reader;
use crate::types::{Kind, Type};

/// By which name an object refers to another. Addresses are of str objects where not said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// An attribute of an instance.
    Attribute(u64),
    /// The value under this key (any object).
    Value(u64),
    /// A key of a dict.
    Key,
    /// A position in a sequence.
    Index(u64),
    /// Somewhere in a set, a queue or a cache.
    Item,
    /// A local variable of a frame, by its position.
    Local(u32),
    /// A value on a frame's stack.
    Stack,
    /// A reference that has a name of its own, `__closure__`.
    Named(&'static str),
    /// A word of an object that the type may have a name for.
    Word(u32),
}

/// Receives the references of an object.
pub trait Sink {
    /// One reference. `strict` where it was guessed from a word: it must be checked that it is an object.
    fn edge(&mut self, target: u64, label: Label);

    /// A word that may be a reference. It must be checked thoroughly before it is taken for one.
    fn guess(&mut self, word: u64, label: Label);
}

/// Whether objects of a type own no others, so that a visit finds nothing.
#[inline]
#[must_use]
pub fn is_leaf(kind: &Type) -> bool {
    let is_plain = matches!(kind.kind, Kind::Str | Kind::Int | Kind::Bytes | Kind::ByteArray | Kind::Leaf | Kind::Array);
    is_plain && kind.basic <= kind.described && kind.dictoffset == 0
}

/// Visits all that `object` owns. Its type must be `kind`.
#[inline]
pub fn visit(read: Reader<'_>, kind: &Type, object: u64, sink: &mut impl Sink) {
    match kind.kind {
        _ if is_leaf(kind) => return,
        Kind::Str | Kind::Int | Kind::Bytes | Kind::ByteArray | Kind::Leaf | Kind::Array => {}
        Kind::Tuple => containers::tuple(read, object, sink),
        Kind::List => containers::list(read, object, sink),
        Kind::Dict => containers::dict(read, object, sink),
        Kind::OrderedDict => containers::ordered_dict(read, object, sink),
        Kind::Set => containers::set(read, object, sink),
        Kind::Deque => containers::deque(read, object, sink),
        Kind::Function => code::function(read, object, sink),
        Kind::Code => return code::code(read, object, sink),
        Kind::Cell => named(read, object, &[(16, "cell_contents")], sink),
        Kind::Method => named(read, object, &[(24, "__self__"), (16, "__func__")], sink),
        Kind::Builtin => named(read, object, &[(24, "__self__"), (32, "__module__"), (56, "class")], sink),
        Kind::Weakref => named(read, object, &[(24, "__callback__")], sink),
        Kind::Module => {
            let at = read.layout;
            named(read, object, &[(at.module_dict, "__dict__"), (at.module_name, "__name__")], sink);
        }
        Kind::Generator => return frames::generator(read, object, sink),
        Kind::Frame => return frames::object(read, object, sink),
        Kind::Type => code::class(read, object, kind, sink),
        Kind::LruCache | Kind::LruLink => return words::lru(read, kind, object, sink),
        Kind::Ndarray => numpy::visit(read, object, sink),
        Kind::Other => {}
    }
    instance::attributes(read, kind, object, sink);
    words::rest(read, kind, object, sink);
}

/// References at fixed places.
#[inline]
fn named(read: Reader<'_>, object: u64, fields: &[(u64, &'static str)], sink: &mut impl Sink) {
    for (offset, name) in fields {
        if let Some(target) = object.checked_add(*offset).and_then(|at| read.pointer(at)) {
            sink.edge(target, Label::Named(name));
        }
    }
}

/// How many bytes of items a variable-sized object has, at most what fits its mapping.
fn item_bytes(read: Reader<'_>, kind: &Type, object: u64) -> u64 {
    if kind.item == 0 {
        return 0;
    }
    let count = match kind.kind {
        Kind::Int => read.digits(object).map(|(count, _)| count),
        _ => object.checked_add(fixed::SIZE).and_then(|at| read.image.i64(at)).map(i64::unsigned_abs),
    };
    let bytes = count.and_then(|count| count.checked_mul(kind.item)).filter(|bytes| *bytes < 1 << 40);
    bytes.filter(|bytes| read.image.is_mapped(object, kind.basic + bytes)).unwrap_or(0)
}
