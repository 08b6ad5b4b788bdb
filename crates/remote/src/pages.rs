//! Which pages of a process are in memory, and where its threads' stacks are.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

use crate::error::Error;
use crate::maps::Map;
use crate::process::Process;
use crate::scan::scan;

/// Bytes that a word stands for, whatever the size of the kernel's own pages is: 4 KiB on x86-64, up to 64 KiB on aarch64.
const PAGE: u64 = 4096;
/// Pages of the kernel's asked for at once: 64 KiB of answer, for 32 MiB of addresses where a page has 4 KiB. The kernel holds the address space for that long.
const AT_ONCE: u64 = 8192;
/// Addresses asked for in all, in bytes. Where a process reserves more, what lies behind is not looked at.
const MOST: u64 = 1 << 40;
/// Bits of a word: the page is in memory; in swap; of a file or of shared memory.
const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
const SHARED: u64 = 1 << 61;

/// Private pages that lie side by side: what the kernel counts as RssAnon, or in swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// First byte.
    pub start: u64,
    /// Behind the last byte.
    pub end: u64,
    /// Whether they are in swap, not in memory.
    pub swapped: bool,
}

impl Process {
    /// Tells the private pages of those maps, stretch by stretch in order of address. Only maps that the program may read or write have
    /// pages worth asking for. Gives the bytes of addresses that were not asked for, since there were too many.
    ///
    /// # Errors
    /// Where it has ended, or its `pagemap` may not be read.
    pub fn pages<'m>(&self, maps: impl Iterator<Item = &'m Map> + Clone, tell: &mut dyn FnMut(Stretch)) -> Result<u64, Error> {
        let path = self.file("pagemap");
        let file = File::open(&path).map_err(|source| self.failure(path, source))?;
        let maps = maps.filter(|map| map.perms.read || map.perms.write);
        for map in maps.clone() {
            match scan(&file, map.start, map.end, tell) {
                // It says so at the first map, when nothing was told yet.
                Err(error) if error.kind() == io::ErrorKind::Unsupported => return Ok(page_by_page(&file, maps, tell)),
                // A map that has gone meanwhile has no pages: that is no failure.
                Ok(()) | Err(_) => {}
            }
        }
        Ok(0)
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

/// The same from a word of 8 bytes for each page that could be there.
fn page_by_page<'m>(file: &File, maps: impl Iterator<Item = &'m Map>, tell: &mut dyn FnMut(Stretch)) -> u64 {
    let page = kernel_page();
    let mut words = vec![0; (AT_ONCE * 8) as usize];
    let (mut left, mut skipped) = (MOST, 0);
    for map in maps {
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
                stretches(at, &words[..got / 8 * 8], page, tell);
            }
            at += pages * page;
        }
    }
    skipped
}

/// What words say of the pages from `start` on.
fn stretches(start: u64, words: &[u8], page: u64, tell: &mut dyn FnMut(Stretch)) {
    let mut run: Option<Stretch> = None;
    for (word, at) in words.as_chunks().0.iter().zip((start..).step_by(page as usize)) {
        let word = u64::from_le_bytes(*word);
        let private = word & SHARED == 0 && word & PRESENT != 0;
        let swapped = word & (SWAPPED | PRESENT) == SWAPPED;
        match &mut run {
            Some(run) if (private || swapped) && run.end == at && run.swapped == swapped => run.end += page,
            _ if private || swapped => {
                run.replace(Stretch { start: at, end: at + page, swapped }).into_iter().for_each(&mut *tell);
            }
            _ => {}
        }
    }
    run.into_iter().for_each(tell);
}

/// Bytes of a page of this kernel.
pub fn kernel_page() -> u64 {
    // SAFETY: sysconf(3) only reads.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(size).ok().filter(|size| *size > 0 && size.is_multiple_of(PAGE)).unwrap_or(PAGE)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::print_stderr)]
    use super::*;
    use crate::maps::Maps;
    use std::path::Path;

    fn told(words: &[u64], page: u64) -> Vec<(u64, u64, bool)> {
        let words: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut told = Vec::new();
        stretches(0x10_0000, &words, page, &mut |one| told.push((one.start - 0x10_0000, one.end - 0x10_0000, one.swapped)));
        told
    }

    #[test]
    fn private_pages_are_told_in_stretches() {
        let words = [PRESENT, PRESENT, 0, PRESENT | SHARED, PRESENT, SWAPPED, SWAPPED, SWAPPED | SHARED, 0];
        let pages = |page: u64| [(0, 2 * page, false), (4 * page, 5 * page, false), (5 * page, 8 * page, true)];
        assert_eq!(told(&words, 4096), pages(4096));
        assert_eq!(told(&words, 65536), pages(65536));
        assert!(told(&[0, SHARED], 4096).is_empty());
        assert!(kernel_page().is_multiple_of(PAGE));
    }

    /// Memory of our own with every third page written, and each of the others either read or not touched.
    fn mapped(pages: usize, page: usize) -> u64 {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new private map at a place that the kernel chooses, which nobody else knows of.
        let start = unsafe {
            let start = libc::mmap(std::ptr::null_mut(), pages * page, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            libc::madvise(start, pages * page, libc::MADV_NOHUGEPAGE);
            for at in (0..pages).step_by(3) {
                start.cast::<u8>().add(at * page).write_volatile(1);
                start.cast::<u8>().add((at + 1) * page).read_volatile();
            }
            start
        };
        start as u64
    }

    #[test]
    fn both_ways_to_ask_the_kernel_say_the_same() {
        let page = kernel_page();
        let count = 6000;
        let start = mapped(count, page as usize);
        let end = start + count as u64 * page;
        let own = Process::open(Path::new("/"), std::process::id()).unwrap();
        let file = File::open("/proc/self/pagemap").unwrap();
        let inside = |one: &Stretch| start <= one.start && one.end <= end;
        let mut scanned = Vec::new();
        match scan(&file, start, end, &mut |one| scanned.push(one)) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                eprintln!("SKIPPED in part: this kernel has no PAGEMAP_SCAN");
            }
            scan => {
                scan.unwrap();
                let written = (start..end).step_by(3 * page as usize);
                let written = written.map(|at| Stretch { start: at, end: at + page, swapped: false });
                let wrong = scanned.iter().copied().zip(written).find(|(one, written)| one != written);
                assert_eq!((wrong, scanned.len()), (None, count / 3));
            }
        }
        // A word does not tell the page of zeros from others: the pages that were only read are told with those written.
        let maps = Maps::parse(&fs::read("/proc/self/maps").unwrap());
        let mut asked = Vec::new();
        page_by_page(&file, maps.iter(), &mut |one| asked.extend(Some(one).filter(inside)));
        assert!(scanned.iter().all(|one| asked.iter().any(|other| other.start <= one.start && one.end <= other.end)));
        assert_eq!(asked.iter().map(|one| one.end - one.start).sum::<u64>(), count as u64 / 3 * 2 * page);
        let mut pages = Vec::new();
        assert_eq!(own.pages(maps.iter(), &mut |one| pages.extend(Some(one).filter(inside))).unwrap(), 0);
        assert!(pages == scanned || scanned.is_empty() && pages == asked);
    }
}
