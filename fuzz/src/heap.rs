//! The heap of a Python as it lies in memory: made up as the bytes say, sound at first, then with words changed.
//!
//! Each object has a slot of its own, so that any object can refer to any other. What comes of it is a heap of any version
//! in which the first look finds its way; how it lies is up to the bytes.

use lowtide_pyheap::offsets::{Attributes, Digits, Frames, Keys, Layout, TABLES};
use lowtide_pyheap::types::flags;
use lowtide_pyheap::{Census, Error, Python};
use lowtide_remote::{Fake, Image};

const RUNTIME: u64 = 0x10_0000;
const INTERPRETER: u64 = 0x20_0000;
const THREAD: u64 = 0x40_0000;
const TYPES: u64 = 0x50_0000;
const NAMES: u64 = 0x58_0000;
const OBJECTS: u64 = 0x60_0000;
const SHARED: u64 = 0x80_0000;

/// Bytes of a type's slot.
const TYPE: u64 = 1024;
/// Bytes of an object's slot, and of what lies before the object in it.
const SLOT: u64 = 512;
const HEAD: u64 = 64;
/// Objects that are always there, and have their places.
const FIXED: u64 = 16;
/// Objects in all; a byte names one.
const COUNT: u64 = 256;
/// Words that any object may claim for its own.
const SHARED_WORDS: u64 = 1 << 17;

const GC: u64 = flags::HAVE_GC;

/// Name, flags, basic size, size of items.
const KINDS: [(&str, u64, u64, u64); 24] = [
    ("type", flags::TYPE | GC, 416, 40),
    ("dict", flags::DICT | GC, 48, 0),
    ("str", flags::STR, 64, 0),
    ("int", flags::LONG, 24, 4),
    ("module", GC, 56, 0),
    ("list", flags::LIST | GC, 40, 0),
    ("tuple", flags::TUPLE | GC, 24, 8),
    ("set", GC, 200, 0),
    ("bytes", flags::BYTES, 33, 1),
    ("bytearray", 0, 56, 0),
    ("collections.deque", GC, 96, 0),
    ("Instance", flags::HEAPTYPE | flags::MANAGED_DICT | flags::INLINE_VALUES | GC, 24, 0),
    ("function", GC, 144, 0),
    ("cell", GC, 24, 0),
    ("method", GC, 40, 0),
    ("generator", GC, 200, 8),
    ("frame", GC, 80, 8),
    ("code", 0, 200, 2),
    ("weakref", GC, 72, 0),
    ("functools._lru_cache_wrapper", GC, 120, 0),
    ("functools._lru_list_elem", GC, 56, 0),
    ("numpy.ndarray", 0, 88, 0),
    ("array.array", 0, 64, 0),
    ("Other", GC, 160, 8),
];

const DICT: usize = 1;
const STR: usize = 2;
const INT: usize = 3;
const MODULE: usize = 4;
const LIST: usize = 5;
const TUPLE: usize = 6;
const SET: usize = 7;
const BYTES: usize = 8;
const BYTEARRAY: usize = 9;
const DEQUE: usize = 10;
const INSTANCE: usize = 11;
const FRAME: usize = 16;
const CODE: usize = 17;

/// A heap that the bytes describe.
pub fn heap(bytes: &[u8]) {
    let _ = heap_objects(bytes);
}

/// The same; how many objects were counted, or why the heap was refused.
///
/// # Errors
/// What the refusal says.
pub fn heap_objects(bytes: &[u8]) -> Result<usize, String> {
    let mut script = Script(bytes);
    let layout = TABLES[script.next() as usize % TABLES.len()];
    let threads = 1 + script.next() as usize % 2;
    let lies = script.next();
    let image = Made::new(layout, lies, &mut script).image();
    let mapped: u64 = image.maps().iter().map(|map| map.end - map.start).sum();
    let taken = Python::at(&image, RUNTIME).and_then(|python| Census::take(image, python, threads));
    match taken {
        Ok(census) => {
            check(&census, mapped);
            Ok(census.objects().len())
        }
        Err(error) => {
            assert!(!matches!(error, Error::NoPython { .. }));
            Err(error.to_string())
        }
    }
}

