//! What a layout table says: where CPython keeps what we read, in bytes from the start of each struct.
//!
//! One table per minor version, printed from the interpreter's own headers (`scripts/layouts.sh`). What has stayed the same
//! since 3.8 on 64 bits (object heads, list, tuple, set, the fixed part of a type) stands in [`fixed`].

/// Where one minor version keeps what we read.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The version: 3.`minor`.
    pub minor: u8,
    /// `_PyRuntimeState.interpreters.head`.
    pub interpreters_head: u64,
    /// `_PyRuntimeState.gc`, where one collector serves all interpreters (3.8).
    pub runtime_gc: Option<u64>,
    /// `PyInterpreterState.gc`, from 3.9 on.
    pub interp_gc: u64,
    /// `sizeof(PyInterpreterState)`.
    pub interp_size: u64,
    /// The next interpreter.
    pub interp_next: u64,
    /// Its number; 0 for the main one.
    pub interp_id: u64,
    /// `sys.modules`.
    pub interp_modules: u64,
    /// The newest thread state.
    pub interp_threads: u64,
    /// Heads of the collector's lists within its struct; the last is the permanent generation.
    pub generations: &'static [u64],
    /// `int collecting`: the lists are in pieces while it is not 0.
    pub gc_collecting: u64,
    /// `sizeof(PyThreadState)`.
    pub thread_size: u64,
    /// The next older thread state.
    pub thread_next: u64,
    /// The running frame, or the C frame that leads to it.
    pub thread_frame: u64,
    /// Where the C frame has the running frame (3.11, 3.12).
    pub cframe_frame: Option<u64>,
    /// `pthread_self()`.
    pub thread_ident: u64,
    /// The kernel's thread id (3.11 and newer).
    pub thread_native: Option<u64>,
    /// How frames are kept.
    pub frame: Frames,
    /// What a generator, coroutine or asynchronous generator refers to beside its frame.
    pub generator: &'static [(u64, &'static str)],
    /// The generator's qualified name.
    pub generator_qualname: u64,
    /// Where a code object has the names of its locals.
    pub locals: Locals,
    /// `sizeof(PyCodeObject)`; what follows is code.
    pub code_size: u64,
    /// `co_argcount`.
    pub code_arguments: u64,
    /// `co_stacksize`.
    pub code_stack: u64,
    /// `co_filename`.
    pub code_filename: u64,
    /// `co_name`.
    pub code_name: u64,
    /// `co_qualname` (3.11 and newer).
    pub code_qualname: Option<u64>,
    /// `co_firstlineno`.
    pub code_first_line: u64,
    /// The table that leads from an instruction to a line.
    pub lines: Lines,
    /// Where the instructions begin, when they are inside the code object (3.11 and newer).
    pub code_adaptive: Option<u64>,
    /// What a code object refers to.
    pub code: &'static [(u64, &'static str)],
    /// What a function refers to.
    pub function: &'static [(u64, &'static str)],
    /// A module's dict.
    pub module_dict: u64,
    /// A module's name.
    pub module_name: u64,
    /// The first item of a tuple, which 3.14 keeps its hash before.
    pub tuple_items: u64,
    /// `sizeof(PyTypeObject)`.
    pub type_size: u64,
    /// `sizeof(PyHeapTypeObject)`.
    pub heap_type_size: u64,
    /// The keys that instances of a heap type share.
    pub cached_keys: u64,
    /// What a heap type refers to beside what every type does.
    pub heap_type: &'static [(u64, &'static str)],
    /// `ht_qualname`.
    pub heap_type_qualname: u64,
    /// Where an instance has its attributes.
    pub attributes: Attributes,
    /// How the keys of a dict are laid out.
    pub keys: Keys,
    /// How an int counts its digits.
    pub digits: Digits,
    /// The bits of the word at an object's start that count its references.
    pub reference_mask: u64,
    /// Bits below `kind` in the state of a str.
    pub str_state_shift: u32,
    /// `sizeof(PyASCIIObject)`.
    pub ascii_size: u64,
    /// `sizeof(PyCompactUnicodeObject)`.
    pub compact_size: u64,
    /// `sizeof(PyUnicodeObject)`.
    pub unicode_size: u64,
}

