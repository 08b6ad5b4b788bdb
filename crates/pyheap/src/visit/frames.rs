//! Frames, and what is kept in them: by the threads' stacks, by frame objects, by generators.

use super::{Label, Sink, named};
use crate::offsets::{Frames, Locals, Top};
use crate::read::Reader;

/// More locals than the compiler allows in any real function.
const LOCALS_LIMIT: u64 = 1 << 16;
/// More values than any stack has.
const STACK_LIMIT: u64 = 1 << 12;

/// `FRAME_OWNED_BY_FRAME_OBJECT`.
const BY_FRAME_OBJECT: u8 = 2;
/// `FRAME_OWNED_BY_CSTACK`, and above.
const BY_C: u8 = 3;

/// The folder that the marks of a program under `lowtide run` are loaded from, within a path.
const OURS: &str = "/_lowtide/";
/// Parts of the names of files of installed code.
const INSTALLED: [&str; 3] = ["/site-packages/", "/dist-packages/", "/lib/python3."];

/// A frame: an object before 3.11, a struct after that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Where it is.
    pub address: u64,
    /// Its code object.
    pub code: u64,
    /// The caller.
    pub previous: Option<u64>,
}

impl Frame {
    /// Reads a frame; `None` where there is none. `code` is 0 for frames of the interpreter itself.
    #[must_use]
    pub fn read(read: Reader<'_>, address: u64) -> Option<Self> {
        let (code, previous) = match read.layout.frame {
            Frames::Object { code, back, .. } => (code, back),
            Frames::Interpreter { code, previous, .. } => (code, previous),
        };
        let previous = read.pointer(address.checked_add(previous)?);
        let mut code = untagged(read.image.u64(address.checked_add(code)?)?).unwrap_or(0);
        if let Frames::Interpreter { owner, .. } = read.layout.frame
            && read.image.u8(address.checked_add(owner)?)? >= BY_C
        {
            code = 0;
        }
        Some(Self { address, code, previous })
    }

    /// Whether it runs code of lowtide's own marks: what such a frame holds is the program's, which has better names for it.
    #[must_use]
    pub fn is_ours(&self, read: Reader<'_>) -> bool {
        self.file(read).is_some_and(|file| file.contains(OURS))
    }

    /// Whether it runs code that is installed, not the program's own.
    #[must_use]
    pub fn is_of_library(&self, read: Reader<'_>) -> bool {
        let installed = |file: &str| INSTALLED.iter().any(|part| file.contains(part)) || file.starts_with("<frozen ");
        self.file(read).is_some_and(|file| installed(&file))
    }

    /// The file of its code.
    fn file(&self, read: Reader<'_>) -> Option<String> {
        let name = self.code.checked_add(read.layout.code_filename).and_then(|at| read.pointer(at));
        name.filter(|_| self.code != 0).and_then(|name| read.text(name))
    }

    /// The locals that it keeps alive.
    pub fn locals(&self, read: Reader<'_>, sink: &mut impl Sink) {
        if self.code == 0 {
            return;
        }
        let (Frames::Object { localsplus, .. } | Frames::Interpreter { localsplus, .. }) = read.layout.frame;
        each_local(read, self.address.saturating_add(localsplus), locals(read, self.code).unwrap_or(0), sink);
    }

    /// What else it keeps alive: the dict of its locals (a module's is known as the module's by now), the values on its stack, its function, its code. A running frame does not say how much of its
    /// stack is in use, so stale values are among them: what comes as [`Label::Stack`] must be checked.
    pub fn rest(&self, read: Reader<'_>, sink: &mut impl Sink) {
        if self.code == 0 {
            return;
        }
        let count = locals(read, self.code).unwrap_or(0);
        let depth = self.code.checked_add(read.layout.code_stack).and_then(|at| read.image.u32(at)).map_or(0, u64::from);
        let (Frames::Object { locals: dict, .. } | Frames::Interpreter { locals: dict, .. }) = read.layout.frame;
        if let Some(dict) = self.address.checked_add(dict).and_then(|at| read.pointer(at)) {
            sink.guess(dict, Label::Named("locals()"));
        }
        sink.edge(self.code, Label::Named("f_code"));
        match read.layout.frame {
            Frames::Object { localsplus, .. } => {
                sink.guess(self.address, Label::Named("frame object"));
                stack(read, self.address.saturating_add(localsplus + 8 * count), depth.min(STACK_LIMIT), sink);
            }
            Frames::Interpreter { localsplus, .. } => {
                interpreter(read, self.address, self.code, true, sink);
                stack(read, self.address.saturating_add(localsplus + 8 * count), depth.min(STACK_LIMIT), sink);
            }
        }
    }

