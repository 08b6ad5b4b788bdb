//! The address space as the allocators see it: who may lie where.

use lowtide_remote::Maps;

/// One mapped stretch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Area {
    /// First byte.
    pub start: u64,
    /// First byte behind.
    pub end: u64,
    /// May be read.
    pub read: bool,
    /// May be written.
    pub write: bool,
    /// Is shared with other processes by intent.
    pub shared: bool,
    /// The file, or a name of the kernel's such as `[heap]`; empty where there is none.
    pub path: Vec<u8>,
}

impl Area {
    /// Private memory that belongs to no file, the break and the stacks apart.
    pub fn anonymous(&self) -> bool {
        !self.shared && (self.path.is_empty() || self.path.starts_with(b"[anon:"))
    }

    /// Whether it shows a file.
    pub fn file(&self) -> bool {
        self.path.starts_with(b"/")
    }

    /// Bytes.
    pub fn size(&self) -> u64 {
        self.end - self.start
    }
}

/// All areas of a process, in order of address.
#[derive(Debug, Clone, Default)]
pub struct Areas(Vec<Area>);

impl Areas {
    /// Takes the areas as they are; those that overlap their predecessor are dropped.
    pub fn new(mut areas: Vec<Area>) -> Self {
        areas.retain(|area| area.end > area.start);
        areas.sort_by_key(|area| area.start);
        let mut end = 0;
        areas.retain(|area| {
            let apart = area.start >= end;
            end = end.max(area.end);
            apart
        });
        Areas(areas)
    }

    /// In order of address.
    pub fn iter(&self) -> impl Iterator<Item = &Area> {
        self.0.iter()
    }

    /// The area of an address.
    pub fn find(&self, address: u64) -> Option<&Area> {
        let at = self.0.partition_point(|area| area.start <= address);
        self.0.get(at.checked_sub(1)?).filter(|area| address < area.end)
    }

    /// Whether there is memory that the program may write.
    pub fn writable(&self, address: u64) -> bool {
        self.find(address).is_some_and(|area| area.write)
    }

    /// The first part of the program's break.
    pub fn heap(&self) -> Option<&Area> {
        self.iter().find(|area| area.path == b"[heap]")
    }

    /// Where the break ends: the kernel shows it in several parts where their rights differ.
    pub fn heap_end(&self) -> Option<u64> {
        self.iter().filter(|area| area.path == b"[heap]").map(|area| area.end).max()
    }

    /// Every file that is mapped, once, in order of address.
    pub fn files(&self) -> impl Iterator<Item = &[u8]> {
        let mut seen = std::collections::HashSet::new();
        self.iter().filter(|area| area.file()).map(|area| area.path.as_slice()).filter(move |path| seen.insert(*path))
    }

    /// The areas of a file.
    pub fn of<'a>(&'a self, path: &'a [u8]) -> impl Iterator<Item = &'a Area> {
        self.iter().filter(move |area| area.path == path)
    }

    /// A library's data: what is private and may be written, and the memory without a file right behind it (its bss).
    pub fn data_of<'a>(&'a self, path: &'a [u8]) -> impl Iterator<Item = &'a Area> {
        let mut end = None;
        self.iter().filter(move |area| {
            let own = area.path == path;
            let behind = area.anonymous() && end == Some(area.start);
            end = (own || behind).then_some(area.end);
            (own || behind) && area.write && !area.shared
        })
    }
}

impl From<&Maps> for Areas {
    fn from(maps: &Maps) -> Self {
        Areas::new(
            maps.iter()
                .map(|map| Area {
                    start: map.start,
                    end: map.end,
                    read: map.perms.read,
                    write: map.perms.write,
                    shared: map.perms.shared,
                    path: map.path.clone().unwrap_or_default(),
                })
                .collect(),
        )
    }
}
