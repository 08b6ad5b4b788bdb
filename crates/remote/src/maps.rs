//! What is mapped where: `/proc/PID/maps` (proc(5)), parsed from bytes.
//!
//! A file that a hostile process can shape: the count of lines and the length of a path are bounded by the kernel
//! (`vm.max_map_count`, `PATH_MAX`), and by [`Maps::LIMIT`] here for what is not the kernel's.

use std::ops::Range;

/// What may be done with a map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Perms {
    /// `r`.
    pub read: bool,
    /// `w`.
    pub write: bool,
    /// `x`.
    pub exec: bool,
    /// `s` (shared) instead of `p` (private, copied on write).
    pub shared: bool,
}

/// One stretch of addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Map {
    /// Its first address.
    pub start: u64,
    /// The address after its last.
    pub end: u64,
    /// What may be done with it.
    pub perms: Perms,
    /// Where in the file it begins, in bytes.
    pub offset: u64,
    /// Major and minor number of the file's device.
    pub device: (u32, u32),
    /// The file's inode; 0 where there is no file.
    pub inode: u64,
    /// The file, or a name such as `[heap]`, as the kernel writes it (newlines as `\012`), without ` (deleted)`.
    pub path: Option<Box<[u8]>>,
    /// Whether the file has been deleted since.
    pub deleted: bool,
}

impl Map {
    /// Its length in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether an address lies in it.
    #[must_use]
    pub fn contains(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }

    /// Its addresses.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.start..self.end
    }

    /// Whether it has a file behind it (shared memory has one too).
    #[must_use]
    pub fn is_file(&self) -> bool {
        self.path.as_ref().is_some_and(|path| path.first() == Some(&b'/'))
    }

    /// Memory that belongs to this process alone and has no file: heap, stacks, anonymous maps.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        self.inode == 0 && !self.perms.shared && !self.is_file() && !self.is_special()
    }

    /// Pages that the kernel puts there: not memory of the program, and unreadable through `/proc/PID/mem` in part.
    fn is_special(&self) -> bool {
        matches!(self.path.as_deref(), Some(b"[vvar]" | b"[vvar_vclock]" | b"[vsyscall]" | b"[vdso]" | b"[uprobes]"))
    }

    /// Whether reading it is harmless: the program itself may read it, and it is not a device, whose registers may do
    /// something when they are read.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.perms.read && !self.is_special() && !self.is_device()
    }

    fn is_device(&self) -> bool {
        let harmless: [&[u8]; 3] = [b"/dev/shm/", b"/dev/zero", b"/dev/hugepages/"];
        let Some(path) = self.path.as_deref() else { return false };
        path.starts_with(b"/dev/") && !harmless.iter().any(|start| path.starts_with(start))
            || path.starts_with(b"anon_inode:") && !path.starts_with(b"anon_inode:[memfd")
            || path.starts_with(b"/sys/")
    }
}

/// The maps of a process, by address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Maps {
    maps: Vec<Map>,
}

impl Maps {
    /// More maps than any process has: sixteen times the kernel's default of `vm.max_map_count`. The rest is left out.
    pub const LIMIT: usize = 1 << 20;

    /// From single maps, in any order. Empty ones are dropped, and so is what overlaps one before it.
    #[must_use]
    pub fn new(mut maps: Vec<Map>) -> Self {
        maps.retain(|map| map.start < map.end);
        maps.sort_by_key(|map| map.start);
        let mut end = 0;
        maps.retain(|map| {
            let apart = map.start >= end;
            if apart {
                end = map.end;
            }
            apart
        });
        maps.truncate(Self::LIMIT);
        Self { maps }
    }

    /// Reads `/proc/PID/maps` (or `smaps`: lines that are not maps are left out).
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        Self::new(bytes.split(|byte| *byte == b'\n').filter_map(line).take(Self::LIMIT).collect())
    }

    /// The map that holds an address.
    #[must_use]
    pub fn find(&self, address: u64) -> Option<&Map> {
        let after = self.maps.partition_point(|map| map.start <= address);
        self.maps[..after].last().filter(|map| map.contains(address))
    }

    /// Those that have any of these addresses, in order.
    pub fn overlapping(&self, range: Range<u64>) -> impl Iterator<Item = &Map> {
        let first = self.maps.partition_point(|map| map.end <= range.start);
        self.maps[first..].iter().take_while(move |map| map.start < range.end)
    }

    /// All of them, in the order of their addresses.
    pub fn iter(&self) -> std::slice::Iter<'_, Map> {
        self.maps.iter()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.maps.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.maps.is_empty()
    }
}

