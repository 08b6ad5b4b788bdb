//! Reading an ELF file in pieces.

use crate::maps::Map;
use crate::source::{Source, read_all};

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {what}")]
pub struct Bad {
    /// Where in it.
    pub place: String,
    /// What is wrong there.
    pub what: String,
}

/// Read at once while looking for names and symbols.
const PIECE: usize = 1 << 20;
/// No string table of a real library is longer (libtorch with debug data: under 1 GiB); what lies beyond is not looked at.
const TABLE_LIMIT: u64 = 2 << 30;
/// Notes of an executable are a few hundred bytes.
const NOTE_LIMIT: u64 = 64 << 10;
/// Longest name of a section or symbol that can be asked for.
const NAME_LIMIT: usize = 256;

const PT_LOAD: u32 = 1;
const PT_NOTE: u32 = 4;
const SHT_SYMTAB: u32 = 2;
const SHT_DYNSYM: u32 = 11;
const SYMBOL: usize = 24;

/// The headers of an ELF file.
#[derive(Debug)]
pub struct Elf {
    segments: Vec<Segment>,
    sections: Vec<Section>,
    names: usize,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    kind: u32,
    offset: u64,
    address: u64,
    size: u64,
}

#[derive(Clone, Copy, Debug)]
struct Section {
    name: u32,
    kind: u32,
    address: u64,
    offset: u64,
    size: u64,
    link: u32,
}

impl Elf {
    /// Reads the headers.
    ///
    /// # Errors
    /// Where they are not those of a 64-bit little-endian ELF file.
    pub fn parse(file: &(impl Source + ?Sized)) -> Result<Self, Bad> {
        let bad = |what: &str| Bad { place: "ELF header".into(), what: what.into() };
        let mut head = [0; 64];
        read_all(file, 0, &mut head).ok_or_else(|| bad("the file ends before it"))?;
        if head[..4] != *b"\x7fELF" {
            return Err(bad("not an ELF file"));
        }
        if head[4..6] != [2, 1] {
            return Err(bad("not a 64-bit little-endian file; other machines' programs cannot be read"));
        }
        let segments = table(file, u64_at(&head, 32), u16_at(&head, 54), u16_at(&head, 56), 56, "program headers")?;
        let segments = segments.chunks_exact(56).map(|entry| Segment {
            kind: u32_at(entry, 0),
            offset: u64_at(entry, 8),
            address: u64_at(entry, 16),
            size: u64_at(entry, 32),
        });
        // A file without them can still be placed in memory.
        let sections = table(file, u64_at(&head, 40), u16_at(&head, 58), u16_at(&head, 60), 64, "section headers");
        let sections = sections.unwrap_or_default();
        let sections = sections.chunks_exact(64).map(|entry| Section {
            name: u32_at(entry, 0),
            kind: u32_at(entry, 4),
            address: u64_at(entry, 16),
            offset: u64_at(entry, 24),
            size: u64_at(entry, 32),
            link: u32_at(entry, 40),
        });
        Ok(Self { segments: segments.collect(), sections: sections.collect(), names: usize::from(u16_at(&head, 62)) })
    }

    /// What must be added to the file's addresses if this map is of this file; `None` if no segment begins in it.
    pub fn bias(&self, map: &Map) -> Option<u64> {
        // The kernel rounds a segment down to a page, of 4 to 64 KiB.
        let loads = self.segments.iter().filter(|segment| segment.kind == PT_LOAD);
        let into = |segment: &Segment| segment.offset.checked_sub(map.offset).filter(|into| *into < 64 << 10);
        let segment = loads.filter(|segment| into(segment).is_some()).min_by_key(|segment| into(segment))?;
        Some(map.start.wrapping_add(into(segment)?).wrapping_sub(segment.address))
    }

    /// The linker's build id.
    pub fn build_id(&self, file: &(impl Source + ?Sized)) -> Option<Vec<u8>> {
        self.segments.iter().filter(|segment| segment.kind == PT_NOTE).find_map(|segment| {
            let mut notes = vec![0; usize::try_from(segment.size.min(NOTE_LIMIT)).ok()?];
            read_all(file, segment.offset, &mut notes)?;
            notes_of(&notes).find(|(name, kind, _)| (*name, *kind) == (b"GNU\0".as_slice(), 3)).map(|(_, _, id)| id.to_vec())
        })
    }

    /// Address in the file and size of a section.
    pub fn section(&self, file: &(impl Source + ?Sized), name: &str) -> Option<(u64, u64)> {
        let names = self.sections.get(self.names)?;
        let mut wanted = name.as_bytes().to_vec();
        wanted.push(0);
        let mut found = vec![0; wanted.len().min(NAME_LIMIT)];
        let section = self.sections.iter().find(|section| {
            read_all(file, names.offset.wrapping_add(u64::from(section.name)), &mut found).is_some() && found == wanted
        })?;
        Some((section.address, section.size))
    }

    /// Values and sizes of symbols, in the order of the names.
    ///
    /// # Errors
    /// Where a table is cut off.
    pub fn symbols(&self, file: &(impl Source + ?Sized), names: &[&str]) -> Result<Vec<Option<(u64, u64)>>, Bad> {
        let mut found = vec![None; names.len()];
        for kind in [SHT_DYNSYM, SHT_SYMTAB] {
            for table in self.sections.iter().filter(|section| section.kind == kind) {
                if let Some(strings) = self.sections.get(table.link as usize) {
                    search(file, table, strings, names, &mut found)?;
                }
                if found.iter().all(Option::is_some) {
                    return Ok(found);
                }
            }
        }
        Ok(found)
    }
}

