//! The collector's lists: every object that may be part of a cycle is in one of them.

use crate::error::Error;
use crate::offsets::fixed;
use crate::python::Python;
use crate::read::Reader;

/// Calls `each` for every object in the lists of all interpreters; it says whether to go on. Nothing is added where a
/// list does not hold together: then the target was not still.
pub fn each(python: &Python, read: Reader<'_>, mut each: impl FnMut(u64) -> bool) -> Result<(), Error> {
    let mut collectors: Vec<u64> = python.interpreters.iter().map(|interpreter| interpreter.collector).collect();
    collectors.dedup();
    for collector in collectors {
        for offset in python.layout.generations {
            list(read, collector.wrapping_add(*offset), &mut each)?;
        }
    }
    Ok(())
}

fn list(read: Reader<'_>, head: u64, each: &mut impl FnMut(u64) -> bool) -> Result<(), Error> {
    let torn = |at: u64, what: &'static str| Error::Torn { at, what };
    let next = |node: u64| read.image.u64(node).map(|next| next & !3);
    let mut before = head;
    let mut node = next(head).ok_or(torn(head, "it is outside memory"))?;
    while node != head {
        // The two lowest bits are flags of the collector's.
        let back = node.checked_add(8).and_then(|at| read.image.u64(at)).map(|back| back & !3);
        if back != Some(before) {
            return Err(torn(node, "a link does not lead back"));
        }
        let Some(object) = node.checked_add(fixed::GC_HEAD) else { return Err(torn(node, "a link leads nowhere")) };
        if !each(object) {
            return Ok(());
        }
        before = node;
        node = next(node).ok_or(torn(node, "a link leads outside memory"))?;
    }
    Ok(())
}