    /// The name of a free variable of a function: they are the last of its locals.
    #[must_use]
    pub fn free_name(read: Reader<'_>, code: u64, position: u64) -> Option<String> {
        let name = match read.layout.locals {
            Locals::Apart { free, .. } => read.tuple_item(read.pointer(code.checked_add(free)?)?, position)?,
            Locals::Plus { names, kinds, .. } => {
                // CO_FAST_FREE (Include/internal/pycore_code.h).
                let kinds = read.byte_string(read.pointer(code.checked_add(kinds)?)?, LOCALS_LIMIT as usize)?;
                let first = kinds.iter().position(|kind| kind & 0x80 != 0)? as u64;
                read.tuple_item(read.pointer(code.checked_add(names)?)?, first.checked_add(position)?)?
            }
        };
        read.text(name)
    }

    /// The name of the local at a position.
    #[must_use]
    pub fn local_name(read: Reader<'_>, code: u64, position: u32) -> Option<String> {
        let position = u64::from(position);
        let name = match read.layout.locals {
            Locals::Plus { names, .. } => read.tuple_item(read.pointer(code + names)?, position)?,
            Locals::Apart { names, cells, free, count } => {
                let plain = u64::from(read.image.u32(code + count)?);
                let cells = read.pointer(code + cells)?;
                let cell_count = read.len(cells)?;
                if position < plain {
                    read.tuple_item(read.pointer(code + names)?, position)?
                } else if position < plain + cell_count {
                    read.tuple_item(cells, position - plain)?
                } else {
                    read.tuple_item(read.pointer(code + free)?, position - plain - cell_count)?
                }
            }
        };
        read.text(name)
    }
}

/// How many locals, cells and free variables a code object has.
fn locals(read: Reader<'_>, code: u64) -> Option<u64> {
    let count = match read.layout.locals {
        Locals::Plus { count, .. } => u64::from(read.image.u32(code.checked_add(count)?)?),
        Locals::Apart { cells, free, count, .. } => {
            let tuple = |offset: u64| read.pointer(code.checked_add(offset)?).and_then(|tuple| read.len(tuple));
            u64::from(read.image.u32(code.checked_add(count)?)?).checked_add(tuple(cells)?)?.checked_add(tuple(free)?)?
        }
    };
    (count <= LOCALS_LIMIT).then_some(count)
}

/// A frame object.
pub fn object(read: Reader<'_>, object: u64, sink: &mut impl Sink) {
    match read.layout.frame {
        Frames::Object { back, code, locals: dict, trace, valuestack, stackdepth, stacktop, localsplus, .. } => {
            let Some(code_object) = read.pointer(object + code) else { return };
            let count = locals(read, code_object).unwrap_or(0);
            each_local(read, object + localsplus, count, sink);
            named(read, object, &[(dict, "locals()"), (code, "f_code"), (trace, "f_trace"), (back, "f_back")], sink);
            let Some(base) = read.image.u64(object + valuestack) else { return };
            // A running frame of 3.8 and 3.9 does not say how much of its stack is in use; nothing is taken from it then.
            let top = match (stackdepth, stacktop) {
                (Some(depth), _) => {
                    read.image.i32(object + depth).and_then(|depth| base.checked_add(8 * u64::try_from(depth).ok()?))
                }
                (None, Some(top)) => read.pointer(object + top),
                (None, None) => None,
            };
            let used = top.and_then(|top| top.checked_sub(base)).unwrap_or(0) / 8;
            read.words(base, used.min(STACK_LIMIT), |_, word| sink.edge(word, Label::Stack));
        }
        Frames::Interpreter { object_frame, code, owner, .. } => {
            named(read, object, &[(16, "f_back"), (32, "f_trace")], sink);
            let Some(frame) = read.pointer(object + object_frame) else { return };
            // Else the thread's stack or the generator has it.
            if frame.checked_add(owner).and_then(|at| read.image.u8(at)) == Some(BY_FRAME_OBJECT)
                && let Some(code) = read.pointer(frame + code).and_then(untagged)
            {
                interpreter(read, frame, code, false, sink);
            }
        }
    }
}