fn check(census: &Census, mapped: u64) {
    let total: u64 = census.by_type().iter().map(|(_, total)| total.bytes).sum();
    // Thrice is allowed, and a MiB beside that is claimed only when it is full.
    assert!(total <= 3 * mapped + (1 << 20), "objects of {total} bytes in {mapped} bytes of memory");
    assert!(census.image().bytes_read() <= mapped, "more was read than there is");
    for id in census.objects().ids() {
        assert!(census.path(id).to_string().len() < 1 << 20, "a path that can be shown");
    }
    let summary = census.summary();
    let growth = census.growth_since(&summary);
    assert!(growth.holders.is_empty(), "nothing grew since the same moment: {growth:?}");
}

/// Bytes that decide; 0 where there are no more.
struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn next(&mut self) -> u64 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        u64::from(*first)
    }

    /// What may stand where a word is: an object most often.
    fn word(&mut self) -> u64 {
        let (how, which) = (self.next(), self.next());
        match how % 16 {
            0..8 => object(which),
            8 => which,
            9 => 1 << (which % 64),
            10 => u64::MAX - which,
            11 => object(which) - 16,
            12 => SHARED + which * 8,
            13 => TYPES + which % KINDS.len() as u64 * TYPE,
            14 => 1_000_000_000,
            _ => 0,
        }
    }

    /// How many items an object says it has: few most often.
    fn count(&mut self, most: u64) -> u64 {
        match self.next() {
            few @ 0..=250 => few % (most + 1),
            251 => SHARED_WORDS,
            252 => 1 << 20,
            253 => 1_000_000_000,
            254 => 1 << 45,
            _ => u64::MAX,
        }
    }
}

fn object(which: u64) -> u64 {
    OBJECTS + which % COUNT * SLOT + HEAD
}

/// Memory in pieces.
struct Made {
    layout: &'static Layout,
    pieces: Vec<(u64, Vec<u8>)>,
}

impl Made {
    fn new(layout: &'static Layout, lies: u64, script: &mut Script) -> Self {
        let sizes = [
            (RUNTIME, 4096),
            (INTERPRETER, layout.interp_size + 64),
            (THREAD, layout.thread_size + 512),
            (TYPES, KINDS.len() as u64 * TYPE),
            (NAMES, KINDS.len() as u64 * 64),
            (OBJECTS, COUNT * SLOT),
            (SHARED, SHARED_WORDS * 8),
        ];
        let pieces = sizes.into_iter().map(|(start, len)| (start, vec![0; len as usize])).collect();
        let mut made = Self { layout, pieces };
        made.types();
        made.fixed();
        made.interpreter();
        let kinds = (FIXED..COUNT).map(|which| (which, script.next() as usize % KINDS.len())).collect::<Vec<_>>();
        // Only as many as the bytes go on for.
        let live = kinds.len().min(script.0.len() / 4);
        for (which, kind) in kinds.into_iter().take(live) {
            made.object(which, kind, script);
        }
        made.linked(FIXED + live as u64);
        made.lies(lies, script);
        made
    }

    fn image(self) -> Image {
        self.pieces.into_iter().fold(Fake::new(), |fake, (start, bytes)| fake.segment(start, bytes)).image()
    }

    fn put(&mut self, address: u64, word: u64) {
        self.bytes(address, &word.to_le_bytes());
    }

    fn bytes(&mut self, address: u64, bytes: &[u8]) {
        for (start, piece) in &mut self.pieces {
            let at = address.wrapping_sub(*start) as usize;
            if let Some(slots) = at.checked_add(bytes.len()).and_then(|end| piece.get_mut(at..end)) {
                slots.copy_from_slice(bytes);
            }
        }
    }

    fn types(&mut self) {
        for (n, (name, bits, basic, item)) in (0..).zip(KINDS) {
            let (at, name_at) = (TYPES + n * TYPE, NAMES + n * 64);
            self.bytes(name_at, name.as_bytes());
            let is_instance = bits & flags::HEAPTYPE != 0;
            // Attributes lie in a dict of their own in old versions.
            let apart = is_instance && self.layout.attributes == Attributes::Dict;
            for (offset, word) in [(0, 1), (8, TYPES), (24, name_at), (32, basic), (40, item), (168, bits)] {
                self.put(at + offset, word);
            }
            self.put(at + 288, if apart { 16 } else { 0 });
            if is_instance {
                self.put(at + self.layout.cached_keys, object(1) + 128);
            }
        }
    }

    fn header(&mut self, at: u64, kind: usize) {
        self.put(at, 1);
        self.put(at + 8, TYPES + kind as u64 * TYPE);
    }

