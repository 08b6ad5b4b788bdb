//! The address space as the allocators see it: who may lie where.

use lowtide_remote::{Map, Maps};
use std::collections::HashSet;

/// All maps of a process, by what they are for.
#[derive(Debug, Clone, Copy)]
pub struct Areas<'a>(&'a Maps);

/// Private memory that belongs to no file, the break and the stacks apart.
pub fn is_anonymous(map: &Map) -> bool {
    !map.perms.shared && path(map).is_none_or(|path| path.starts_with(b"[anon:"))
}

/// Whether it shows a file.
pub fn is_file(map: &Map) -> bool {
    path(map).is_some_and(|path| path.starts_with(b"/"))
}

/// Whether the kernel gives it this name.
pub fn is_named(map: &Map, name: &[u8]) -> bool {
    path(map) == Some(name)
}

fn path(map: &Map) -> Option<&[u8]> {
    map.path.as_deref().filter(|path| !path.is_empty())
}

impl<'a> Areas<'a> {
    /// Over the maps of a process.
    pub fn new(maps: &'a Maps) -> Self {
        Areas(maps)
    }

    /// In order of address.
    pub fn iter(&self) -> impl Iterator<Item = &'a Map> + use<'a> {
        self.0.iter()
    }

    /// The map of an address.
    pub fn find(&self, address: u64) -> Option<&'a Map> {
        self.0.find(address)
    }

    /// Whether there is memory that the program may write.
    pub fn writable(&self, address: u64) -> bool {
        self.find(address).is_some_and(|map| map.perms.write)
    }

    /// Whether the address lies in a file: a function, a table of a class, a name.
    pub fn in_file(&self, address: u64) -> bool {
        self.find(address).is_some_and(is_file)
    }

    /// Where tables of classes may lie: in files, and not in code. They are made of addresses, which the loader writes where a file may
    /// lie anywhere; only a program that lies at fixed, low addresses may have them beside its code.
    pub fn may_have_tables(&self) -> Vec<(u64, u64)> {
        const FIXED: u64 = 1 << 31;
        let mut out: Vec<(u64, u64)> = Vec::new();
        for map in self.iter().filter(|map| is_file(map) && (!map.perms.exec || map.end <= FIXED)) {
            match out.last_mut() {
                Some(last) if last.1 == map.start => last.1 = map.end,
                _ => out.push((map.start, map.end)),
            }
        }
        out
    }

    /// The first part of the program's break.
    pub fn heap(&self) -> Option<&'a Map> {
        self.iter().find(|map| is_named(map, b"[heap]"))
    }

    /// Where the break ends: the kernel shows it in several parts where their rights differ.
    pub fn heap_end(&self) -> Option<u64> {
        self.iter().filter(|map| is_named(map, b"[heap]")).map(|map| map.end).max()
    }

    /// Every file that is mapped, once, in order of address.
    pub fn files(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut seen = HashSet::new();
        self.iter().filter(|map| is_file(map)).filter_map(path).filter(move |path| seen.insert(*path))
    }

    /// The maps of a file.
    pub fn of(&self, file: &'a [u8]) -> impl Iterator<Item = &'a Map> + use<'a> {
        self.iter().filter(move |map| path(map) == Some(file))
    }

    /// A library's data: what is private and may be written, and the memory without a file right behind it (its bss).
    pub fn data_of(&self, file: &'a [u8]) -> impl Iterator<Item = &'a Map> + use<'a> {
        let mut end = None;
        self.iter().filter(move |map| {
            let own = path(map) == Some(file);
            let behind = is_anonymous(map) && end == Some(map.start);
            end = (own || behind).then_some(map.end);
            (own || behind) && map.perms.write && !map.perms.shared
        })
    }
}
