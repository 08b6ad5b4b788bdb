//! ELF files in a process: which file is where, its build id, and a handful of symbols by name.
//!
//! A library can have gigabytes of symbols and debug data; only what is asked for is read, in pieces, and nothing is kept.
//! Layouts: elf(5), 64-bit little-endian only.

mod file;

use std::fmt;
use std::ops::Range;

use crate::maps::{Map, Maps};
use crate::source::Source;
pub use file::{Bad, Elf};
pub(crate) use file::{notes_of, u16_at, u32_at, u64_at};

/// A symbol of a module, where it is in the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its address in the process.
    pub address: u64,
    /// Its size in bytes, as the file says it; 0 where it does not.
    pub size: u64,
}

/// An ELF file and its place in a process.
pub struct Module {
    file: Box<dyn Source>,
    elf: Elf,
    /// The file's path as the process sees it.
    pub path: Box<[u8]>,
    /// What is added to an address of the file to have that of the process; wraps.
    pub bias: u64,
    /// The file's build id, as the linker wrote it.
    pub build_id: Option<Vec<u8>>,
}

impl Module {
    /// From a file and one of its maps.
    ///
    /// # Errors
    /// Where it is no ELF file, or not the one that is mapped there.
    pub fn new(file: Box<dyn Source>, maps: &Maps, map: &Map) -> Result<Self, Bad> {
        let elf = Elf::parse(&file)?;
        let same = |other: &&Map| (other.device, other.inode, &other.path) == (map.device, map.inode, &map.path);
        let bias = maps.iter().filter(same).find_map(|map| elf.bias(map)).ok_or_else(|| Bad {
            place: "program headers".into(),
            what: format!("none is mapped at {:#x}; has the file been replaced since the process started?", map.start),
        })?;
        let build_id = elf.build_id(&file);
        Ok(Self { file, elf, path: map.path.clone().unwrap_or_default(), bias, build_id })
    }

    /// Looks symbols up by name; the answers are in the order of the names. Dynamic symbols first, then those of `.symtab`.
    ///
    /// # Errors
    /// Where the file's tables are broken.
    pub fn symbols(&self, names: &[&str]) -> Result<Vec<Option<Symbol>>, Bad> {
        let found = self.elf.symbols(&self.file, names)?;
        let place = |(value, size)| Symbol { address: self.bias.wrapping_add(value), size };
        Ok(found.into_iter().map(|symbol| symbol.map(place)).collect())
    }

    /// Where a section is in the process, by name (`.PyRuntime`).
    #[must_use]
    pub fn section(&self, name: &str) -> Option<Range<u64>> {
        let (address, size) = self.elf.section(&self.file, name)?;
        let start = self.bias.wrapping_add(address);
        Some(start..start.checked_add(size)?)
    }

    /// The build id in hexadecimal digits.
    #[must_use]
    pub fn build_id_text(&self) -> Option<String> {
        use fmt::Write;
        self.build_id.as_ref().map(|id| {
            id.iter().fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            })
        })
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module")
            .field("path", &String::from_utf8_lossy(&self.path))
            .field("bias", &format_args!("{:#x}", self.bias))
            .field("build_id", &self.build_id_text())
            .finish_non_exhaustive()
    }
}

/// One map of each file that has code mapped.
#[must_use]
pub fn files(maps: &Maps) -> Vec<&Map> {
    let mut files: Vec<&Map> = Vec::new();
    for map in maps.iter().filter(|map| map.perms.exec && map.is_file()) {
        if !files.iter().any(|other| (other.device, other.inode, &other.path) == (map.device, map.inode, &map.path)) {
            files.push(map);
        }
    }
    files
}

/// The first module that has one of these symbols: those that are likely to, in the order of the maps, then the others, those with
/// the fewest bytes first.
pub(crate) fn find_symbol(
    maps: &Maps,
    names: &[&str],
    is_likely: impl Fn(&Map) -> bool,
    size: impl Fn(&Map) -> Option<u64>,
    open: impl Fn(&Map) -> Option<Module>,
) -> Option<(Module, Symbol)> {
    let find = |map: &Map| {
        let module = open(map)?;
        let symbol = module.symbols(names).ok()?.into_iter().flatten().next()?;
        Some((module, symbol))
    };
    let (likely, mut others): (Vec<&Map>, Vec<&Map>) = files(maps).into_iter().partition(|map| is_likely(map));
    likely.into_iter().find_map(find).or_else(|| {
        // A training process has some hundred of them, and each has to be opened for that.
        others.sort_by_cached_key(|map| size(map));
        others.into_iter().find_map(find)
    })
}

/// Whether a file's name begins with one of these.
pub(crate) fn is_called(map: &Map, beginnings: &[&str]) -> bool {
    let name = map.path.as_deref().and_then(|path| path.rsplit(|byte| *byte == b'/').next());
    name.is_some_and(|name| beginnings.iter().any(|beginning| name.starts_with(beginning.as_bytes())))
}

#[cfg(test)]
mod tests;