    fn text(&mut self, which: u64, text: &str) {
        let at = object(which);
        self.header(at, STR);
        self.put(at + 16, text.len() as u64);
        self.put(at + 32, (1 | 8 | 16) << self.layout.str_state_shift);
        self.bytes(at + self.layout.ascii_size, text.as_bytes());
    }

    fn dict(&mut self, which: u64, entries: &[(u64, u64)]) {
        let at = object(which);
        self.header(at, DICT);
        self.put(at + 16, entries.len() as u64);
        self.put(at + 32, at + 64);
        self.keys(at + 64, entries);
    }

    /// A table for five entries.
    fn keys(&mut self, at: u64, entries: &[(u64, u64)]) {
        self.put(at, 1);
        let (free, used) = (5_u64.saturating_sub(entries.len() as u64), entries.len() as u64);
        let first = match self.layout.keys {
            Keys::Wide => {
                self.put(at + 8, 8);
                self.put(at + 24, free);
                self.put(at + 32, used);
                at + 48
            }
            Keys::Packed => {
                self.bytes(at + 8, &[3, 3, 0, 0]);
                self.put(at + 16, free);
                self.put(at + 24, used);
                at + 40
            }
        };
        for (n, (key, value)) in (0..).zip(entries) {
            self.put(first + n * 24 + 8, *key);
            self.put(first + n * 24 + 16, *value);
        }
    }

    /// What a look needs to find its way: `sys.modules` with three modules, and the version.
    fn fixed(&mut self) {
        self.dict(0, &[(object(2), object(5)), (object(3), object(6)), (object(4), object(7))]);
        for (which, text) in [(2, "__main__"), (3, "builtins"), (4, "sys"), (8, "hexversion"), (9, "data"), (10, "x")] {
            self.text(which, text);
        }
        for (which, name) in [(5, 2), (6, 3), (7, 4)] {
            let at = object(which);
            self.header(at, MODULE);
            self.put(at + self.layout.module_dict, object(which + 6));
            self.put(at + self.layout.module_name, object(name));
        }
        self.dict(11, &[(object(9), object(FIXED)), (object(10), object(FIXED + 1))]);
        self.dict(12, &[]);
        self.dict(13, &[(object(8), object(14))]);
        let at = object(14);
        self.header(at, INT);
        self.put(at + 16, if self.layout.digits == Digits::Tag { 1 << 3 } else { 1 });
        self.put(at + 24, 0x0300_01f0 | u64::from(self.layout.minor) << 16);
        // The keys that instances share.
        self.text(1, "k");
        self.keys(object(1) + 128, &[(object(9), 0), (object(10), 0)]);
    }

    fn interpreter(&mut self) {
        let layout = self.layout;
        if layout.minor >= 13 {
            self.bytes(RUNTIME, b"xdebugpy");
            let Frames::Interpreter { code, previous, localsplus, owner, .. } = layout.frame else { return };
            // 3.14 has one word more before the collector's place and two more behind it.
            let (interpreter, thread) = if layout.minor >= 14 { (1, 3) } else { (0, 0) };
            let words = [
                (0, 0x0300_01f0 | u64::from(layout.minor) << 16),
                (4, layout.interpreters_head),
                (5, layout.interp_size),
                (6, layout.interp_id),
                (7, layout.interp_next),
                (8, layout.interp_threads),
                (9 + interpreter, layout.interp_gc),
                (10 + interpreter, layout.interp_modules),
                (18 + thread, layout.thread_size),
                (20 + thread, layout.thread_next),
                (22 + thread, layout.thread_frame),
                (23 + thread, layout.thread_ident),
                (24 + thread, layout.thread_native.unwrap_or(0)),
                (28 + thread, previous),
                (29 + thread, code),
                (31 + thread, localsplus),
                (32 + thread, owner),
            ];
            for (index, word) in words {
                self.put(RUNTIME + 8 + 8 * index, word);
            }
        }
        self.put(RUNTIME + layout.interpreters_head, INTERPRETER);
        self.put(INTERPRETER + layout.interp_modules, object(0));
        self.put(INTERPRETER + layout.interp_threads, THREAD);
        // The last object is a frame, the one before its code.
        let frame = object(COUNT - 1);
        match layout.cframe_frame {
            Some(offset) => {
                self.put(THREAD + layout.thread_frame, THREAD + layout.thread_size + 64);
                self.put(THREAD + layout.thread_size + 64 + offset, frame);
            }
            None => self.put(THREAD + layout.thread_frame, frame),
        }
        self.header(object(COUNT - 2), CODE);
        let (Frames::Object { code, .. } | Frames::Interpreter { code, .. }) = layout.frame;
        if matches!(layout.frame, Frames::Object { .. }) {
            self.header(frame, FRAME);
        }
        self.put(frame + code, object(COUNT - 2));
        for n in 0..SHARED_WORDS {
            self.put_shared(n, object(n));
        }
    }

