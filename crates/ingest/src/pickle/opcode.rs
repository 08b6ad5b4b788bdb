//! The opcodes of pickle (Python's `pickletools` has their descriptions).

pub const MARK: u8 = b'(';
pub const STOP: u8 = b'.';
pub const POP: u8 = b'0';
pub const POP_MARK: u8 = b'1';
pub const DUP: u8 = b'2';
pub const BINFLOAT: u8 = b'G';
pub const BININT: u8 = b'J';
pub const BININT1: u8 = b'K';
pub const BININT2: u8 = b'M';
pub const NONE: u8 = b'N';
pub const BINSTRING: u8 = b'T';
pub const SHORT_BINSTRING: u8 = b'U';
pub const BINUNICODE: u8 = b'X';
pub const APPEND: u8 = b'a';
pub const DICT: u8 = b'd';
pub const EMPTY_DICT: u8 = b'}';
pub const APPENDS: u8 = b'e';
pub const BINGET: u8 = b'h';
pub const LONG_BINGET: u8 = b'j';
pub const LIST: u8 = b'l';
pub const EMPTY_LIST: u8 = b']';
pub const BINPUT: u8 = b'q';
pub const LONG_BINPUT: u8 = b'r';
pub const SETITEM: u8 = b's';
pub const TUPLE: u8 = b't';
pub const EMPTY_TUPLE: u8 = b')';
pub const SETITEMS: u8 = b'u';
pub const PROTO: u8 = 0x80;
pub const TUPLE1: u8 = 0x85;
pub const TUPLE2: u8 = 0x86;
pub const TUPLE3: u8 = 0x87;
pub const NEWTRUE: u8 = 0x88;
pub const NEWFALSE: u8 = 0x89;
pub const LONG1: u8 = 0x8a;
pub const LONG4: u8 = 0x8b;
pub const BINBYTES: u8 = b'B';
pub const SHORT_BINBYTES: u8 = b'C';
pub const SHORT_BINUNICODE: u8 = 0x8c;
pub const BINUNICODE8: u8 = 0x8d;
pub const BINBYTES8: u8 = 0x8e;
pub const EMPTY_SET: u8 = 0x8f;
pub const ADDITEMS: u8 = 0x90;
pub const FROZENSET: u8 = 0x91;
pub const MEMOIZE: u8 = 0x94;
pub const FRAME: u8 = 0x95;
pub const BYTEARRAY8: u8 = 0x96;

/// Opcodes that import, call or fill in an object of a class, or leave it to the program that reads: each with what it
/// does.
pub const CODE: [(u8, &str, &str); 13] = [
    (b'c', "GLOBAL", "would import"),
    (0x93, "STACK_GLOBAL", "would import"),
    (b'i', "INST", "would import and call"),
    (b'R', "REDUCE", "would call a function"),
    (b'b', "BUILD", "would call an object's __setstate__"),
    (b'o', "OBJ", "would make an object of a class"),
    (0x81, "NEWOBJ", "would make an object of a class"),
    (0x92, "NEWOBJ_EX", "would make an object of a class"),
    (0x82, "EXT1", "would import what is registered as extension"),
    (0x83, "EXT2", "would import what is registered as extension"),
    (0x84, "EXT4", "would import what is registered as extension"),
    (b'P', "PERSID", "would ask the reading program for the object"),
    (b'Q', "BINPERSID", "would ask the reading program for an object"),
];

/// Opcodes of data that are left to others: text opcodes of protocol 0, and buffers.
pub const UNSUPPORTED: [(u8, &str); 10] = [
    (b'F', "FLOAT"),
    (b'I', "INT"),
    (b'L', "LONG"),
    (b'S', "STRING"),
    (b'V', "UNICODE"),
    (b'g', "GET"),
    (b'p', "PUT"),
    (0x97, "NEXT_BUFFER"),
    (0x98, "READONLY_BUFFER"),
    (0x80, "PROTO"),
];
