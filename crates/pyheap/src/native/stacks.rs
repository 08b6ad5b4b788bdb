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
    let mut found: Vec<(u64, u64)> = pointers
        .iter()
        .filter_map(|&pointer| {
            let area = areas.find(pointer).filter(|area| is_anonymous(area) && area.perms.write)?;
            // Below the stack is its guard, so that the map begins with it; above it the kernel may have joined anything.
            Some((area.start, record(window, pointer, area.end).unwrap_or(area.end)))
        })
        .collect();
    found.sort_unstable();
    found.dedup_by_key(|stack| stack.0);
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
