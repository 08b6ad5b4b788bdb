//! What is known of the instances of a type beyond "some words".

use super::flags;

/// How an object is visited and measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `type` and its subclasses.
    Type,
    /// A module.
    Module,
    /// A dict.
    Dict,
    /// `collections.OrderedDict`.
    OrderedDict,
    /// A list.
    List,
    /// A tuple.
    Tuple,
    /// A set or frozenset.
    Set,
    /// A str.
    Str,
    /// A bytes object.
    Bytes,
    /// A bytearray.
    ByteArray,
    /// An int (bool too).
    Int,
    /// No references inside: float, complex, None, ...
    Leaf,
    /// A Python function.
    Function,
    /// A closure's cell.
    Cell,
    /// A bound method.
    Method,
    /// A function or method of C.
    Builtin,
    /// A generator, coroutine or asynchronous generator.
    Generator,
    /// A frame.
    Frame,
    /// A code object.
    Code,
    /// A weak reference or proxy: does not own what it refers to.
    Weakref,
    /// `collections.deque`.
    Deque,
    /// What `functools.lru_cache` makes.
    LruCache,
    /// One entry of it.
    LruLink,
    /// `numpy.ndarray`.
    Ndarray,
    /// `array.array`.
    Array,
    /// Anything else: its words are searched.
    Other,
}

impl Kind {
    /// By the subclass bits of `tp_flags`, which the interpreter keeps for all subclasses.
    #[must_use]
    pub fn by_flags(bits: u64) -> Option<Self> {
        [
            (flags::DICT, Self::Dict),
            (flags::LIST, Self::List),
            (flags::TUPLE, Self::Tuple),
            (flags::STR, Self::Str),
            (flags::LONG, Self::Int),
            (flags::BYTES, Self::Bytes),
            (flags::TYPE, Self::Type),
        ]
        .into_iter()
        .find_map(|(flag, kind)| (bits & flag != 0).then_some(kind))
    }

    /// By the name in `tp_name`. A class of Python code could have the name of a static type, and cannot have a dot in it:
    /// so the names without a dot hold for static types only.
    #[must_use]
    pub fn by_name(name: &str, is_heap: bool) -> Option<Self> {
        let dotted = match name {
            "collections.OrderedDict" => Self::OrderedDict,
            "collections.deque" => Self::Deque,
            "functools._lru_cache_wrapper" => Self::LruCache,
            "functools._lru_list_elem" => Self::LruLink,
            "numpy.ndarray" => Self::Ndarray,
            "array.array" => Self::Array,
            _ if is_heap => return None,
            "module" => Self::Module,
            "set" | "frozenset" => Self::Set,
            "bytearray" => Self::ByteArray,
            "float" | "complex" | "NoneType" | "ellipsis" | "NotImplementedType" | "range_iterator" => Self::Leaf,
            "function" => Self::Function,
            "cell" => Self::Cell,
            "method" => Self::Method,
            "builtin_function_or_method" | "builtin_method" => Self::Builtin,
            "generator" | "coroutine" | "async_generator" => Self::Generator,
            "frame" => Self::Frame,
            "code" => Self::Code,
            "weakref"
            | "weakref.ReferenceType"
            | "weakproxy"
            | "weakref.ProxyType"
            | "weakcallableproxy"
            | "weakref.CallableProxyType" => Self::Weakref,
            _ => return None,
        };
        Some(dotted)
    }

    /// Whether objects of this kind hold an unbounded number of others.
    #[must_use]
    pub fn is_container(self) -> bool {
        matches!(self, Self::Dict | Self::OrderedDict | Self::List | Self::Set | Self::Deque | Self::LruCache)
    }
}
