//! One look at each page of the memory that no heap claims: whose is it?
//!
//! Anonymous maps hold malloc's large chunks and Python's arenas, joined by the kernel as it likes. Both say at the start of
//! a page what they are. Pages that are not in memory are not looked at: that would bring them back from swap.

use super::area::{Areas, is_anonymous};
use super::glibc::{self, Mapped};
use super::pymalloc;
use super::resident::{PAGE, Resident};
use super::window::Window;

/// Looks at most: 8 GiB of memory that is neither.
const LOOKS: u64 = 2 << 20;
/// Pages that are read at once, at most.
const ROW: usize = 256;
/// The largest distance of pages in a row: that of Python's pools.
const STEP: u64 = 16 << 10;

/// What the pages turned out to be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sweep {
    /// malloc's chunks with a map of their own, in order of address.
    pub mapped: Vec<Mapped>,
    /// Python's arenas.
    pub pymalloc: pymalloc::Survey,
    /// Bytes that were not looked at, since there was too much.
    pub skipped: u64,
}

/// Looks at every resident page of every anonymous map outside of `reserved` (sorted, apart from each other). `tail` is
/// malloc's (`Survey::mapped_tail`).
pub fn sweep(window: &mut Window<'_>, areas: Areas<'_>, resident: &Resident, reserved: &[(u64, u64)], tail: u64) -> Sweep {
    let mut out = Sweep::default();
    let mut looks = 0;
    for area in areas.iter().filter(|area| is_anonymous(area) && area.perms.read && area.perms.write) {
        let mut at = area.start;
        // Pages that tell nothing come in long rows, and so do pools: the longer a row is, the more of it is read at once.
        let (mut row, mut step) = (1, PAGE);
        while at < area.end {
            if let Some(end) = covered(reserved, at) {
                out.pymalloc.cut(at);
                at = end;
                continue;
            }
            let Some(page) = resident.next(at) else { break };
            if page > at {
                at = page & !(PAGE - 1);
                continue;
            }
            if looks >= LOOKS {
                out.skipped += area.end - at;
                break;
            }
            let pages = pages(at, area.end, step, row, resident, reserved);
            let heads = window.peek_each(&pages);
            row = (row * 2).min(ROW);
            for (page, head) in pages.into_iter().zip(heads) {
                looks += 1;
                at = look(page, head, area.end, tail, &mut out);
                if at != page + step {
                    (row, step) = (1, (at - page).min(STEP));
                    break;
                }
            }
        }
    }
    out
}

/// The page at `at`, and up to `most` in all that follow it at this distance, are resident and not `reserved`.
fn pages(at: u64, end: u64, step: u64, most: usize, resident: &Resident, reserved: &[(u64, u64)]) -> Vec<u64> {
    let there = resident.run(at).map_or(at, |(_, run_end)| run_end);
    let row = (at..end.min(there).max(at + 1)).step_by(step as usize).take(most);
    row.take_while(|page| covered(reserved, *page).is_none()).collect()
}

/// What one page says by its head; returns the next to be looked at.
fn look(page: u64, head: Option<[u8; pymalloc::HEADER]>, end: u64, tail: u64, out: &mut Sweep) -> u64 {
    let Some(head) = head else { return page + PAGE };
    if let Some(pool) = pymalloc::pool(page, &head) {
        out.pymalloc.add(page, pool, end);
        return page + pool.size;
    }
    let mut first = [0; 16];
    first.copy_from_slice(&head[..16]);
    if let Some(mapped) = glibc::mapped_at(page, &first, end, tail) {
        out.pymalloc.cut(page);
        out.mapped.push(mapped);
        return page + mapped.size;
    }
    page + PAGE
}

fn covered(reserved: &[(u64, u64)], at: u64) -> Option<u64> {
    let i = reserved.partition_point(|(start, _)| *start <= at);
    reserved.get(i.checked_sub(1)?).map(|(_, end)| *end).filter(|&end| at < end)
}
