//! How large an object is: what `sys.getsizeof` says of it, and the memory of its attributes and data beside it.
//!
//! `getsizeof` leaves out what newer versions keep apart for an instance's attributes; we count it, since it is there.

use crate::offsets::{Attributes, Digits, fixed};
use crate::read::Reader;
use crate::types::{Kind, Type, flags};
use crate::visit::{Ndarray, untagged};

/// Bytes of one object, its head before it, and what belongs to it alone (a list's array, a dict's table, an array's data).
/// What does not fit its mapping is left out.
#[must_use]
pub fn size(read: Reader<'_>, kind: &Type, object: u64) -> u64 {
    let own = own(read, kind, object).unwrap_or(kind.basic);
    head(read, kind, object).saturating_add(own).saturating_add(values(read, kind, object))
}

/// What lies before an object. Static types are not collected, though their type has the flag.
fn head(read: Reader<'_>, kind: &Type, object: u64) -> u64 {
    let is_heap = || read.image.u64(object.saturating_add(fixed::TP_FLAGS)).is_some_and(|bits| bits & flags::HEAPTYPE != 0);
    if kind.kind == Kind::Type && !is_heap() { 0 } else { kind.head() }
}

fn own(read: Reader<'_>, kind: &Type, object: u64) -> Option<u64> {
    let image = read.image;
    let field = |offset: u64| image.u64(object.checked_add(offset)?);
    // An array that is not mapped as a whole is not there.
    let apart = |address: u64, bytes: u64| if bytes > 0 && image.is_mapped(address, bytes) { bytes } else { 0 };
    let basic = kind.basic;
    Some(match kind.kind {
        Kind::List => basic + apart(field(24)?, field(32)?.checked_mul(8)?),
        Kind::Dict => basic + table(read, object),
        Kind::OrderedDict => {
            let nodes = field(56)?.checked_mul(8)?;
            basic + table(read, object) + apart(field(48)?, nodes) + read.dict_len(object)?.checked_mul(32)?
        }
        Kind::Set => {
            let table = field(40)?;
            // Small ones have their table inside.
            let inside = table == object + 64;
            basic + if inside { 0 } else { apart(table, field(32)?.checked_add(1)?.checked_mul(16)?) }
        }
        Kind::Str => text(read, object)?,
        Kind::Int => Some(int(read, kind, object)?).filter(|bytes| is_there(read, object, *bytes))?,
        Kind::ByteArray => basic + apart(field(32)?, field(24)?),
        Kind::Deque => {
            let len = read.len(object)?;
            basic + blocks(field(40)?, len).checked_mul(66 * 8)?
        }
        Kind::Array => {
            let item = image.u32(field(40)?.checked_add(4)?)?;
            basic + apart(field(24)?, field(32)?.checked_mul(u64::from(item))?)
        }
        Kind::Ndarray => {
            let array = Ndarray::read(read, object)?;
            let shape = array.shape.len() as u64 * 16;
            basic + shape + if array.owns { array.bytes()? } else { 0 }
        }
        Kind::Type => class(read, object)?,
        Kind::Code | Kind::Generator | Kind::Frame => variable(read, kind, object)?,
        _ if kind.item == 0 => basic,
        _ => basic + apart(object, read.len(object)?.checked_mul(kind.item)?),
    })
}

/// Whether that many bytes are mapped. Not asked for what is small, since it is asked of every object: it adds little where it lies.
fn is_there(read: Reader<'_>, address: u64, bytes: u64) -> bool {
    bytes <= 1 << 12 || read.image.is_mapped(address, bytes)
}

/// Digits follow the head; a subclass has its slots behind them. From 3.12 on there is always one digit.
fn int(read: Reader<'_>, kind: &Type, object: u64) -> Option<u64> {
    let least = u64::from(read.layout.digits == Digits::Tag);
    let is_plain = kind.dictoffset == 0 && kind.members.is_empty();
    Some(if is_plain { 24 } else { kind.basic } + read.digits(object)?.0.max(least) * 4)
}

