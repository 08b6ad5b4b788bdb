//! Stacks of threads: a guard page, the stack, and at its top the C library's record of the thread.

use super::area::{Areas, is_anonymous};
use super::window::Window;

/// How far above a stack pointer the thread's record is looked for. Stacks are 8 MiB, of which little is in use.
const REACH: u64 = 8 << 20;
/// Words of the record that hold its own address (`tcbhead_t.tcb` and `.self`, x86-64): how it is told.
const SELF: u64 = 16;
/// The record's size, near enough: it is rounded up to a page.
const RECORD: u64 = 2304;

/// The stacks that the stack pointers lie in, as ranges of addresses.
pub fn find(window: &mut Window<'_>, areas: Areas<'_>, pointers: &[u64]) -> Vec<(u64, u64)> {
    let mut pointers = pointers.to_vec();
    pointers.sort_unstable();
    let mut found: Vec<(u64, u64)> = Vec::new();
    for pointer in pointers {
        let below = found.last().map_or(0, |stack| stack.1);
        let area = areas.find(pointer).filter(|area| pointer >= below && is_anonymous(area) && area.perms.write);
        let Some(area) = area else { continue };
        // Below the stack is its guard, which parts it from other maps; since glibc 2.42 on newer kernels it does not, and stacks
        // of several threads lie in one map, back to back. Above a stack the kernel may have joined anything.
        found.push((area.start.max(below), record(window, pointer, area.end).unwrap_or(area.end)));
    }
    found
}

fn record(window: &mut Window<'_>, pointer: u64, end: u64) -> Option<u64> {
    let mut at = pointer.checked_next_multiple_of(64)?;
    let last = end.min(pointer.saturating_add(REACH));
    while at < last && last - at >= SELF + 8 {
        if window.u64(at) == Some(at) && window.u64(at + SELF) == Some(at) {
            return Some(at.saturating_add(RECORD).checked_next_multiple_of(4096).map_or(end, |top| top.min(end)));
        }
        at += 64;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowtide_remote::Fake;

    #[test]
    fn stacks_that_share_a_map_are_told_apart_by_their_records() {
        let start = 0x7000_0000;
        let mut memory = Fake::new().segment(start, vec![0; 0x8000]);
        for record in [start + 0x2f00, start + 0x5f00] {
            memory = memory.word(record, record).word(record + SELF, record);
        }
        let image = memory.image();
        let find = |pointers: &[u64]| find(&mut Window::new(&image), Areas::new(image.maps()), pointers);
        let (first, second) = ((start, start + 0x4000), (start + 0x4000, start + 0x7000));
        assert_eq!(find(&[start + 0x5000, start + 0x2000, start + 0x2e00]), [first, second]);
        assert_eq!(find(&[start + 0x2000]), [first]);
        assert_eq!(find(&[start + 0x7800]), [(start, start + 0x8000)], "no record above it: all that may be its own");
        assert_eq!(find(&[0x1000]), []);
    }
}
