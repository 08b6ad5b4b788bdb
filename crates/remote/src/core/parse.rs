//! The layout of a core file: elf(5), core(5), and the notes of `fs/binfmt_elf.c`.

use std::collections::HashMap;

use crate::elf::{Bad, notes_of, u16_at, u32_at, u64_at};
use crate::maps::{Map, Maps, Perms};
use crate::source::{Source, read_all};

const ET_CORE: u16 = 4;
const PT_LOAD: u32 = 1;
const PT_NOTE: u32 = 4;
const PN_XNUM: u16 = u16::MAX;
const HEADER: usize = 56;
/// The kernel writes at most 4 MiB of file names (MAX_FILE_NOTE_SIZE); registers of ten thousand threads fit as well.
const NOTES_LIMIT: u64 = 256 << 20;
const NT_PRSTATUS: u32 = 1;
const NT_PRPSINFO: u32 = 3;
const NT_FILE: u32 = 0x4649_4c45;

/// A stretch of addresses, and where its bytes are in the file.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    pub start: u64,
    /// The end of what was written; the map may go on.
    pub end: u64,
    pub offset: u64,
}

/// What a core file says.
#[derive(Debug, Default)]
pub struct Parsed {
    /// By address.
    pub segments: Vec<Segment>,
    pub maps: Maps,
    pub pid: Option<u32>,
    pub threads: usize,
    /// Bytes that should be in the file and lie beyond its end.
    pub missing: u64,
}

impl Parsed {
    /// Reads headers and notes of a file of so many bytes.
    pub fn read(file: &(impl Source + ?Sized), len: u64) -> Result<Self, Bad> {
        let headers = headers(file)?;
        let mut parsed = Self::default();
        let mut notes = Vec::new();
        for header in headers.chunks_exact(HEADER).filter(|header| u32_at(header, 0) == PT_NOTE) {
            let (offset, size) = (u64_at(header, 8), u64_at(header, 32).min(NOTES_LIMIT));
            // Of a file that was cut off, what is there; and no memory for what is not.
            let size = size.min(len.saturating_sub(offset));
            let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
            if read_all(file, offset, &mut bytes).is_some() {
                notes.push(bytes);
            }
        }
        let mut names = Names::default();
        for (kind, content) in notes.iter().flat_map(|notes| notes_of(notes)).map(|(_, kind, content)| (kind, content)) {
            match kind {
                // One for each thread.
                NT_PRSTATUS => parsed.threads += 1,
                // struct elf_prpsinfo: pid after state, nice, flag, uid and gid.
                NT_PRPSINFO => parsed.pid = content.get(24..28).map(|_| u32_at(content, 24)),
                NT_FILE => names = Names::parse(content),
                _ => {}
            }
        }
        let mut maps = Vec::new();
        for header in headers.chunks_exact(HEADER).filter(|header| u32_at(header, 0) == PT_LOAD) {
            let (flags, offset, start) = (u32_at(header, 4), u64_at(header, 8), u64_at(header, 16));
            let (written, size) = (u64_at(header, 32), u64_at(header, 40));
            let there = written.min(len.saturating_sub(offset));
            parsed.missing = parsed.missing.saturating_add(written - there);
            parsed.segments.push(Segment { start, end: start.saturating_add(there), offset });
            let end = start.saturating_add(size.max(written));
            let perms = Perms { read: flags & 4 != 0, write: flags & 2 != 0, exec: flags & 1 != 0, shared: false };
            let mut map = Map { start, end, perms, ..Map::default() };
            if let Some(named) = names.by_start.get(&start) {
                named.name(&mut map);
            }
            maps.push(map);
        }
        // gdb leaves files' maps out as a whole where the process cannot have changed them: code and constants.
        let perms = Perms { read: true, exec: true, ..Perms::default() };
        maps.extend(names.by_start.iter().map(|(start, named)| {
            let mut map = Map { start: *start, end: named.end, perms, ..Map::default() };
            named.name(&mut map);
            map
        }));
        parsed.segments.sort_by_key(|segment| segment.start);
        parsed.maps = Maps::new(maps);
        if parsed.maps.is_empty() {
            return Err(Bad { place: "program headers".into(), what: "no memory in it".into() });
        }
        Ok(parsed)
    }

