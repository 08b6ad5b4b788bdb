//! Asking the kernel for the pages that are there, instead of a word for each that could be (Linux 6.7).
//!
//! `PAGEMAP_SCAN` of `/proc/PID/pagemap` (the kernel's Documentation/admin-guide/mm/pagemap.rst): it steps over what is reserved and
//! empty without a word, and a CUDA process reserves a thousand times what it uses.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use crate::pages::{Stretch, kernel_page};

/// `_IOWR('f', 16, struct pm_scan_arg)`.
const PAGEMAP_SCAN: libc::c_ulong = 0xc060_6610;
const IS_FILE: u64 = 1 << 2;
const IS_PRESENT: u64 = 1 << 3;
const IS_SWAPPED: u64 = 1 << 4;
/// The one page of zeros that all memory shows which was read and never written: it is nobody's.
const IS_ZERO_PAGE: u64 = 1 << 5;
/// Stretches that are told by one call, at most.
const REGIONS: usize = 1024;
/// Addresses asked for by one call, in bytes: the kernel holds the address space for that long, some 1 ms where all of it is there.
const AT_ONCE: u64 = 1 << 30;

/// `struct pm_scan_arg` (include/uapi/linux/fs.h).
#[repr(C)]
#[derive(Default)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

/// `struct page_region`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

/// Tells the stretches of private pages between two addresses. Fails with `Unsupported`, and has told nothing, where the kernel does
/// not know the question.
pub fn scan(pagemap: &File, start: u64, end: u64, tell: &mut dyn FnMut(Stretch)) -> io::Result<()> {
    let page = kernel_page();
    let end = end.next_multiple_of(page);
    let mut regions = [Region::default(); REGIONS];
    let mut at = start / page * page;
    while at < end {
        let stop = end.min(at.saturating_add(AT_ONCE));
        let mut asked = Scan {
            size: size_of::<Scan>() as u64,
            start: at,
            end: stop,
            vec: regions.as_mut_ptr() as u64,
            vec_len: REGIONS as u64,
            category_inverted: IS_FILE | IS_ZERO_PAGE,
            category_mask: IS_FILE | IS_ZERO_PAGE,
            category_anyof_mask: IS_PRESENT | IS_SWAPPED,
            return_mask: IS_PRESENT | IS_SWAPPED,
            ..Scan::default()
        };
        // SAFETY: the kernel writes `walk_end`, and up to `vec_len` regions at `vec`; both live until it returns.
        let found = unsafe { libc::ioctl(pagemap.as_raw_fd(), PAGEMAP_SCAN, &raw mut asked) };
        let Ok(found) = usize::try_from(found) else {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::ENOTTY | libc::EINVAL | libc::ENOSYS) => Err(io::ErrorKind::Unsupported.into()),
                _ => Err(error),
            };
        };
        for region in regions.iter().take(found) {
            let swapped = region.categories & IS_PRESENT == 0;
            tell(Stretch { start: region.start, end: region.end, swapped });
        }
        // It stops before the end where there were too many regions. (What it says in `walk_end` may lie before regions that it told:
        // seen with Linux 6.18.)
        at = regions.last().filter(|_| found >= REGIONS).map_or(stop, |last| last.end.max(at + page));
    }
    Ok(())
}
