//! Whether a layout fits what is there: its structures are followed, and every link must lead where it should.

use super::layout::{Layout, fixed};
use crate::error::Version;
use crate::read::Reader;
use lowtide_remote::Image;

/// No state of an interpreter is larger (the largest known has 375 KiB, in 3.12), and none of a thread (0.4 KiB).
const INTERPRETER: u64 = 4 << 20;
const THREAD: u64 = 64 << 10;

/// Follows the structures of the main interpreter; gives the version that `sys` names, or what does not fit.
pub fn fits(image: &Image, runtime: u64, layout: &Layout) -> Result<Version, &'static str> {
    let read = Reader { image, layout };
    let field = |base: u64, offset: u64| base.checked_add(offset).and_then(|at| read.pointer(at));
    if layout.interp_size > INTERPRETER || layout.thread_size > THREAD {
        return Err("states larger than any");
    }
    let interpreter = field(runtime, layout.interpreters_head).ok_or("no interpreter")?;
    let thread = field(interpreter, layout.interp_threads).ok_or("no thread")?;
    if !image.is_mapped(thread, layout.thread_size) {
        return Err("a thread state outside memory");
    }
    let modules = field(interpreter, layout.interp_modules).ok_or("no sys.modules")?;
    let dict_type = read.type_of(modules).ok_or("sys.modules outside memory")?;
    let type_type = read.type_of(dict_type).ok_or("sys.modules has no type")?;
    if read.type_of(type_type) != Some(type_type) || !is_named(image, type_type, b"type") {
        return Err("the type of the type of sys.modules is not type");
    }
    if !is_named(image, dict_type, b"dict") {
        return Err("sys.modules is no dict");
    }
    lists(image, layout, runtime, interpreter)?;
    read.dict_get(modules, "builtins").ok_or("no module builtins")?;
    let sys = read.dict_get(modules, "sys").ok_or("no module sys")?;
    let sys_dict = field(sys, layout.module_dict).ok_or("sys has no dict")?;
    let hex = read.dict_get(sys_dict, "hexversion").and_then(|object| read.int(object)).ok_or("no sys.hexversion")?;
    let version = Version::from_hex(hex.unsigned_abs());
    if version.major != 3 || version.minor != layout.minor {
        return Err("sys.hexversion is of another version");
    }
    Ok(version)
}

fn is_named(image: &Image, object: u64, name: &[u8]) -> bool {
    let text = object.checked_add(fixed::TP_NAME).and_then(|at| image.u64(at)).and_then(|at| image.cstr(at, 64));
    text.is_some_and(|text| *text == *name)
}

/// The heads of the collector's lists: each must be linked with its neighbours, unless the collector runs.
fn lists(image: &Image, layout: &Layout, runtime: u64, interpreter: u64) -> Result<(), &'static str> {
    let collector = collector(layout, runtime, interpreter);
    for offset in layout.generations {
        let head = collector.checked_add(*offset).ok_or("no collector")?;
        // The two lowest bits are flags.
        let next = image.u64(head).ok_or("the collector is outside memory")? & !3;
        let back = next.checked_add(8).and_then(|at| image.u64(at));
        if back.map(|back| back & !3) != Some(head) && image.u32(collector + layout.gc_collecting) == Some(0) {
            return Err("a list of the collector is not linked");
        }
    }
    Ok(())
}

/// Where the collector of an interpreter is.
pub fn collector(layout: &Layout, runtime: u64, interpreter: u64) -> u64 {
    match layout.runtime_gc {
        Some(offset) => runtime.wrapping_add(offset),
        None => interpreter.wrapping_add(layout.interp_gc),
    }
}

#[cfg(test)]
mod tests {
    use super::super::v3_13;
    use super::*;
    use lowtide_remote::Fake;

    /// A collector whose lists, with their heads at these offsets, are all empty.
    fn collector_with(heads: &[u64]) -> Image {
        let at = 0x1000 + v3_13::LAYOUT.interp_gc;
        let memory = Fake::new().segment(0x1000, vec![0; 0x3000]);
        heads.iter().fold(memory, |memory, head| memory.word(at + head, at + head).word(at + head + 8, at + head)).image()
    }

    #[test]
    fn lists_of_either_alignment_are_told_by_their_links() {
        let fits = |heads, layout| lists(&collector_with(heads), layout, 0, 0x1000);
        let (wide, narrow) = (&v3_13::LAYOUT, &v3_13::NARROW);
        assert_eq!(fits(wide.generations, wide), Ok(()));
        assert_eq!(fits(narrow.generations, narrow), Ok(()));
        assert_eq!(fits(narrow.generations, wide), Err("a list of the collector is not linked"));
        assert_eq!(fits(wide.generations, narrow), Err("a list of the collector is not linked"));
    }
}