/// How frames are kept.
#[derive(Clone, Debug)]
pub enum Frames {
    /// Each is an object (3.8 to 3.10).
    Object {
        /// The caller.
        back: u64,
        /// The code object.
        code: u64,
        /// The dict of locals, in class bodies and modules.
        locals: u64,
        /// The trace function.
        trace: u64,
        /// The last instruction, in bytes (3.8, 3.9) or code units (3.10).
        last_instruction: u64,
        /// Points behind the last local.
        valuestack: u64,
        /// How much of the value stack is in use (3.10).
        stackdepth: Option<u64>,
        /// Where the value stack ends (3.8, 3.9); null while running.
        stacktop: Option<u64>,
        /// Locals, cells, free variables, then the value stack.
        localsplus: u64,
        /// A generator's frame.
        generator_frame: u64,
    },
    /// Each is a struct on a stack of its own, and an object only where somebody asked for one (3.11 and newer).
    Interpreter {
        /// The code object (from 3.13 on an executable, which may be None).
        code: u64,
        /// The caller.
        previous: u64,
        /// The function.
        function: u64,
        /// The dict of locals, in class bodies and modules.
        locals: u64,
        /// The frame object, where there is one.
        frame_object: u64,
        /// The instruction (before 3.13 the one before the next).
        instruction: u64,
        /// How much of `localsplus` is in use.
        stacktop: Top,
        /// Who owns it.
        owner: u64,
        /// Locals, cells, free variables, then the value stack.
        localsplus: u64,
        /// From a frame object to its frame.
        object_frame: u64,
        /// Where a frame object keeps the frame when the call is over.
        object_data: u64,
        /// Where a generator keeps its frame.
        generator_frame: u64,
        /// The state of a generator's frame; 1 and more when it is done.
        generator_state: u64,
    },
}

/// How a frame says how much of `localsplus` is in use, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Top {
    /// A number; -1 while the frame runs (3.11 to 3.13).
    Count(u64),
    /// The address of the first word that is not in use; old while the frame runs (3.14).
    Pointer(u64),
}

/// Where a code object has the names of its locals.
#[derive(Clone, Debug)]
pub enum Locals {
    /// Three tuples of names (3.8 to 3.10); the number of plain locals.
    Apart {
        /// `co_varnames`.
        names: u64,
        /// `co_cellvars`.
        cells: u64,
        /// `co_freevars`.
        free: u64,
        /// `co_nlocals`.
        count: u64,
    },
    /// One tuple of names (3.11 and newer).
    Plus {
        /// `co_localsplusnames`.
        names: u64,
        /// `co_localspluskinds`.
        kinds: u64,
        /// `co_nlocalsplus`.
        count: u64,
    },
}

/// Which table leads from an instruction to a line, and where it is.
#[derive(Clone, Debug)]
pub enum Lines {
    /// `co_lnotab` (3.8, 3.9).
    Lnotab(u64),
    /// `co_linetable` of 3.10 (PEP 626).
    Table310(u64),
    /// `co_linetable` of 3.11 and newer (Objects/locations.md).
    Table311(u64),
}

/// Where an instance has its attributes when it was not asked for its `__dict__`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attributes {
    /// Always in a dict at `tp_dictoffset`.
    Dict,
    /// An array of values 32 bytes before the object, or a dict 24 bytes before it (3.11).
    Apart,
    /// One word 24 bytes before the object: a dict, or an array of values plus 1 (3.12).
    Tagged,
    /// An array inside the object behind its basic size; a dict, if there is one, 24 bytes before it (3.13 and newer).
    Inline,
}

/// How the keys of a dict are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Sizes as words, entries always with their hash (3.8 to 3.10).
    Wide,
    /// Sizes as logarithms; entries without a hash where all keys are str (3.11 and newer).
    Packed,
}

/// How an int counts its digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digits {
    /// `ob_size`, negative for negative numbers.
    Sign,
    /// `lv_tag >> 3` (3.12 and newer).
    Tag,
}

/// Offsets that 3.8 to 3.14 share on 64 bits (Include/object.h, Include/cpython/object.h and the object's own header).
pub mod fixed {
    /// `ob_type`.
    pub const TYPE: u64 = 8;
    /// `ob_size` of what has a variable size.
    pub const SIZE: u64 = 16;
    /// From an object back to its `PyGC_Head`.
    pub const GC_HEAD: u64 = 16;
    /// `tp_name`.
    pub const TP_NAME: u64 = 24;
    /// `tp_basicsize`.
    pub const TP_BASIC: u64 = 32;
    /// `tp_itemsize`.
    pub const TP_ITEM: u64 = 40;
    /// `tp_flags`.
    pub const TP_FLAGS: u64 = 168;
    /// `tp_weaklistoffset`.
    pub const TP_WEAKLIST: u64 = 208;
    /// `tp_members`.
    pub const TP_MEMBERS: u64 = 240;
    /// `tp_base`.
    pub const TP_BASE: u64 = 256;
    /// `tp_dict`.
    pub const TP_DICT: u64 = 264;
    /// `tp_dictoffset`.
    pub const TP_DICTOFFSET: u64 = 288;
    /// `tp_bases`.
    pub const TP_BASES: u64 = 336;
    /// `tp_mro`.
    pub const TP_MRO: u64 = 344;
}