    /// The last piece; by its place, since there are many.
    fn put_shared(&mut self, n: u64, word: u64) {
        if let Some((_, piece)) = self.pieces.last_mut() {
            piece[n as usize * 8..n as usize * 8 + 8].copy_from_slice(&word.to_le_bytes());
        }
    }

    /// One object as its kind has it.
    fn object(&mut self, which: u64, kind: usize, script: &mut Script) {
        let at = object(which);
        self.header(at, kind);
        let own = at + 200;
        let items = |made: &mut Self, from: u64, most: u64, script: &mut Script| {
            for n in 0..script.next() % (most + 1) {
                let item = script.word();
                made.put(from + n * 8, item);
            }
        };
        match kind {
            DICT => {
                let entries: Vec<_> = (0..script.next() % 6).map(|_| (script.word(), script.word())).collect();
                self.dict(which, &entries);
            }
            STR => self.text(which, &"text"[..script.next() as usize % 5]),
            INT => self.put(at + 16, script.count(4)),
            LIST => {
                let count = script.count(24);
                let place = if count > 24 { SHARED } else { own };
                for (offset, word) in [(16, count), (24, place), (32, count)] {
                    self.put(at + offset, word);
                }
                items(self, own, 24, script);
            }
            TUPLE | BYTES => {
                self.put(at + 16, script.count(24));
                let first = if kind == TUPLE { self.layout.tuple_items } else { 24 };
                items(self, at + first, 24, script);
            }
            SET => {
                for (offset, word) in [(16, 3), (24, 3), (32, script.count(7)), (40, at + 64)] {
                    self.put(at + offset, word);
                }
                items(self, at + 64, 16, script);
            }
            BYTEARRAY => {
                let count = script.count(64);
                for (offset, word) in [(16, count), (24, count), (32, SHARED)] {
                    self.put(at + offset, word);
                }
            }
            DEQUE => {
                let block = SHARED + script.next() * 528;
                for (offset, word) in [(16, script.count(64)), (24, block), (32, block), (40, script.next() % 64)] {
                    self.put(at + offset, word);
                }
            }
            INSTANCE => {
                let values = own;
                match self.layout.attributes {
                    Attributes::Dict => self.put(at + 16, script.word()),
                    Attributes::Apart => self.put(at - 32, values),
                    Attributes::Tagged => self.put(at - 24, values - 1),
                    Attributes::Inline => self.bytes(at + 24, &[5, 2, 0, 1]),
                }
                items(self, if self.layout.attributes == Attributes::Inline { at + 32 } else { values }, 5, script);
            }
            _ => items(self, at + 16, 40, script),
        }
    }

    /// Links the collector's lists: all objects in the first, the others empty.
    fn linked(&mut self, end: u64) {
        let layout = self.layout;
        let collector = layout.runtime_gc.map_or(INTERPRETER + layout.interp_gc, |offset| RUNTIME + offset);
        for offset in layout.generations {
            let head = collector + offset;
            self.put(head, head);
            self.put(head + 8, head);
        }
        let Some(first) = layout.generations.first() else { return };
        let head = collector + first;
        let mut before = head;
        for which in FIXED..end {
            let node = object(which) - 16;
            self.put(before, node);
            self.put(node + 8, before);
            before = node;
        }
        self.put(before, head);
        self.put(head + 8, before);
    }

    /// Words that are not what they should be.
    fn lies(&mut self, count: u64, script: &mut Script) {
        for _ in 0..count {
            let (piece, high, low) = (script.next(), script.next(), script.next());
            // Objects most often, and in those their first words.
            let (start, bytes) = &self.pieces[if piece < 7 { piece as usize } else { 5 }];
            let at = start + (high << 8 | low) * 8 % (bytes.len() as u64 / 8 * 8).max(8);
            let word = script.word();
            self.put(at, word);
        }
    }
}
