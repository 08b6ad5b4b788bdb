//! One look at each page of the memory that no heap claims: whose is it?
//!
//! Anonymous maps hold malloc's large chunks and Python's arenas, joined by the kernel as it likes. Both say at the start of
//! a page what they are. Pages that are not in memory are not looked at: that would bring them back from swap.

use super::area::{Areas, is_anonymous};
use super::glibc::{self, Mapped};
use super::pymalloc;
use super::resident::{PAGE, Resident};
use super::window::Window;

/// Looks at most, one system call each: 8 GiB of memory that is neither.
const LOOKS: u64 = 2 << 20;

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

/// Looks at every resident page of every anonymous map outside of `reserved` (sorted, apart from each other).
pub fn sweep(window: &mut Window<'_>, areas: Areas<'_>, resident: &Resident, reserved: &[(u64, u64)]) -> Sweep {
    let mut out = Sweep::default();
    let mut looks = 0;
    for area in areas.iter().filter(|area| is_anonymous(area) && area.perms.read && area.perms.write) {
        let mut at = area.start;
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
            looks += 1;
            at = look(window, at, area.end, &mut out);
        }
    }
    out
}

/// Looks at one page and returns the next to be looked at.
fn look(window: &mut Window<'_>, page: u64, end: u64, out: &mut Sweep) -> u64 {
    let Some(head) = window.peek::<{ pymalloc::HEADER }>(page) else { return page + PAGE };
    if let Some(pool) = pymalloc::pool(page, &head) {
        out.pymalloc.add(page, pool, end);
        return page + pool.size;
    }
    let mut first = [0; 16];
    first.copy_from_slice(&head[..16]);
    if let Some(mapped) = glibc::mapped_at(page, &first, end) {
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
