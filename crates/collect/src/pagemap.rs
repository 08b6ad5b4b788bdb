//! Private pages of processes that are too big for `smaps_rollup`.
//!
//! `pagemap` says of each page whether anybody else maps it (bit 56, Linux 4.2; the kernel's
//! Documentation/admin-guide/mm/pagemap.rst). A page costs as much processor time as in `smaps_rollup`, but the kernel lets go of the
//! target's lock after each 2 MiB of addresses, so that nothing is held up for longer than some tens of microseconds however
//! big the target is. A whole reading may be spread over many ticks: what it counts is then as of the time of its end, give
//! or take what changed meanwhile.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

use crate::parse;
use crate::root::Root;
use crate::sys;

/// Bytes of one entry: one page.
const ENTRY: u64 = 8;
/// Pages that are read at once.
const PIECE: u64 = 8192;
/// More bytes of `maps` are not read: ten times the usual limit of 65,530 maps.
const MOST_MAPS: u64 = 64 << 20;
/// More pages of addresses than so many times those in memory, and [`FREELY`] besides, are not walked: somebody reserved
/// far more than they use.
const MOST_TIMES: u64 = 4;
const FREELY: u64 = 1 << 20;

/// The page is in memory.
const PRESENT: u64 = 1 << 63;
/// It belongs to a file or to shared memory.
const FILE_OR_SHARED: u64 = 1 << 61;
/// Nobody else maps it.
const EXCLUSIVE: u64 = 1 << 56;

/// One reading of a process's pages, done in slices.
#[derive(Debug)]
pub struct Reading {
    file: File,
    /// What is still to be read, the next range last: first page and the one after the last.
    ranges: Vec<(u64, u64)>,
    private: u64,
    present: u64,
    /// CPU seconds that it has cost.
    pub cost_s: f64,
}

/// How a slice ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Slice {
    /// There is more to read.
    More,
    /// Anonymous bytes that nobody else maps.
    Private(u64),
    /// It cannot be told: the process is gone, or the kernel does not say.
    Nothing,
}

