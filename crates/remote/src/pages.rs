//! Which pages of a process are in memory, and where its threads' stacks are.

use std::borrow::Cow;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use crate::error::Error;
use crate::maps::Maps;
use crate::process::Process;

/// Bytes that a word stands for, whatever the size of the kernel's own pages is: 4 KiB on x86-64, up to 64 KiB on aarch64.
const PAGE: u64 = 4096;
/// Pages of the kernel's asked for at once: 64 KiB of answer, for 32 MiB of addresses where a page has 4 KiB. The kernel holds the address space for that long.
const AT_ONCE: u64 = 8192;
/// Addresses asked for in all, in bytes. Where a process reserves more, what lies behind is not looked at.
const MOST: u64 = 1 << 40;

impl Process {
    /// Tells `/proc/PID/pagemap`, a word of 8 bytes for each 4 KiB, stretch by stretch in order of address: the address of
    /// the first page, and the words. Only maps that the program may read or write have pages worth asking for. Gives the
    /// bytes of addresses that were not asked for, since there were too many.
    ///
    /// # Errors
    /// Where it has ended, or the file may not be read.
    pub fn pages(&self, maps: &Maps, tell: &mut dyn FnMut(u64, &[u8])) -> Result<u64, Error> {
        let path = self.file("pagemap");
        let file = File::open(&path).map_err(|source| self.failure(path, source))?;
        let page = kernel_page();
        let mut words = vec![0; (AT_ONCE * 8) as usize];
        let (mut left, mut skipped) = (MOST, 0);
        for map in maps.iter().filter(|map| map.perms.read || map.perms.write) {
            let mut at = map.start / page * page;
            while at < map.end {
                let pages = (map.end - at).div_ceil(page).min(AT_ONCE);
                if left < pages * page {
                    skipped += map.end - at;
                    break;
                }
                left -= pages * page;
                let words = &mut words[..(pages * 8) as usize];
                // A map that has gone meanwhile has no pages: that is no failure.
                if let Ok(got) = file.read_at(words, at / page * 8) {
                    tell(at, &per_page(&words[..got / 8 * 8], page));
                }
                at += pages * page;
            }
        }
        Ok(skipped)
    }

    /// The stack pointers of its threads, the first thread apart, whose stack has a name. Threads that run at this moment
    /// have none to show, so all of them have while the process is held.
    ///
    /// # Errors
    /// Where it has ended.
    pub fn stack_pointers(&self) -> Result<Vec<u64>, Error> {
        let pointer = |thread: u32| {
            let text = fs::read_to_string(self.file(&format!("task/{thread}/syscall"))).ok()?;
            // "number arguments... stack-pointer program-counter", or "running".
            let word = text.split_ascii_whitespace().rev().nth(1)?;
            u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
        };
        Ok(self.threads()?.into_iter().filter(|&thread| thread != self.pid()).filter_map(pointer).collect())
    }
}

/// Bytes of a page of this kernel.
fn kernel_page() -> u64 {
    // SAFETY: sysconf(3) only reads.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(size).ok().filter(|size| *size > 0 && size.is_multiple_of(PAGE)).unwrap_or(PAGE)
}

/// A word for each 4 KiB, from a word for each of larger pages.
fn per_page(words: &[u8], page: u64) -> Cow<'_, [u8]> {
    let times = usize::try_from(page / PAGE).unwrap_or(1);
    if times <= 1 {
        Cow::Borrowed(words)
    } else {
        Cow::Owned(words.chunks_exact(8).flat_map(|word| word.repeat(times)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_page_is_told_as_small_ones() {
        let words = [[1; 8], [2; 8]].concat();
        assert_eq!(*per_page(&words, 4096), *words);
        let wide = per_page(&words, 16384);
        assert_eq!(*wide, *[[1; 32], [2; 32]].concat());
        assert!(kernel_page().is_multiple_of(PAGE));
    }
}
