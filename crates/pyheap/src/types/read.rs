//! Reads a type (Include/cpython/object.h) and checks that it is one.

use super::{Kind, Type, flags};
use crate::offsets::fixed;
use crate::read::{NAME_LIMIT, Reader};

/// Longest chain of bases that is followed.
const BASES: usize = 64;
/// Most members of one type that are read.
const MEMBERS: usize = 128;
/// Longest name of a member.
const MEMBER_NAME: usize = 64;
/// No instance is larger without its items (the largest known are modules' states of some 10 KiB).
const BASIC_LIMIT: u64 = 1 << 20;
/// `sizeof(PyMemberDef)`.
const MEMBER_SIZE: u64 = 40;

/// A member that is an object (Include/structmember.h): `T_OBJECT` and `T_OBJECT_EX`.
const OBJECTS: [u32; 2] = [6, 16];

impl Type {
    /// Reads the type at an address; `None` where there is none.
    pub(super) fn read(read: Reader<'_>, address: u64) -> Option<Self> {
        let image = read.image;
        if !address.is_multiple_of(8) || !image.is_mapped(address, read.layout.type_size) {
            return None;
        }
        let field = |offset: u64| image.u64(address + offset);
        let metatype = read.type_of(address)?;
        is_metatype(read, metatype, 0)?;
        let bits = field(fixed::TP_FLAGS)?;
        let (basic, item) = (field(fixed::TP_BASIC)?, field(fixed::TP_ITEM)?);
        if basic > BASIC_LIMIT || item > BASIC_LIMIT {
            return None;
        }
        let c_name = String::from_utf8_lossy(&image.cstr(field(fixed::TP_NAME)?, NAME_LIMIT)?).into_owned();
        let (kind, described) = kind(read, address, bits, &c_name);
        let (module, name) = full_name(read, address, bits, &c_name);
        Some(Self {
            address,
            name,
            module,
            kind,
            flags: bits,
            basic,
            item,
            dictoffset: field(fixed::TP_DICTOFFSET)? as i64,
            weaklist: field(fixed::TP_WEAKLIST)?,
            described,
            members: members(read, address),
            metatype,
            base: field(fixed::TP_BASE)?,
            cached_keys: if bits & flags::HEAPTYPE == 0 { 0 } else { field(read.layout.cached_keys).unwrap_or(0) },
        })
    }
}

/// A type's type must have the bit of a subclass of `type`, and a type of its own.
fn is_metatype(read: Reader<'_>, address: u64, depth: u32) -> Option<()> {
    let bits = read.image.u64(address.checked_add(fixed::TP_FLAGS)?)?;
    if !address.is_multiple_of(8) || bits & flags::TYPE == 0 {
        return None;
    }
    let meta = read.type_of(address)?;
    if meta == address {
        return Some(());
    }
    if depth > 4 { None } else { is_metatype(read, meta, depth + 1) }
}

/// The kind, and how many bytes of an instance it describes.
fn kind(read: Reader<'_>, address: u64, bits: u64, c_name: &str) -> (Kind, u64) {
    let by_flags = Kind::by_flags(bits);
    let mut at = address;
    let (mut name, mut bits) = (c_name.to_owned(), bits);
    for _ in 0..BASES {
        let by_name = Kind::by_name(&name, bits & flags::HEAPTYPE != 0);
        // An OrderedDict is a dict as well: the name that comes first on the way down says more.
        if let Some(kind) = by_name {
            return (kind, read.image.u64(at + fixed::TP_BASIC).unwrap_or(0));
        }
        if by_flags.is_some() && bits & flags::HEAPTYPE == 0 && Kind::by_flags(bits) == by_flags && is_builtin(&name) {
            return (by_flags.unwrap_or(Kind::Other), read.image.u64(at + fixed::TP_BASIC).unwrap_or(0));
        }
        let Some(base) = at.checked_add(fixed::TP_BASE).and_then(|at| read.pointer(at)) else { break };
        let field = |offset: u64| base.checked_add(offset).and_then(|at| read.image.u64(at));
        let (Some(base_name), Some(base_bits)) = (field(fixed::TP_NAME), field(fixed::TP_FLAGS)) else { break };
        let Some(base_name) = read.image.cstr(base_name, NAME_LIMIT) else { break };
        name = String::from_utf8_lossy(&base_name).into_owned();
        bits = base_bits;
        at = base;
    }
    (by_flags.unwrap_or(Kind::Other), 16)
}

fn is_builtin(name: &str) -> bool {
    matches!(name, "dict" | "list" | "tuple" | "str" | "int" | "bytes" | "type")
}

/// The module of a class, and `module.qualname`; `tp_name`, which has the module in it, of a type made in C.
fn full_name(read: Reader<'_>, address: u64, bits: u64, c_name: &str) -> (String, String) {
    if bits & flags::HEAPTYPE == 0 || c_name.contains('.') {
        let module = c_name.rsplit_once('.').map_or("", |(module, _)| module);
        return (module.to_owned(), c_name.to_owned());
    }
    let qualname = read.pointer(address + read.layout.heap_type_qualname).and_then(|name| read.text(name));
    let qualname = qualname.unwrap_or_else(|| c_name.to_owned());
    let dict = read.pointer(address + fixed::TP_DICT);
    let module = dict.and_then(|dict| read.dict_get(dict, "__module__")).filter(|object| is_str(read, *object));
    match module.and_then(|object| read.text(object)) {
        Some(module) if module != "builtins" => {
            let name = format!("{module}.{qualname}");
            (module, name)
        }
        _ => (String::new(), qualname),
    }
}

/// Whether an object is a str: `__module__` of a class may be anything.
fn is_str(read: Reader<'_>, object: u64) -> bool {
    let bits = read.type_of(object).and_then(|kind| read.image.u64(kind.checked_add(fixed::TP_FLAGS)?));
    bits.is_some_and(|bits| bits & flags::STR != 0)
}

/// The named slots of a type and its bases.
fn members(read: Reader<'_>, address: u64) -> Vec<(u64, String)> {
    let mut members = Vec::new();
    let mut at = address;
    for _ in 0..BASES {
        if let Some(first) = at.checked_add(fixed::TP_MEMBERS).and_then(|at| read.pointer(at)) {
            own_members(read, first, &mut members);
        }
        match at.checked_add(fixed::TP_BASE).and_then(|at| read.pointer(at)) {
            Some(base) => at = base,
            None => break,
        }
    }
    members
}

fn own_members(read: Reader<'_>, first: u64, members: &mut Vec<(u64, String)>) {
    for index in 0..MEMBERS as u64 {
        let Some(at) = first.checked_add(index * MEMBER_SIZE) else { return };
        let (Some(name), Some(kind)) = (read.pointer(at), read.image.u32(at + 8)) else { return };
        let Some(offset) = read.image.u64(at + 16) else { return };
        if OBJECTS.contains(&kind)
            && members.len() < MEMBERS
            && let Some(name) = read.image.cstr(name, MEMBER_NAME)
        {
            members.push((offset, String::from_utf8_lossy(&name).into_owned()));
        }
    }
}