impl Reading {
    /// Begins a reading of a process with so many bytes in memory.
    ///
    /// # Errors
    /// Where its `maps` or `pagemap` cannot be read; `Unsupported` where far more is mapped than is in use.
    pub fn begin(root: &Root, pid: u32, rss: u64) -> io::Result<Self> {
        let before = sys::thread_cpu_ns();
        let file = File::open(root.of(pid, "pagemap"))?;
        let mut maps = Vec::new();
        if File::open(root.of(pid, "maps"))?.take(MOST_MAPS).read_to_end(&mut maps)? as u64 == MOST_MAPS {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut ranges: Vec<(u64, u64)> = parse::lines(&maps).filter_map(private_range).collect();
        ranges.reverse();
        let pages: u64 = ranges.iter().map(|(from, to)| to - from).fold(0, u64::saturating_add);
        if pages > FREELY + MOST_TIMES * (rss / sys::page_size()) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let cost_s = (sys::thread_cpu_ns() - before) as f64 * 1e-9;
        Ok(Self { file, ranges, private: 0, present: 0, cost_s })
    }

    /// Reads on until so many CPU seconds are spent, and at least one piece.
    pub fn slice(&mut self, means_s: f64, buffer: &mut Vec<u8>) -> Slice {
        let before = sys::thread_cpu_ns();
        buffer.resize((PIECE * ENTRY) as usize, 0);
        let spent_s = || (sys::thread_cpu_ns() - before) as f64 * 1e-9;
        let mut read_on = true;
        while read_on && let Some((from, to)) = self.ranges.pop() {
            let pages = (to - from).min(PIECE);
            let bytes = &mut buffer[..(pages * ENTRY) as usize];
            // A process that ended, or became another program, has no pages here any more.
            if self.file.read_exact_at(bytes, from * ENTRY).is_err() {
                return Slice::Nothing;
            }
            self.count(bytes);
            if from + pages < to {
                self.ranges.push((from + pages, to));
            }
            read_on = spent_s() < means_s;
        }
        self.cost_s += spent_s();
        match () {
            () if !self.ranges.is_empty() => Slice::More,
            () if self.present == 0 => Slice::Nothing,
            () => Slice::Private(self.private * sys::page_size()),
        }
    }

    fn count(&mut self, entries: &[u8]) {
        for entry in entries.as_chunks().0 {
            let entry = u64::from_ne_bytes(*entry);
            let anonymous = entry & (PRESENT | FILE_OR_SHARED) == PRESENT;
            self.present += u64::from(anonymous);
            self.private += u64::from(anonymous && entry & EXCLUSIVE != 0);
        }
    }
}

/// The pages of a line of `maps` that may hold anonymous memory: private maps that somebody can use.
fn private_range(line: &[u8]) -> Option<(u64, u64)> {
    let mut words = line.split(|byte| *byte == b' ');
    let (range, rights) = (words.next()?, words.next()?);
    let at = range.iter().position(|byte| *byte == b'-')?;
    let (from, to) = (parse::hex(&range[..at])?, parse::hex(&range[at + 1..])?);
    let usable = rights.len() == 4 && rights[3] == b'p' && rights != b"---p";
    // What lies above belongs to the kernel ([vsyscall]).
    let user = to <= 1 << 63;
    (usable && user && from < to).then(|| (from / sys::page_size(), to / sys::page_size()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    /// A process whose maps and pages are given.
    fn fake(maps: &str, pages: &[(u64, u64)]) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().expect("a folder");
        let proc = folder.path().join("proc/7");
        std::fs::create_dir_all(&proc).expect("mkdir");
        std::fs::write(proc.join("maps"), maps).expect("maps");
        let file = File::create(proc.join("pagemap")).expect("pagemap");
        file.set_len(1 << 20).expect("length");
        for (page, entry) in pages {
            file.write_all_at(&entry.to_ne_bytes(), page * ENTRY).expect("an entry");
        }
        let root = Root::new(folder.path());
        (folder, root)
    }

    fn read(root: &Root) -> Slice {
        let mut reading = Reading::begin(root, 7, 1 << 20).expect("begun");
        let mut buffer = Vec::new();
        loop {
            match reading.slice(0.0, &mut buffer) {
                Slice::More => {}
                done => return done,
            }
        }
    }

    #[test]
    fn counts_anonymous_pages_that_nobody_else_maps() {
        let page = sys::page_size();
        let map = |from: u64, to: u64, rights: &str| {
            format!("{:x}-{:x} {rights} 00000000 00:00 0   /some file\n", from * page, to * page)
        };
        let maps = map(1, 4, "rw-p") + &map(10, 20_000, "r--p") + &map(30_000, 30_004, "rw-s") + &map(40_000, 40_004, "---p");
        let mine = PRESENT | EXCLUSIVE;
        let pages = [
            (1, mine),
            (2, PRESENT),
            (3, mine | FILE_OR_SHARED),
            (19_999, mine),
            (20_000, mine),
            (30_000, mine),
            (40_000, mine),
            // Swapped out.
            (12, EXCLUSIVE | 1 << 62),
        ];
        let (_folder, root) = fake(&maps, &pages);
        assert_eq!(read(&root), Slice::Private(2 * page));
    }

    #[test]
    fn a_kernel_that_says_nothing_is_not_believed() {
        let (_folder, root) = fake("1000-5000 rw-p 00000000 00:00 0\n", &[]);
        assert_eq!(read(&root), Slice::Nothing, "there must be some page");
        let (folder, root) = fake("1000-5000 rw-p 00000000 00:00 0\n", &[(1, PRESENT)]);
        File::create(folder.path().join("proc/7/pagemap")).expect("it is gone");
        assert_eq!(read(&root), Slice::Nothing);
    }

    #[test]
    fn reserved_addresses_are_not_walked() {
        let (_folder, root) = fake("1000-400000000000 rw-p 00000000 00:00 0\n", &[(1, PRESENT)]);
        let refused = Reading::begin(&root, 7, 1 << 30).expect_err("too many");
        assert_eq!(refused.kind(), io::ErrorKind::Unsupported);
    }

    #[test]
    fn odd_lines_are_left_out() {
        for line in
            ["", "x", "5000-1000 rw-p", "1000-2000", "1000 rw-p", "ffffffffff600000-ffffffffff601000 r-xp 0 00:00 0 [vsyscall]"]
        {
            assert_eq!(private_range(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn tells_our_own_pages() {
        let root = Root::new("/".as_ref());
        let private = |root: &Root| {
            let mut reading = Reading::begin(root, std::process::id(), 1 << 30).expect("begun");
            let Slice::Private(bytes) = reading.slice(10.0, &mut Vec::new()) else { panic!("not told") };
            bytes
        };
        let before = private(&root);
        let pages = sys::TouchedPages::new(64 << 20).expect("memory");
        let grown = private(&root).saturating_sub(before);
        drop(pages);
        // Other tests of this process come and go.
        assert!((48 << 20..96 << 20).contains(&grown), "{grown}");
    }
}
