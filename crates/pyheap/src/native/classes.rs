//! C++ objects by class, without symbols.
//!
//! An object of a class with virtual functions begins with the address of its class's table, before which lies the address
//! of its type record (`std::type_info`), which holds its name and those of its bases (Itanium C++ ABI, 2.9.5). So every
//! chunk of malloc's heap that holds such an object says what it is, in a stripped library too.

use super::area::Areas;
use super::glibc::Tally;
use super::window::Window;
use crate::spread;
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::sync::Arc;

/// Tables looked up at most. A large process has some ten thousand classes.
const TABLES: usize = 1 << 17;
/// Words that were asked for last, of which the answer is at hand; a power of two.
const RECENT: usize = 1 << 12;
/// Bytes of a name that are read.
const NAME: usize = 512;
/// Bases followed upwards, at most.
const DEPTH: u32 = 32;

/// Number of a class in [`Classes`].
pub type Id = u32;

/// A class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Class {
    /// As the compiler writes it, such as `N3c1010TensorImplE`.
    pub mangled: Arc<str>,
    /// The class and its first bases (those at the object's start), the class itself first, as the compiler writes them.
    pub bases: Vec<Arc<str>>,
    /// Objects told with [`Classes::count`].
    pub tally: Tally,
}

impl Class {
    /// For people: `c10::TensorImpl`; arguments of templates are left out.
    pub fn name(&self) -> String {
        super::mangled::readable(&self.mangled)
    }

    /// Whether the class is `mangled` or derives from it.
    pub fn is(&self, mangled: &str) -> bool {
        self.bases.iter().any(|base| **base == *mangled)
    }
}

/// All classes met so far.
#[derive(Debug, Default)]
pub struct Classes {
    /// Where tables may lie, sorted: each word that begins a chunk is asked for, and most lead nowhere near.
    places: Vec<(u64, u64)>,
    by_table: HashMap<u64, Option<Id>, RandomState>,
    /// In front of it, since there are more chunks than words: words that were asked for, and what they were.
    recent: Vec<(u64, Option<Id>)>,
    /// What type records say, since most classes share their bases: their names, and the records of their first bases.
    names: HashMap<u64, Option<Arc<str>>, RandomState>,
    bases: HashMap<u64, Option<u64>, RandomState>,
    classes: Vec<Class>,
}

impl Classes {
    /// No class met yet.
    pub fn new(areas: Areas<'_>) -> Self {
        Self { places: areas.may_have_tables(), recent: vec![(0, None); RECENT], ..Self::default() }
    }

    /// The class whose table is at `word`, if one is: the first word of an object.
    pub fn of(&mut self, window: &mut Window<'_>, areas: Areas<'_>, word: u64) -> Option<Id> {
        let all = self.places.first().zip(self.places.last()).map_or(0..0, |(first, last)| first.0..last.1);
        if !word.is_multiple_of(8) || !all.contains(&word) {
            return None;
        }
        let slot = spread::slot(word, RECENT);
        match self.recent.get(slot) {
            Some((known, id)) if *known == word => *id,
            _ => {
                let id = self.look(window, areas, word);
                self.recent.get_mut(slot).into_iter().for_each(|recent| *recent = (word, id));
                id
            }
        }
    }

    fn look(&mut self, window: &mut Window<'_>, areas: Areas<'_>, word: u64) -> Option<Id> {
        let place = self.places.partition_point(|(start, _)| *start <= word).checked_sub(1).and_then(|at| self.places.get(at));
        if place.is_none_or(|(_, end)| word >= *end) {
            return None;
        }
        if let Some(&known) = self.by_table.get(&word) {
            return known;
        }
        if self.by_table.len() >= TABLES {
            return None;
        }
        let found = self.read(window, areas, word);
        let id = found.map(|class| {
            self.classes.push(class);
            (self.classes.len() - 1) as Id
        });
        self.by_table.insert(word, id);
        id
    }