    /// The segment that has an address, or the first one after it.
    pub fn at_or_after(&self, address: u64) -> Option<&Segment> {
        let after = self.segments.partition_point(|segment| segment.start <= address);
        let holds = self.segments[..after].last().filter(|segment| segment.end > address);
        holds.or_else(|| self.segments.get(after))
    }
}

/// All program headers.
fn headers(file: &(impl Source + ?Sized)) -> Result<Vec<u8>, Bad> {
    let bad = |place: &str, what: &str| Bad { place: place.into(), what: what.into() };
    let mut head = [0; 64];
    read_all(file, 0, &mut head).ok_or_else(|| bad("ELF header", "the file ends before it; is it complete?"))?;
    if head[..4] != *b"\x7fELF" || u16_at(&head, 16) != ET_CORE {
        return Err(bad(
            "ELF header",
            "not a core file; make one with `gcore PID`, unpack one with `coredumpctl dump` or `zstd -d`",
        ));
    }
    if head[4..6] != [2, 1] || usize::from(u16_at(&head, 54)) != HEADER {
        return Err(bad("ELF header", "not of a 64-bit little-endian machine; only those can be read"));
    }
    let mut count = u32::from(u16_at(&head, 56));
    if count == u32::from(PN_XNUM) {
        // More than fit: the number stands in the first section header.
        let mut section = [0; 64];
        read_all(file, u64_at(&head, 40), &mut section).ok_or_else(|| bad("section header 0", "the file ends before it"))?;
        count = u32_at(&section, 44);
    }
    if count as usize > Maps::LIMIT {
        return Err(bad("ELF header", "more segments than any process has maps; the file is damaged"));
    }
    let mut headers = Vec::new();
    // By pieces, so that a count that is not true takes no memory.
    for first in (0..count as usize).step_by(1024) {
        let mut piece = vec![0; HEADER * 1024.min(count as usize - first)];
        let place = u64_at(&head, 32).wrapping_add((first * HEADER) as u64);
        read_all(file, place, &mut piece).ok_or_else(|| bad("program headers", "the file ends before them; is it complete?"))?;
        headers.extend(piece);
    }
    Ok(headers)
}

/// NT_FILE: which file was mapped where.
#[derive(Default)]
struct Names<'a> {
    by_start: HashMap<u64, Named<'a>>,
}

struct Named<'a> {
    end: u64,
    offset: u64,
    path: &'a [u8],
}

impl Named<'_> {
    fn name(&self, map: &mut Map) {
        map.offset = self.offset;
        map.deleted = self.path.ends_with(b" (deleted)");
        map.path = Some(self.path.strip_suffix(b" (deleted)").unwrap_or(self.path).into());
    }
}

impl<'a> Names<'a> {
    /// Count, size of a page, then start, end and offset in pages of each; then the names, each with a NUL.
    fn parse(content: &'a [u8]) -> Self {
        let count = usize::try_from(u64_at(content, 0)).unwrap_or(usize::MAX);
        let Some(names) = count.checked_mul(24).and_then(|len| content.get(len.checked_add(16)?..)) else {
            return Self::default();
        };
        let places = content[16..content.len() - names.len()].chunks_exact(24);
        let entry = |(place, path): (&[u8], &'a [u8])| {
            let offset = u64_at(place, 16).saturating_mul(u64_at(content, 8));
            (u64_at(place, 0), Named { end: u64_at(place, 8), offset, path })
        };
        Self { by_start: places.zip(names.split(|byte| *byte == 0)).map(entry).collect() }
    }
}