/// Notes: name (with its NUL), kind, content.
pub(crate) fn notes_of(mut notes: &[u8]) -> impl Iterator<Item = (&[u8], u32, &[u8])> {
    std::iter::from_fn(move || {
        let head = notes.get(..12)?;
        let (name, content) = (u32_at(head, 0) as usize, u32_at(head, 4) as usize);
        let kind = u32_at(head, 8);
        let name_end = 12_usize.checked_add(name)?;
        let start = name_end.checked_next_multiple_of(4)?;
        let end = start.checked_add(content)?;
        let note = (notes.get(12..name_end)?, kind, notes.get(start..end)?);
        notes = notes.get(end.next_multiple_of(4)..).unwrap_or_default();
        Some(note)
    })
}

/// Looks for names in one symbol table. First the strings are searched for the names, which is a search for bytes; then the
/// symbols for those that point to what was found.
fn search(
    file: &(impl Source + ?Sized),
    table: &Section,
    strings: &Section,
    names: &[&str],
    found: &mut [Option<(u64, u64)>],
) -> Result<(), Bad> {
    let mut places: Vec<(u32, usize)> = Vec::new();
    let longest = names.iter().map(|name| name.len()).max().unwrap_or(0).min(NAME_LIMIT);
    pieces(file, strings, longest + 1, "string table", |at, bytes| {
        for (index, name) in names.iter().enumerate().filter(|(index, name)| found[*index].is_none() && name.len() <= NAME_LIMIT)
        {
            // A name may be the end of a longer one, so what comes before it does not matter.
            for place in find_text(bytes, name.as_bytes()) {
                if let Ok(place) = u32::try_from(at + place as u64) {
                    places.push((place, index));
                }
            }
        }
        places.len() < PLACES_LIMIT
    })?;
    if places.is_empty() {
        return Ok(());
    }
    places.sort_unstable();
    places.dedup();
    pieces(file, table, 0, "symbol table", |_, bytes| {
        for symbol in bytes.chunks_exact(SYMBOL) {
            let first = places.partition_point(|(place, _)| *place < u32_at(symbol, 0));
            for (_, index) in places[first..].iter().take_while(|(place, _)| *place == u32_at(symbol, 0)) {
                // Section 0: used here, defined elsewhere.
                if u16_at(symbol, 6) != 0 && found[*index].is_none() {
                    found[*index] = Some((u64_at(symbol, 8), u64_at(symbol, 16)));
                }
            }
        }
        true
    })
}

/// A table made up to hold nothing but our names ends here.
const PLACES_LIMIT: usize = 1 << 16;

/// Reads a section by pieces that overlap by `overlap` bytes; stops where `each` says so.
fn pieces(
    file: &(impl Source + ?Sized),
    section: &Section,
    overlap: usize,
    what: &str,
    mut each: impl FnMut(u64, &[u8]) -> bool,
) -> Result<(), Bad> {
    let size = section.size.min(TABLE_LIMIT);
    // A multiple of a symbol's size.
    let mut piece = vec![0; (PIECE / SYMBOL * SYMBOL).min(usize::try_from(size).unwrap_or(PIECE)).max(1)];
    let mut at = 0;
    while at < size {
        let len = piece.len().min(usize::try_from(size - at).unwrap_or(usize::MAX));
        let place = section.offset.checked_add(at);
        place.and_then(|place| read_all(file, place, &mut piece[..len])).ok_or_else(|| Bad {
            place: what.to_owned(),
            what: format!("the file ends before byte {} of it", at + len as u64),
        })?;
        if !each(at, &piece[..len]) || at + len as u64 >= size {
            break;
        }
        at += (len - overlap.min(len - 1)) as u64;
    }
    Ok(())
}

/// Where a text with its NUL begins.
fn find_text<'a>(bytes: &'a [u8], text: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let last = text.len();
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(ahead) = bytes.get(at..)?.iter().position(|byte| *byte == 0) {
            let end = at + ahead;
            at = end + 1;
            if end >= last && bytes[end - last..end] == *text {
                return Some(end - last);
            }
        }
        None
    })
}

fn table(file: &(impl Source + ?Sized), offset: u64, entry: u16, count: u16, size: u16, what: &str) -> Result<Vec<u8>, Bad> {
    let bad = |why: &str| Bad { place: what.to_owned(), what: why.to_owned() };
    if count == 0 {
        return Ok(Vec::new());
    }
    if entry != size {
        return Err(bad("entries of an unknown size"));
    }
    let mut bytes = vec![0; usize::from(size) * usize::from(count)];
    read_all(file, offset, &mut bytes).ok_or_else(|| bad("the file ends before them"))?;
    Ok(bytes)
}

// For slices whose length is known to suffice; 0 beyond.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).and_then(|two| two.try_into().ok()).map_or(0, u16::from_le_bytes)
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_le_bytes)
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|eight| eight.try_into().ok()).map_or(0, u64::from_le_bytes)
}