impl<'a> IntoIterator for &'a Maps {
    type Item = &'a Map;
    type IntoIter = std::slice::Iter<'a, Map>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// `start-end perms offset major:minor inode   path`.
fn line(line: &[u8]) -> Option<Map> {
    let mut rest = line;
    let (start, end) = split(word(&mut rest)?, b'-')?;
    let [read, write, exec, shared] = *word(&mut rest)? else { return None };
    let perms = Perms { read: read == b'r', write: write == b'w', exec: exec == b'x', shared: shared == b's' };
    let offset = hex(word(&mut rest)?)?;
    let (major, minor) = split(word(&mut rest)?, b':')?;
    let inode = std::str::from_utf8(word(&mut rest)?).ok()?.parse().ok()?;
    // The kernel pads with blanks up to the path; a path itself may begin with none, since it begins with / or [.
    let mut path = rest.trim_ascii_start();
    let deleted = path.strip_suffix(b" (deleted)");
    path = deleted.unwrap_or(path);
    Some(Map {
        start: hex(start)?,
        end: hex(end)?,
        perms,
        offset,
        device: (u32::try_from(hex(major)?).ok()?, u32::try_from(hex(minor)?).ok()?),
        inode,
        path: (!path.is_empty()).then(|| path.into()),
        deleted: deleted.is_some(),
    })
}

fn word<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let line = rest.trim_ascii_start();
    let end = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
    let (word, after) = line.split_at(end);
    *rest = after;
    (!word.is_empty()).then_some(word)
}

fn split(word: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let place = word.iter().position(|byte| *byte == at)?;
    Some((&word[..place], &word[place + 1..]))
}

fn hex(digits: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'))?, 16).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    const SOME: &[u8] = b"\
55d0c0a00000-55d0c0a8c000 r--p 00000000 fe:01 1234                       /usr/bin/python3.11 with blanks
55d0c0a8c000-55d0c0c00000 r-xp 0008c000 fe:01 1234                       /usr/bin/python3.11 with blanks
55d0c1000000-55d0c1200000 rw-p 00000000 00:00 0                          [heap]
7f0000000000-7f0000100000 rw-s 00000000 00:1a 77                         /dev/shm/torch_1 (deleted)
7f0000200000-7f0000300000 rw-s 00000000 00:05 9                          /dev/nvidia0
7f1000000000-7f1000001000 rw-p 00000000 00:00 0 
7fff00000000-7fff00004000 r--p 00000000 00:00 0                          [vvar]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
";

    #[test]
    fn the_kernels_lines_are_read() {
        let maps = Maps::parse(SOME);
        assert_eq!(maps.len(), 8);
        let text = maps.find(0x55d0_c0a8_c000).unwrap();
        assert!(text.perms.exec && !text.perms.write && text.is_file() && text.is_readable());
        assert_eq!(text.path.as_deref(), Some(b"/usr/bin/python3.11 with blanks".as_slice()));
        assert_eq!((text.offset, text.device, text.inode), (0x8_c000, (0xfe, 1), 1234));
        let heap = maps.find(0x55d0_c11f_ffff).unwrap();
        assert!(heap.is_anonymous() && !heap.is_file());
        let shm = maps.find(0x7f00_0000_0000).unwrap();
        assert!(shm.deleted && shm.perms.shared && shm.is_readable());
        assert_eq!(shm.path.as_deref(), Some(b"/dev/shm/torch_1".as_slice()));
        assert!(!maps.find(0x7f00_0020_0000).unwrap().is_readable(), "a device's registers are left alone");
        assert!(maps.find(0x7f10_0000_0000).unwrap().is_anonymous());
        assert!(!maps.find(0x7fff_0000_0000).unwrap().is_readable());
        assert!(maps.find(0x55d0_c0c0_0000).is_none(), "the end is not in it");
        assert!(maps.find(0).is_none());
    }

    #[test]
    fn what_overlaps_is_told() {
        let maps = Maps::parse(SOME);
        let starts: Vec<u64> = maps.overlapping(0x55d0_c0a8_bfff..0x55d0_c100_0001).map(|map| map.start).collect();
        assert_eq!(starts, [0x55d0_c0a0_0000, 0x55d0_c0a8_c000, 0x55d0_c100_0000]);
        assert_eq!(maps.overlapping(0..0x1000).count(), 0);
    }

    #[test]
    fn our_own_maps_hold_our_own_code() {
        let maps = Maps::parse(&std::fs::read("/proc/self/maps").unwrap());
        let code = our_own_maps_hold_our_own_code as *const () as u64;
        assert!(maps.find(code).unwrap().perms.exec);
        let local = 1_u8;
        assert!(maps.find(&raw const local as u64).unwrap().perms.write);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let maps = Maps::parse(&bytes);
            prop_assert!(maps.iter().zip(maps.iter().skip(1)).all(|(one, next)| one.end <= next.start));
        }

        #[test]
        fn a_made_up_line_is_found_at_its_addresses(start in 0_u64..u64::MAX - 1, len in 1_u64..1 << 40) {
            let end = start.saturating_add(len);
            let maps = Maps::parse(format!("{start:x}-{end:x} rw-p 0 0:0 0").as_bytes());
            prop_assert_eq!(maps.find(start).unwrap().range(), start..end);
            prop_assert!(maps.find(end).is_none());
        }
    }
}