    fn read(&mut self, window: &mut Window<'_>, areas: Areas<'_>, table: u64) -> Option<Class> {
        // The offset from this table's object to the whole object: not zero in tables of second bases.
        if word(window, table.checked_sub(16)?)? != 0 {
            return None;
        }
        // A first function, or none: a pure base.
        let first = word(window, table)?;
        if first != 0 && !areas.in_file(first) {
            return None;
        }
        let mut record = word(window, table - 8)?;
        let mut bases = Vec::new();
        for _ in 0..DEPTH {
            let Some(name) = self.name(window, areas, record) else { break };
            bases.push(name);
            match self.first_base(window, areas, record) {
                Some(base) => record = base,
                None => break,
            }
        }
        Some(Class { mangled: bases.first()?.clone(), bases, tally: Tally::default() })
    }

    fn name(&mut self, window: &mut Window<'_>, areas: Areas<'_>, record: u64) -> Option<Arc<str>> {
        if let Some(known) = self.names.get(&record) {
            return known.clone();
        }
        let found: Option<Arc<str>> = name(window, areas, record).map(Arc::from);
        if self.names.len() < TABLES {
            self.names.insert(record, found.clone());
        }
        found
    }

    /// The record of the base at the object's start: of the only base, or of the first of several.
    fn first_base(&mut self, window: &mut Window<'_>, areas: Areas<'_>, record: u64) -> Option<u64> {
        if let Some(known) = self.bases.get(&record) {
            return *known;
        }
        // The record is itself an object: its class says whether it has bases.
        let table = word(window, record)?;
        let kind = word(window, table.checked_sub(8)?)?;
        let kind = self.name(window, areas, kind)?;
        let found = first_base(window, record, &kind);
        if self.bases.len() < TABLES {
            self.bases.insert(record, found);
        }
        found
    }

    /// Counts one object of the class.
    pub fn count(&mut self, id: Id, bytes: u64) {
        if let Some(class) = self.classes.get_mut(id as usize) {
            class.tally.count += 1;
            class.tally.bytes += bytes;
        }
    }

    /// A class by its number.
    pub fn get(&self, id: Id) -> Option<&Class> {
        self.classes.get(id as usize)
    }

    /// All classes. Several may bear one name: each library may have a table of its own.
    pub fn iter(&self) -> impl Iterator<Item = &Class> {
        self.classes.iter()
    }
}

/// The name in a type record.
fn name(window: &mut Window<'_>, areas: Areas<'_>, record: u64) -> Option<String> {
    if !record.is_multiple_of(8) || !areas.in_file(record) {
        return None;
    }
    let mut at = word(window, record + 8)?;
    if !areas.in_file(at) {
        return None;
    }
    // A star before the name says that it is private to its library.
    if window.far::<1>(at)? == *b"*" {
        at += 1;
    }
    let bytes = window.far_text(at, NAME);
    let plain = !bytes.is_empty() && bytes.len() < NAME && bytes.iter().all(u8::is_ascii_graphic);
    plain.then(|| String::from_utf8(bytes).ok()).flatten()
}

/// A word of a library.
fn word(window: &mut Window<'_>, address: u64) -> Option<u64> {
    window.far(address).map(u64::from_le_bytes)
}

/// The base's record in a record of this class of records.
fn first_base(window: &mut Window<'_>, record: u64, kind: &str) -> Option<u64> {
    match kind {
        "N10__cxxabiv120__si_class_type_infoE" => word(window, record + 16),
        "N10__cxxabiv121__vmi_class_type_infoE" => {
            let count = u32::from_le_bytes(window.far(record + 20)?);
            // Each base: its record, and its offset with two flags in the low byte.
            (0..u64::from(count.min(16))).find_map(|i| {
                let base = word(window, record + 24 + 16 * i)?;
                let place = word(window, record + 32 + 16 * i)?;
                (place >> 8 == 0 && place & 1 == 0).then_some(base)
            })
        }
        _ => None,
    }
}
