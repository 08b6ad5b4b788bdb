//! Types of the target: what each object is, found by the address of its type.
//!
//! A type is read once, checked (its own type must be a subclass of `type`), and then known by a small number. Both threads
//! of a walk share the table; each has a cache of its own in front of it.

mod kind;
mod read;
mod table;

pub use kind::Kind;
pub use table::{Cache, TypeId, Types};

/// Bits of `tp_flags` (Include/object.h).
pub mod flags {
    /// The values of an instance's attributes lie inside it (3.13).
    pub const INLINE_VALUES: u64 = 1 << 2;
    /// Its weak references hang on a word before the object (3.12).
    pub const MANAGED_WEAKREF: u64 = 1 << 3;
    /// Its attributes hang on a word before the object (3.11).
    pub const MANAGED_DICT: u64 = 1 << 4;
    /// Made at run time.
    pub const HEAPTYPE: u64 = 1 << 9;
    /// Instances have a head for the collector.
    pub const HAVE_GC: u64 = 1 << 14;
    /// Subclass of int; list, tuple, bytes, str, dict, exception and type follow.
    pub const LONG: u64 = 1 << 24;
    /// Subclass of list.
    pub const LIST: u64 = 1 << 25;
    /// Subclass of tuple.
    pub const TUPLE: u64 = 1 << 26;
    /// Subclass of bytes.
    pub const BYTES: u64 = 1 << 27;
    /// Subclass of str.
    pub const STR: u64 = 1 << 28;
    /// Subclass of dict.
    pub const DICT: u64 = 1 << 29;
    /// Subclass of type.
    pub const TYPE: u64 = 1 << 31;
}

/// One type.
#[derive(Clone, Debug)]
pub struct Type {
    /// Where it is.
    pub address: u64,
    /// Its full name: `torch.Tensor`, `__main__.Trainer`, `list`.
    pub name: String,
    /// The module in that name; empty where there is none (`list`).
    pub module: String,
    /// What is known of its instances.
    pub kind: Kind,
    /// `tp_flags`.
    pub flags: u64,
    /// `tp_basicsize`.
    pub basic: u64,
    /// `tp_itemsize`.
    pub item: u64,
    /// `tp_dictoffset`; negative from the end of a variable-sized object.
    pub dictoffset: i64,
    /// `tp_weaklistoffset`, 0 where there is none.
    pub weaklist: u64,
    /// How much of an instance its kind describes: the rest is searched for references.
    pub described: u64,
    /// Named slots (`__slots__`, members of C types), by offset.
    pub members: Vec<(u64, String)>,
    /// The type of the type, a metaclass among them.
    pub metatype: u64,
    /// `tp_base`; 0 for `object`.
    pub base: u64,
    /// The keys that instances share; 0 where there are none.
    pub cached_keys: u64,
}

impl Type {
    /// The name without its module: `Trainer`, `Outer.Inner`.
    #[must_use]
    pub fn qualname(&self) -> &str {
        let own = self.name.strip_prefix(self.module.as_str()).and_then(|rest| rest.strip_prefix('.'));
        own.unwrap_or(&self.name)
    }

    /// Whether a flag is set.
    #[must_use]
    pub fn has(&self, flag: u64) -> bool {
        self.flags & flag != 0
    }

    /// Whether it is a class of Python code whose instances are no containers, functions or the like: what they refer to are attributes.
    #[must_use]
    pub fn has_attributes_alone(&self) -> bool {
        self.has(flags::HEAPTYPE) && self.kind == Kind::Other
    }

    /// What lies before an object of this type, in bytes: the collector's head, the words of its attributes.
    #[must_use]
    pub fn head(&self) -> u64 {
        let gc = if self.has(flags::HAVE_GC) { 16 } else { 0 };
        gc + if self.has(flags::MANAGED_DICT | flags::MANAGED_WEAKREF) { 16 } else { 0 }
    }

    /// The name of the slot at an offset.
    #[must_use]
    pub fn member(&self, offset: u64) -> Option<&str> {
        self.members.iter().find(|(at, _)| *at == offset).map(|(_, name)| name.as_str())
    }
}