/// Code, generators and frames have as many items as their code says.
fn variable(read: Reader<'_>, kind: &Type, object: u64) -> Option<u64> {
    use crate::offsets::Frames;
    let image = read.image;
    if kind.kind == Kind::Code {
        return Some(match read.layout.code_adaptive {
            // Its size is in code units of two bytes.
            Some(start) => start + read.len(object)?.min(1 << 30) * 2,
            None => kind.basic,
        });
    }
    let Frames::Interpreter { generator_frame, object_data, localsplus, code, object_frame, owner, .. } = read.layout.frame
    else {
        let items = if kind.kind == Kind::Frame { read.len(object)? } else { 0 };
        let bytes = kind.basic + items.min(1 << 20) * kind.item;
        return Some(bytes).filter(|bytes| is_there(read, object, *bytes));
    };
    let (start, frame) = match kind.kind {
        Kind::Generator => (generator_frame, object + generator_frame),
        _ => (object_data, read.pointer(object + object_frame)?),
    };
    // A frame object that does not own its frame has room for it all the same, but getsizeof does not count it.
    if kind.kind == Kind::Frame && image.u8(frame + owner)? != 2 {
        return Some(kind.basic);
    }
    let code = untagged(read.pointer(frame + code)?)?;
    let crate::offsets::Locals::Plus { count, .. } = read.layout.locals else { return None };
    let slots = u64::from(image.u32(code + count)?) + u64::from(image.u32(code + read.layout.code_stack)?);
    let bytes = localsplus + slots.min(1 << 20) * 8;
    is_there(read, frame, bytes).then_some(start + bytes)
}

/// The table of a dict: its keys where they are its own, its values where they are apart.
fn table(read: Reader<'_>, dict: u64) -> u64 {
    let Some((keys, values)) = read.dict_table(dict) else { return 0 };
    let own = if keys.references == 1 || values.is_none() && keys.references < 1 << 31 { keys.bytes } else { 0 };
    own + if values.is_some() { keys.room * 8 } else { 0 }
}

/// Blocks of 64 items, of which an empty deque has one.
fn blocks(left: u64, len: u64) -> u64 {
    left.min(63).saturating_add(len).div_ceil(64).max(1)
}

fn text(read: Reader<'_>, object: u64) -> Option<u64> {
    let head = read.str_head(object)?;
    let layout = read.layout;
    let data = head.len.checked_add(1)?.checked_mul(head.kind)?;
    let (first, own) = match (head.compact, head.ascii) {
        (true, true) => (object, layout.ascii_size + data),
        (true, false) => (object, layout.compact_size + data),
        (false, _) => (read.pointer(object + layout.unicode_size - 8)?, data),
    };
    if !is_there(read, first, own) {
        return None;
    }
    if head.compact && head.ascii {
        return Some(own);
    }
    let mut size = if head.compact { own } else { layout.unicode_size + data };
    // PyCompactUnicodeObject begins, behind the ASCII part, with the length and the address of the UTF-8 form.
    let inside = if head.compact { object + layout.compact_size } else { read.pointer(object + layout.unicode_size - 8)? };
    let utf8 = read.image.u64(object + layout.ascii_size + 8)?;
    if utf8 != 0 && utf8 != inside {
        let len = read.image.u64(object + layout.ascii_size)?.checked_add(1)?;
        size += if is_there(read, utf8, len) { len } else { 0 };
    }
    Some(size)
}

/// A class: the shared keys of its instances belong to it.
fn class(read: Reader<'_>, object: u64) -> Option<u64> {
    let bits = read.image.u64(object + fixed::TP_FLAGS)?;
    if bits & flags::HEAPTYPE == 0 {
        return Some(read.layout.type_size);
    }
    let keys = read.pointer(object + read.layout.cached_keys).and_then(|keys| read.keys(keys));
    let keys = keys.map_or(0, |keys| keys.bytes);
    Some(read.layout.heap_type_size + keys)
}

/// The array of values of an instance, where it lies apart (3.11, 3.12) or behind it (3.13).
fn values(read: Reader<'_>, kind: &Type, object: u64) -> u64 {
    if !kind.has(flags::MANAGED_DICT) || kind.cached_keys == 0 {
        return 0;
    }
    let before = |distance: u64| object.checked_sub(distance).and_then(|at| read.image.u64(at)).unwrap_or(0);
    let apart = match read.layout.attributes {
        Attributes::Dict => return 0,
        Attributes::Apart => before(32),
        Attributes::Tagged if before(24) & 1 == 1 => before(24) + 1,
        Attributes::Tagged => 0,
        Attributes::Inline => {
            let capacity = read.image.u8(object.saturating_add(kind.basic)).map_or(0, u64::from);
            return if kind.has(flags::INLINE_VALUES) { values_bytes(capacity) } else { 0 };
        }
    };
    match (apart, read.keys(kind.cached_keys)) {
        (0, _) | (_, None) => 0,
        (_, Some(keys)) => (keys.room + 2).next_multiple_of(8) + keys.room * 8,
    }
}

/// `_PyInlineValuesSize`: a byte for each value's place in the order of insertion, four bytes of head, the values.
fn values_bytes(capacity: u64) -> u64 {
    8 + capacity * 8 + capacity.next_multiple_of(8)
}
