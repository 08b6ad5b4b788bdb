//! Which pages of a process are in memory, and where its threads' stacks are.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use crate::error::Error;
use crate::maps::Maps;
use crate::process::Process;

/// Bytes of a page.
const PAGE: u64 = 4096;
/// Pages asked for at once: 32 MiB of addresses, 64 KiB of answer. The kernel holds the address space for that long.
const AT_ONCE: u64 = 8192;
/// Addresses asked for in all, in bytes. Where a process reserves more, what lies behind is not looked at.
const MOST: u64 = 1 << 40;

impl Process {
    /// Tells `/proc/PID/pagemap`, a word of 8 bytes for each page, stretch by stretch in order of address: the address of
    /// the first page, and the words. Only maps that the program may read or write have pages worth asking for. Gives the
    /// bytes of addresses that were not asked for, since there were too many.
    ///
    /// # Errors
    /// Where it has ended, or the file may not be read.
    pub fn pages(&self, maps: &Maps, tell: &mut dyn FnMut(u64, &[u8])) -> Result<u64, Error> {
        let path = self.file("pagemap");
        let file = File::open(&path).map_err(|source| self.failure(path, source))?;
        let mut words = vec![0; (AT_ONCE * 8) as usize];
        let (mut left, mut skipped) = (MOST, 0);
        for map in maps.iter().filter(|map| map.perms.read || map.perms.write) {
            let mut at = map.start / PAGE * PAGE;
            while at < map.end {
                let pages = (map.end - at).div_ceil(PAGE).min(AT_ONCE);
                if left < pages * PAGE {
                    skipped += map.end - at;
                    break;
                }
                left -= pages * PAGE;
                let words = &mut words[..(pages * 8) as usize];
                // A map that has gone meanwhile has no pages: that is no failure.
                if let Ok(got) = file.read_at(words, at / PAGE * 8) {
                    tell(at, &words[..got / 8 * 8]);
                }
                at += pages * PAGE;
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