/// A generator, coroutine or asynchronous generator.
pub fn generator(read: Reader<'_>, object: u64, sink: &mut impl Sink) {
    match read.layout.frame {
        Frames::Object { generator_frame, .. } => named(read, object, &[(generator_frame, "gi_frame")], sink),
        Frames::Interpreter { generator_frame, generator_state, code, .. } => {
            // Below 0 while it waits, 0 while it runs, above that when it is done.
            let state = read.image.u8(object + generator_state).map_or(1, |state| state as i8);
            let frame = object + generator_frame;
            if state <= 0
                && let Some(code) = read.pointer(frame + code).and_then(untagged)
            {
                interpreter(read, frame, code, state == 0, sink);
            }
        }
    }
    named(read, object, read.layout.generator, sink);
}

/// A frame of 3.11 and newer, and whether it may be running: then a pointer to the top of its stack is an old one.
fn interpreter(read: Reader<'_>, frame: u64, code: u64, runs: bool, sink: &mut impl Sink) {
    let Frames::Interpreter { function, locals: dict, frame_object, stacktop, localsplus, .. } = read.layout.frame else {
        return;
    };
    let count = locals(read, code).unwrap_or(0);
    each_local(read, frame + localsplus, count, sink);
    sink.edge(code, Label::Named("f_code"));
    let fields = [(dict, "locals()"), (function, "function"), (frame_object, "frame object")];
    for (offset, name) in fields {
        // Set for complete frames only: what stands there in another is not checked by anybody else.
        if let Some(word) = frame.checked_add(offset).and_then(|at| read.pointer(at)).and_then(untagged) {
            sink.guess(word, Label::Named(name));
        }
    }
    let first = frame + localsplus + 8 * count;
    let used = match stacktop {
        // -1 while it runs.
        Top::Count(offset) => {
            let top = frame.checked_add(offset).and_then(|at| read.image.i32(at)).and_then(|top| u64::try_from(top).ok());
            top.map_or(0, |top| top.saturating_sub(count))
        }
        Top::Pointer(_) if runs => 0,
        Top::Pointer(offset) => {
            let top = frame.checked_add(offset).and_then(|at| read.pointer(at));
            top.map_or(0, |top| top.saturating_sub(first) / 8)
        }
    };
    read.words(first, used.min(STACK_LIMIT), |_, word| {
        if let Some(object) = untagged(word) {
            sink.edge(object, Label::Stack);
        }
    });
}

/// What a word of a frame refers to: from 3.14 on its lowest bit marks a borrowed reference, and the two lowest ones a number
/// (Include/internal/pycore_stackref.h).
pub fn untagged(word: u64) -> Option<u64> {
    (word & 3 != 3 && word > 4096).then_some(word & !1)
}

fn each_local(read: Reader<'_>, first: u64, count: u64, sink: &mut impl Sink) {
    read.words(first, count, |index, word| {
        if let Some(object) = untagged(word) {
            sink.guess(object, Label::Local(index as u32));
        }
    });
}

fn stack(read: Reader<'_>, first: u64, count: u64, sink: &mut impl Sink) {
    read.words(first, count, |_, word| {
        if let Some(object) = untagged(word) {
            sink.guess(object, Label::Stack);
        }
    });
}
